/* snapshot_diff.h: shared by the files of the snapshots pass: its state, its cells, and the comparison of two
 * snapshots. */
#ifndef SONDE_ANALYZE_HEAP_SNAPSHOT_DIFF_H
#define SONDE_ANALYZE_HEAP_SNAPSHOT_DIFF_H

#include <math.h>

#include "analyze/pass.h"

struct sonde_snapshot_class {
	uint64_t blocks, size_b;
};

/* One of the two snapshots being compared. */
struct sonde_snapshot_side {
	const struct sonde_snapshot *snapshot; /* NULL: no comparison */
	struct sonde_snapshot_class classes[SONDE_HEAP_CLASSES];
};

struct sonde_snapshots_pass {
	struct sonde_session *session;
	struct sonde_pass_options options;
	struct sonde_snapshot_side sides[2];
	struct sonde_heap_moment *moments; /* of all snapshots */
	int sampled;                       /* some of them are estimates */
	int unread;                        /* some chunks could not be read */
};

/* Adds a batch of HEAP to the size classes of both sides. */
void sonde_snapshot_diff_feed(struct sonde_snapshots_pass *pass, const struct sonde_batch *batch);
/* Adds the tables of the comparison. */
int sonde_snapshot_diff_build(const struct sonde_snapshots_pass *pass, struct sonde_report *report);

/* A cell for an amount; an impossible value means that a part of the recording is missing. */
static inline struct sonde_cell sonde_snapshot_amount(uint64_t value, double variance)
{
	if ((int64_t)value < 0)
		return sonde_cell_absent("unknown: part of the recording is missing");
	return variance > 0 ? sonde_cell_real((double)value, 1.96 * sqrt(variance)) : sonde_cell_int(value);
}

/* A cell for the change from one snapshot to the other. `variance`: the sum of both snapshots' variances. It is an
 * upper bound, because only the blocks that differ contribute to the change. No interval if nothing has changed. */
static inline struct sonde_cell sonde_snapshot_change(uint64_t from, uint64_t to, double variance)
{
	return sonde_cell_real((double)(int64_t)(to - from), to != from && variance > 0 ? 1.96 * sqrt(variance) : 0);
}

#endif
