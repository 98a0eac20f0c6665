/* places.h: gives frames that a runtime has named addresses in a module without a file.
 *
 * A runtime moves, discards and replaces its code, and its interpreter runs every function at the same addresses, so a
 * code address alone does not identify a function. A named frame therefore gets an address in a module of the recording
 * ("[java]"): each distinct chain of functions and lines gets one address, with a SYMBOL record that names the chain.
 * Memory is bounded: frames beyond the limit stay unnamed.
 */
#ifndef SONDE_SOURCE_STACK_PLACES_H
#define SONDE_SOURCE_STACK_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "source/record/recorder.h"

#define SONDE_PLACE_DEPTH_MAX 32 /* functions per chain */

struct sonde_places;

/* `module` is the name of the module; it and the recorder are borrowed. NULL if out of memory. */
struct sonde_places *sonde_places_new(struct sonde_recorder *recorder, const char *module);
void sonde_places_free(struct sonde_places *places);

/* Interns a text for the lifetime of `places`; NULL beyond the limit. Bytes that are neither printable ASCII nor UTF-8
 * are replaced. */
const char *sonde_places_text(struct sonde_places *places, const char *text, size_t len_b);

/* One function of a chain. Its texts must come from sonde_places_text(). */
struct sonde_place {
	const char *function;
	const char *file; /* NULL = unknown */
	uint32_t line;    /* 0 = unknown */
};

/* The frame of a chain of functions, innermost inlined function first. */
struct sonde_trie_frame sonde_places_frame(struct sonde_places *places, const struct sonde_place *chain, size_t count);

#endif
