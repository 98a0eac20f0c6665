/* machine.h: kernel statistics of the machine as seen by the command: CPUs, load, memory, disks, networks, pressure,
 * and the control groups that limit the command (resource/cgroup.h).
 *
 * Total and available memory are limited by the tightest control group. Only whole disks are included, each once: no
 * partitions, loop devices, RAM disks, or disks composed of others. The loopback network is an interface like the
 * others: exclude "lo" from sums. Networks are those of the command's namespace.
 */
#ifndef SONDE_SOURCE_RESOURCE_MACHINE_H
#define SONDE_SOURCE_RESOURCE_MACHINE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/metric.h"

struct sonde_resources_machine;

/* `root` "" = this machine; borrowed. `pid`: the command. -ENOMEM. */
int sonde_resources_machine_new(struct sonde_resources_machine **out, const char *root, pid_t pid);
void sonde_resources_machine_free(struct sonde_resources_machine *machine);

/* Called for each number; `object` is borrowed, NULL = none. */
typedef void sonde_resources_put(void *context, enum sonde_metric metric, const char *object, int64_t value);

/* Always reads CPUs and the groups' CPU usage; everything else only if `is_detailed`. */
void sonde_resources_machine_read(struct sonde_resources_machine *machine, int is_detailed, sonde_resources_put *put,
				  void *context);

/* The last pid assigned by the kernel; 0 = unknown. While it is unchanged, no process has been forked. */
pid_t sonde_resources_machine_last_pid(struct sonde_resources_machine *machine);

/* Describes what is not available here in a sentence; "" if nothing is missing. Returns its length. */
size_t sonde_resources_machine_missing(const struct sonde_resources_machine *machine, char *out, size_t out_b);

#endif
