/* call_stacks.h: where calls were that have devices do something: SONDE_EVENT_CALL_STACK of all processes, walked.
 * One thread.
 */
#ifndef SONDE_SOURCE_DEVICE_CALL_STACKS_H
#define SONDE_SOURCE_DEVICE_CALL_STACKS_H

#include <stdint.h>

#include "source/record/recorder.h"

struct sonde_call_stacks;
struct sonde_channel;

/* Listens to the channel. -ENOMEM, -ENOSPC. */
int sonde_call_stacks_new(struct sonde_call_stacks **out, struct sonde_recorder *recorder,
			  struct sonde_channel *channel);
/* After the channel was drained. */
void sonde_call_stacks_drain(struct sonde_call_stacks *stacks);
/* Writes what is left; what is lost is counted. */
void sonde_call_stacks_free(struct sonde_call_stacks *stacks);

#endif
