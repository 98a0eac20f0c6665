/* device_lost.h: causes of lost activities that readers know, since they mean something else. */
#ifndef SONDE_FORMAT_DEVICE_LOST_H
#define SONDE_FORMAT_DEVICE_LOST_H

/* What a device did from then on is not known. ": NAME" of who has it follows. */
#define SONDE_DEVICE_LOST_TAKEN "CUDA: processes whose device tracing was taken by another profiler"

/* Told with a count of 0: that a process is traced, and that all was told of it. Where the second one is missing it was
 * killed, or ended by _exit(), with records that nobody had taken out. */
#define SONDE_DEVICE_TRACED "CUDA: traced"
#define SONDE_DEVICE_ALL_TOLD "CUDA: all was told"

#endif
