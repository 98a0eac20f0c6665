/* code.h: what a sampled instruction does to memory, by the code in its module's file. */
#ifndef SONDE_SESSION_CODE_H
#define SONDE_SESSION_CODE_H

#include "session/session.h"
#include "symbol/instructions.h"

/* The writing instruction that samples of a frame speak of (sonde_code_find_write()): 1 and `out`, or 0: there is none.
 * Only a file of the build that was recorded is read: -ESTALE where it is another or that cannot be known, -ENOENT
 * where there is no file, or no function in it; -ENOSYS where its code cannot be decoded; each with a sentence. */
int sonde_session_find_write(struct sonde_write *out, const struct sonde_session *session,
			     const struct sonde_frame *frame);

#endif
