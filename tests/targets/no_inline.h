/* no_inline.h: keeps functions from being inlined or cloned, so that a stack has a frame of each. */
#ifndef SONDE_TARGETS_NO_INLINE_H
#define SONDE_TARGETS_NO_INLINE_H

#ifdef __clang__
#define NO_INLINE __attribute__((noinline))
#else
#define NO_INLINE __attribute__((noinline, noclone, noipa))
#endif

#endif
