/* call_stacks.h: call sites of device operations: unwinds SONDE_EVENT_CALL_STACK of all processes. One thread. */
#ifndef SONDE_SOURCE_DEVICE_CALL_STACKS_H
#define SONDE_SOURCE_DEVICE_CALL_STACKS_H

#include <stdint.h>

#include "source/record/recorder.h"

struct sonde_call_stacks;
struct sonde_channel;

/* Registers as a listener of the channel. -ENOMEM, -ENOSPC. */
int sonde_call_stacks_new(struct sonde_call_stacks **out, struct sonde_recorder *recorder,
			  struct sonde_channel *channel);
/* Unwinds the stacks that have arrived; call it after each drain of the channel. */
void sonde_call_stacks_drain(struct sonde_call_stacks *stacks);
/* Writes pending stacks, counts lost ones, and frees. */
void sonde_call_stacks_free(struct sonde_call_stacks *stacks);

#endif
