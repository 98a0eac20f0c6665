/* host.h: writes INFO records that describe the machine and the run. */
#ifndef SONDE_SOURCE_RESOURCE_HOST_H
#define SONDE_SOURCE_RESOURCE_HOST_H

#include <stdint.h>

#include "source/record/recorder.h"

/* Writes processor, cores, memory, kernel, distribution, container limits and the settings that decide what can be
 * measured. Of the environment, writes only variables that change how a program runs and never hold secrets. `root` is
 * a prefix for /proc and /sys ("" = this machine). */
void sonde_host_describe(struct sonde_recorder *recorder, const char *root);

/* Writes the measured ceilings of this machine (roof/roof.h) as roof.* if they have been saved. */
void sonde_host_describe_roof(struct sonde_recorder *recorder);

/* Writes run.command, run.directory, run.uid, run.cpus and option.*. */
void sonde_host_describe_run(struct sonde_recorder *recorder);

/* Writes the peak RSS of the launched process before its exec. The kernel's high-water mark of the process's RSS also
 * covers the time before the exec. */
void sonde_host_describe_held(struct sonde_recorder *recorder, uint64_t rss_b);

#endif
