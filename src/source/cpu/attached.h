/* attached.h: registers a running process and its descendants in the recording. */
#ifndef SONDE_SOURCE_CPU_ATTACHED_H
#define SONDE_SOURCE_CPU_ATTACHED_H

#include "source/record/recorder.h"

/* Registers the process and its descendants, parents before their children, so that sources that read live processes
 * find them at once. Leaves out processes that /proc does not show, and those beyond the first 4096. */
void sonde_attached_find(struct sonde_recorder *recorder, pid_t pid);

/* Registers a child of a known process; does nothing if it is known already, or gone. */
void sonde_attached_adopt(struct sonde_recorder *recorder, pid_t parent, pid_t pid);

#endif
