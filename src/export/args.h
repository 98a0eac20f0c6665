/* args.h: the arguments of a zone or span on a track: those that the program set, and the sums of the work that it
 * reported.
 *
 * A JSON object must not have duplicate keys. The program's keys are kept unchanged; if it set one repeatedly, the last
 * value counts. Our own keys are renamed to sonde.KEY if the program uses the same key. Keys are compared in the form
 * that readers of the output see: with bytes that are not UTF-8 replaced by U+FFFD.
 */
#ifndef SONDE_EXPORT_ARGS_H
#define SONDE_EXPORT_ARGS_H

#include "tracks/text.h"
#include "tracks/tracks.h"

enum { SONDE_ARGS_MAX = 32, SONDE_ARGS_WORKS = 3 }; /* arguments of one zone or span; further ones are dropped */
enum { SONDE_ARGS_OWN_B = 256 };                    /* capacity for one of our keys */

struct sonde_args {
	/* Once closed, in the order of output: sums of work, with our keys; then the program's arguments. */
	struct sonde_track_arg args[SONDE_ARGS_WORKS + SONDE_ARGS_MAX];
	size_t count, ours;
	/* The program's arguments, newest first: */
	char keys[SONDE_ARGS_MAX][SONDE_TRACK_TEXT_B], texts[SONDE_ARGS_MAX][SONDE_TRACK_TEXT_B];
	struct sonde_track_arg newest[SONDE_ARGS_MAX];
	size_t newest_count;
};

/* Call _open first, then _add for each ARG or WORK event, newest first, then _close. Arguments beyond the maximum are
 * counted in `dropped`. */
void sonde_args_open(struct sonde_args *args);
void sonde_args_add(struct sonde_args *args, const struct sonde_event *event, size_t *dropped);
void sonde_args_close(struct sonde_args *args);

/* Returns `key`, one of ours, or "sonde.KEY", stored in `text`, if the program uses the same key. */
const char *sonde_args_own(const struct sonde_args *args, const char *key, char text[SONDE_ARGS_OWN_B]);

#endif
