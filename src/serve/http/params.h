/* params.h: the decoded parameters of a query string: "section=functions,zones&from=0". */
#ifndef SONDE_SERVE_HTTP_PARAMS_H
#define SONDE_SERVE_HTTP_PARAMS_H

#include <stddef.h>

enum { SONDE_PARAMS_MAX = 16 };

struct sonde_param {
	const char *name, *value; /* any bytes except NUL */
};

struct sonde_params {
	struct sonde_param all[SONDE_PARAMS_MAX];
	size_t count;
	char *text; /* the storage into which names and values point */
};

/* Parses the part of a request after "?". Decodes %XX and +; a name without "=" has the value "". -EINVAL with a
 * message for an invalid escape, an escaped NUL, a repeated or missing name, or too many parameters. Free with
 * sonde_params_fini(), which accepts a zeroed struct, too. */
int sonde_params_parse(struct sonde_params *out, const char *query);
void sonde_params_fini(struct sonde_params *params);

/* -EINVAL with a message for a parameter that is neither the token nor one of `known`, which ends with NULL. */
int sonde_params_check(const struct sonde_params *params, const char *const *known);

/* Removes a parameter from the list and returns its value; NULL: it is not present. */
const char *sonde_params_take(struct sonde_params *params, const char *name);

/* Returns the value of a parameter; NULL: it is not present. */
const char *sonde_params_get(const struct sonde_params *params, const char *name);

#endif
