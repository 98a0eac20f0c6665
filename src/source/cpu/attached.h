/* attached.h: a process that already runs, and those that it has started, as the recorder is to know them. */
#ifndef SONDE_SOURCE_CPU_ATTACHED_H
#define SONDE_SOURCE_CPU_ATTACHED_H

#include "source/record/recorder.h"

/* The process and its descendants are known from now on, parents before their children: sources that read what is alive
 * find them at once. Not those that /proc does not show; of more than 4096 the last ones are left out. */
void sonde_attached_find(struct sonde_recorder *recorder, pid_t pid);

/* A child that was found, of a process that is known; nothing where it is known, too, or gone. */
void sonde_attached_adopt(struct sonde_recorder *recorder, pid_t parent, pid_t pid);

#endif
