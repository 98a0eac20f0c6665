/* thresholds.c: thresholds of findings: defaults, configuration file, and command line. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/findings/findings.h"
#include "util/error.h"

#define CONFIG "/sonde/findings.conf"

const struct sonde_threshold_row sonde_thresholds[SONDE_THRESHOLDS] = {
#define SONDE_THRESHOLD(id, name, value, meaning) [SONDE_THRESHOLD_##id] = {name, value, meaning},
#include "analyze/findings/thresholds.def"
#undef SONDE_THRESHOLD
};

/* Strips surrounding white space in place. */
static char *trimmed(char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	size_t length = strlen(text);
	while (length && isspace((unsigned char)text[length - 1]))
		text[--length] = '\0';
	return text;
}

/* Rejects negative values and NAN. */
static int parse_value(const char *text, double *out)
{
	char *end;
	errno = 0;
	double value = strtod(text, &end);
	int is_number = end != text && !errno && value >= 0 && isfinite(value);
	while (isspace((unsigned char)*end))
		end++;
	if (*end == '%') {
		value /= 100;
		end++;
	}
	*out = value;
	return is_number && !*end ? 0 : -1;
}

static int set(double *values, const char *name, const char *value)
{
	for (size_t i = 0; i < SONDE_THRESHOLDS; i++) {
		if (strcmp(sonde_thresholds[i].name, name) != 0)
			continue;
		double number;
		if (parse_value(value, &number))
			return sonde_error(EINVAL, "'%s' is not a number for %s; for example %s=%g", value, name, name,
					   sonde_thresholds[i].value);
		values[i] = number;
		return 0;
	}
	return sonde_error(EINVAL, "unknown threshold '%s' ('sonde advise --rules' lists them)", name);
}

int sonde_threshold_set(double *values, const char *text)
{
	char copy[256];
	const char *equals = strchr(text, '=');
	if (!equals || strlen(text) >= sizeof copy)
		return sonde_error(EINVAL, "'%s' is not NAME=VALUE; for example %s=%g", text, sonde_thresholds[0].name,
				   sonde_thresholds[0].value);
	memcpy(copy, text, strlen(text) + 1);
	copy[equals - text] = '\0';
	return set(values, trimmed(copy), trimmed(copy + (equals - text) + 1));
}

static int read_lines(double *values, FILE *file, const char *path)
{
	char line[512];
	for (unsigned number = 1; fgets(line, sizeof line, file); number++) {
		line[strcspn(line, "#\n")] = '\0';
		const char *text = trimmed(line);
		if (!*text)
			continue;
		if (sonde_threshold_set(values, text)) {
			char why[300];
			snprintf(why, sizeof why, "%s", sonde_error_text());
			return sonde_error(EINVAL, "%s, line %u: %s", path, number, why);
		}
	}
	return 0;
}

static int read_config(double *values)
{
	char path[4096];
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int is_set = config && *config == '/';
	if (!is_set && !(home && *home))
		return 0;
	int length = is_set ? snprintf(path, sizeof path, "%s" CONFIG, config)
			    : snprintf(path, sizeof path, "%s/.config" CONFIG, home);
	FILE *file = length > 0 && (size_t)length < sizeof path ? fopen(path, "re") : NULL;
	if (!file)
		return 0;
	int rc = read_lines(values, file, path);
	fclose(file);
	return rc;
}

int sonde_thresholds_read(double *values, const struct sonde_pass_options *options)
{
	for (size_t i = 0; i < SONDE_THRESHOLDS; i++)
		values[i] = sonde_thresholds[i].value;
	int rc = read_config(values);
	for (size_t i = 0; !rc && i < options->threshold_count; i++)
		rc = sonde_threshold_set(values, options->thresholds[i]);
	return rc;
}
