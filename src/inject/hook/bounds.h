/* bounds.h: tests whether an address lies in this object. */
#ifndef SONDE_INJECT_HOOK_BOUNDS_H
#define SONDE_INJECT_HOOK_BOUNDS_H

#include <stdint.h>

/* Defined by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static inline int inject_bounds_have(uintptr_t address)
{
	return address - (uintptr_t)__ehdr_start < (uintptr_t)_end - (uintptr_t)__ehdr_start;
}

#endif
