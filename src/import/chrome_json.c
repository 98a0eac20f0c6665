/* chrome_json.c: parses the text of trace events as a stream with yajl, one event at a time (chrome.h).
 *
 * A state machine tracks the position in the text; irrelevant values are skipped by counting depth. yajl buffers
 * incomplete strings and a byte for each nesting level without a limit, so both are limited here. chrome_fill.c parses
 * values and stores them in the event.
 */
#include <errno.h>
#include <stdlib.h>

#include "import/chrome.h"
#include "import/yajl.h"
#include "util/error.h"

enum { CHUNK_B = 256 << 10, DEPTH_MAX = 256, SILENT_MAX_B = 16 << 20 };

enum state {
	TOP,        /* before or after the document */
	DOCUMENT,   /* in the outermost object */
	EVENTS,     /* in the list of events */
	EVENT,      /* in an event */
	ID2,        /* in an event's id2 */
	ARGS,       /* in an event's args */
	DATA,       /* args.data, of profiles */
	PROFILE,    /* args.data.cpuProfile */
	NODES,      /* the list of the profile's nodes */
	NODE,       /* in a node */
	CALL_FRAME, /* in a node's callFrame */
	LIST,       /* in a list of samples, time deltas or weights */
};

enum key {
	KEY_NONE,
	KEY_PH,
	KEY_NAME,
	KEY_CAT,
	KEY_PID,
	KEY_TID,
	KEY_TS,
	KEY_DUR,
	KEY_ID,
	KEY_ID2,
	KEY_GLOBAL,
	KEY_SCOPE,
	KEY_ARGS,
	KEY_EVENTS,
	KEY_BASE,
	KEY_DATA,
	KEY_START,
	KEY_PROFILE,
	KEY_DELTAS,
	KEY_WEIGHTS,
	KEY_NODES,
	KEY_SAMPLES,
	KEY_PARENT,
	KEY_CALL_FRAME,
	KEY_FUNCTION,
	KEY_URL,
	KEY_LINE,
};

static const struct {
	const char *text;
	uint8_t state, key;
} keys[] = {
    {"ph", EVENT, KEY_PH},
    {"name", EVENT, KEY_NAME},
    {"cat", EVENT, KEY_CAT},
    {"pid", EVENT, KEY_PID},
    {"tid", EVENT, KEY_TID},
    {"ts", EVENT, KEY_TS},
    {"dur", EVENT, KEY_DUR},
    {"id", EVENT, KEY_ID},
    {"id2", EVENT, KEY_ID2},
    {"global", ID2, KEY_GLOBAL},
    {"scope", EVENT, KEY_SCOPE},
    {"args", EVENT, KEY_ARGS},
    {"traceEvents", DOCUMENT, KEY_EVENTS},
    {"baseTimeNanoseconds", DOCUMENT, KEY_BASE},
    {"data", ARGS, KEY_DATA},
    {"startTime", DATA, KEY_START},
    {"cpuProfile", DATA, KEY_PROFILE},
    {"timeDeltas", DATA, KEY_DELTAS},
    {"cpuNanoseconds", DATA, KEY_WEIGHTS},
    {"nodes", PROFILE, KEY_NODES},
    {"samples", PROFILE, KEY_SAMPLES},
    {"id", NODE, KEY_ID},
    {"parent", NODE, KEY_PARENT},
    {"callFrame", NODE, KEY_CALL_FRAME},
    {"functionName", CALL_FRAME, KEY_FUNCTION},
    {"url", CALL_FRAME, KEY_URL},
    {"lineNumber", CALL_FRAME, KEY_LINE},
};

struct json {
	struct sonde_chrome *chrome;
	struct sonde_chrome_event event;
	struct sonde_yajl_memory memory;
	uint8_t state, key, before[16]; /* the current state and key, and the enclosing states */
	uint8_t level;
	uint8_t document;  /* the document is an object */
	uint32_t depth;    /* nesting depth */
	uint32_t skip;     /* depth of the value being skipped */
	uint64_t silent_b; /* bytes parsed since the last callback */
	uint64_t events_seen;
	uint32_t key_at, key_b; /* key of an argument, in event.bytes */
	struct sonde_chrome_list *list;
	const char *why; /* what is too big; NULL = nothing */
};

/* --- callbacks ---------------------------------------------------------------------------------------------------- */

static void arg_add(struct json *json, struct sonde_chrome_arg arg, const char *text, size_t len_b)
{
	arg.key_at = json->key_at;
	arg.key_b = json->key_b;
	sonde_chrome_fill_arg(json->chrome, &json->event, arg, text, len_b);
}

static int number_take(void *context, const char *text, size_t len_b)
{
	struct json *json = context;
	struct sonde_chrome *chrome = json->chrome;
	struct sonde_chrome_event *event = &json->event;
	int *fractions = &chrome->has_fractions, negative;
	uint64_t bits = 0;
	json->silent_b = 0;
	if (json->skip)
		return 1;
	switch (json->state << 8 | json->key) {
	case EVENT << 8 | KEY_TS:
		event->has_time = sonde_chrome_read_micros(text, len_b, &event->time_ns, fractions);
		break;
	case EVENT << 8 | KEY_DUR:
		event->has_dur = sonde_chrome_read_micros(text, len_b, &event->dur_ns, fractions) ? 1 : -1;
		break;
	case EVENT << 8 | KEY_PID:
		event->pid = sonde_chrome_name(chrome, text, len_b);
		break;
	case EVENT << 8 | KEY_TID:
		event->tid = sonde_chrome_name(chrome, text, len_b);
		break;
	case EVENT << 8 | KEY_ID:
		sonde_chrome_fill_id(event, text, len_b, 0);
		break;
	case EVENT << 8 | KEY_NAME:
		event->name = sonde_chrome_name(chrome, text, len_b);
		break;
	case DOCUMENT << 8 | KEY_BASE:
		chrome->has_base = sonde_chrome_read_whole(text, len_b, &chrome->base_ns, &negative) && !negative;
		break;
	case DATA << 8 | KEY_START:
		event->has_start = sonde_chrome_read_micros(text, len_b, &event->start_ns, fractions);
		break;
	case NODE << 8 | KEY_ID:
		sonde_chrome_read_whole(text, len_b, &event->nodes[event->node_count].id, &negative);
		break;
	case NODE << 8 | KEY_PARENT:
		sonde_chrome_read_whole(text, len_b, &event->nodes[event->node_count].parent, &negative);
		break;
	case CALL_FRAME << 8 | KEY_LINE: /* counted from 0 */
		if (sonde_chrome_read_whole(text, len_b, &bits, &negative) && !negative && bits < UINT32_MAX)
			event->nodes[event->node_count].line = (uint32_t)bits + 1;
		break;
	default:
		if (json->state == LIST) {
			int64_t ns = 0;
			int none = 0;
			if (json->list == &event->deltas)
				sonde_chrome_read_micros(text, len_b, &ns, &none);
			else
				sonde_chrome_read_whole(text, len_b, &bits, &negative);
			return sonde_chrome_fill_list(json->chrome, json->list,
						      json->list == &event->deltas ? (uint64_t)ns : bits);
		}
		if (json->state == ARGS) {
			struct sonde_chrome_arg arg = {.kind = SONDE_ARG_INT};
			if (!sonde_chrome_read_whole(text, len_b, &arg.bits, &negative)) {
				double real = sonde_chrome_read_real(text, len_b);
				arg.kind = SONDE_ARG_FLOAT;
				memcpy(&arg.bits, &real, sizeof real);
			}
			arg_add(json, arg, "", 0);
		}
	}
	return 1;
}

static int text_take(void *context, const unsigned char *bytes, size_t len_b)
{
	struct json *json = context;
	struct sonde_chrome_event *event = &json->event;
	const char *text = (const char *)bytes;
	json->silent_b = 0;
	if (json->skip)
		return 1;
	if (json->state == ARGS) {
		arg_add(json, (struct sonde_chrome_arg){.kind = SONDE_ARG_TEXT}, text, len_b);
		return 1;
	}
	int is_number = len_b && (*text == '-' || (*text >= '0' && *text <= '9'));
	if (json->state == EVENT && is_number && (json->key == KEY_TS || json->key == KEY_DUR))
		return number_take(context, text, len_b);
	uint32_t *place = NULL;
	struct sonde_chrome_node *node = event->nodes ? &event->nodes[event->node_count] : NULL;
	if (json->state == EVENT && json->key == KEY_PH)
		event->phase = len_b ? *text : 0;
	else if (json->state == ID2 || (json->state == EVENT && json->key == KEY_ID))
		sonde_chrome_fill_id(event, text, len_b, json->key == KEY_GLOBAL);
	else if (json->state == EVENT)
		place = json->key == KEY_NAME    ? &event->name
			: json->key == KEY_CAT   ? &event->category
			: json->key == KEY_PID   ? &event->pid
			: json->key == KEY_TID   ? &event->tid
			: json->key == KEY_SCOPE ? &event->scope
						 : NULL;
	else if (json->state == CALL_FRAME && node)
		place = json->key == KEY_FUNCTION ? &node->name : json->key == KEY_URL ? &node->file : NULL;
	if (place)
		*place = sonde_chrome_name(json->chrome, text, len_b);
	return 1;
}

static int boolean_take(void *context, int value)
{
	struct json *json = context;
	json->silent_b = 0;
	if (!json->skip && json->state == ARGS)
		arg_add(json, (struct sonde_chrome_arg){.kind = SONDE_ARG_TEXT}, value ? "true" : "false",
			value ? 4 : 5);
	return 1;
}

static int null_take(void *context)
{
	struct json *json = context;
	json->silent_b = 0;
	return json->state != LIST || json->skip || sonde_chrome_fill_list(json->chrome, json->list, 0);
}

static int key_take(void *context, const unsigned char *bytes, size_t len_b)
{
	struct json *json = context;
	json->silent_b = 0;
	if (json->skip)
		return 1;
	json->key = KEY_NONE;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (keys[i].state == json->state && len_b && keys[i].text[0] == (char)bytes[0] &&
		    !strncmp(keys[i].text, (const char *)bytes, len_b) && !keys[i].text[len_b]) {
			json->key = keys[i].key;
			break;
		}
	if (json->state != ARGS)
		return 1;
	json->key_b = len_b < SONDE_CHROME_ARG_MAX_B ? (uint32_t)len_b : SONDE_CHROME_ARG_MAX_B;
	if (!sonde_chrome_fill_bytes(&json->event, (const char *)bytes, json->key_b, &json->key_at))
		json->key_b = 0;
	return 1;
}

static int push(struct json *json, uint8_t state)
{
	json->before[json->level++] = json->state;
	json->state = state;
	json->key = KEY_NONE;
	return 1;
}

/* The objects and lists that are read, by the state and key at which they begin. */
static const struct {
	uint8_t state, key, is_map, within; /* `within`: the state inside */
} opens[] = {
    {DOCUMENT, KEY_EVENTS, 0, EVENTS}, {EVENTS, KEY_NONE, 1, EVENT}, {EVENT, KEY_ARGS, 1, ARGS},
    {EVENT, KEY_ID2, 1, ID2},          {ARGS, KEY_DATA, 1, DATA},    {DATA, KEY_PROFILE, 1, PROFILE},
    {PROFILE, KEY_NODES, 0, NODES},    {NODES, KEY_NONE, 1, NODE},   {NODE, KEY_CALL_FRAME, 1, CALL_FRAME},
    {PROFILE, KEY_SAMPLES, 0, LIST},   {DATA, KEY_DELTAS, 0, LIST},  {DATA, KEY_WEIGHTS, 0, LIST},
};

/* Enters an object or a list that is read. Returns 0 if there are too many nodes. */
static int enter(struct json *json, uint8_t within)
{
	if (within == EVENT)
		sonde_chrome_fill_begin(&json->event);
	if (within == NODE && !sonde_chrome_fill_node(json->chrome, &json->event))
		return 0;
	if (within == LIST)
		json->list = json->key == KEY_SAMPLES  ? &json->event.samples
			     : json->key == KEY_DELTAS ? &json->event.deltas
						       : &json->event.weights;
	return push(json, within);
}

/* Handles the begin of an object or a list, which is skipped unless it is one of those above. */
static int open_take(struct json *json, int is_map)
{
	json->silent_b = 0;
	if (++json->depth > DEPTH_MAX) {
		json->why = "nested more than 256 deep";
		return 0;
	}
	if (json->skip) {
		json->skip++;
		return 1;
	}
	if (json->state == TOP && json->key == KEY_NONE) {
		json->document = (uint8_t)is_map;
		return push(json, is_map ? DOCUMENT : EVENTS);
	}
	for (size_t i = 0; i < sizeof opens / sizeof *opens; i++)
		if (opens[i].state == json->state && opens[i].key == json->key && opens[i].is_map == is_map)
			return enter(json, opens[i].within);
	json->chrome->counts.args += json->state == ARGS;
	json->skip = 1;
	return 1;
}

static int close_take(void *context)
{
	struct json *json = context;
	json->silent_b = 0;
	json->depth--;
	if (json->skip) {
		json->skip--;
		return 1;
	}
	if (json->state == EVENT) {
		json->events_seen++;
		sonde_chrome_take(json->chrome, &json->event);
	} else if (json->state == NODE) {
		json->event.node_count++;
	}
	json->state = json->before[--json->level];
	json->key = KEY_NONE;
	return !json->chrome->error && !json->memory.is_short;
}

static int map_take(void *context)
{
	return open_take(context, 1);
}

static int array_take(void *context)
{
	return open_take(context, 0);
}

static const yajl_callbacks callbacks = {
    .yajl_null = null_take,
    .yajl_boolean = boolean_take,
    .yajl_number = number_take,
    .yajl_string = text_take,
    .yajl_start_map = map_take,
    .yajl_map_key = key_take,
    .yajl_end_map = close_take,
    .yajl_start_array = array_take,
    .yajl_end_array = close_take,
};

/* --- the file ----------------------------------------------------------------------------------------------------- */

static int damaged(struct json *json, yajl_handle handle, uint64_t at_b, const uint8_t *bytes, size_t size_b)
{
	const char *name = sonde_input_name(json->chrome->job->input);
	if (json->memory.is_short)
		return sonde_error(ENOMEM, "out of memory for JSON");
	if (json->chrome->error)
		return json->chrome->error;
	if (json->why)
		return sonde_error(EFBIG, "%s is too big: %s", name, json->why);
	unsigned char *text = sonde_yajl.get_error(handle, 0, bytes, size_b);
	char why[128];
	strncpy(why, text ? (const char *)text : "", sizeof why - 1);
	why[sizeof why - 1] = 0;
	why[strcspn(why, "\n")] = 0;
	if (text)
		sonde_yajl.free_error(handle, text);
	return sonde_error(EBADMSG, "%s: damaged at byte %llu, after %llu events: %s", name,
			   (unsigned long long)(at_b + sonde_yajl.get_bytes_consumed(handle)),
			   (unsigned long long)json->events_seen, why);
}

static int all_read(struct json *json, yajl_handle handle, uint8_t *bytes)
{
	struct sonde_input *input = json->chrome->job->input;
	uint64_t at_b = 0;
	ssize_t got_b;
	while ((got_b = sonde_input_read(input, bytes, CHUNK_B)) > 0) {
		size_t skip_b = at_b ? 0 : sonde_text_space(bytes, (size_t)got_b); /* a byte order mark */
		json->silent_b += (uint64_t)got_b;
		if (sonde_yajl.parse(handle, bytes + skip_b, (size_t)got_b - skip_b) != yajl_status_ok ||
		    json->memory.is_short)
			return damaged(json, handle, at_b + skip_b, bytes + skip_b, (size_t)got_b - skip_b);
		if (json->silent_b > SILENT_MAX_B)
			return sonde_error(EFBIG,
					   "%s is too big: the text or white space at byte %llu is longer than 16 MB",
					   sonde_input_name(input), (unsigned long long)at_b);
		at_b += (uint64_t)got_b;
	}
	if (got_b < 0)
		return (int)got_b;
	json->chrome->is_cut = json->depth > 0;
	if (sonde_yajl.complete_parse(handle) != yajl_status_ok && !json->chrome->is_cut)
		return damaged(json, handle, at_b, bytes, 0);
	return json->chrome->error;
}

int sonde_chrome_read(struct sonde_chrome *chrome)
{
	int rc = sonde_yajl_load();
	if (rc)
		return rc;
	struct json *json = calloc(1, sizeof *json);
	uint8_t *bytes = malloc(CHUNK_B);
	yajl_handle handle = NULL;
	rc = json && bytes ? sonde_yajl_memory_init(&json->memory) : sonde_error(ENOMEM, "out of memory");
	if (!rc && !(handle = sonde_yajl.alloc(&callbacks, &json->memory.functions, json)))
		rc = sonde_error(ENOMEM, "out of memory");
	if (!rc) {
		json->chrome = chrome;
		sonde_yajl.config(handle, yajl_dont_validate_strings, 1);
		sonde_yajl.config(handle, yajl_allow_partial_values, 1);
		rc = all_read(json, handle, bytes);
	}
	if (!rc && !json->events_seen)
		rc = sonde_error(EBADMSG, "%s is JSON without trace events", sonde_input_name(chrome->job->input));
	if (!rc && json->state == EVENT)
		chrome->counts.timeless++;
	if (json)
		sonde_chrome_fill_end(&json->event);
	if (handle)
		sonde_yajl.free(handle);
	if (json)
		sonde_yajl_memory_fini(&json->memory);
	free(bytes);
	free(json);
	return rc;
}
