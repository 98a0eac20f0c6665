/* suppressions.h: known leaks that are not reported, in LeakSanitizer's syntax: lines "leak:PATTERN".
 *
 * A pattern may match anywhere in the names of a stack's functions, modules and source files; * stands for any text, ^
 * and $ for the ends of a name. LeakSanitizer's built-in suppressions for C libraries also apply.
 */
#ifndef SONDE_ANALYZE_HEAP_SUPPRESSIONS_H
#define SONDE_ANALYZE_HEAP_SUPPRESSIONS_H

#include "session/session.h"

#define SONDE_SUPPRESSIONS_INFO "heap.suppressions" /* INFO record: the suppressions of the recorded program */

int sonde_suppressions_match(const char *pattern, size_t pattern_b, const char *name);

/* True if a stack is suppressed by the built-in patterns or those in `text` (may be NULL). */
int sonde_suppressions_take(const struct sonde_session *session, const char *text, uint32_t stack);

#endif
