/* likely.h: tells the compiler which branch is taken, in code that runs at every hooked call. */
#ifndef SONDE_INJECT_HOOK_LIKELY_H
#define SONDE_INJECT_HOOK_LIKELY_H

#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

#endif
