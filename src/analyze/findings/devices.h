/* devices.h: what rules of devices share: a device's sums, by what it is called.
 *
 * What could go is never more than the time in which a device had nothing to do, or in which it did what the rule is
 * about, and never more than the run. A device that is the processor itself (OpenCL on a CPU) has its work among that
 * of the CPUs: what overlaps there can save no more than CPUs are idle.
 */
#ifndef SONDE_ANALYZE_FINDINGS_DEVICES_H
#define SONDE_ANALYZE_FINDINGS_DEVICES_H

#include "analyze/device/times.h"
#include "analyze/findings/findings.h"

struct sonde_device_work {
	const char *name;
	double parts;   /* devices that are called so: of a merged recording several; sums are those of one, the mean */
	double busy_ns; /* something of it ran */
	double idle_ns; /* nothing did, between its first and its last activity */
	double gaps;    /* such times */
	double span_ns; /* of the run, what can be saved by overlapping at most */
	double kernels; /* how many */
	double kernel_ns, copy_ns;
	double at_once;  /* of its queues, while it is busy */
	double alone_ns; /* it copied from or to the host's memory, and no kernel of it ran */
	int is_processor;
};

/* Of the row of the section `devices`; 0: it did nothing, or a row before it is called so. */
int sonde_device_work_of(struct sonde_device_work *out, const struct sonde_facts *facts, size_t row);
/* The busiest: calls of the host are not told by device. 0: there is none. */
int sonde_device_work_busiest(struct sonde_device_work *out, const struct sonde_facts *facts);
size_t sonde_device_count(const struct sonde_facts *facts);

/* Rows of a section that are the device's: the next one from `row` on; SIZE_MAX: no more. */
#define sonde_device_row(view, row, name) sonde_device_row_of(&(view)->of, (view)->device, (row), (name))
size_t sonde_device_row_of(const struct sonde_columns_rows *of, struct sonde_column_at_text column, size_t row,
			   const char *device);

/* Activities one by one, of these kinds (bits 1 << kind), by start: of all threads and the whole recording, so that
 * they can be counted, while the window is what was asked for. 0 with NULL where some had no room: then nothing can be
 * told of them. sonde_device_times_end() frees. -ENOMEM. */
int sonde_device_rows_read(struct sonde_device_times **out, const struct sonde_facts *facts, uint32_t kinds);

/* Where most of the longest gaps lie: "prepare"; "" = not known. Gaps from least_ns on. */
const char *sonde_device_gaps_in(const struct sonde_facts *facts, const char *device, double least_ns,
				 struct sonde_report *report);

#endif
