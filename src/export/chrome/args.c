/* args.c: the arguments of a zone or span: those set by the program, next to ours.
 *
 * A JSON object must not have duplicate keys. The program's keys are kept unchanged; if it set one repeatedly, the last
 * value counts. Ours are renamed to sonde.WORD if the program uses the same word. Keys are compared as they will be
 * read, with bytes that are not UTF-8 replaced by U+FFFD.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "export/chrome/event.h"
#include "util/utf8.h"

#define OURS "sonde."
#define OWN_KEY_B 32
#define REPLACEMENT "\xef\xbf\xbd"

/* Copies `text` of `size_b` bytes, up to its first NUL, as a string of valid UTF-8. */
static void read_key(char out[SONDE_CHROME_TEXT_B], const char *text, size_t size_b)
{
	char raw[SONDE_CHROME_TEXT_B];
	size_t out_b = 0;
	snprintf(raw, sizeof raw, "%.*s", (int)size_b, text);
	for (const char *at = raw; *at;) {
		uint32_t code;
		size_t len_b = sonde_utf8_next(at, &code);
		const char *from = code == SONDE_UTF8_INVALID ? REPLACEMENT : at;
		size_t from_b = code == SONDE_UTF8_INVALID ? strlen(REPLACEMENT) : len_b;
		if (out_b + from_b >= SONDE_CHROME_TEXT_B)
			break;
		memcpy(out + out_b, from, from_b);
		out_b += from_b;
		at += len_b;
	}
	out[out_b] = 0;
}

static int is_said(const struct sonde_chrome_said *said, const char *key)
{
	for (size_t i = 0; i < said->count; i++)
		if (strcmp(said->keys[i], key) == 0)
			return 1;
	return 0;
}

static int is_whole(const struct sonde_event_arg *arg)
{
	size_t size_b = (size_t)arg->head.words * 8;
	return size_b >= sizeof *arg && (size_t)arg->key_b + arg->value_b <= size_b - sizeof *arg;
}

void sonde_chrome_say(struct sonde_chrome_said *said, size_t *dropped, const struct sonde_event *event)
{
	const struct sonde_event_work *work = (const struct sonde_event_work *)event;
	if (event->type == SONDE_EVENT_WORK && (size_t)event->words * 8 >= sizeof *work) {
		said->works++;
		said->flop += work->flop;
		said->bytes += work->bytes;
		said->items += work->items;
	}
	const struct sonde_event_arg *arg = (const struct sonde_event_arg *)event;
	if (event->type != SONDE_EVENT_ARG || !is_whole(arg))
		return;
	if (said->count == SONDE_CHROME_SAID_MAX) {
		(*dropped)++;
		return;
	}
	char *key = said->keys[said->count];
	read_key(key, (const char *)(arg + 1), arg->key_b);
	if (!is_said(said, key))
		said->args[said->count++] = arg;
}

const char *sonde_chrome_own_name(const struct sonde_chrome_said *said, const char *key, char text[SONDE_CHROME_OWN_B])
{
	_Static_assert(SONDE_CHROME_OWN_B >= (SONDE_CHROME_SAID_MAX + 1) * (sizeof OURS - 1) + OWN_KEY_B, "room");
	char *at = text + SONDE_CHROME_OWN_B - OWN_KEY_B;
	snprintf(at, OWN_KEY_B, "%s", key);
	while (is_said(said, at)) { /* the program uses that key, too */
		at -= sizeof OURS - 1;
		memcpy(at, OURS, sizeof OURS - 1);
	}
	return at;
}

void sonde_chrome_own_key(struct sonde_chrome *chrome, const char *key)
{
	char text[SONDE_CHROME_OWN_B];
	sonde_json_key(&chrome->json, sonde_chrome_own_name(&chrome->said, key, text));
}

static void put_value(struct sonde_json *json, const struct sonde_event_arg *arg)
{
	char text[SONDE_CHROME_TEXT_B];
	double real;
	memcpy(&real, &arg->bits, sizeof real);
	snprintf(text, sizeof text, "%.*s", (int)arg->value_b, (const char *)(arg + 1) + arg->key_b);
	if (arg->kind == SONDE_ARG_INT)
		sonde_json_int(json, (int64_t)arg->bits);
	else if (arg->kind == SONDE_ARG_UINT)
		sonde_json_uint(json, arg->bits);
	else if (arg->kind == SONDE_ARG_FLOAT)
		sonde_json_real(json, real);
	else
		sonde_json_text(json, text);
}

void sonde_chrome_put_said(struct sonde_chrome *chrome)
{
	struct sonde_chrome_said *said = &chrome->said;
	const struct {
		const char *key;
		double value;
	} works[] = {{"flop", said->flop}, {"bytes", said->bytes}, {"items", said->items}};
	for (size_t i = 0; said->works && i < sizeof works / sizeof *works; i++) {
		sonde_chrome_own_key(chrome, works[i].key);
		sonde_json_real(&chrome->json, works[i].value);
	}
	for (size_t i = said->count; i > 0; i--) {
		sonde_json_key(&chrome->json, said->keys[i - 1]);
		put_value(&chrome->json, said->args[i - 1]);
	}
	said->works = said->count = 0;
	said->flop = said->bytes = said->items = 0;
}

void sonde_chrome_object(struct sonde_chrome *chrome, uint32_t id)
{
	const struct sonde_object *object = sonde_session_object(chrome->session, id);
	char address[24];
	if (!object)
		return;
	snprintf(address, sizeof address, "0x%" PRIx64, object->address);
	if (*object->name || object->address)
		sonde_json_put_text(&chrome->json, "object", *object->name ? object->name : address);
}
