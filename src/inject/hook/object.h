/* object.h: declarations that each object with hooks implements for the code that they share (hook/process.h,
 * hook/thread.h).
 *
 * The objects (heap/heap.h, wait/waits.h) have their own copies of all this, and are linked against nothing.
 */
#ifndef SONDE_INJECT_HOOK_OBJECT_H
#define SONDE_INJECT_HOOK_OBJECT_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/* The environment variable with the settings: the number of the recorder's own seccomp filters, then the object's
 * settings, which start at `wanted`; read once. */
extern const char hook_env[];
void hook_configure(const char *wanted);

enum hook_state { HOOK_READY, HOOK_ON, HOOK_OFF };

/* READY: the environment was read, and something is to be recorded; ON: a thread now writes; OFF: nothing is recorded
 * (any more). OFF is repeated by each thread that notices. */
void hook_state_is(enum hook_state state);

/* The calling thread is about to create another one. */
void hook_birth(void);

/* True if a thread that finds no free chunk waits for the recorder; else its records are lost, and counted. */
extern const int hook_waits;

#pragma GCC visibility pop

#endif
