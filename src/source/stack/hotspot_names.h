/* hotspot_names.h: names methods of a Java VM, with lines and inlined methods.
 *
 * For each address at which the VM can stop a compiled method, the VM stores the chain of inlined methods and their
 * bytecode indices. An address between two such addresses is attributed to the next one, as in every Java profiler
 * (java -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints adds more such addresses).
 */
#ifndef SONDE_SOURCE_STACK_HOTSPOT_NAMES_H
#define SONDE_SOURCE_STACK_HOTSPOT_NAMES_H

#include "source/stack/hotspot_code.h"
#include "source/stack/places.h"

struct sonde_hotspot_names;

/* Borrows all arguments; `places` may be shared by several processes. NULL if out of memory. */
struct sonde_hotspot_names *sonde_hotspot_names_new(const struct sonde_hotspot_layout *layout,
						    const struct sonde_process_memory *memory,
						    struct sonde_places *places);
void sonde_hotspot_names_free(struct sonde_hotspot_names *names);

/* The frame for `pc` in the code of a blob; is_exact: pc is a return address. */
struct sonde_trie_frame sonde_hotspot_names_code(struct sonde_hotspot_names *names,
						 const struct sonde_hotspot_blob *blob, uint64_t pc, int is_exact);

/* The frame of an interpreted method that has reached the bytecode at `bcp`. */
struct sonde_trie_frame sonde_hotspot_names_method(struct sonde_hotspot_names *names, uint64_t method, uint64_t bcp);

/* True if `method` looks like a method and `bcp` is within its bytecodes (0: native method). */
int sonde_hotspot_names_is_method(const struct sonde_hotspot_names *names, uint64_t method, uint64_t bcp);

#endif
