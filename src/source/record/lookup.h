/* lookup.h: resolves the symbols of everything that was sampled and writes them when the recording closes. */
#ifndef SONDE_SOURCE_RECORD_LOOKUP_H
#define SONDE_SOURCE_RECORD_LOOKUP_H

#include <stdint.h>

#include "trace/trie.h"

/* Resolves each address of each module once and writes SYMBOL records. DWARF that is not cached is read until
 * deadline_ns (CLOCK_MONOTONIC) and within a budget of 0.2 % of the commands' CPU time, at least 4 ms. Beyond that,
 * records hold names only and readers look up the rest, as they also do for files that cannot be opened here. Returns 0
 * or the writer's error. */
int sonde_lookup_symbols(struct sonde_trie *stacks, uint64_t deadline_ns, int debuginfod);

#endif
