/* error.h: one thread-local message that explains why the last call failed.
 *
 * Functions return 0 or a negative errno. The function that first detects a failure writes the message, with the value
 * and the position ("a.sonde: record cut off at byte 4096"); its callers return the code. Libraries never print the
 * message: cli/ does.
 */
#ifndef SONDE_UTIL_ERROR_H
#define SONDE_UTIL_ERROR_H

/* Stores the message (control characters replaced) and returns -code (code > 0: an errno), so that `return
 * sonde_error(EINVAL, "…", …);` works. */
int sonde_error(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* This thread's last message; never NULL, valid until the thread's next sonde_error(). */
const char *sonde_error_text(void);

#endif
