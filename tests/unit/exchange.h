/* exchange.h: reads the output of the exchange formats again: their texts, and the sums of their values. */
#ifndef SONDE_TESTS_EXCHANGE_H
#define SONDE_TESTS_EXCHANGE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/varint.h"
#include "export/format.h"
#include "util/utf8.h"

enum { EXCHANGE_VALUES_MAX = 4 };

struct text {
	char *data;
	size_t size_b;
};

static inline struct text exchange_export(struct sonde_session *session, const char *name,
					  const struct sonde_format_options *options)
{
	const struct sonde_format *format = sonde_format_find(name);
	assert_non_null(format);
	assert_non_null(format->export);
	struct text text = {0};
	FILE *out = open_memstream(&text.data, &text.size_b);
	assert_int_equal(format->export(session, options, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* Writes a text, which it frees, to a file of a folder; not 0 on failure. */
static inline int exchange_put(const char *to, const char *name, const char *extension, char *text)
{
	char file[4096];
	snprintf(file, sizeof file, "%s/%s%s", to, name, extension);
	FILE *out = fopen(file, "w");
	int rc = !out || fputs(text, out) < 0;
	rc |= out && fclose(out);
	free(text);
	return rc;
}

/* Writes a recording in every exchange format to a folder, for other people's validators; not 0 on failure. */
static inline int exchange_put_all(struct sonde_session *session, const char *to, const char *name,
				   const struct sonde_format_options *options)
{
	int rc = 0;
	for (size_t i = 0; i < sonde_format_count && !rc; i++) {
		const struct sonde_format *format = sonde_formats[i];
		char file[4096];
		if (!format->export)
			continue;
		snprintf(file, sizeof file, "%s/%s%s", to, name, format->extension);
		FILE *out = fopen(file, "w");
		rc = !out || format->export(session, options, out);
		rc |= out && fclose(out);
	}
	return rc;
}

static inline void assert_has(const char *text, const char *part)
{
	if (!text || !strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text ? text : "nothing");
}

/* Valid UTF-8 without a control character but the newlines. */
static inline void assert_harmless(struct text text)
{
	assert_int_equal(strlen(text.data), text.size_b);
	for (const char *at = text.data; *at;) {
		uint32_t code;
		at += sonde_utf8_next(at, &code);
		if (code == SONDE_UTF8_INVALID || (code < 0x20 && code != '\n') || (code >= 0x7f && code < 0xa0) ||
		    code == 0x202e)
			fail_msg("U+%04x at byte %td", code, at - text.data);
	}
}

/* The functions below free the text. */

static inline uint64_t exchange_folded_sum(struct text text)
{
	uint64_t sum = 0;
	assert_harmless(text);
	for (char *line = strtok(text.data, "\n"); line; line = strtok(NULL, "\n"))
		sum += strtoull(strrchr(line, ' '), NULL, 10);
	free(text.data);
	return sum;
}

/* Sums the numbers of every "weights":[…]. */
static inline uint64_t exchange_speedscope_sum(struct text text)
{
	uint64_t sum = 0;
	assert_harmless(text);
	for (char *at = text.data; (at = strstr(at, "\"weights\":["));) {
		at += strlen("\"weights\":[");
		while (*at && *at != ']') {
			sum += strtoull(at, &at, 10);
			at += *at == ',';
		}
	}
	free(text.data);
	return sum;
}

/* Own costs: lines that begin with a number and do not follow a "calls=" line. How many values each has. */
static inline size_t exchange_callgrind_sums(struct text text, uint64_t sums[EXCHANGE_VALUES_MAX])
{
	int call = 0;
	size_t count = 0;
	assert_harmless(text);
	memset(sums, 0, EXCHANGE_VALUES_MAX * sizeof *sums);
	for (char *line = strtok(text.data, "\n"); line; line = strtok(NULL, "\n")) {
		if (*line >= '0' && *line <= '9' && !call) {
			char *at = strchr(line, ' ');
			for (count = 0; at && *at == ' ' && count < EXCHANGE_VALUES_MAX; count++)
				sums[count] += strtoull(at, &at, 10);
		}
		call = !strncmp(line, "calls=", 6);
	}
	free(text.data);
	return count;
}

/* --- profile.proto ------------------------------------------------------------------------------------------------ */

struct exchange_field {
	uint32_t number, wire;
	uint64_t value;
	const uint8_t *data;
	size_t data_b;
};

static inline const uint8_t *exchange_field(const uint8_t *at, const uint8_t *end, struct exchange_field *field)
{
	uint64_t tag = 0;
	at = sonde_varint_get(at, end, &tag);
	assert_non_null(at);
	*field = (struct exchange_field){.number = (uint32_t)(tag >> 3), .wire = tag & 7};
	at = sonde_varint_get(at, end, &field->value);
	assert_non_null(at);
	if (field->wire == 0)
		return at;
	assert_int_equal(field->wire, 2);
	assert_true(field->value <= (uint64_t)(end - at));
	field->data = at;
	field->data_b = (size_t)field->value;
	return at + field->data_b;
}

/* The unzipped profile; the caller frees. */
static inline uint8_t *exchange_unzip(struct text text, size_t *size_b)
{
	size_t cap = 1 << 20;
	uint8_t *data = malloc(cap);
	z_stream stream = {.next_in = (uint8_t *)text.data,
			   .avail_in = (unsigned)text.size_b,
			   .next_out = data,
			   .avail_out = (unsigned)cap};
	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	*size_b = stream.total_out;
	inflateEnd(&stream);
	free(text.data);
	return data;
}

static inline void exchange_add_sample(struct exchange_field sample, size_t types, uint64_t *sums)
{
	struct exchange_field field;
	for (const uint8_t *at = sample.data, *end = at + sample.data_b; at < end;) {
		at = exchange_field(at, end, &field);
		if (field.number != 2)
			continue;
		const uint8_t *number = field.data, *last = field.data + field.data_b;
		for (size_t i = 0; i < types; i++) {
			uint64_t value = 0;
			number = sonde_varint_get(number, last, &value);
			assert_non_null(number);
			sums[i] += value;
		}
		assert_ptr_equal(number, last);
	}
}

/* The sums of all samples' values. How many sample types there are. */
static inline size_t exchange_pprof_sums(struct text text, uint64_t sums[EXCHANGE_VALUES_MAX])
{
	size_t size_b, strings = 0, types = 0;
	uint8_t *data = exchange_unzip(text, &size_b);
	struct exchange_field field;
	memset(sums, 0, EXCHANGE_VALUES_MAX * sizeof *sums);
	for (const uint8_t *at = data; at < data + size_b;) {
		at = exchange_field(at, data + size_b, &field);
		types += field.number == 1;
		assert_true(types <= EXCHANGE_VALUES_MAX);
		if (field.number == 2)
			exchange_add_sample(field, types, sums);
		if (field.number == 6 && strings++ == 0)
			assert_int_equal(field.data_b, 0);
		if (field.number == 6)
			for (size_t i = 0; i < field.data_b; i++)
				assert_true(field.data[i] >= 0x20 && field.data[i] != 0x7f);
	}
	assert_true(strings > 10);
	free(data);
	return types;
}

#endif
