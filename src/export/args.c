/* args.c: collects the arguments of a zone or span (args.h). */
#include "export/args.h"

#include <stdio.h>
#include <string.h>

#include "util/utf8.h"

#define OURS "sonde."
#define OWN_KEY_B 32
#define REPLACEMENT "\xef\xbf\xbd"

/* Copies `text` of `size_b` bytes, up to its first NUL, as a string of valid UTF-8. */
static void read_key(char out[SONDE_TRACK_TEXT_B], const char *text, size_t size_b)
{
	char raw[SONDE_TRACK_TEXT_B];
	size_t out_b = 0;
	snprintf(raw, sizeof raw, "%.*s", (int)size_b, text);
	for (const char *at = raw; *at;) {
		uint32_t code;
		size_t len_b = sonde_utf8_next(at, &code);
		const char *from = code == SONDE_UTF8_INVALID ? REPLACEMENT : at;
		size_t from_b = code == SONDE_UTF8_INVALID ? strlen(REPLACEMENT) : len_b;
		if (out_b + from_b >= SONDE_TRACK_TEXT_B)
			break;
		memcpy(out + out_b, from, from_b);
		out_b += from_b;
		at += len_b;
	}
	out[out_b] = 0;
}

static int is_args(const struct sonde_args *args, const char *key)
{
	for (size_t i = 0; i < args->newest_count; i++)
		if (strcmp(args->keys[i], key) == 0)
			return 1;
	return 0;
}

static int is_whole(const struct sonde_event_arg *arg)
{
	size_t size_b = (size_t)arg->head.words * 8;
	return size_b >= sizeof *arg && (size_t)arg->key_b + arg->value_b <= size_b - sizeof *arg;
}

static void add_work(struct sonde_args *args, const struct sonde_event_work *work)
{
	const struct sonde_track_arg sums[SONDE_ARGS_WORKS] = {
	    {.key = "flop", .type = SONDE_TRACK_REAL, .real = work->flop},
	    {.key = "bytes", .type = SONDE_TRACK_REAL, .real = work->bytes},
	    {.key = "items", .type = SONDE_TRACK_REAL, .real = work->items}};
	double before[SONDE_ARGS_WORKS] = {0};
	for (size_t i = 0; i < SONDE_ARGS_WORKS; i++) {
		before[i] = args->ours ? args->args[i].real : 0;
		args->args[i] = sums[i];
		args->args[i].real += before[i];
	}
	args->count = args->ours = SONDE_ARGS_WORKS;
}

void sonde_args_open(struct sonde_args *args)
{
	args->count = args->ours = args->newest_count = 0;
}

void sonde_args_add(struct sonde_args *args, const struct sonde_event *event, size_t *dropped)
{
	const struct sonde_event_work *work = (const struct sonde_event_work *)event;
	const struct sonde_event_arg *from = (const struct sonde_event_arg *)event;
	size_t i = args->newest_count;
	if (event->type == SONDE_EVENT_WORK && (size_t)event->words * 8 >= sizeof *work)
		add_work(args, work);
	if (event->type != SONDE_EVENT_ARG || !is_whole(from))
		return;
	if (i == SONDE_ARGS_MAX) {
		(*dropped)++;
		return;
	}
	read_key(args->keys[i], (const char *)(from + 1), from->key_b);
	if (is_args(args, args->keys[i]))
		return;
	struct sonde_track_arg *arg = &args->newest[args->newest_count++];
	arg->key = args->keys[i];
	arg->type = from->kind == SONDE_ARG_INT     ? SONDE_TRACK_INT
		    : from->kind == SONDE_ARG_UINT  ? SONDE_TRACK_UINT
		    : from->kind == SONDE_ARG_FLOAT ? SONDE_TRACK_REAL
						    : SONDE_TRACK_TEXT;
	if (arg->type == SONDE_TRACK_REAL) {
		memcpy(&arg->real, &from->bits, sizeof arg->real);
	} else if (arg->type == SONDE_TRACK_TEXT) {
		snprintf(args->texts[i], SONDE_TRACK_TEXT_B, "%.*s", (int)from->value_b,
			 (const char *)(from + 1) + from->key_b);
		arg->text = args->texts[i];
	} else {
		arg->number = from->bits;
	}
}

void sonde_args_close(struct sonde_args *args)
{
	for (size_t i = args->newest_count; i > 0; i--)
		args->args[args->count++] = args->newest[i - 1];
}

const char *sonde_args_own(const struct sonde_args *args, const char *key, char text[SONDE_ARGS_OWN_B])
{
	_Static_assert(SONDE_ARGS_OWN_B >= (SONDE_ARGS_MAX + 1) * (sizeof OURS - 1) + OWN_KEY_B, "room");
	char *at = text + SONDE_ARGS_OWN_B - OWN_KEY_B;
	snprintf(at, OWN_KEY_B, "%s", key);
	while (is_args(args, at)) { /* the program uses the same key */
		at -= sizeof OURS - 1;
		memcpy(at, OURS, sizeof OURS - 1);
	}
	return at;
}
