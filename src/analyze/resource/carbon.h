/* carbon.h: converts joules to grams of CO₂e: carbon intensities and their sources. */
#ifndef SONDE_ANALYZE_RESOURCE_CARBON_H
#define SONDE_ANALYZE_RESOURCE_CARBON_H

struct sonde_carbon_row {
	const char *alpha2, *alpha3, *name;
	int year;
	double g_kwh; /* grams of CO₂e per kWh */
};

/* Finds a country by either code, ignoring case; NULL = not in the table. */
const struct sonde_carbon_row *sonde_carbon_find(const char *code);

/* Parses grams per kWh: "56", "0.5". -EINVAL with a message. */
int sonde_carbon_parse(const char *text, double *out_g_kwh);

/* 0 if the country exists; else -EINVAL, with a message that suggests similar codes. */
int sonde_carbon_check(const char *code);

/* The countries with the lowest and highest intensity. */
void sonde_carbon_extremes(const struct sonde_carbon_row **least, const struct sonde_carbon_row **most);

/* Converts µJ to grams: 1 kWh = 3.6e12 µJ. */
static inline double sonde_carbon_g(double uj, double g_kwh)
{
	return uj / 3.6e12 * g_kwh;
}

#endif
