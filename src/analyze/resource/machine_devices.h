/* machine_devices.h: GPU rows in the section `machine`: utilisation, memory, temperature and clocks. */
#ifndef SONDE_ANALYZE_RESOURCE_MACHINE_DEVICES_H
#define SONDE_ANALYZE_RESOURCE_MACHINE_DEVICES_H

#include "analyze/resource/series.h"

#define SONDE_MACHINE_DEVICES_MAX 64
#define SONDE_MACHINE_DEVICE_FULL 0.9 /* share of a GPU's memory above which a warning is added */

/* Shares of `whole`; negative: unknown, because of `why`. */
struct sonde_machine_row {
	enum sonde_metric metric;
	const char *what; /* the metric in words */
	const char *object, *whole, *why;
	double mean, most, least;
};

/* Receives each row; `whole` may be NULL if memory ran out. */
typedef void sonde_machine_put(void *context, const struct sonde_machine_row *row);

/* The GPUs that were polled, by the objects of their series, in the order of the recording; returns their number. */
size_t sonde_machine_devices(const struct sonde_series_sums *sums, const char **out);

/* One GPU during the selected time. Shares are fractions; unknown values are negative. */
struct sonde_machine_device {
	const char *name;
	double busy, busy_most;             /* time in which any kernel ran, according to the driver */
	double memory_most_b, memory_all_b; /* memory in use by all programs, and total memory */
	double own_most_b;                  /* held by one recorded process */
};

void sonde_machine_device_of(struct sonde_machine_device *out, const struct sonde_series_sums *sums, const char *name);

/* Passes on all rows of all GPUs. */
void sonde_machine_devices_put(const struct sonde_series_sums *sums, struct sonde_report *report,
			       sonde_machine_put *put, void *context);

/* Adds a warning for each GPU whose memory was nearly full. */
void sonde_machine_devices_note(const struct sonde_series_sums *sums, struct sonde_report *report,
				struct sonde_section *section);

#endif
