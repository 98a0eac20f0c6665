/* calls.h: blocking calls, for formats that show each as a slice: the longest of them, sorted. */
#ifndef SONDE_EXPORT_CALLS_H
#define SONDE_EXPORT_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "export/format.h"
#include "session/session.h"

/* A call, cut to what is wanted. */
struct sonde_call {
	uint64_t from_ns, to_ns, amount;
	uint64_t given_ns; /* when the lock that it got was given up; 0 = not known */
	uint32_t thread, object, other, given_by;
	uint8_t kind, status;
};

struct sonde_calls {
	struct sonde_call *rows; /* by thread, then beginning, those around others first */
	size_t count, cap;
	uint64_t left, left_ns; /* not among them, and the time that these took */
	uint64_t least_ns;      /* they were shorter; 0 = none were left out */
};

/* What options want of a session. The longest 50,000 (tracks/share.h) are held in memory, and who held locks. -ENOMEM.
 * Free with sonde_calls_fini(), after an error too. */
int sonde_calls_read(struct sonde_calls *out, struct sonde_session *session,
		     const struct sonde_format_options *options);
void sonde_calls_fini(struct sonde_calls *calls);

/* What a call waited for, in `out`; "" where it has neither a name nor an address. */
const char *sonde_call_object(const struct sonde_session *session, uint32_t object, char *out, size_t out_b);

#endif
