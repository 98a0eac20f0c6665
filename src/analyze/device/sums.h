/* sums.h: sums of GPU activities (ACTIVITIES chunks): the state of the passes that show such sums.
 *
 * A cell sums one operation on one device (0: on the host). An activity that is partly in the selected time counts with
 * that part; mean, minimum and maximum cover activities entirely within it. Selected threads are those that requested
 * the activity.
 */
#ifndef SONDE_ANALYZE_DEVICE_SUMS_H
#define SONDE_ANALYZE_DEVICE_SUMS_H

#include "analyze/pass.h"
#include "analyze/window.h"
#include "util/map.h"

struct sonde_device_sum {
	uint64_t count, total_ns, size_b;
	uint64_t whole, whole_ns, whole_b, min_ns, max_ns; /* of activities entirely within the window */
	/* number of activities with a known request time; their time from request to start */
	uint64_t queued, queued_ns;
	/* For rows by name: occupied_ns is theoretical occupancy × time if occupancy is known for all of the time;
	 * otherwise `unoccupied` is the reason why it is not. */
	double occupied_ns;
	const char *unoccupied;
	const char *limited_by; /* tightest limit in the launch configuration that took the most time */
	uint64_t limited_ns;    /* time of that configuration */
	/* The same for filled units and for lanes that have a thread (device/shape.h). */
	double filled_ns, lanes_ns;
	const char *unfilled, *unlaned;
};

struct sonde_device_cell {
	uint32_t operation, device;
	struct sonde_device_sum sum;
};

struct sonde_device_sums {
	struct sonde_session *session;
	struct sonde_pass_options options;
	struct sonde_window window;
	struct sonde_device_cell *cells;
	size_t count, cap;
	struct sonde_map map;
};

/* The functions of a pass. */
int sonde_device_sums_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options);
int sonde_device_sums_feed(void *state, const struct sonde_batch *batch);
int sonde_device_sums_merge(void *state, void *other);
void sonde_device_sums_end(void *state);

void sonde_device_sum_add(struct sonde_device_sum *into, const struct sonde_device_sum *from);

/* Merges operations of the same kind, name and device (0: on the host), whatever their launch configuration. Only kinds
 * whose bit 1 << kind is in `kinds`; longest total time first. A row's `operation` is one of those merged. The caller
 * frees `*rows`; returns the number of rows, or -ENOMEM. */
ptrdiff_t sonde_device_sums_by_name(struct sonde_device_cell **rows, const struct sonde_device_sums *sums,
				    uint32_t kinds);

/* "OpenCL pocl-cpu 0", the same for all rows of one device; "" for device 0. If another device would get the same
 * label, the process is appended: "OpenCL pocl-cpu 0 of app (4711)". In the report's arena; NULL if out of memory. */
const char *sonde_device_label(const struct sonde_session *session, uint32_t device, struct sonde_report *report);

#endif
