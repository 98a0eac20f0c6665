/* energy_points.h: what meters and CPU clocks said, by series, and what they came to at any moment. */
#ifndef SONDE_ANALYZE_RESOURCE_ENERGY_POINTS_H
#define SONDE_ANALYZE_RESOURCE_ENERGY_POINTS_H

#include <stddef.h>
#include <stdint.h>

#include "session/session.h"

struct sonde_energy_point {
	uint64_t time_ns;
	double value;
};

/* One total over time, points ascending; between them it goes in a straight line. */
struct sonde_energy_track {
	struct sonde_energy_point *points;
	size_t count, cap;
	uint64_t readings, longest_ns; /* that came in, and the longest time from one to the next */
};

struct sonde_energy_points {
	struct sonde_session *session;
	size_t count;                      /* series ids are 1 … count */
	struct sonde_energy_track *tracks; /* by series id; empty: not of interest, or the same as an earlier one's */
	uint32_t *same;                    /* by series id: whose track has its points; 0 = none */
	size_t process_count;
	uint32_t (*of_process)[2]; /* by process id: series of its CPU time of user code and in the kernel, 0 = none */
	uint32_t machine[5];       /* series of the machine's CPU time: by enum sonde_energy_clock, 0 = none */
};

enum sonde_energy_clock {
	SONDE_ENERGY_USER,
	SONDE_ENERGY_SYSTEM,
	SONDE_ENERGY_IDLE,
	SONDE_ENERGY_IOWAIT,
	SONDE_ENERGY_STOLEN
};

int sonde_energy_points_init(struct sonde_energy_points *points, struct sonde_session *session);
void sonde_energy_points_fini(struct sonde_energy_points *points);
/* Whether energy was recorded, or what a model needs. */
int sonde_energy_points_has(const struct sonde_energy_points *points);
int sonde_energy_points_feed(struct sonde_energy_points *points, const struct sonde_batch *batch); /* in file order */

/* After the last batch: CPU time of processes was 0 as they began. */
int sonde_energy_points_finish(struct sonde_energy_points *points);

/* Before the first point as then, after the last as then; 0 without any. */
double sonde_energy_track_at(const struct sonde_energy_track *track, uint64_t time_ns);
/* How much of a time lies between the first point and the last. */
uint64_t sonde_energy_track_covers_ns(const struct sonde_energy_track *track, uint64_t from_ns, uint64_t to_ns);

#endif
