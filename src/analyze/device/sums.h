/* sums.h: ACTIVITIES added up: the state of the passes that sum what devices did.
 *
 * A cell is what one operation came to on one device (0: on the host). One that lies partly in the time that was asked
 * for counts with the time that lies in it; means, the shortest and the longest are of those that lie in it whole.
 * Threads that were chosen are those that asked for it.
 */
#ifndef SONDE_ANALYZE_DEVICE_SUMS_H
#define SONDE_ANALYZE_DEVICE_SUMS_H

#include "analyze/pass.h"
#include "analyze/window.h"
#include "util/map.h"

struct sonde_device_sum {
	uint64_t count, total_ns, size_b;
	uint64_t whole, whole_ns, whole_b, min_ns, max_ns; /* of those that lie in the window whole */
	uint64_t queued, queued_ns; /* of those of which it is known: from being asked for to their start */
	/* Of rows by name: theoretical occupancy times the time, of all of it or not at all (then: why). */
	double occupied_ns;
	const char *unoccupied;
	const char *limited_by; /* in the launch configuration that took the most time */
	uint64_t limited_ns;    /* that */
	/* The same of the units that are filled, and of the lanes that have a thread (device/shape.h). */
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

/* As a pass does. */
int sonde_device_sums_begin(void **state, struct sonde_session *session, const struct sonde_pass_options *options);
int sonde_device_sums_feed(void *state, const struct sonde_batch *batch);
int sonde_device_sums_merge(void *state, void *other);
void sonde_device_sums_end(void *state);

void sonde_device_sum_add(struct sonde_device_sum *into, const struct sonde_device_sum *from);

/* Operations of the same kind, name and device (0: on the host) as one, whatever their launch configuration: those
 * whose bit 1 << kind is in `kinds`, the largest time first. Their `operation` is one of them. `*rows` is the caller's
 * to free; the number of rows, or -ENOMEM. */
ptrdiff_t sonde_device_sums_by_name(struct sonde_device_cell **rows, const struct sonde_device_sums *sums,
				    uint32_t kinds);

/* "OpenCL pocl-cpu 0", the same for all rows of one device, and with its process where another one would be called the
 * same: "OpenCL pocl-cpu 0 of app (4711)"; in the report's arena; "" for device 0. NULL when out of
 * memory. */
const char *sonde_device_label(const struct sonde_session *session, uint32_t device, struct sonde_report *report);

#endif
