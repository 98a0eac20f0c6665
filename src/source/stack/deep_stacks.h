/* deep_stacks.h: decides whether the recorder should drain sooner, because many stacks are longer than their copies.
 *
 * The part of a stack above its copy is read from the running process, and is valid only if the end of the copy is
 * still unchanged there. That is more likely if the sample is 10 ms old than if it is 50 to 200 ms old. A drain costs
 * the recorder about 0.1 ms, so it drains sooner only when more than 1 stack in 10 is truncated, and stops when fewer
 * than 1 in 25 are: recording gcc, where 1 stack in 50 is truncated, must not become more expensive.
 */
#ifndef SONDE_SOURCE_STACK_DEEP_STACKS_H
#define SONDE_SOURCE_STACK_DEEP_STACKS_H

#include <stdint.h>

#include "format/record.h"

#define SONDE_DEEP_STACKS_NS 10000000u
#define SONDE_DEEP_STACKS_RECENT 512u /* latest samples, which count in full; older ones: half, a quarter, … */
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
