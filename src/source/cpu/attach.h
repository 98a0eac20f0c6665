/* attach.h: samples a process that already runs, and those that it has started. */
#ifndef SONDE_SOURCE_CPU_ATTACH_H
#define SONDE_SOURCE_CPU_ATTACH_H

#include "source/cpu/run.h"

/* 0, or why the process itself cannot be sampled. Of its descendants those are sampled that may be; `*out_left`: how
 * many are not. */
int sonde_cpu_attach(struct sonde_source_run *run, pid_t pid, size_t *out_left);

#endif
