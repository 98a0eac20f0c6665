/* json.h: a streaming JSON writer that builds no tree in memory.
 *
 * The writer handles commas, nesting and escaping. Names and texts may contain any bytes: control characters are
 * escaped, and invalid UTF-8 becomes U+FFFD. Doubles round-trip; NaN and infinities become null. Write errors remain in
 * the stream for the caller to check with ferror(). Misuse, such as a value without a key in an object, is a bug in the
 * caller and trips an assertion.
 *
 *	sonde_json_init(&json, stdout, 2);
 *	sonde_json_object(&json);
 *	sonde_json_put_uint(&json, "threads", 4);
 *	sonde_json_end(&json); // {"threads": 4}
 */
#ifndef SONDE_UTIL_JSON_H
#define SONDE_UTIL_JSON_H

#include <stdint.h>
#include <stdio.h>

#define SONDE_JSON_DEPTH_MAX 64

struct sonde_json {
	FILE *out;
	int indent; /* spaces per level; 0 = no white space */
	uint32_t depth;
	int keyed;       /* a key has been written and awaits its value */
	uint64_t object; /* one bit per level: is an object */
	uint64_t filled; /* one bit per level: has a member */
};

void sonde_json_init(struct sonde_json *json, FILE *out, int indent);

void sonde_json_object(struct sonde_json *json);
void sonde_json_array(struct sonde_json *json);
/* Closes the innermost object or array; closing the outermost one adds a newline. */
void sonde_json_end(struct sonde_json *json);

void sonde_json_key(struct sonde_json *json, const char *key);
void sonde_json_text(struct sonde_json *json, const char *text); /* NULL is written as null */
void sonde_json_uint(struct sonde_json *json, uint64_t value);
void sonde_json_int(struct sonde_json *json, int64_t value);
void sonde_json_real(struct sonde_json *json, double value);
void sonde_json_bool(struct sonde_json *json, int value);
void sonde_json_null(struct sonde_json *json);
/* Writes `text` verbatim, which must be valid JSON: for fixed-point numbers. */
void sonde_json_raw(struct sonde_json *json, const char *text);

/* Key and value in one call; sonde_json_end() closes the object or array. */
void sonde_json_put_object(struct sonde_json *json, const char *key);
void sonde_json_put_array(struct sonde_json *json, const char *key);
void sonde_json_put_text(struct sonde_json *json, const char *key, const char *text);
void sonde_json_put_uint(struct sonde_json *json, const char *key, uint64_t value);
/* null unless the value is known. */
void sonde_json_put_known(struct sonde_json *json, const char *key, int is_known, uint64_t value);
void sonde_json_put_real(struct sonde_json *json, const char *key, double value);
void sonde_json_put_bool(struct sonde_json *json, const char *key, int value);

#endif
