/* devices.h: shared by the rules about devices: the sums of a device, by its label.
 *
 * The estimated saving never exceeds the time in which the device was idle or did what the rule is about, nor the
 * duration of the run. A device that is the CPU itself (OpenCL on a CPU) competes with the host for CPUs, so
 * overlapping its work saves at most the time in which CPUs are idle.
 */
#ifndef SONDE_ANALYZE_FINDINGS_DEVICES_H
#define SONDE_ANALYZE_FINDINGS_DEVICES_H

#include "analyze/device/times.h"
#include "analyze/findings/findings.h"

struct sonde_device_work {
	const char *name;
	double parts;   /* number of devices with this label (several if merged); the sums below are means per device */
	double busy_ns; /* at least one activity running */
	double idle_ns; /* no activity running, between its first and its last one */
	double gaps;    /* number of idle intervals */
	double span_ns; /* time of the run; upper limit of what overlapping can save */
	double kernels; /* number of kernels */
	double kernel_ns, copy_ns;
	double at_once;  /* mean number of active queues while busy */
	double alone_ns; /* copying from or to host memory without a kernel running */
	int is_processor;
};

/* Sums of the device in a row of the section `devices`; 0 = it was idle, or an earlier row has the same label. */
int sonde_device_work_of(struct sonde_device_work *out, const struct sonde_facts *facts, size_t row);
/* Sums of the busiest device, used for host calls, whose records do not name a device. 0 = no device. */
int sonde_device_work_busiest(struct sonde_device_work *out, const struct sonde_facts *facts);
size_t sonde_device_count(const struct sonde_facts *facts);

/* Iterates over the rows of a section that belong to the device: the next one at or after `row`; SIZE_MAX = end. */
#define sonde_device_row(view, row, name) sonde_device_row_of(&(view)->of, (view)->device, (row), (name))
size_t sonde_device_row_of(const struct sonde_columns_rows *of, struct sonde_column_at_text column, size_t row,
			   const char *device);

/* Reads activities of these kinds (bits 1 << kind), sorted by start. Activities of all threads and of the whole
 * recording are read, so that numbers of activities do not depend on the selection; the window is the selected time. 0
 * with NULL if memory was too small for all of them: then no conclusion is possible. Free with
 * sonde_device_rows_free(). -ENOMEM. */
int sonde_device_rows_read(struct sonde_device_times **out, const struct sonde_facts *facts, uint32_t kinds);
void sonde_device_rows_free(struct sonde_device_times *times);

/* The function or zone in which most of the time of gaps of at least least_ns falls: "prepare"; "" = unknown. */
const char *sonde_device_gaps_in(const struct sonde_facts *facts, const char *device, double least_ns,
				 struct sonde_report *report);

#endif
