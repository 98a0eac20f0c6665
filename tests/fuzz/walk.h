/* walk.h: reads everything in a recording, and aborts if the session breaks a promise of session.h. */
#ifndef SONDE_TESTS_WALK_H
#define SONDE_TESTS_WALK_H

#include <stddef.h>
#include <stdint.h>

struct walk_counts {
	size_t samples, switches, zones, unfinished, events, blocks, errors;
};

/* The error of sonde_session_open(), or 0. `counts` may be NULL. */
int walk(const char *path, struct walk_counts *counts);

/* The same over bytes that become a file for as long as it takes. */
int walk_bytes(const uint8_t *bytes, size_t size_b, struct walk_counts *counts);

#endif
