/* device_lost.h: causes of lost activities that readers recognise because they have a special meaning. */
#ifndef SONDE_FORMAT_DEVICE_LOST_H
#define SONDE_FORMAT_DEVICE_LOST_H

/* From the time of this loss on, the device's activity is unknown. The text continues with ": NAME", the name of the
 * other profiler. */
#define SONDE_DEVICE_LOST_TAKEN "CUDA: processes whose device tracing was taken by another profiler"

/* Both causes are reported with a count of 0. The first means that the process is traced, the second that all its
 * activities were reported. If only the first is present, the process was killed or called _exit() before all records
 * had been collected. */
#define SONDE_DEVICE_TRACED "CUDA: traced"
#define SONDE_DEVICE_COMPLETE "CUDA: all was reported"

#endif
