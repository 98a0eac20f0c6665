/* blocked_call.h: parses /proc/PID/task/TID/syscall: the system call that a thread is in, and the object that it waits
 * for. */
#ifndef SONDE_SOURCE_WAIT_BLOCKED_CALL_H
#define SONDE_SOURCE_WAIT_BLOCKED_CALL_H

#include <stdint.h>

#include "format/wait.h"

#define SONDE_BLOCKED_ARGUMENTS 6

struct sonde_blocked_call {
	int64_t number; /* −1: it is blocked outside of system calls (a page fault) */
	uint64_t arguments[SONDE_BLOCKED_ARGUMENTS];
	uint64_t sp, pc;
};

/* 0; -EAGAIN: the thread is running or runnable; -ESRCH: it has no user side (a kernel thread, or it has exited);
 * -EBADMSG.
 */
int sonde_blocked_call_parse(struct sonde_blocked_call *out, const char *text);

/* The meaning of a call's first argument. */
enum sonde_blocked_argument { SONDE_BLOCKED_NOTHING = 0, SONDE_BLOCKED_DESCRIPTOR, SONDE_BLOCKED_ADDRESS };

struct sonde_blocked_row {
	enum sonde_wait_kind kind;
	enum sonde_blocked_argument argument;
};

/* Calls missing in the table are SONDE_WAIT_OTHER; −1 is SONDE_WAIT_FAULT. */
struct sonde_blocked_row sonde_blocked_row(int64_t number);

#endif
