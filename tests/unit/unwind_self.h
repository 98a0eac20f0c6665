/* unwind_self.h: unwinds this process with our tables and nothing else. */
#ifndef SONDE_TESTS_UNWIND_SELF_H
#define SONDE_TESTS_UNWIND_SELF_H

#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "unwind/step.h"

/* Opens the tables of all loaded modules, [vdso] included. */
void unwind_self_open(void);
void unwind_self_close(void);

/* pcs[0] is the context's; *result is the reason why it ended. */
size_t unwind_self(const ucontext_t *context, uint64_t *pcs, size_t max, enum sonde_unwind_result *result);

#endif
