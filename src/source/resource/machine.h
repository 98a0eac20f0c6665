/* machine.h: what the kernel says of the machine, as the command sees it: CPUs, load, memory, disks,
 * networks, pressure, and the control groups that limit the command (resource/cgroup.h).
 *
 * Memory that may be used and is left is what the tightest control group leaves of the machine's. Disks are whole ones,
 * once: no partitions, no loops, none in memory, and none that is made of others. The loopback network is an interface
 * like others: who adds up leaves "lo" out. Networks are those of the command's namespace.
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

/* Told of each number; `object` is borrowed, NULL = none. */
typedef void sonde_resources_put(void *context, enum sonde_metric metric, const char *object, int64_t value);

/* Always CPUs, and what groups used of them; details are all else. */
void sonde_resources_machine_read(struct sonde_resources_machine *machine, int is_detailed, sonde_resources_put *put,
				  void *context);

/* The pid that the kernel gave last; 0 = not known. Nobody has been forked as long as it stays. */
pid_t sonde_resources_machine_last_pid(struct sonde_resources_machine *machine);

/* What cannot be known here, as a sentence; "" when nothing is missing. Its length. */
size_t sonde_resources_machine_missing(const struct sonde_resources_machine *machine, char *out, size_t out_b);

#endif
