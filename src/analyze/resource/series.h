/* series.h: summaries of numbers over time (SERIES chunks), computed as they are read. For each series there are its
 * ends, extremes, mean and rates; for all processes together, their totals at any time.
 *
 * Polling goes in rounds: all processes, then the system. A round ends when a series recurs. Totals over processes are
 * evaluated between rounds, so that memory moving from one process to another is not counted twice. Means are weighted
 * by time: a gauge is interpolated linearly between readings and constant before the first and after the last.
 *
 * Totals count from the start of a process, or from its first reading if it was attached to. If the selected part
 * begins or ends between two readings, totals are interpolated linearly.
 */
#ifndef SONDE_ANALYZE_RESOURCE_SERIES_H
#define SONDE_ANALYZE_RESOURCE_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/pass.h"
#include "analyze/statistics/stats.h"
#include "format/metric.h"

struct sonde_series_sum {
	uint64_t count; /* points within the selected part */
	uint64_t first_ns, last_ns;
	int64_t first, last, min, max;
	uint64_t before_ns, after_ns; /* the last point before the selected part, and the first one after it */
	int64_t before, after;
	int has_before, has_after;
	double area;               /* ∫ value dt from first_ns to last_ns, in unit × ns */
	double rate_min, rate_max; /* rates of a total: change ÷ time, over at least `least_ns` */
	uint64_t rates;            /* number of rates so far */
	uint64_t mark_ns;          /* start of the next rate */
	int64_t mark;
	uint64_t earlier_ns; /* start of the last rate */
	int64_t earlier;
	uint32_t round;
};

/* Totals over all processes at a time. */
enum sonde_tree_gauge {
	SONDE_TREE_RSS,
	SONDE_TREE_PSS,
	SONDE_TREE_SWAP,
	SONDE_TREE_THREADS,
	SONDE_TREE_FILES,
	SONDE_TREE_PROCESSES, /* processes alive with at least one reading */
	SONDE_TREE_GAUGES
};

struct sonde_tree_sum {
	uint64_t rounds; /* rounds in which it was known; 0 = never */
	int64_t now, first, last, max;
};

struct sonde_series_range {
	double min, max;
	uint64_t count; /* 0 = unknown */
};

struct sonde_series_sums {
	struct sonde_session *session;
	uint64_t from_ns, to_ns; /* as in the options */
	int attached;
	uint64_t requested_ns; /* the requested interval; 0 = unknown */
	uint64_t least_ns;     /* minimum duration of a rate */

	size_t count;                 /* series ids are 1 … count */
	struct sonde_series_sum *sum; /* by series id */
	/* by series id: enum sonde_metric; −1 = unknown (a newer version's), or of a thread */
	int *metric;
	uint32_t *same;      /* by series id: the first series of the same thing */
	uint8_t *is_waiting; /* by series id: how long a thread waited for a CPU */

	size_t row_count;  /* rows are 1 … row_count: processes with series; row 0 is the system */
	uint32_t *process; /* by row: process id */
	uint32_t *row_of;  /* by process id, 0 = none */
	/* by row × SONDE_METRIC_COUNT + metric: series id, 0 = none; the first one if there are several objects */
	uint32_t *index;

	struct sonde_tree_sum tree[SONDE_TREE_GAUGES];
	struct sonde_series_range cpu;  /* CPU time of all processes ÷ time */
	struct sonde_series_range busy; /* busy fraction of the system's CPU time */
	struct sonde_moments between;   /* ns between readings of one process, or of the system if there is none */
	uint64_t longest_ns;
	uint64_t readings; /* number of readings of processes; if there are none, of the system */

	struct sonde_tree_state *state;
};

int sonde_series_sums_init(struct sonde_series_sums *sums, struct sonde_session *session,
			   const struct sonde_pass_options *options);
void sonde_series_sums_fini(struct sonde_series_sums *sums);
int sonde_series_sums_feed(struct sonde_series_sums *sums, const struct sonde_batch *batch); /* in file order */
/* call after the last batch */
void sonde_series_sums_finish(struct sonde_series_sums *sums);

/* Reads the whole session. */
int sonde_series_sums_read(struct sonde_series_sums *sums, struct sonde_session *session,
			   const struct sonde_pass_options *options);

/* A series of a process (row 0: the system) without an object; with several objects, the one read last; NULL if it has
 * no point. */
const struct sonde_series_sum *sonde_series_sum_of(const struct sonde_series_sums *sums, size_t row,
						   enum sonde_metric metric);
/* A series of one of the system's objects. */
const struct sonde_series_sum *sonde_series_sum_of_object(const struct sonde_series_sums *sums,
							  enum sonde_metric metric, const char *object);

/* Converts a figure of a recording, which may be any number. */
static inline uint64_t sonde_series_whole(double value)
{
	return value >= 0x1p63 ? INT64_MAX : value > 0 ? (uint64_t)value : 0;
}

/* Mean from the first point to the last; for a single point its value. */
double sonde_series_mean(const struct sonde_series_sum *sum);
/* Increase of a total during the selected part; for a process, from its start. Never negative. */
double sonde_series_change(const struct sonde_series_sums *sums, const struct sonde_series_sum *sum, size_t row);
/* The increase of a total, summed over all processes; `known` (may be NULL): how many processes have the metric. */
double sonde_series_tree_change(const struct sonde_series_sums *sums, enum sonde_metric metric, size_t *known);
/* Mean of a total over all processes, from the first start to the last exit; −1 = never read. */
double sonde_series_tree_mean(const struct sonde_series_sums *sums, enum sonde_metric metric);

/* ns that threads waited for a CPU in the selected part, for `process` (0 = all). `threads`: how many were read. */
double sonde_series_waited(const struct sonde_series_sums *sums, uint32_t process, size_t *threads);

/* The lifetime of a process within the selected part. */
void sonde_series_life(const struct sonde_series_sums *sums, uint32_t process, uint64_t *from_ns, uint64_t *to_ns);

#endif
