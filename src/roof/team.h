/* team.h: threads that are pinned to CPUs and run a job together, each over memory that it touched first.
 *
 * A run begins when all are there and ends for each thread after its first piece of work behind the deadline: all are
 * busy between the two, and the rate of the team is the sum of what each did in its own time.
 */
#ifndef SONDE_ROOF_TEAM_H
#define SONDE_ROOF_TEAM_H

#include <stddef.h>
#include <stdint.h>

struct sonde_roof_team;

/* Does a piece of work in `memory` (aligned to 2 MB) and returns how much; `position` is the thread's own, as the piece
 * before left it, which may have been of another job. A negative amount: it went wrong. */
typedef double sonde_roof_piece(void *memory, uint64_t *position, const void *job);

/* A thread for each of `cpus`, with memory_b bytes each. 0 or a negative errno with a sentence. */
int sonde_roof_team_new(struct sonde_roof_team **out, const unsigned *cpus, unsigned count, size_t memory_b);
void sonde_roof_team_free(struct sonde_roof_team *team);

/* One run: amount a second of all threads; negative when a piece went wrong. */
double sonde_roof_team_run(struct sonde_roof_team *team, sonde_roof_piece *piece, const void *job, uint64_t run_ns);

#endif
