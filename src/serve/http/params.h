/* params.h: the parameters of a request's query string, decoded: "section=functions,zones&from=0". */
#ifndef SONDE_SERVE_HTTP_PARAMS_H
#define SONDE_SERVE_HTTP_PARAMS_H

#include <stddef.h>

enum { SONDE_PARAMS_MAX = 16 };

struct sonde_param {
	const char *name, *value; /* any bytes but NUL */
};

struct sonde_params {
	struct sonde_param all[SONDE_PARAMS_MAX];
	size_t count;
	char *text; /* what they point into */
};

/* What stands behind the "?" of a request. %XX and + are decoded; a name without "=" has the value "". -EINVAL with a
 * sentence: an escape that is none, an escaped NUL, a name twice, no name, or too many. Freed by sonde_params_fini(),
 * which takes zeroed ones, too. */
int sonde_params_parse(struct sonde_params *out, const char *query);
void sonde_params_fini(struct sonde_params *params);

/* The same, and it is not there any more. */
const char *sonde_params_take(struct sonde_params *params, const char *name);

/* NULL: it is not there. */
const char *sonde_params_get(const struct sonde_params *params, const char *name);

#endif
