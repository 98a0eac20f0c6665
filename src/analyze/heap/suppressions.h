/* suppressions.h: leaks that are known and not reported, in the words of LeakSanitizer: lines "leak:PATTERN".
 *
 * A pattern is looked for anywhere in the names of functions, modules and source files of a stack; * stands for any
 * text, ^ and $ for the ends of a name. In addition those that LeakSanitizer has built in, of what C libraries leave.
 */
#ifndef SONDE_ANALYZE_HEAP_SUPPRESSIONS_H
#define SONDE_ANALYZE_HEAP_SUPPRESSIONS_H

#include "session/session.h"

#define SONDE_SUPPRESSIONS_INFO "heap.suppressions" /* INFO record: what the recorded program said */

int sonde_suppressions_match(const char *pattern, size_t pattern_b, const char *name);

/* Whether a stack is suppressed by the built-in patterns or those of `text` (may be NULL). */
int sonde_suppressions_take(const struct sonde_session *session, const char *text, uint32_t stack);

#endif
