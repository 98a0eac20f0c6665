/* process.h: the start and end of recording in this process, and the state that its threads share
 * (hook/hook_process.c).
 *
 * State that must not survive fork lies on pages that read as zeros in the child.
 */
#ifndef SONDE_INJECT_HOOK_PROCESS_H
#define SONDE_INJECT_HOOK_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

#include "format/early.h"
#include "inject/hook/connect.h"
#include "inject/hook/sandbox.h"

#pragma GCC visibility push(hidden)

/* Parses a number and skips the blanks after it. */
uint64_t hook_read_number(const char **text);

/* State for the time before the process connects (wait/early.c); owner: its first thread. */
struct hook_early {
	_Atomic uint32_t state;
	_Atomic uint32_t is_busy;
	uint32_t has_cycles;
	uint32_t copies; /* number of stack copies so far */
	uintptr_t thread;
	struct sonde_early_slot *slot;
	_Atomic uint64_t *at; /* the next word to write */
	uint64_t changes;     /* loads and unloads of objects when the mappings were last recorded */
	uint64_t stack_low, stack_end;
	/* the last copy of the stack: its caller, and the words below `top`, highest address last */
	uint64_t pc, sp, fp, top;
	uint64_t stack[SONDE_EARLY_STACK_WORDS];
	uint64_t fresh[SONDE_EARLY_STACK_WORDS]; /* the copy being made */
};

struct hook_process {
	struct inject_link link;
	struct inject_sandbox sandbox;
	struct hook_early early;
	_Atomic uint32_t stacks;  /* numbers assigned to stacks */
	_Atomic uint32_t objects; /* numbers assigned to objects that are waited for */
	_Atomic uint32_t has_left;
	_Atomic uint32_t vain, vain_freed; /* waits without any chunk becoming free; the pool's `freed` at that time */
};

extern struct hook_process *hook_process; /* NULL = nothing is recorded */
extern int hook_is_lazy;                  /* set by hook_configure(): the process connects with its first record */
extern pid_t hook_first_pid;              /* differs from the pid of a forked child */

/* Reads the environment. Returns 1 once it is known whether anything is recorded; call it again until then, because the
 * environment may not exist yet. */
int hook_process_init(void);
/* Maps the tables. In a light recording, this is called when the first block is sampled. True if recording is possible.
 * Call only between inject_calls_begin() and inject_calls_end(). */
int hook_process_open(void);
/* Reports something about the process to the recorder, without connecting the process. */
void hook_process_record(enum sonde_link_reason reason);
/* Called in a forked child, before anything else. */
void hook_process_forked(void);
/* Stops recording for good, and reports the reason to the recorder. */
void hook_process_leave(enum sonde_link_reason reason);

#pragma GCC visibility pop

#endif
