/* places.h: names that a runtime gives its code, as addresses of a module that has no file.
 *
 * A runtime moves its code, throws it away and puts other code there, and its interpreter runs every function at the
 * same addresses: an address of the process says little. So a frame whose names are known gets an address in a module
 * of the recording's own ("[java]"): one for each distinct chain of functions and lines, with a SYMBOL record that
 * names it. What is kept is bounded: beyond that frames are unnamed.
 */
#ifndef SONDE_SOURCE_STACK_PLACES_H
#define SONDE_SOURCE_STACK_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "source/record/recorder.h"

#define SONDE_PLACE_DEPTH_MAX 32 /* functions of one place */

struct sonde_places;

/* `module` is the name of the module; borrowed, as is the recorder. NULL when out of memory. */
struct sonde_places *sonde_places_new(struct sonde_recorder *recorder, const char *module);
void sonde_places_free(struct sonde_places *places);

/* The one copy of a text, as long as the places; NULL beyond the bound. Bytes that are no printing ASCII or UTF-8 are
 * replaced. */
const char *sonde_places_text(struct sonde_places *places, const char *text, size_t len_b);

/* The texts must come from sonde_places_text(). */
struct sonde_place {
	const char *function;
	const char *file; /* NULL = not known */
	uint32_t line;    /* 0 = not known */
};

/* The frame of a chain of functions, the innermost inlined one first. */
struct sonde_trie_frame sonde_places_frame(struct sonde_places *places, const struct sonde_place *chain, size_t count);

#endif
