/* devices.h: what one process says of devices (format/device.h), into the recording. Everything in it is hostile. One
 * thread.
 */
#ifndef SONDE_SOURCE_TARGET_DEVICES_H
#define SONDE_SOURCE_TARGET_DEVICES_H

#include <stdint.h>
#include <sys/types.h>

#include "format/device.h"
#include "source/record/recorder.h"

struct sonde_devices;

/* Of a process of the recording; -ENOMEM. */
int sonde_devices_new(struct sonde_devices **out, struct sonde_recorder *recorder, uint32_t process);
/* Writes what is left; what is lost is counted. */
void sonde_devices_free(struct sonde_devices *devices);

/* An event of one of the four types, checked (fold/drain.h). `thread`: the recording's; of an activity, who asked for
 * it. */
void sonde_devices_event(struct sonde_devices *devices, uint32_t thread, const struct sonde_event *event);
/* So many events of the process were lost on their way, which is counted: perhaps of devices. */
void sonde_devices_dropped(struct sonde_devices *devices, uint64_t count);
/* After each round over all rings of the process: what activities of the round before name is known by now. */
void sonde_devices_settle(struct sonde_devices *devices);

#endif
