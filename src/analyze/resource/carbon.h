/* carbon.h: from joules to grams of CO₂e: the intensity that was asked for, with where it comes from. */
#ifndef SONDE_ANALYZE_RESOURCE_CARBON_H
#define SONDE_ANALYZE_RESOURCE_CARBON_H

struct sonde_carbon_row {
	const char *alpha2, *alpha3, *name;
	int year;
	double g_kwh; /* grams of CO₂e a kWh */
};

/* By either code, in capitals or not; NULL = not in the table. */
const struct sonde_carbon_row *sonde_carbon_find(const char *code);

/* Grams a kWh as they were typed: "56", "0.5". -EINVAL with a sentence. */
int sonde_carbon_parse(const char *text, double *out_g_kwh);

/* 0 when there is such a country; else -EINVAL, with a sentence that names those that are near. */
int sonde_carbon_check(const char *code);

/* The countries with the least and the most. */
void sonde_carbon_extremes(const struct sonde_carbon_row **least, const struct sonde_carbon_row **most);

/* Grams of so many µJ: 1 kWh = 3.6e12 µJ. */
static inline double sonde_carbon_g(double uj, double g_kwh)
{
	return uj / 3.6e12 * g_kwh;
}

#endif
