/* executes.c: removes our LD_PRELOAD entry for an executed program that cannot read our files: its loader would print
 * an error to its standard error.
 *
 * Only the executing process sees the files as its program will: after chroot(), in another mount namespace, or as
 * another user. So hooks of the exec functions check that the file in LD_PRELOAD can be opened; if not, its entry is
 * removed from the environment that is passed on. The path is opened literally: a directory is really named $LIB
 * (scripts/preload-tree). Once the process has sandboxed itself with seccomp, nothing is opened any more: the result of
 * the last check before that applies (inject_sandbox_entering()).
 *
 * The hooks also run in a child of vfork(), and in a child without thread-local storage: nothing is allocated, and
 * nothing is changed in the parent. system() and popen() take no environment: for them our entry is removed from the
 * process's own, as every program executed from there would complain. Not handled: static programs, and execve() by
 * syscall().
 */
#include "inject/hook/executes.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inject/hook/machine.h"
#include "inject/hook/next.h"
#include "inject/hook/sandbox.h"

#define EXPORT __attribute__((visibility("default")))
#define PRELOAD "LD_PRELOAD="
#define PRELOAD_B (sizeof(PRELOAD) - 1)
#define PATH_B 4096u
#define ON_STACK_B 4096u /* size of an environment built on the stack; a larger one is mapped */

extern char **environ;

static struct {
	int (*execve)(const char *, char *const[], char *const[]);
	int (*execvpe)(const char *, char *const[], char *const[]);
	int (*fexecve)(int, char *const[], char *const[]);
	int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
			   char *const[], char *const[]);
	int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
			    char *const[], char *const[]);
	int (*system)(const char *);
	FILE *(*popen)(const char *, const char *);
} next;

static _Atomic uint32_t was_hidden; /* last result before the process sandboxed itself */

__attribute__((constructor)) static void find_all(void)
{
	INJECT_NEXT(next.execve, "execve");
	INJECT_NEXT(next.execvpe, "execvpe");
	INJECT_NEXT(next.fexecve, "fexecve");
	INJECT_NEXT(next.posix_spawn, "posix_spawn");
	INJECT_NEXT(next.posix_spawnp, "posix_spawnp");
	INJECT_NEXT(next.system, "system");
	INJECT_NEXT(next.popen, "popen");
}

/* Works even in a call before the constructor. */
#define IS_THERE(function) (__builtin_expect((function) != NULL, 1) || (find_all(), (function) != NULL))

/* --- our entry ---------------------------------------------------------------------------------------------------- */

/* Length of the entry that starts here. */
static size_t entry_b(const char *entry)
{
	return strcspn(entry, ": ");
}

static int is_ours(const char *entry, size_t length)
{
	static const char object[] = "/" INJECT_OBJECT;
	size_t object_b = sizeof(object) - 1;
	return length > object_b && !memcmp(entry + length - object_b, object, object_b);
}

/* Our first entry in the value of LD_PRELOAD; NULL = none. */
static const char *find_entry(const char *value)
{
	for (const char *at = value; *at; at += !!*at) {
		size_t length = entry_b(at);
		if (is_ours(at, length))
			return at;
		at += length;
	}
	return NULL;
}

/* Copies the value without our entries; `out` has room for all of it, and may be equal to `value`. */
static void leave_out(char *out, const char *value)
{
	char *begin = out;
	for (const char *at = value; *at; at += !!*at) {
		size_t length = entry_b(at);
		if (length && !is_ours(at, length)) {
			if (out != begin)
				*out++ = ':';
			memmove(out, at, length);
			out += length;
		}
		at += length;
	}
	*out = '\0';
}

/* True if the loader would not find the object. */
static int is_hidden(const char *entry)
{
	size_t length = entry_b(entry);
	if (length >= PATH_B)
		return 0;
	char path[length + 1];
	memcpy(path, entry, length);
	path[length] = '\0';
	long fd = inject_machine_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	if (fd >= 0)
		inject_machine_call(SYS_close, fd, 0, 0, 0, 0, 0);
	return fd == -ENOENT || fd == -ENOTDIR || fd == -EACCES || fd == -EPERM;
}

/* The variable from which our entry must be removed; NULL = none. */
static char *const *find_hidden(char *const *environment)
{
	for (char *const *at = environment; at && *at; at++) {
		if (strncmp(*at, PRELOAD, PRELOAD_B) != 0)
			continue;
		const char *entry = find_entry(*at + PRELOAD_B);
		int is_locked_in = inject_sandbox_is_on() || inject_sandbox_is_childs();
		if (entry && (is_locked_in ? (int)atomic_load(&was_hidden) : is_hidden(entry)))
			return at;
		return NULL;
	}
	return NULL;
}

/* Called while files may still be opened: stores the result that applies from now on. */
void inject_sandbox_entering(void)
{
	atomic_store(&was_hidden, find_hidden(environ) != NULL);
}

/* --- environments ------------------------------------------------------------------------------------------------- */

struct environment {
	char *const *hidden; /* NULL = it stays unchanged */
	size_t count;        /* number of variables */
	size_t size_b;       /* size of the new environment */
};

static struct environment look_at(char *const *environment)
{
	struct environment found = {.hidden = find_hidden(environment)};
	if (!found.hidden)
		return found;
	while (environment[found.count])
		found.count++;
	found.size_b = (found.count + 1) * sizeof(*environment) + strlen(*found.hidden) + 1;
	return found;
}

/* Builds the environment without our entry in `capacity`. */
static char *const *build(void *capacity, const struct environment *found, char *const *environment)
{
	char **built = capacity;
	char *text = (char *)(built + found->count + 1);
	size_t used = 0;
	memcpy(text, PRELOAD, PRELOAD_B);
	leave_out(text + PRELOAD_B, *found->hidden + PRELOAD_B);
	for (size_t i = 0; i < found->count; i++) {
		if (environment + i != found->hidden)
			built[used++] = environment[i];
		else if (text[PRELOAD_B])
			built[used++] = text;
	}
	built[used] = NULL;
	return built;
}

static void *map_capacity(size_t size_b)
{
	long at =
	    inject_machine_call(SYS_mmap, 0, (long)size_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return at < 0 && at > -4096 ? NULL : (void *)at; /* NOLINT: an address */
}

/* The program to execute, and the function to use. */
struct execution {
	enum { BY_EXECVE, BY_EXECVPE, BY_FEXECVE, BY_SPAWN, BY_SPAWNP } by;
	int fd;
	const char *file;
	char *const *arguments;
	pid_t *pid;
	const posix_spawn_file_actions_t *actions;
	const posix_spawnattr_t *attributes;
};

static int run(const struct execution *what, char *const *environment)
{
	switch (what->by) {
	case BY_EXECVE:
		return next.execve(what->file, what->arguments, environment);
	case BY_EXECVPE:
		return next.execvpe(what->file, what->arguments, environment);
	case BY_FEXECVE:
		return next.fexecve(what->fd, what->arguments, environment);
	case BY_SPAWN:
		return next.posix_spawn(what->pid, what->file, what->actions, what->attributes, what->arguments,
					environment);
	default:
		return next.posix_spawnp(what->pid, what->file, what->actions, what->attributes, what->arguments,
					 environment);
	}
}

__attribute__((noinline)) static int run_on_stack(const struct execution *what, const struct environment *found,
						  char *const *environment)
{
	uint64_t capacity[found->size_b / sizeof(uint64_t) + 1];
	return run(what, build(capacity, found, environment));
}

static int run_mapped(const struct execution *what, const struct environment *found, char *const *environment)
{
	void *capacity = map_capacity(found->size_b);
	int result = run(what, capacity ? build(capacity, found, environment) : environment);
	if (capacity)
		inject_machine_call(SYS_munmap, (long)capacity, (long)found->size_b, 0, 0, 0, 0);
	return result;
}

/* Informs the recorder that a program is about to be executed without our object, unless its path may not be
 * executed. */
static void report(const struct execution *what)
{
	const char *slash = what->file ? strrchr(what->file, '/') : NULL;
	if (!inject_executes_hidden || inject_sandbox_is_on() || inject_sandbox_is_childs())
		return;
	if (slash && inject_machine_call(SYS_faccessat, AT_FDCWD, (long)what->file, X_OK, 0, 0, 0))
		return;
	inject_executes_hidden(slash ? slash + 1 : what->file ? what->file : "fexecve");
}

static int execute(const struct execution *what, char *const *environment)
{
	int saved = errno;
	struct environment found = look_at(environment);
	if (found.hidden)
		report(what);
	errno = saved;
	if (!found.hidden)
		return run(what, environment);
	return found.size_b <= ON_STACK_B ? run_on_stack(what, &found, environment)
					  : run_mapped(what, &found, environment);
}

void inject_executes_own(void)
{
	int saved = errno;
	char *const *hidden = find_hidden(environ);
	if (hidden) {
		report(&(struct execution){.file = "/bin/sh"});
		leave_out(*hidden + PRELOAD_B, *hidden + PRELOAD_B);
	}
	errno = saved;
}

/* --- the functions ------------------------------------------------------------------------------------------------ */

static int missing(void)
{
	errno = ENOSYS;
	return -1;
}

static int execute_path(const char *path, char *const arguments[], char *const environment[])
{
	if (!IS_THERE(next.execve))
		return missing();
	return execute(&(struct execution){.by = BY_EXECVE, .file = path, .arguments = arguments}, environment);
}

static int execute_file(const char *file, char *const arguments[], char *const environment[])
{
	if (!IS_THERE(next.execvpe))
		return missing();
	return execute(&(struct execution){.by = BY_EXECVPE, .file = file, .arguments = arguments}, environment);
}

EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
	return execute_path(path, arguments, environment);
}

EXPORT int execv(const char *path, char *const arguments[])
{
	return execute_path(path, arguments, environ);
}

EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
	return execute_file(file, arguments, environment);
}

EXPORT int execvp(const char *file, char *const arguments[])
{
	return execute_file(file, arguments, environ);
}

EXPORT int fexecve(int fd, char *const arguments[], char *const environment[])
{
	if (!IS_THERE(next.fexecve))
		return missing();
	return execute(&(struct execution){.by = BY_FEXECVE, .fd = fd, .arguments = arguments}, environment);
}

/* The number of variable arguments up to NULL, plus one for the argument before them. */
static size_t count_arguments(va_list list)
{
	size_t count = 1;
	while (va_arg(list, char *))
		count++;
	return count;
}

#define COLLECT(out, count, first, list)                 \
	do {                                             \
		(out)[0] = (char *)(uintptr_t)(first);   \
		for (size_t i = 1; i <= (count); i++)    \
			(out)[i] = va_arg(list, char *); \
	} while (0)

/* `remainder` continues after their end. */
#define WITH_ARGUMENTS(first, call)                          \
	do {                                                 \
		va_list list, remainder;                     \
		va_start(list, first);                       \
		va_copy(remainder, list);                    \
		size_t count = count_arguments(list);        \
		char *arguments[count + 1];                  \
		COLLECT(arguments, count, first, remainder); \
		int result = (call);                         \
		va_end(remainder);                           \
		va_end(list);                                \
		return result;                               \
	} while (0)

EXPORT int execl(const char *path, const char *first, ...)
{
	WITH_ARGUMENTS(first, execute_path(path, arguments, environ));
}

EXPORT int execlp(const char *file, const char *first, ...)
{
	WITH_ARGUMENTS(first, execute_file(file, arguments, environ));
}

EXPORT int execle(const char *path, const char *first, ...)
{
	WITH_ARGUMENTS(first, execute_path(path, arguments, va_arg(remainder, char **)));
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
	if (!IS_THERE(next.posix_spawn))
		return ENOSYS;
	return execute(&(struct execution){BY_SPAWN, -1, path, arguments, pid, actions, attributes}, environment);
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
	if (!IS_THERE(next.posix_spawnp))
		return ENOSYS;
	return execute(&(struct execution){BY_SPAWNP, -1, file, arguments, pid, actions, attributes}, environment);
}

/* Weak: replaced by a hook that also measures, if waits are recorded. */
EXPORT __attribute__((weak)) int system(const char *command)
{
	if (command)
		inject_executes_own();
	return IS_THERE(next.system) ? next.system(command) : missing();
}

EXPORT FILE *popen(const char *command, const char *mode)
{
	inject_executes_own();
	if (IS_THERE(next.popen))
		return next.popen(command, mode);
	missing();
	return NULL;
}
