/* lookup.h: symbols for everything that was sampled, written into the recording when it closes. */
#ifndef SONDE_SOURCE_LOOKUP_H
#define SONDE_SOURCE_LOOKUP_H

#include <stdint.h>

#include "source/trie.h"

/* Resolves each address of each module once and writes SYMBOL records until deadline_ns (CLOCK_MONOTONIC); what is left
 * then, or cannot be opened, is left to readers. 0, or the writer's error. */
int sonde_lookup_symbols(struct sonde_trie *stacks, uint64_t deadline_ns, int debuginfod);

#endif
