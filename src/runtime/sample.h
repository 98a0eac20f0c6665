/* sample.h: for injected objects: puts CPU samples of the calling thread into a pool of the object's own.
 *
 * An injected object links `runtime_inject_dep`, with -Wl,--exclude-libs,ALL so that it exports none of it: it then
 * lives beside a libsonde in the same process, each with its own connection, pool and pages. The connection is made by
 * the object's constructor when SONDE_SOCKET is set.
 */
#ifndef SONDE_RUNTIME_SAMPLE_H
#define SONDE_RUNTIME_SAMPLE_H

#include <stdint.h>

#include "format/event.h"

/* Adds a sample whose stack_b bytes of stack stand at `stack`; head and time are filled in here. For signal handlers:
 * keeps errno. A thread's first call maps memory and takes a chunk. 0, or an enum sonde_code: off, or lost and counted.
 */
int sonde_sample_push(const struct sonde_event_cpu_sample *sample, const void *stack);

#endif
