/* error.h: one thread-local sentence that says why the last call failed.
 *
 * Functions return 0 or a negative errno. Whoever first notices a failure writes the sentence, with the value and the
 * place ("a.sonde: record cut off at byte 4096"); callers pass the code on. Libraries never print it: cli/ does.
 */
#ifndef SONDE_UTIL_ERROR_H
#define SONDE_UTIL_ERROR_H

/* Keeps the sentence (what steers terminals as question marks) and returns -code (code > 0: an errno), so that
 * `return sonde_error(EINVAL, "…", …);` reads well. */
int sonde_error(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The last sentence of this thread; never NULL, valid until the next sonde_error() here. */
const char *sonde_error_text(void);

#endif
