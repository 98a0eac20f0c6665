/* devices.h: turns one process's GPU events (format/device.h) into records. All of its input is untrusted. One thread.
 */
#ifndef SONDE_SOURCE_TARGET_DEVICES_H
#define SONDE_SOURCE_TARGET_DEVICES_H

#include <stdint.h>
#include <sys/types.h>

#include "format/device.h"
#include "source/record/recorder.h"

struct sonde_devices;

/* Handles the events of one process of the recording; -ENOMEM. */
int sonde_devices_new(struct sonde_devices **out, struct sonde_recorder *recorder, uint32_t process);
/* Writes pending activities, records losses and frees. */
void sonde_devices_free(struct sonde_devices *devices);

/* Takes an event of one of the device types, already checked (fold/drain.h). `thread`: the recording's id; for an
 * activity, the thread that requested it. */
void sonde_devices_event(struct sonde_devices *devices, uint32_t thread, const struct sonde_event *event);
/* Notes that `count` events of the process were lost on the way. They are already counted as losses; some of them may
 * have concerned devices. */
void sonde_devices_dropped(struct sonde_devices *devices, uint64_t count);
/* Call after each round over all rings of the process: by then everything that the previous round's activities refer to
 * is known. */
void sonde_devices_end_round(struct sonde_devices *devices);

#endif
