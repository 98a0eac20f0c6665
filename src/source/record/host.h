/* host.h: what the recording says about the machine and the run: INFO records. */
#ifndef SONDE_SOURCE_RECORD_HOST_H
#define SONDE_SOURCE_RECORD_HOST_H

#include <stdint.h>

#include "source/record/recorder.h"

/* Processor, cores, memory, kernel, distribution, container limits, and the settings that decide what can be measured.
 * Of the environment only variables that change how a program runs and never hold secrets. `root` is put before /proc
 * and /sys ("" = this machine). */
void sonde_host_describe(struct sonde_recorder *recorder, const char *root);

/* The lowest quota of CPU time of this process's cgroups, in CPUs; 0 = none. */
double sonde_host_quota(const char *root);

/* The measured ceilings of this machine (roof/roof.h), when they are kept: roof.*. */
void sonde_host_describe_roof(struct sonde_recorder *recorder);

/* run.command, run.directory, run.uid, run.cpus, option.*. */
void sonde_host_describe_run(struct sonde_recorder *recorder);

/* Of a command: the most that was resident before its exec, which the kernel's mark of the process holds, too. */
void sonde_host_describe_held(struct sonde_recorder *recorder, uint64_t rss_b);

#endif
