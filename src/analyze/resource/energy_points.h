/* energy_points.h: readings of meters and CPU clocks by series, and their totals at any time. */
#ifndef SONDE_ANALYZE_RESOURCE_ENERGY_POINTS_H
#define SONDE_ANALYZE_RESOURCE_ENERGY_POINTS_H

#include <stddef.h>
#include <stdint.h>

#include "session/session.h"

struct sonde_energy_point {
	uint64_t time_ns;
	double value;
};

/* A total over time, points ascending; linear in between. */
struct sonde_energy_track {
	struct sonde_energy_point *points;
	size_t count, cap;
	uint64_t readings, longest_ns; /* number of readings, and the longest time between two */
};

struct sonde_energy_points {
	struct sonde_session *session;
	size_t count;                      /* series ids are 1 … count */
	struct sonde_energy_track *tracks; /* by series id; empty: not relevant, or the same as an earlier series */
	uint32_t *same;                    /* by series id: the series whose track holds its points; 0 = none */
	size_t process_count;
	uint32_t (*of_process)[2]; /* by process id: series of its user and kernel CPU time, 0 = none */
	uint32_t machine[5];       /* series of the system's CPU time: by enum sonde_energy_clock, 0 = none */
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
/* True if energy was recorded, or the data that a model needs. */
int sonde_energy_points_has(const struct sonde_energy_points *points);
int sonde_energy_points_feed(struct sonde_energy_points *points, const struct sonde_batch *batch); /* in file order */

/* Call after the last batch: sets the CPU time of processes at their start to 0. */
int sonde_energy_points_finish(struct sonde_energy_points *points);

/* The total at a time; constant before the first point and after the last; 0 without points. */
double sonde_energy_track_at(const struct sonde_energy_track *track, uint64_t time_ns);
/* How much of a time range lies between the first point and the last. */
uint64_t sonde_energy_track_covers_ns(const struct sonde_energy_track *track, uint64_t from_ns, uint64_t to_ns);

#endif
