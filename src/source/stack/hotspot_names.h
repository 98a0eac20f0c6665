/* hotspot_names.h: what the methods of a Java VM are called, with the lines and the methods that were inlined.
 *
 * A compiled method keeps, for each address at which it can be stopped, the chain of methods and bytecode indices that
 * were compiled into it. At an address between two of those the next one stands for it, as for every profiler of Java
 * (java -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints has more of them).
 */
#ifndef SONDE_SOURCE_STACK_HOTSPOT_NAMES_H
#define SONDE_SOURCE_STACK_HOTSPOT_NAMES_H

#include "source/stack/hotspot_code.h"
#include "source/stack/places.h"

struct sonde_hotspot_names;

/* All are borrowed; `places` may serve several processes. NULL when out of memory. */
struct sonde_hotspot_names *sonde_hotspot_names_new(const struct sonde_hotspot_layout *layout,
						    const struct sonde_process_memory *memory,
						    struct sonde_places *places);
void sonde_hotspot_names_free(struct sonde_hotspot_names *names);

/* The frame of a blob's code at `pc`; is_exact: pc is a return address. */
struct sonde_trie_frame sonde_hotspot_names_code(struct sonde_hotspot_names *names,
						 const struct sonde_hotspot_blob *blob, uint64_t pc, int is_exact);

/* The frame of a method that is interpreted, which has reached the bytecode at `bcp`. */
struct sonde_trie_frame sonde_hotspot_names_method(struct sonde_hotspot_names *names, uint64_t method, uint64_t bcp);

/* Whether `method` looks like one, and `bcp` lies in its bytecodes (0: of a native method). */
int sonde_hotspot_names_is_method(const struct sonde_hotspot_names *names, uint64_t method, uint64_t bcp);

#endif
