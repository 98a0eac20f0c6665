/* json.c: keeps two bits per nesting level: whether it is an object, and whether it already has a member. */
#include "util/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/utf8.h"

void sonde_json_init(struct sonde_json *json, FILE *out, int indent)
{
	*json = (struct sonde_json){.out = out, .indent = indent};
}

static int has(uint64_t bits, uint32_t depth)
{
	return depth && bits >> (depth - 1) & 1;
}

static void new_line(struct sonde_json *json)
{
	if (json->indent)
		fprintf(json->out, "\n%*s", (int)json->depth * json->indent, "");
}

/* Writes the comma and line break that precede a value or key; nothing between a key and its value. */
static void separate(struct sonde_json *json)
{
	if (json->keyed) {
		json->keyed = 0;
		return;
	}
	if (!json->depth)
		return;
	if (has(json->filled, json->depth))
		putc(',', json->out);
	json->filled |= UINT64_C(1) << (json->depth - 1);
	new_line(json);
}

static void before_value(struct sonde_json *json)
{
	assert(json->keyed || !has(json->object, json->depth));
	separate(json);
}

static void open_level(struct sonde_json *json, int object)
{
	before_value(json);
	assert(json->depth < SONDE_JSON_DEPTH_MAX);
	uint64_t bit = UINT64_C(1) << json->depth++;
	json->filled &= ~bit;
	json->object = object ? json->object | bit : json->object & ~bit;
	putc(object ? '{' : '[', json->out);
}

void sonde_json_object(struct sonde_json *json)
{
	open_level(json, 1);
}

void sonde_json_array(struct sonde_json *json)
{
	open_level(json, 0);
}

void sonde_json_end(struct sonde_json *json)
{
	assert(json->depth && !json->keyed);
	int object = has(json->object, json->depth), filled = has(json->filled, json->depth);
	json->depth--;
	if (filled)
		new_line(json);
	putc(object ? '}' : ']', json->out);
	if (!json->depth)
		putc('\n', json->out);
}

/* Escapes more than JSON requires: '<', which could close a tag when embedded in HTML; C1 controls, which terminals
 * interpret; and characters that end lines in scripts, are invisible, or reorder the surrounding text. */
static int wants_escape(uint32_t code)
{
	return code < 0x20 || code == '<' || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
	       (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
}

static void put_code(FILE *out, const char *bytes, size_t len, uint32_t code)
{
	static const char short_escapes[] = "btn\0fr";
	if (code == '"' || code == '\\')
		fprintf(out, "\\%c", (int)code);
	else if (code >= 8 && code <= 13 && code != 11)
		fprintf(out, "\\%c", short_escapes[code - 8]);
	else if (wants_escape(code))
		fprintf(out, "\\u%04" PRIx32, code);
	else if (code == SONDE_UTF8_INVALID)
		fputs("\xef\xbf\xbd", out);
	else
		fwrite(bytes, 1, len, out);
}

static void put_string(FILE *out, const char *text)
{
	putc('"', out);
	while (*text) {
		size_t plain = 0; /* most text needs no escapes and is written in one piece */
		while ((unsigned char)text[plain] >= 0x20 && (unsigned char)text[plain] < 0x7f && text[plain] != '"' &&
		       text[plain] != '\\' && text[plain] != '<')
			plain++;
		fwrite(text, 1, plain, out);
		text += plain;
		if (!*text)
			break;
		uint32_t code;
		size_t len = sonde_utf8_next(text, &code);
		put_code(out, text, len, code);
		text += len;
	}
	putc('"', out);
}

void sonde_json_key(struct sonde_json *json, const char *key)
{
	assert(has(json->object, json->depth) && !json->keyed);
	separate(json);
	put_string(json->out, key);
	fputs(json->indent ? ": " : ":", json->out);
	json->keyed = 1;
}

void sonde_json_raw(struct sonde_json *json, const char *text)
{
	before_value(json);
	fputs(text, json->out);
}

void sonde_json_text(struct sonde_json *json, const char *text)
{
	if (!text) {
		sonde_json_raw(json, "null");
		return;
	}
	before_value(json);
	put_string(json->out, text);
}

void sonde_json_uint(struct sonde_json *json, uint64_t value)
{
	before_value(json);
	fprintf(json->out, "%" PRIu64, value);
}

void sonde_json_int(struct sonde_json *json, int64_t value)
{
	before_value(json);
	fprintf(json->out, "%" PRIi64, value);
}

void sonde_json_real(struct sonde_json *json, double value)
{
	if (!isfinite(value)) {
		sonde_json_raw(json, "null");
		return;
	}
	char text[40];
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	for (char *at = text; *at; at++) /* the locale's decimal separator */
		if (!strchr("+-.0123456789e", *at))
			*at = '.';
	sonde_json_raw(json, text);
}

void sonde_json_bool(struct sonde_json *json, int value)
{
	sonde_json_raw(json, value ? "true" : "false");
}

void sonde_json_null(struct sonde_json *json)
{
	sonde_json_raw(json, "null");
}

void sonde_json_put_object(struct sonde_json *json, const char *key)
{
	sonde_json_key(json, key);
	sonde_json_object(json);
}

void sonde_json_put_array(struct sonde_json *json, const char *key)
{
	sonde_json_key(json, key);
	sonde_json_array(json);
}

void sonde_json_put_text(struct sonde_json *json, const char *key, const char *text)
{
	sonde_json_key(json, key);
	sonde_json_text(json, text);
}

void sonde_json_put_uint(struct sonde_json *json, const char *key, uint64_t value)
{
	sonde_json_key(json, key);
	sonde_json_uint(json, value);
}

void sonde_json_put_known(struct sonde_json *json, const char *key, int is_known, uint64_t value)
{
	sonde_json_key(json, key);
	if (is_known)
		sonde_json_uint(json, value);
	else
		sonde_json_null(json);
}

void sonde_json_put_real(struct sonde_json *json, const char *key, double value)
{
	sonde_json_key(json, key);
	sonde_json_real(json, value);
}

void sonde_json_put_bool(struct sonde_json *json, const char *key, int value)
{
	sonde_json_key(json, key);
	sonde_json_bool(json, value);
}
