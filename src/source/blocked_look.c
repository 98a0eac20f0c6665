/* blocked_look.c: what the kernel says of a thread, and its stack (blocked_look.h).
 *
 * A thread that has not been given a CPU since the last look, and is in the same call, is in the same wait: then two
 * short lines are all that is read. Else its stack is copied and unwound. What the kernel tells of a blocked thread is
 * its stack pointer and pc alone; a walk ends where a rule needs another register that no frame below has saved. To
 * ask for the registers would mean to interrupt the thread (ptrace), and some calls fail then.
 *
 * A thread may run on while its stack is copied: one that was given a CPU meanwhile has a wait without a stack.
 */
#include "source/blocked_look.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"

#define COPY_B 8192u
#define PAGE_B 4096u
#define LINE_B 256

int sonde_blocked_looker_init(struct sonde_blocked_looker *looker, struct sonde_recorder *recorder)
{
	*looker = (struct sonde_blocked_looker){.recorder = recorder};
	sonde_blocked_names_init(&looker->names, recorder);
	return sonde_hooked_init(&looker->code, recorder);
}

void sonde_blocked_looker_fini(struct sonde_blocked_looker *looker)
{
	sonde_blocked_names_fini(&looker->names);
	sonde_hooked_fini(&looker->code);
}

/* --- files of a thread ------------------------------------------------------------------------------------------- */

static int open_file(const struct sonde_blocked_process *process, pid_t tid, const char *name)
{
	char path[48];
	snprintf(path, sizeof path, "task/%d/%s", (int)tid, name);
	return openat(process->fd, path, O_RDONLY | O_CLOEXEC);
}

void sonde_blocked_keep(const struct sonde_blocked_process *process, struct sonde_blocked_thread *thread)
{
	thread->call_fd = open_file(process, thread->tid, "syscall");
	thread->schedstat_fd = open_file(process, thread->tid, "schedstat");
}

void sonde_blocked_close(struct sonde_blocked_thread *thread)
{
	if (thread->call_fd >= 0)
		close(thread->call_fd);
	if (thread->schedstat_fd >= 0)
		close(thread->schedstat_fd);
	thread->call_fd = thread->schedstat_fd = -1;
}

/* A line of a file, of a kept descriptor or of one of its own; 0 or a negative errno. */
static int read_line(const struct sonde_blocked_process *process, pid_t tid, int kept_fd, const char *name, char *out)
{
	int fd = kept_fd >= 0 ? kept_fd : open_file(process, tid, name);
	if (fd < 0)
		return -errno;
	ssize_t got = pread(fd, out, LINE_B - 1, 0);
	int error = got < 0 ? -errno : 0;
	out[got > 0 ? got : 0] = '\0';
	if (fd != kept_fd)
		close(fd);
	return error;
}

static int read_slices(const struct sonde_blocked_process *process, const struct sonde_blocked_thread *thread,
		       uint64_t *out)
{
	char line[LINE_B];
	unsigned long long ran, waited, slices;
	int error = read_line(process, thread->tid, thread->schedstat_fd, "schedstat", line);
	if (error)
		return error;
	if (sscanf(line, "%llu %llu %llu", &ran, &waited, &slices) != 3)
		return -EBADMSG;
	*out = slices;
	return 0;
}

/* --- the look ---------------------------------------------------------------------------------------------------- */

static enum sonde_blocked_found found_of(int error)
{
	return error == -EAGAIN || error == -EBADMSG ? SONDE_BLOCKED_RUNS
	       : error == -EPERM || error == -EACCES ? SONDE_BLOCKED_DENIED
						     : SONDE_BLOCKED_GONE;
}

enum sonde_blocked_found sonde_blocked_look(struct sonde_blocked_looker *looker,
					    const struct sonde_blocked_process *process,
					    struct sonde_blocked_thread *thread)
{
	char line[LINE_B];
	struct sonde_blocked_call call;
	uint64_t slices = 0;
	int error = read_slices(process, thread, &slices); /* first: what comes after has them, or another number */
	error = error ? error : read_line(process, thread->tid, thread->call_fd, "syscall", line);
	error = error ? error : sonde_blocked_call_parse(&call, line);
	looker->looks++;
	if (error)
		return found_of(error);
	int is_same = thread->wait.kind && slices == thread->slices && !memcmp(&call, &thread->call, sizeof call);
	thread->slices = slices;
	thread->call = call;
	return is_same ? SONDE_BLOCKED_GOES_ON : SONDE_BLOCKED_IN_ANOTHER;
}

int sonde_blocked_executes(struct sonde_blocked_looker *looker, struct sonde_blocked_process *process)
{
	struct stat status;
	unsigned char ident[EI_NIDENT] = "";
	if (fstatat(process->fd, "exe", &status, 0))
		return 0;
	uint64_t program = sonde_hash_pair(status.st_ino, status.st_dev) | 1;
	if (program == process->program)
		return 0;
	process->program = program;
	int fd = openat(process->fd, "exe", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, ident, sizeof ident) : 0;
	if (fd >= 0)
		close(fd);
	process->is_narrow = got == (ssize_t)sizeof ident && ident[EI_CLASS] == ELFCLASS32;
	sonde_spaces_exec(looker->code.spaces, process->pid, "");
	sonde_lock_names_free(process->locks);
	process->locks = sonde_lock_names_new(process->pid);
	return 1;
}

/* Stopped by a signal or a debugger: what it was in before goes on when it does, and does not wait meanwhile. */
static int is_stopped(const struct sonde_blocked_process *process, const struct sonde_blocked_thread *thread)
{
	char line[LINE_B];
	const char *name_end;
	if (read_line(process, thread->tid, -1, "stat", line) || !(name_end = strrchr(line, ')')))
		return 0;
	return name_end[1] == ' ' && (name_end[2] == 'T' || name_end[2] == 't');
}

/* Up to COPY_B bytes from `address` on: page by page, since a stack may end within them. */
static ssize_t copy_stack(pid_t pid, uint64_t address, uint8_t *out)
{
	struct iovec local = {out, COPY_B}, remote[COPY_B / PAGE_B + 1];
	size_t parts = 0;
	for (uint64_t at = address; at < address + COPY_B; parts++) {
		uint64_t end = (at / PAGE_B + 1) * PAGE_B;
		end = end < address + COPY_B ? end : address + COPY_B;
		/* NOLINT: an address of another process */
		remote[parts] = (struct iovec){(void *)(uintptr_t)at, end - at};
		at = end;
	}
	return process_vm_readv(pid, &local, 1, remote, parts, 0);
}

static void take_stack(struct sonde_blocked_looker *looker, const struct sonde_blocked_process *process,
		       struct sonde_blocked_thread *thread)
{
	uint8_t stack[COPY_B];
	uint64_t slices = 0;
	struct sonde_unwind_sample sample = {
	    .pid = process->pid,
	    .time_ns = sonde_clock_now_ns(),
	    .has_user = 1,
	    .regs = {.pc = thread->call.pc, .sp = thread->call.sp, .fp = SONDE_UNWIND_FP_UNKNOWN},
	    .stack = stack,
	};
	ssize_t got_b = thread->call.sp < UINT64_MAX - COPY_B ? copy_stack(process->pid, thread->call.sp, stack) : -1;
	looker->stacks++;
	if (got_b <= 0 && !looker->unreadable++)
		looker->error = got_b < 0 ? errno : EFAULT;
	if (got_b <= 0)
		return;
	sample.stack_b = (size_t)got_b;
	sonde_unwinder_begin(looker->code.unwinder);
	enum sonde_stack_status status = sonde_unwinder_run(looker->code.unwinder, &sample, &thread->wait.stack);
	thread->wait.status = (uint8_t)status | SONDE_WAIT_SAMPLED;
	if (!read_slices(process, thread, &slices) && slices == thread->slices)
		return;
	looker->changed++;
	thread->wait.stack = 0;
	thread->wait.status = SONDE_STACK_NOT_SAMPLED | SONDE_WAIT_SAMPLED;
}

void sonde_blocked_take(struct sonde_blocked_looker *looker, const struct sonde_blocked_process *process,
			struct sonde_blocked_thread *thread)
{
	const struct sonde_blocked_row row = sonde_blocked_row(thread->call.number);
	struct sonde_wait *wait = &thread->wait;
	*wait = (struct sonde_wait){.status = SONDE_STACK_NOT_SAMPLED | SONDE_WAIT_SAMPLED};
	if (process->is_narrow || is_stopped(process, thread))
		return;
	wait->kind = row.kind;
	if (thread->call.number == SYS_restart_syscall && thread->call.sp == thread->last_sp) {
		wait->kind = thread->last.kind;
		wait->object = thread->last.object;
	} else if (row.argument == SONDE_BLOCKED_DESCRIPTOR)
		wait->object =
		    sonde_blocked_names_descriptor(&looker->names, process->id, process->fd, thread->call.arguments[0]);
	else if (row.argument == SONDE_BLOCKED_ADDRESS)
		wait->object =
		    sonde_blocked_names_address(&looker->names, process->id, process->locks, thread->call.arguments[0]);
	thread->last = *wait;
	thread->last_sp = thread->call.sp;
	take_stack(looker, process, thread);
}
