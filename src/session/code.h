/* code.h: instructions of a function, by the code in its module's file, and what a sampled one does to memory. */
#ifndef SONDE_SESSION_CODE_H
#define SONDE_SESSION_CODE_H

#include "session/session.h"
#include "symbol/instructions.h"

/* The writing instruction that samples of a frame speak of (sonde_code_find_write()): 1 and `out`, or 0: there is none.
 * Only a file of the build that was recorded is read: -ESTALE where it is another or that cannot be known, -ENOENT
 * where there is no file, or no function in it; -ENOSYS where its code cannot be decoded; each with a sentence. */
int sonde_session_find_write(struct sonde_write *out, const struct sonde_session *session,
			     const struct sonde_frame *frame);

/* Gives the instructions of a function from its first on, to its end by the symbols of its file; where these do not
 * know it, to the first one from `last` on that never goes on to the next. At most 1 MB. Errors as above, or what
 * `take` returns, if that is not 0. */
int sonde_session_instructions(const struct sonde_session *session, uint32_t function, uint64_t last,
			       int (*take)(void *context, const struct sonde_instruction *instruction), void *context);

#endif
