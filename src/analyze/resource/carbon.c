/* carbon.c: looks up the rows of resource/carbon.def. */
#include "analyze/resource/carbon.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <strings.h>

#include "util/error.h"

#define MOST_G_KWH 5000.0 /* the dirtiest power stations emit a third of this */

static const struct sonde_carbon_row rows[] = {
#define SONDE_CARBON(alpha2, alpha3, name, year, g_kwh) {alpha2, alpha3, name, year, g_kwh},
#include "analyze/resource/carbon.def"
#undef SONDE_CARBON
};
#define COUNT (sizeof rows / sizeof *rows)

const struct sonde_carbon_row *sonde_carbon_find(const char *code)
{
	for (size_t i = 0; i < COUNT; i++)
		if (!strcasecmp(rows[i].alpha2, code) || !strcasecmp(rows[i].alpha3, code))
			return &rows[i];
	return NULL;
}

int sonde_carbon_parse(const char *text, double *out_g_kwh)
{
	char *end;
	double g_kwh = strtod(text, &end);
	if (end == text || *end || !isfinite(g_kwh) || g_kwh < 0 || g_kwh > MOST_G_KWH)
		return sonde_error(EINVAL, "'%s' is not a carbon intensity: grams of CO2e per kWh, 0 to %.0f", text,
				   MOST_G_KWH);
	*out_g_kwh = g_kwh;
	return 0;
}

int sonde_carbon_check(const char *code)
{
	if (sonde_carbon_find(code))
		return 0;
	return sonde_error(EINVAL,
			   "unknown country '%s': use FR, DE, US, … (two or three letters, ISO 3166) or WORLD, or give "
			   "grams per kWh with --carbon-intensity",
			   code);
}

void sonde_carbon_extremes(const struct sonde_carbon_row **least, const struct sonde_carbon_row **most)
{
	*least = *most = &rows[0];
	for (size_t i = 1; i < COUNT; i++) {
		if (rows[i].g_kwh < (*least)->g_kwh)
			*least = &rows[i];
		if (rows[i].g_kwh > (*most)->g_kwh)
			*most = &rows[i];
	}
}
