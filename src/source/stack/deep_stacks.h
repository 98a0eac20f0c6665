/* deep_stacks.h: whether so many stacks are deeper than their copies that the recorder should look at them sooner.
 *
 * What lies above a copy is read of the running process, and counts when the end of the copy still stands there. With
 * samples of 10 ms instead of 50 to 200 it does so more often. Each drain costs the recorder some 0.1 ms, so that it is in
 * a hurry only when more than one stack in 10 is cut, until one in 25 is: gcc, at one in 50, must cost no more.
 */
#ifndef SONDE_SOURCE_STACK_DEEP_STACKS_H
#define SONDE_SOURCE_STACK_DEEP_STACKS_H

#include <stdint.h>

#include "format/record.h"

#define SONDE_DEEP_STACKS_MS 10
#define SONDE_DEEP_STACKS_RECENT 512u /* samples; what is older counts half, a quarter, … */
#define SONDE_DEEP_STACKS_LEAST 24u

struct sonde_deep_stacks {
	uint32_t seen, cut;
	int is_hurried;
};

static inline void sonde_deep_stacks_note(struct sonde_deep_stacks *stacks, enum sonde_stack_status status)
{
	stacks->seen++;
	stacks->cut += status == SONDE_STACK_TRUNCATED;
	if (stacks->is_hurried ? stacks->cut * 25 < stacks->seen
			       : stacks->cut >= SONDE_DEEP_STACKS_LEAST && stacks->cut * 10 > stacks->seen)
		stacks->is_hurried = !stacks->is_hurried;
	if (stacks->seen < SONDE_DEEP_STACKS_RECENT)
		return;
	stacks->seen /= 2;
	stacks->cut /= 2;
}

#endif
