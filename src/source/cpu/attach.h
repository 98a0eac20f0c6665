/* attach.h: samples a running process and its descendants. */
#ifndef SONDE_SOURCE_CPU_ATTACH_H
#define SONDE_SOURCE_CPU_ATTACH_H

#include "source/cpu/run.h"

/* 0, or a negative errno if the process itself cannot be sampled. Descendants are sampled where permitted; `*out_left`
 * is the number of those that are not. */
int sonde_cpu_attach(struct sonde_source_run *run, pid_t pid, size_t *out_left);

#endif
