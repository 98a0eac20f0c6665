/* code.h: the instructions of a function, read from its module's file, and whether a sampled one writes to memory. */
#ifndef SONDE_SESSION_CODE_H
#define SONDE_SESSION_CODE_H

#include "session/session.h"
#include "symbol/instructions.h"

/* Finds the memory write that the samples of a frame point at (sonde_code_find_write()): 1 and `out`, or 0 = none.
 * Reads only a file of the recorded build. Errors, each with a message: -ESTALE if the build differs or is unknown,
 * -ENOENT if the file or the function in it does not exist, -ENOSYS if its code cannot be decoded. */
int sonde_session_find_write(struct sonde_write *out, const struct sonde_session *session,
			     const struct sonde_frame *frame);

/* Calls `take` for each instruction of a function. The end follows from the symbols of the function's file; if they
 * lack the function, it is the first instruction at or after `last` that never falls through. At most 1 MB. Errors as
 * above, or the nonzero result of `take`. */
int sonde_session_instructions(const struct sonde_session *session, uint32_t function, uint64_t last,
			       int (*take)(void *context, const struct sonde_instruction *instruction), void *context);

#endif
