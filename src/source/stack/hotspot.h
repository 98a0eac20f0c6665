/* hotspot.h: frames of a Java VM of the HotSpot family (OpenJDK), from the memory of its process.
 *
 * Compiled methods have frames of fixed size, the interpreter's are led through by the frame pointer, stubs are of
 * several kinds. The VM describes itself to debuggers (stack/hotspot_layout.h), and it is asked as the samples come,
 * while its structures still say what they said when the sample was taken.
 */
#ifndef SONDE_SOURCE_STACK_HOTSPOT_H
#define SONDE_SOURCE_STACK_HOTSPOT_H

#include "source/stack/generated_frame.h"
#include "source/stack/live_memory.h"
#include "source/stack/places.h"
#include "source/stack/process_memory.h"

struct sonde_hotspot;

/* The VM of a process whose libjvm.so has its ELF header at `base`; its tables are read at once. `live` and `places`
 * are borrowed. NULL when out of memory. */
struct sonde_hotspot *sonde_hotspot_new(struct sonde_live_memory *live, pid_t pid, uint64_t base,
					struct sonde_places *places);
void sonde_hotspot_free(struct sonde_hotspot *vm); /* NULL is fine */

/* The same with any memory, for tests. */
struct sonde_hotspot *sonde_hotspot_new_from(const struct sonde_process_memory *memory, uint64_t base,
					     struct sonde_places *places);

/* Why the frames of this VM cannot be followed; NULL = they can. */
const char *sonde_hotspot_problem(const struct sonde_hotspot *vm);

/* As sonde_generated_step(): 0 where the code is not the VM's. */
int sonde_hotspot_step(struct sonde_hotspot *vm, struct sonde_generated_frame *frame);

#endif
