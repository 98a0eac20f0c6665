/* params.c: parses and decodes the query string of a request.
 *
 * The HTTP library could decode it, too, but it accepts input that different programs interpret differently: a
 * truncated escape, an embedded NUL, a repeated name. All of these are refused here. A copy is decoded in place,
 * because decoding only shrinks it.
 */
#include "serve/http/params.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

static int hex_of(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	digit |= 0x20;
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static int decode(char *text)
{
	char *out = text;
	for (const char *at = text; *at; at++) {
		if (*at != '%') {
			*out++ = *at == '+' ? ' ' : *at;
			continue;
		}
		int high = hex_of(at[1]), low = high < 0 ? -1 : hex_of(at[2]);
		if (low < 0)
			return sonde_error(EINVAL, "'%.3s' is not an escape: use %% and two hexadecimal digits", at);
		if (!(high | low))
			return sonde_error(EINVAL, "%%00 is not allowed in a name");
		*out++ = (char)(high << 4 | low);
		at += 2;
	}
	*out = '\0';
	return 0;
}

static int take(struct sonde_params *params, char *name)
{
	char *value = strchr(name, '=');
	if (value)
		*value++ = '\0';
	int rc = decode(name);
	if (!rc && value)
		rc = decode(value);
	if (rc)
		return rc;
	if (!*name)
		return sonde_error(EINVAL, "a parameter without a name");
	if (sonde_params_get(params, name))
		return sonde_error(EINVAL, "the parameter %.40s is given twice", name);
	if (params->count == SONDE_PARAMS_MAX)
		return sonde_error(EINVAL, "more than %d parameters", SONDE_PARAMS_MAX);
	params->all[params->count++] = (struct sonde_param){name, value ? value : ""};
	return 0;
}

int sonde_params_parse(struct sonde_params *out, const char *query)
{
	struct sonde_params params = {.text = strdup(query)};
	char *remainder = params.text, *part;
	int rc = remainder ? 0 : sonde_error(ENOMEM, "out of memory for a request");
	while (!rc && (part = strsep(&remainder, "&")))
		if (*part)
			rc = take(&params, part);
	if (rc)
		sonde_params_fini(&params);
	else
		*out = params;
	return rc;
}

void sonde_params_fini(struct sonde_params *params)
{
	free(params->text);
	*params = (struct sonde_params){0};
}

const char *sonde_params_get(const struct sonde_params *params, const char *name)
{
	for (size_t i = 0; i < params->count; i++)
		if (strcmp(params->all[i].name, name) == 0)
			return params->all[i].value;
	return NULL;
}

int sonde_params_check(const struct sonde_params *params, const char *const *known)
{
	for (size_t i = 0; i < params->count; i++) {
		const char *const *name = known;
		while (*name && strcmp(*name, params->all[i].name) != 0)
			name++;
		if (!*name && strcmp(params->all[i].name, "token") != 0)
			return sonde_error(EINVAL, "unknown parameter '%s'", params->all[i].name);
	}
	return 0;
}

const char *sonde_params_take(struct sonde_params *params, const char *name)
{
	for (size_t i = 0; i < params->count; i++) {
		const char *value = params->all[i].value;
		if (strcmp(params->all[i].name, name) != 0)
			continue;
		memmove(&params->all[i], &params->all[i + 1], (--params->count - i) * sizeof params->all[i]);
		return value;
	}
	return NULL;
}
