/* machine_devices.h: the rows of devices in the section `machine`: how busy, how full, how hot a GPU was. */
#ifndef SONDE_ANALYZE_RESOURCE_MACHINE_DEVICES_H
#define SONDE_ANALYZE_RESOURCE_MACHINE_DEVICES_H

#include "analyze/resource/series.h"

#define SONDE_MACHINE_DEVICES_MAX 64
#define SONDE_MACHINE_DEVICE_FULL 0.9 /* of a device's memory: worth a warning */

/* Shares of `whole`; below 0: not known, and `why`. */
struct sonde_machine_row {
	const char *what, *object, *whole, *why;
	double mean, most, least;
};

/* What rows become; `whole` may be NULL when memory ran out. */
typedef void sonde_machine_put(void *context, const struct sonde_machine_row *row);

/* The devices that were read, by the objects of their series, in the order of the recording; how many. */
size_t sonde_machine_devices(const struct sonde_series_sums *sums, const char **out);

/* One of them, in the part asked for. Shares of 1; what is not known is below 0. */
struct sonde_machine_device {
	const char *name;
	double busy, busy_most;             /* time in which any kernel ran, by the driver */
	double memory_most_b, memory_all_b; /* in use, by whomever; what it has */
	double own_most_b;                  /* that one recorded process held */
};

void sonde_machine_device_of(struct sonde_machine_device *out, const struct sonde_series_sums *sums, const char *name);

/* All rows of all devices. */
void sonde_machine_devices_put(const struct sonde_series_sums *sums, struct sonde_report *report,
			       sonde_machine_put *put, void *context);

/* A warning for each device whose memory was nearly full. */
int sonde_machine_devices_note(const struct sonde_series_sums *sums, struct sonde_report *report,
			       struct sonde_section *section);

#endif
