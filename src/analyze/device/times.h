/* times.h: ACTIVITIES kept one by one: the state of the passes to which it matters when devices did something.
 *
 * Kept is what lies in the time that was asked for with any part of it, or waited to start then, of the threads that
 * were chosen (those that asked for it); and all allocations, what gives them back and sizes of pools, of all threads
 * and the whole recording: what is allocated follows from all of them. Up to SONDE_DEVICE_TIMES_MAX are kept, others
 * are counted.
 */
#ifndef SONDE_ANALYZE_DEVICE_TIMES_H
#define SONDE_ANALYZE_DEVICE_TIMES_H

#include "analyze/pass.h"
#include "analyze/window.h"

#define SONDE_DEVICE_TIMES_MAX ((size_t)16 << 20) /* of 56 bytes each */

struct sonde_device_time {
	uint64_t start_ns, end_ns; /* as recorded: not cut */
	uint64_t queued_ns;        /* when it was asked for; 0 = not known */
	uint64_t size_b, address;
	uint32_t operation, queue, thread;
	uint8_t kind; /* of activities.def */
};

struct sonde_device_times {
	struct sonde_session *session;
	struct sonde_pass_options options;
	struct sonde_window window;
	uint32_t kinds; /* that are kept, bits 1 << kind; all of them unless it is set after `begin` */
	struct sonde_device_time *rows;
	size_t count, cap;
	uint64_t left_out;
	int is_sorted;
};

/* As a pass does. */
int sonde_device_times_begin(void **state, struct sonde_session *session, const struct sonde_pass_options *options);
int sonde_device_times_feed(void *state, const struct sonde_batch *batch);
int sonde_device_times_merge(void *state, void *other);
void sonde_device_times_end(void *state);

/* By start, when all have come. To be called first in `finish`; once is enough. */
void sonde_device_times_sort(struct sonde_device_times *times);

/* Whether it is work of a device: no marker, not on the host, with a queue whose device is known. */
int sonde_device_times_is_work(const struct sonde_device_times *times, const struct sonde_device_time *row);
/* Whether it is, and lies within the window: the part of it that does; 0 = it is not. */
int sonde_device_times_busy(const struct sonde_device_times *times, const struct sonde_device_time *row,
			    uint64_t *from_ns, uint64_t *to_ns);
/* The first row of the same device, which several processes may use; that of a queue. 0 = not known. */
uint32_t sonde_device_same(const struct sonde_session *session, uint32_t device);
uint32_t sonde_device_of_queue(const struct sonde_session *session, uint32_t queue);
/* Whose memory an end of a copy is: of the device that is told, else of its queue's one, where it is a device's own. 0 =
 * the host's, or not known. */
uint32_t sonde_device_of_end(const struct sonde_session *session, uint32_t told, uint8_t kind, uint32_t own);

/* The time that a device's figures are a share of: the window, as far as the recording of its process goes. */
struct sonde_window sonde_device_window(const struct sonde_device_times *times, uint32_t device);

/* What that is, for sentences that say "÷ …": "1.000 s of wall time". In the report's arena; NULL when out of memory.
 */
const char *sonde_device_times_whole(const struct sonde_device_times *times, struct sonde_report *report);

/* What is said under each of the sections: what was left out, threads that were chosen. -ENOMEM. */
int sonde_device_times_note(const struct sonde_device_times *times, struct sonde_report *report,
			    struct sonde_section *section);

/* --- times that do not overlap ----------------------------------------------------------------------------------- */

struct sonde_device_span {
	uint64_t from_ns, to_ns;
	uint64_t before_ns; /* what all before it come to */
};

struct sonde_device_union {
	struct sonde_device_span *all;
	size_t count, cap;
	uint64_t total_ns;
};

/* In order of from_ns. -ENOMEM. */
int sonde_device_union_add(struct sonde_device_union *of, uint64_t from_ns, uint64_t to_ns);
/* How much of a time it covers. */
uint64_t sonde_device_union_covers(const struct sonde_device_union *of, uint64_t from_ns, uint64_t to_ns);
void sonde_device_union_fini(struct sonde_device_union *of);

#endif
