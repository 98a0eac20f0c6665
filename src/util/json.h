/* json.h: writing JSON to a stream as it is made, without a tree in memory.
 *
 * Commas, nesting and escaping are the writer's business; every name and text may hold any bytes: control characters
 * are escaped, what is not UTF-8 becomes U+FFFD. Numbers come back as the same doubles; NaN and infinities are null.
 * Write errors stay in the stream for the caller to find (ferror). Misuse (a value without a key in an object) is a bug
 * of ours: asserted.
 */
#ifndef SONDE_UTIL_JSON_H
#define SONDE_UTIL_JSON_H

#include <stdint.h>
#include <stdio.h>

#define SONDE_JSON_DEPTH_MAX 64

struct sonde_json {
	FILE *out;
	int indent; /* spaces a level; 0 = no white space */
	uint32_t depth;
	int keyed;       /* a key waits for its value */
	uint64_t object; /* bit per level: it is an object */
	uint64_t filled; /* bit per level: it has a member */
};

void sonde_json_init(struct sonde_json *json, FILE *out, int indent);

void sonde_json_object(struct sonde_json *json);
void sonde_json_array(struct sonde_json *json);
/* Closes the innermost object or array; after the outermost comes a newline. */
void sonde_json_end(struct sonde_json *json);

void sonde_json_key(struct sonde_json *json, const char *key);
void sonde_json_text(struct sonde_json *json, const char *text); /* NULL: null */
void sonde_json_uint(struct sonde_json *json, uint64_t value);
void sonde_json_int(struct sonde_json *json, int64_t value);
void sonde_json_real(struct sonde_json *json, double value);
void sonde_json_bool(struct sonde_json *json, int value);
void sonde_json_null(struct sonde_json *json);
/* A value whose text is already JSON: for fixed-point numbers. */
void sonde_json_raw(struct sonde_json *json, const char *text);

/* Members in one call. */
void sonde_json_put_text(struct sonde_json *json, const char *key, const char *text);
void sonde_json_put_uint(struct sonde_json *json, const char *key, uint64_t value);
void sonde_json_put_real(struct sonde_json *json, const char *key, double value);

#endif
