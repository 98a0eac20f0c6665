/* series.h: numbers over time (SERIES chunks) summed as they are read: of each series its ends, extremes, mean and
 * rates, and of all processes together what they had at a moment.
 *
 * Readings are made in rounds: all processes, then the machine. A round is over when a series comes again. What the
 * processes had together is looked at between rounds, so that memory that moves from one to another is not counted
 * twice. Means are weighted by time: from one reading to the next a gauge goes in a straight line; before its first and
 * after its last one it was as then.
 *
 * Totals count from the beginning of a process, or from its first reading where it was attached to. Where the part
 * asked for begins or ends between two readings they are taken to rise evenly from the one to the other.
 */
#ifndef SONDE_ANALYZE_RESOURCE_SERIES_H
#define SONDE_ANALYZE_RESOURCE_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/pass.h"
#include "analyze/statistics/stats.h"
#include "format/metric.h"

struct sonde_series_sum {
	uint64_t count; /* points of the part asked for */
	uint64_t first_ns, last_ns;
	int64_t first, last, min, max;
	uint64_t before_ns, after_ns; /* the last point before that part, and the first one after it */
	int64_t before, after;
	int has_before, has_after;
	double area;               /* ∫ value dt from first_ns to last_ns, in unit × ns */
	double rate_min, rate_max; /* of totals: change ÷ time, over at least `least_ns` */
	uint64_t rates;            /* how many of these there were */
	uint64_t mark_ns;          /* where the next rate begins */
	int64_t mark;
	uint64_t earlier_ns; /* where the last one began */
	int64_t earlier;
	uint32_t round;
};

/* What processes have together at a moment. */
enum sonde_tree_gauge {
	SONDE_TREE_RSS,
	SONDE_TREE_PSS,
	SONDE_TREE_SWAP,
	SONDE_TREE_THREADS,
	SONDE_TREE_FILES,
	SONDE_TREE_PROCESSES, /* that were alive and had been read */
	SONDE_TREE_GAUGES
};

struct sonde_tree_sum {
	uint64_t rounds; /* in which it was known; 0 = never */
	int64_t now, first, last, max;
};

struct sonde_series_range {
	double min, max;
	uint64_t count; /* 0 = not known */
};

struct sonde_series_sums {
	struct sonde_session *session;
	uint64_t from_ns, to_ns; /* as in the options */
	int attached;
	uint64_t asked_ns; /* the interval asked for; 0 = not said */
	uint64_t least_ns; /* rates are over at least so long */

	size_t count;                 /* series ids are 1 … count */
	struct sonde_series_sum *sum; /* by series id */
	int *metric;                  /* by series id: enum sonde_metric; −1 = a newer one, or of a thread */
	uint32_t *same;               /* by series id: the first one of the same thing */
	uint8_t *is_waiting;          /* by series id: how long a thread waited for a CPU */

	size_t row_count;  /* rows are 1 … row_count: processes that have series; row 0 is the machine */
	uint32_t *process; /* by row: its id */
	uint32_t *row_of;  /* by process id, 0 = none */
	uint32_t *index;   /* by row × SONDE_METRIC_COUNT + metric: series id, 0 = none; of objects the first */

	struct sonde_tree_sum tree[SONDE_TREE_GAUGES];
	struct sonde_series_range cpu;  /* of all processes: CPU time ÷ time */
	struct sonde_series_range busy; /* of the machine: share of its CPU time */
	struct sonde_moments between;   /* readings of one process, or of the machine where there is none: ns */
	uint64_t longest_ns;
	uint64_t readings; /* of processes, else of the machine */

	struct sonde_tree_state *state;
};

int sonde_series_sums_init(struct sonde_series_sums *sums, struct sonde_session *session,
			   const struct sonde_pass_options *options);
void sonde_series_sums_fini(struct sonde_series_sums *sums);
int sonde_series_sums_feed(struct sonde_series_sums *sums, const struct sonde_batch *batch); /* in file order */
void sonde_series_sums_finish(struct sonde_series_sums *sums);                               /* after the last batch */

/* All of a session at once. */
int sonde_series_sums_read(struct sonde_series_sums *sums, struct sonde_session *session,
			   const struct sonde_pass_options *options);

/* Of a process (row 0: the machine) without an object, of several objects the one that was read last; NULL when it has
 * no point. */
const struct sonde_series_sum *sonde_series_sum_of(const struct sonde_series_sums *sums, size_t row,
						   enum sonde_metric metric);
/* Of one of the machine's objects. */
const struct sonde_series_sum *sonde_series_sum_of_object(const struct sonde_series_sums *sums,
							  enum sonde_metric metric, const char *object);

/* A figure of a recording that may hold any number. */
static inline uint64_t sonde_series_whole(double value)
{
	return value >= 0x1p63 ? INT64_MAX : value > 0 ? (uint64_t)value : 0;
}

/* From the first point to the last; that of a single point is its value. */
double sonde_series_mean(const struct sonde_series_sum *sum);
/* By how much a total rose in the part asked for; of a process from its beginning. Never below 0. */
double sonde_series_change(const struct sonde_series_sums *sums, const struct sonde_series_sum *sum, size_t row);
/* The same of all processes; `known` (may be NULL): of how many. */
double sonde_series_tree_change(const struct sonde_series_sums *sums, enum sonde_metric metric, size_t *known);
/* What they had together on average, over the time from the first one's beginning to the last one's end; −1 = never
 * read. */
double sonde_series_tree_mean(const struct sonde_series_sums *sums, enum sonde_metric metric);

/* ns that threads waited for a CPU in the part asked for; of `process`, 0 = of all. `threads`: how many were read. */
double sonde_series_waited(const struct sonde_series_sums *sums, uint32_t process, size_t *threads);

/* What a process was there of the part asked for. */
void sonde_series_life(const struct sonde_series_sums *sums, uint32_t process, uint64_t *from_ns, uint64_t *to_ns);

#endif
