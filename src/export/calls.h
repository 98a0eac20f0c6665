/* calls.h: the longest blocking calls, sorted, for formats that show each call as a slice. */
#ifndef SONDE_EXPORT_CALLS_H
#define SONDE_EXPORT_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "export/format.h"
#include "session/session.h"

/* A call, cut to the selected time. */
struct sonde_call {
	uint64_t from_ns, to_ns, amount;
	uint64_t given_ns; /* when the acquired lock was released; 0 = not known */
	uint32_t thread, object, other, given_by;
	uint8_t kind, status;
};

struct sonde_calls {
	struct sonde_call *rows; /* sorted by thread, then start; enclosing calls first */
	size_t count, cap;
	uint64_t left, left_ns; /* number of omitted calls, and their total time */
	uint64_t least_ns;      /* omitted calls were shorter than this; 0 = none were omitted */
};

/* Stores call i of a batch in `out`, cut to `range`, without given_ns and given_by. Returns 0 if the call is not
 * selected, or is not a wait of its thread. */
int sonde_call_take(struct sonde_call *out, const struct sonde_selection *range, const struct sonde_batch *batch,
		    size_t i);

/* Selects by the session's options. Keeps the longest 50,000 calls (tracks/share.h) and the holders of locks in memory.
 * -ENOMEM. Free with sonde_calls_fini(), after an error too. */
int sonde_calls_read(struct sonde_calls *out, struct sonde_session *session,
		     const struct sonde_format_options *options);
void sonde_calls_fini(struct sonde_calls *calls);

/* Writes what a call waited for to `out`; "" if it has neither a name nor an address. */
const char *sonde_call_object(const struct sonde_session *session, uint32_t object, char *out, size_t out_b);

#endif
