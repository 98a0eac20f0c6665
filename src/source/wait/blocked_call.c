/* blocked_call.c: parses the kernel's line about a thread, and has a table of the system calls that may block. */
#include "source/wait/blocked_call.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#define FD SONDE_BLOCKED_DESCRIPTOR
#define AT SONDE_BLOCKED_ADDRESS

/* The system calls that may block, by number. Newer architectures lack the older calls. */
static const struct sonde_blocked_row rows[] = {
    [SYS_futex] = {SONDE_WAIT_FUTEX, AT},
    [SYS_nanosleep] = {SONDE_WAIT_SLEEP, 0},
    [SYS_clock_nanosleep] = {SONDE_WAIT_SLEEP, 0},
    [SYS_ppoll] = {SONDE_WAIT_POLL, 0},
    [SYS_pselect6] = {SONDE_WAIT_POLL, 0},
    [SYS_epoll_pwait] = {SONDE_WAIT_POLL, 0},
    [SYS_io_getevents] = {SONDE_WAIT_POLL, 0},
    [SYS_rt_sigtimedwait] = {SONDE_WAIT_SIGNAL, 0},
    [SYS_rt_sigsuspend] = {SONDE_WAIT_SIGNAL, 0},
    [SYS_wait4] = {SONDE_WAIT_CHILD, 0},
    [SYS_waitid] = {SONDE_WAIT_CHILD, 0},
    [SYS_semop] = {SONDE_WAIT_SEMAPHORE, 0},
    [SYS_semtimedop] = {SONDE_WAIT_SEMAPHORE, 0},
    [SYS_read] = {SONDE_WAIT_READ, FD},
    [SYS_readv] = {SONDE_WAIT_READ, FD},
    [SYS_pread64] = {SONDE_WAIT_READ, FD},
    [SYS_preadv] = {SONDE_WAIT_READ, FD},
    [SYS_getdents64] = {SONDE_WAIT_STAT, FD},
    [SYS_write] = {SONDE_WAIT_WRITE, FD},
    [SYS_writev] = {SONDE_WAIT_WRITE, FD},
    [SYS_pwrite64] = {SONDE_WAIT_WRITE, FD},
    [SYS_pwritev] = {SONDE_WAIT_WRITE, FD},
    [SYS_sendfile] = {SONDE_WAIT_WRITE, FD},
    [SYS_splice] = {SONDE_WAIT_READ, FD},
    [SYS_copy_file_range] = {SONDE_WAIT_READ, FD},
    [SYS_fsync] = {SONDE_WAIT_SYNC, FD},
    [SYS_fdatasync] = {SONDE_WAIT_SYNC, FD},
    [SYS_sync_file_range] = {SONDE_WAIT_SYNC, FD},
    [SYS_syncfs] = {SONDE_WAIT_SYNC, FD},
    [SYS_sync] = {SONDE_WAIT_SYNC, 0},
    [SYS_msync] = {SONDE_WAIT_SYNC, 0},
    [SYS_ftruncate] = {SONDE_WAIT_WRITE, FD},
    [SYS_fallocate] = {SONDE_WAIT_WRITE, FD},
    [SYS_flock] = {SONDE_WAIT_OPEN, FD},
    [SYS_openat] = {SONDE_WAIT_OPEN, 0},
    [SYS_close] = {SONDE_WAIT_CLOSE, FD},
    [SYS_fstat] = {SONDE_WAIT_STAT, FD},
    [SYS_newfstatat] = {SONDE_WAIT_STAT, 0},
    [SYS_statx] = {SONDE_WAIT_STAT, 0},
    [SYS_faccessat] = {SONDE_WAIT_STAT, 0},
    [SYS_connect] = {SONDE_WAIT_CONNECT, FD},
    [SYS_accept] = {SONDE_WAIT_CONNECT, FD},
    [SYS_accept4] = {SONDE_WAIT_CONNECT, FD},
    [SYS_sendto] = {SONDE_WAIT_SEND, FD},
    [SYS_sendmsg] = {SONDE_WAIT_SEND, FD},
    [SYS_sendmmsg] = {SONDE_WAIT_SEND, FD},
    [SYS_recvfrom] = {SONDE_WAIT_RECEIVE, FD},
    [SYS_recvmsg] = {SONDE_WAIT_RECEIVE, FD},
    [SYS_recvmmsg] = {SONDE_WAIT_RECEIVE, FD},
#ifdef SYS_open
    [SYS_open] = {SONDE_WAIT_OPEN, 0},
    [SYS_creat] = {SONDE_WAIT_OPEN, 0},
    [SYS_stat] = {SONDE_WAIT_STAT, 0},
    [SYS_lstat] = {SONDE_WAIT_STAT, 0},
    [SYS_access] = {SONDE_WAIT_STAT, 0},
    [SYS_getdents] = {SONDE_WAIT_STAT, FD},
    [SYS_poll] = {SONDE_WAIT_POLL, 0},
    [SYS_select] = {SONDE_WAIT_POLL, 0},
    [SYS_epoll_wait] = {SONDE_WAIT_POLL, 0},
    [SYS_pause] = {SONDE_WAIT_SIGNAL, 0},
#endif
#ifdef SYS_io_uring_enter
    [SYS_io_uring_enter] = {SONDE_WAIT_POLL, 0},
#endif
#ifdef SYS_epoll_pwait2
    [SYS_epoll_pwait2] = {SONDE_WAIT_POLL, 0},
#endif
};

struct sonde_blocked_row sonde_blocked_row(int64_t number)
{
	static const struct sonde_blocked_row fault = {SONDE_WAIT_FAULT, 0}, other = {SONDE_WAIT_OTHER, 0};
	if (number < 0)
		return fault;
	return (size_t)number < sizeof rows / sizeof *rows && rows[number].kind ? rows[number] : other;
}

int sonde_blocked_call_parse(struct sonde_blocked_call *out, const char *text)
{
	struct sonde_blocked_call call = {0};
	unsigned long long values[SONDE_BLOCKED_ARGUMENTS + 2];
	long long number;
	int at = 0, count = 0;
	if (!strncmp(text, "running", 7))
		return -EAGAIN;
	if (sscanf(text, "%lld%n", &number, &at) != 1)
		return -EBADMSG;
	for (int used = 0; count < SONDE_BLOCKED_ARGUMENTS + 2; count++, at += used)
		if (sscanf(text + at, "%llx%n", &values[count], &used) != 1)
			break;
	if (count != (number < 0 ? 2 : SONDE_BLOCKED_ARGUMENTS + 2))
		return -EBADMSG;
	call.number = number < 0 ? -1 : number;
	call.sp = values[count - 2];
	call.pc = values[count - 1];
	for (int i = 0; i < count - 2; i++)
		call.arguments[i] = values[i];
	if (!call.sp || !call.pc)
		return -ESRCH;
	*out = call;
	return 0;
}
