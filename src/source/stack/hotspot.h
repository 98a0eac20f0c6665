/* hotspot.h: unwinds frames of HotSpot Java VMs (OpenJDK) from the memory of their process.
 *
 * Compiled methods have frames of fixed size, interpreter frames are linked by the frame pointer, and there are several
 * kinds of stubs. The VM describes its structures for debuggers (stack/hotspot_layout.h). It is read as samples arrive,
 * while its structures are still as they were when the sample was taken.
 */
#ifndef SONDE_SOURCE_STACK_HOTSPOT_H
#define SONDE_SOURCE_STACK_HOTSPOT_H

#include "source/stack/generated_frame.h"
#include "source/stack/live_memory.h"
#include "source/stack/places.h"
#include "source/stack/process_memory.h"

struct sonde_hotspot;

/* Opens the VM of a process whose libjvm.so has its ELF header at `base`, and reads its tables. `live` and `places` are
 * borrowed. NULL if out of memory. */
struct sonde_hotspot *sonde_hotspot_new(struct sonde_live_memory *live, pid_t pid, uint64_t base,
					struct sonde_places *places);
void sonde_hotspot_free(struct sonde_hotspot *vm); /* NULL is allowed */

/* The same with any memory, for tests. */
struct sonde_hotspot *sonde_hotspot_new_from(const struct sonde_process_memory *memory, uint64_t base,
					     struct sonde_places *places);

/* Why the frames of this VM cannot be unwound; NULL = they can. */
const char *sonde_hotspot_problem(const struct sonde_hotspot *vm);

/* Like sonde_generated_step(): 0 if the code is not the VM's. */
int sonde_hotspot_step(struct sonde_hotspot *vm, struct sonde_generated_frame *frame);

#endif
