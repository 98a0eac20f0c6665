/* times.h: single ACTIVITIES: the state of the passes that need to know when GPUs did something.
 *
 * Keeps the activities requested by selected threads that overlap the selected time, or were waiting to start during
 * it. Allocations, frees and pool sizes are kept from all threads and the whole recording, because live memory follows
 * from all of them. At most SONDE_DEVICE_TIMES_MAX activities are kept; the others are counted.
 */
#ifndef SONDE_ANALYZE_DEVICE_TIMES_H
#define SONDE_ANALYZE_DEVICE_TIMES_H

#include "analyze/pass.h"
#include "analyze/window.h"

#define SONDE_DEVICE_TIMES_MAX ((size_t)16 << 20) /* 56 bytes each */

struct sonde_device_time {
	uint64_t start_ns, end_ns; /* as recorded, not clipped */
	uint64_t queued_ns;        /* when it was requested; 0 = unknown */
	uint64_t size_b, address;
	uint32_t operation, queue, thread;
	uint8_t kind; /* from activities.def */
};

struct sonde_device_times {
	struct sonde_session *session;
	struct sonde_pass_options options;
	struct sonde_window window;
	uint32_t kinds; /* kinds to keep, bits 1 << kind; all unless set after `begin` */
	struct sonde_device_time *rows;
	size_t count, cap;
	uint64_t left_out;
	int is_sorted;
};

/* The functions of a pass. */
int sonde_device_times_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options);
int sonde_device_times_feed(void *state, const struct sonde_batch *batch);
int sonde_device_times_merge(void *state, void *other);
void sonde_device_times_end(void *state);

/* Sorts by start. Must be called first in `finish`; calling it again is harmless. */
void sonde_device_times_sort(struct sonde_device_times *times);

/* True for device work: not a marker, not on the host, and on a queue whose device is known. */
int sonde_device_times_is_work(const struct sonde_device_times *times, const struct sonde_device_time *row);
/* Part of the device work within the window; 0 = none. */
int sonde_device_times_busy(const struct sonde_device_times *times, const struct sonde_device_time *row,
			    uint64_t *from_ns, uint64_t *to_ns);
/* Several processes may use one device, with a row each: returns the id of the device's first row. 0 = unknown. */
uint32_t sonde_device_same(const struct sonde_session *session, uint32_t device);
/* The device of a queue; 0 = unknown. */
uint32_t sonde_device_of_queue(const struct sonde_session *session, uint32_t queue);
/* Owner of the memory at one end of a copy: the device that the copy names, else the queue's device if the memory is
 * device memory. 0 = the host, or unknown. */
uint32_t sonde_device_of_end(const struct sonde_session *session, uint32_t reported, uint8_t kind, uint32_t own);

/* The time that a device's figures are relative to: the window, limited to the recording of the device's process. */
struct sonde_window sonde_device_window(const struct sonde_device_times *times, uint32_t device);

/* That time for notes with "÷ …": "1.000 s of wall time". In the report's arena; NULL if out of memory. */
const char *sonde_device_times_whole(const struct sonde_device_times *times, struct sonde_report *report);

/* Adds the notes common to all sections based on single activities: what was left out, and selected threads.
 * -ENOMEM. */
void sonde_device_times_note(const struct sonde_device_times *times, struct sonde_report *report,
			     struct sonde_section *section);

/* --- unions of times --------------------------------------------------------------------------------------------- */

struct sonde_device_span {
	uint64_t from_ns, to_ns;
	uint64_t before_ns; /* total of all earlier spans */
};

struct sonde_device_union {
	struct sonde_device_span *all;
	size_t count, cap;
	uint64_t total_ns;
};

/* Call in order of from_ns. -ENOMEM. */
int sonde_device_union_add(struct sonde_device_union *of, uint64_t from_ns, uint64_t to_ns);
/* How much of a time range the spans cover. */
uint64_t sonde_device_union_covers(const struct sonde_device_union *of, uint64_t from_ns, uint64_t to_ns);
void sonde_device_union_fini(struct sonde_device_union *of);

#endif
