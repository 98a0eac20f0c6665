/* device_lost.h: a cause of lost activities that readers know, since figures after it mean something else. */
#ifndef SONDE_FORMAT_DEVICE_LOST_H
#define SONDE_FORMAT_DEVICE_LOST_H

/* What a device did from then on is not known. ": NAME" of who has it follows. */
#define SONDE_DEVICE_LOST_TAKEN "CUDA: processes whose device tracing was taken by another profiler"

#endif
