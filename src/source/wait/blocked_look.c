/* blocked_look.c: reads what the kernel reports about a thread, and its stack (wait/blocked_look.h).
 *
 * A thread that has not been on a CPU since the last poll, and is in the same call, is in the same wait: then only two
 * short lines are read. Otherwise its stack is copied and unwound. For a blocked thread, the kernel reports only its
 * stack pointer and pc. So a walk ends if a rule needs another register that none of the frames walked so far has
 * saved. Reading the registers would require interrupting the thread (ptrace), which makes some calls fail.
 *
 * A thread may run while its stack is copied: if it has been on a CPU meanwhile, its wait gets no stack.
 *
 * If a process may not be read, the kernel reports only EPERM; the reasons are derived from facts in /proc (ptrace(2),
 * PTRACE_MODE_ATTACH).
 */
#include "source/wait/blocked_look.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "source/resource/files.h"
#include "source/sched/schedstat.h"
#include "util/file.h"

#define OBJECTS_MAX 65536u
#define COPY_B 8192u
#define PAGE_B 4096u
#define LINE_B 256

int sonde_blocked_looker_init(struct sonde_blocked_looker *looker, struct sonde_recorder *recorder)
{
	*looker = (struct sonde_blocked_looker){.recorder = recorder};
	return sonde_interposed_init(&looker->code, recorder);
}

void sonde_blocked_looker_fini(struct sonde_blocked_looker *looker)
{
	sonde_map_fini(&looker->objects);
	sonde_interposed_fini(&looker->code);
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
	thread->schedstat_fd = sonde_schedstat_open(process->pid, thread->tid);
}

void sonde_blocked_close(struct sonde_blocked_thread *thread)
{
	if (thread->call_fd >= 0)
		close(thread->call_fd);
	if (thread->schedstat_fd >= 0)
		close(thread->schedstat_fd);
	thread->call_fd = thread->schedstat_fd = -1;
}

/* Reads a line from a kept descriptor, or else from one opened for it; 0 or a negative errno. */
static int read_line(const struct sonde_blocked_process *process, pid_t tid, int kept_fd, const char *name, char *out)
{
	int fd = kept_fd >= 0 ? kept_fd : open_file(process, tid, name);
	if (fd < 0)
		return -errno;
	ssize_t got = pread(fd, out, LINE_B - 1, 0);
	int rc = got < 0 ? -errno : 0;
	out[got > 0 ? got : 0] = '\0';
	if (fd != kept_fd)
		close(fd);
	return rc;
}

static int read_slices(const struct sonde_blocked_process *process, const struct sonde_blocked_thread *thread,
		       uint64_t *out)
{
	struct sonde_schedstat stat;
	int rc = sonde_schedstat_read(&stat, thread->schedstat_fd, process->pid, thread->tid);
	if (!rc)
		*out = stat.slices;
	return rc;
}

/* --- polling a thread -------------------------------------------------------------------------------------------- */

static enum sonde_blocked_found found_of(int error)
{
	return error == -EAGAIN || error == -EBADMSG || sonde_files_lack(-error) ? SONDE_BLOCKED_RUNS
	       : error == -EPERM || error == -EACCES                             ? SONDE_BLOCKED_DENIED
										 : SONDE_BLOCKED_GONE;
}

enum sonde_blocked_found sonde_blocked_look(struct sonde_blocked_looker *looker,
					    const struct sonde_blocked_process *process,
					    struct sonde_blocked_thread *thread)
{
	char line[LINE_B];
	struct sonde_blocked_call call;
	uint64_t slices = 0;
	int rc = read_slices(process, thread, &slices); /* read first: the next poll shows a later run */
	rc = rc ? rc : read_line(process, thread->tid, thread->call_fd, "syscall", line);
	rc = rc ? rc : sonde_blocked_call_parse(&call, line);
	looker->looks++;
	looker->missing_files |= sonde_files_lack(-rc);
	if (rc)
		return found_of(rc);
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

/* --- what it waits for ------------------------------------------------------------------------------------------ */

/* Adds an object that threads wait for. Beyond the limit, no further objects are named. */
static uint32_t add(struct sonde_blocked_looker *looker, uint64_t hash, struct sonde_meta_object *object,
		    const char *name)
{
	if (looker->objects.count >= OBJECTS_MAX)
		return 0;
	object->name = sonde_recorder_text(looker->recorder, *name ? name : NULL);
	uint32_t id = sonde_recorder_object(looker->recorder, object);
	return id && !sonde_map_set(&looker->objects, hash, id) ? id : 0;
}

static enum sonde_object_kind kind_of(const char *name)
{
	return *name == '/'                   ? SONDE_OBJECT_FILE
	       : !strncmp(name, "socket:", 7) ? SONDE_OBJECT_SOCKET
	       : !strncmp(name, "pipe:", 5)   ? SONDE_OBJECT_PIPE
					      : SONDE_OBJECT_OTHER;
}

/* A closed descriptor's number is reused at once, so its name is read for each wait. */
static uint32_t descriptor_of(struct sonde_blocked_looker *looker, const struct sonde_blocked_process *process,
			      uint64_t descriptor)
{
	char link[32], name[SONDE_WAIT_NAME_MAX_B + 1];
	if (descriptor > INT_MAX)
		return 0;
	snprintf(link, sizeof link, "fd/%d", (int)descriptor);
	ssize_t got = readlinkat(process->fd, link, name, sizeof name - 1);
	if (got <= 0)
		return 0;
	name[got] = '\0';
	uint64_t hash = sonde_hash_pair(process->id, sonde_hash_bytes(name, (size_t)got));
	uint32_t known = sonde_map_find(&looker->objects, hash, NULL, NULL);
	struct sonde_meta_object object = {.process = process->id, .kind = kind_of(name)};
	return known ? known : add(looker, hash, &object, name);
}

static uint32_t lock_of(struct sonde_blocked_looker *looker, const struct sonde_blocked_process *process,
			uint64_t address)
{
	char name[SONDE_LOCK_NAME_MAX_B] = "";
	uint64_t hash = sonde_hash_pair(process->id, ~address);
	uint32_t known = sonde_map_find(&looker->objects, hash, NULL, NULL);
	if (known || !address)
		return known;
	sonde_lock_names_get(process->locks, address, name);
	struct sonde_meta_object object = {.process = process->id, .kind = SONDE_OBJECT_LOCK, .address = address};
	return add(looker, hash, &object, name);
}

/* True if the thread is stopped by a signal or a debugger: it does not wait, and its call resumes when it continues. */
static int is_stopped(const struct sonde_blocked_process *process, const struct sonde_blocked_thread *thread)
{
	char line[LINE_B];
	const char *name_end;
	if (read_line(process, thread->tid, -1, "stat", line) || !(name_end = strrchr(line, ')')))
		return 0;
	return name_end[1] == ' ' && (name_end[2] == 'T' || name_end[2] == 't');
}

/* Copies up to COPY_B bytes from `address`, page by page, since the stack may end within them. */
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
	struct sonde_waits_row *wait = &thread->wait;
	*wait = (struct sonde_waits_row){.status = SONDE_STACK_NOT_SAMPLED | SONDE_WAIT_SAMPLED};
	if (process->is_narrow || is_stopped(process, thread))
		return;
	wait->kind = (uint8_t)row.kind;
	if (thread->call.number == SYS_restart_syscall && thread->call.sp == thread->last_sp) {
		wait->kind = thread->last.kind;
		wait->object = thread->last.object;
	} else if (row.argument == SONDE_BLOCKED_DESCRIPTOR)
		wait->object = descriptor_of(looker, process, thread->call.arguments[0]);
	else if (row.argument == SONDE_BLOCKED_ADDRESS)
		wait->object = lock_of(looker, process, thread->call.arguments[0]);
	thread->last = *wait;
	thread->last_sp = thread->call.sp;
	take_stack(looker, process, thread);
}

/* --- why a process may not be polled ----------------------------------------------------------------------------- */

const char *sonde_blocked_why(const struct sonde_blocked_facts *facts, char *out, size_t out_b)
{
	const uid_t users[] = {facts->real, facts->effective, facts->saved};
	if (facts->hidden)
		return "is not shown by /proc (hidepid): record it as root";
	for (size_t i = 0; i < sizeof users / sizeof *users; i++)
		if (users[i] != facts->own) {
			snprintf(out, out_b, "runs as another user (uid %u): record it as that user, or as root",
				 (unsigned)users[i]);
			return out;
		}
	if (facts->owner != facts->own)
		return "is not readable (file capabilities, or PR_SET_DUMPABLE 0): record it as root";
	if (facts->yama >= 3)
		return "is readable by nobody until a reboot (kernel.yama.ptrace_scope is 3)";
	if (facts->yama == 2)
		return "is readable only by root (kernel.yama.ptrace_scope is 2)";
	if (facts->yama == 1)
		return "was not started by sonde (kernel.yama.ptrace_scope is 1): sonde record --threads -- COMMAND, "
		       "or: sudo sysctl kernel.yama.ptrace_scope=0";
	return "is not readable here: a container or security module forbids it (CAP_SYS_PTRACE)";
}

void sonde_blocked_facts_read(struct sonde_blocked_facts *out, pid_t pid)
{
	char text[4096], path[32];
	unsigned real, effective, saved;
	struct stat status;
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	const char *line = sonde_file_read(text, sizeof text, "%s/status", path) ? strstr(text, "\nUid:") : NULL;
	if (!line || stat(path, &status) || sscanf(line, "\nUid: %u %u %u", &real, &effective, &saved) != 3) {
		*out = (struct sonde_blocked_facts){.own = geteuid(), .hidden = 1};
		return;
	}
	*out = (struct sonde_blocked_facts){
	    .own = geteuid(), .real = real, .effective = effective, .saved = saved, .owner = status.st_uid};
	if (sonde_file_read(text, sizeof text, "/proc/sys/kernel/yama/ptrace_scope"))
		out->yama = atoi(text);
}
