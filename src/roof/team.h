/* team.h: pinned threads that run a job together, each on memory that it touched first.
 *
 * A run starts when all threads are ready; each thread stops after its first piece of work past the deadline. All
 * threads are busy in between, and the team's rate is the sum of each thread's work divided by its own time.
 */
#ifndef SONDE_ROOF_TEAM_H
#define SONDE_ROOF_TEAM_H

#include <stddef.h>
#include <stdint.h>

struct sonde_roof_team;

/* Does a piece of work in `memory` (aligned to 2 MB) and returns the amount; `position` belongs to the thread and
 * persists between pieces, even across jobs. A negative amount reports a failure. */
typedef double sonde_roof_piece(void *memory, uint64_t *position, const void *job);

/* Starts a thread on each of `cpus`, with memory_b bytes each. 0, or a negative errno with a message. */
int sonde_roof_team_new(struct sonde_roof_team **out, const unsigned *cpus, unsigned count, size_t memory_b);
void sonde_roof_team_free(struct sonde_roof_team *team);

/* Runs once; returns the amount per second over all threads, negative if a piece failed. */
double sonde_roof_team_run(struct sonde_roof_team *team, sonde_roof_piece *piece, const void *job, uint64_t run_ns);

#endif
