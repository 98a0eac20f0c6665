/* states.h: what threads did, for formats with a track of it: intervals cut to what is wanted, with a slice each where
 * they are long, and neighbours that are short sharing one (chrome/share.h). Sums stay exact.
 *
 * Count first, then write: sonde_export_states_count(), and where there is something sonde_export_states_put().
 */
#ifndef SONDE_EXPORT_STATES_H
#define SONDE_EXPORT_STATES_H

#include "export/chrome/share.h"
#include "export/format.h"
#include "session/intervals.h"

/* Neighbours that share a slice. */
struct sonde_export_states_shared {
	uint64_t from_ns, to_ns, count;
	uint64_t ns[SONDE_INTERVAL_STATES];
};

struct sonde_export_states {
	/* The caller's */
	struct sonde_session *session;
	const struct sonde_format_options *options;
	/* `part` is what is wanted of the interval `whole`. 0, or a negative errno, which ends the walk. */
	int (*put)(void *context, const struct sonde_interval *whole, const struct sonde_interval *part);
	void (*put_shared)(void *context, uint32_t thread, const struct sonde_export_states_shared *shared);
	void *context;
	/* Written here */
	struct sonde_chrome_share share;
	uint64_t shared_count;                   /* intervals that have no slice of their own */
	size_t threads;                          /* ids are below */
	struct sonde_export_states_shared *open; /* by thread id; of sonde_export_states_put() */
};

/* The columns that a shared slice has for the time in each state; NULL: it is in none. */
extern const char *const sonde_export_states_keys[SONDE_INTERVAL_STATES];

/* 1: there are intervals; 0: none, or a negative errno. */
int sonde_export_states_count(struct sonde_export_states *states);
/* Hands out every slice. 0 or a negative errno. */
int sonde_export_states_put(struct sonde_export_states *states);

#endif
