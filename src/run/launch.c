/* launch.c: clone, wait on a pipe, exec.
 *
 * Two pipes, both close-on-exec. The child reports on `error` that it has started, then reads one byte from `release`
 * before it execs; end of file means that the recorder died, and the child exits silently. If exec fails, the child
 * writes its errno to `error`; a successful exec closes the pipe.
 */
#include "run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "util/error.h"
#include "util/file.h"

extern char **environ;

void sonde_launch_raise_files(struct sonde_launch *launch)
{
	if (getrlimit(RLIMIT_NOFILE, &launch->files))
		launch->files = (struct rlimit){0};
	struct rlimit most = {launch->files.rlim_max, launch->files.rlim_max};
	if (most.rlim_max)
		setrlimit(RLIMIT_NOFILE, &most);
}

int sonde_launch_init(struct sonde_launch *launch, char **argv)
{
	*launch = (struct sonde_launch){.argv = argv, .release_fd = -1, .error_fd = -1};
	sonde_launch_raise_files(launch);
	size_t count = 0;
	while (environ[count])
		count++;
	launch->env = calloc(count + 1, sizeof *launch->env);
	if (!launch->env)
		return sonde_error(ENOMEM, "out of memory for the environment");
	for (size_t i = 0; i < count; i++) {
		launch->env[i] = strdup(environ[i]);
		if (!launch->env[i])
			return sonde_error(ENOMEM, "out of memory for the environment");
		launch->env_count++;
	}
	return 0;
}

void sonde_launch_fini(struct sonde_launch *launch)
{
	if (launch->files.rlim_max)
		setrlimit(RLIMIT_NOFILE, &launch->files);
	for (size_t i = 0; i < launch->env_count; i++)
		free(launch->env[i]);
	free(launch->env);
	for (size_t i = 0; i < launch->path_count; i++)
		free(launch->paths[i]);
	free(launch->paths);
	if (launch->release_fd >= 0)
		close(launch->release_fd);
	if (launch->error_fd >= 0)
		close(launch->error_fd);
	*launch = (struct sonde_launch){.release_fd = -1, .error_fd = -1};
}

static char **find(const struct sonde_launch *launch, const char *name)
{
	size_t len = strlen(name);
	for (size_t i = 0; i < launch->env_count; i++)
		if (!strncmp(launch->env[i], name, len) && launch->env[i][len] == '=')
			return &launch->env[i];
	return NULL;
}

/* Appends to a list that ends with NULL; takes ownership of `text`, which is NULL if there was no memory for it. */
static int append(char ***list, size_t *count, char *text, const char *what)
{
	char **grown = text ? realloc(*list, (*count + 2) * sizeof *grown) : NULL;
	if (!grown) {
		free(text);
		return sonde_error(ENOMEM, "out of memory for %s", what);
	}
	*list = grown;
	grown[(*count)++] = text;
	grown[*count] = NULL;
	return 0;
}

static int put(struct sonde_launch *launch, char *entry)
{
	return append(&launch->env, &launch->env_count, entry, "the environment");
}

int sonde_launch_setenv(struct sonde_launch *launch, const char *name, const char *value)
{
	char *entry;
	if (asprintf(&entry, "%s=%s", name, value) < 0)
		return sonde_error(ENOMEM, "out of memory for the environment");
	char **old = find(launch, name);
	if (!old)
		return put(launch, entry);
	free(*old);
	*old = entry;
	return 0;
}

int sonde_launch_prepend(struct sonde_launch *launch, const char *name, const char *value, char separator)
{
	char **old = find(launch, name);
	const char *remainder = old ? *old + strlen(name) + 1 : "";
	char *both;
	if (asprintf(&both, *remainder ? "%s%c%s" : "%s", value, separator, remainder) < 0)
		return sonde_error(ENOMEM, "out of memory for the environment");
	int rc = sonde_launch_setenv(launch, name, both);
	free(both);
	return rc;
}

/* --- finding the command ----------------------------------------------------------------------------------------- */

static int add_path(struct sonde_launch *launch, char *path)
{
	return append(&launch->paths, &launch->path_count, path, "the command's path");
}

/* Searches like execvp(): a name with a slash is a path, others are in a directory of PATH. */
static int list_paths(struct sonde_launch *launch)
{
	const char *name = launch->argv[0], *at = getenv("PATH");
	if (!*name || strchr(name, '/'))
		return add_path(launch, strdup(name));
	at = at ? at : "/bin:/usr/bin";
	for (int rc = 0;; at++) {
		int len = (int)strcspn(at, ":");
		char *path = NULL;
		if (asprintf(&path, "%.*s%s%s", len, at, len ? "/" : "", name) < 0)
			path = NULL;
		rc = add_path(launch, path);
		at += len;
		if (rc || !*at)
			return rc;
	}
}

/* The error to report for a failed exec. If the user may not enter a directory of PATH, exec returns EACCES even for a
 * command that exists nowhere: this becomes ENOENT. */
static int exec_error(const struct sonde_launch *launch, int code)
{
	struct stat status;
	if (code != EACCES || strchr(launch->argv[0], '/'))
		return code;
	for (size_t i = 0; i < launch->path_count; i++)
		if (!stat(launch->paths[i], &status))
			return code;
	return ENOENT;
}

/* --- the child --------------------------------------------------------------------------------------------------- */

/* The child's RSS counts as the command's: the kernel's peak RSS belongs to the process, and exec does not reset it. So
 * the child is created without the C library's fork handlers, uses only syscall(), and has everything prepared: paths,
 * and a shell command line for scripts without an interpreter line. */
struct child {
	const struct sonde_launch *launch;
	char **shell; /* argv of the shell; its second word is the path */
	int release_fd, error_fd;
};

/* Returns the most informative errno, like execvp(). */
static int try_paths(const struct child *child)
{
	const struct sonde_launch *launch = child->launch;
	int worst = ENOENT;
	for (size_t i = 0; i < launch->path_count; i++) {
		syscall(SYS_execve, launch->paths[i], launch->argv, launch->env);
		if (errno == ENOEXEC) {
			child->shell[1] = launch->paths[i];
			syscall(SYS_execve, child->shell[0], child->shell, launch->env);
		}
		if (errno == EACCES)
			worst = EACCES;
		else if (errno != ENOENT && errno != ESTALE && errno != ENOTDIR && errno != ENODEV &&
			 errno != ETIMEDOUT)
			return errno;
		else if (launch->path_count == 1)
			return errno;
	}
	return worst;
}

static _Noreturn void be_child(const struct child *child)
{
	const struct sonde_launch *launch = child->launch;
	char go;
	long got;
	int code = 0;
	/* fails on purpose: makes the exec path resident beforehand */
	syscall(SYS_execve, "", launch->argv, launch->env);
	syscall(SYS_write, child->error_fd, &code, sizeof code);
	do
		got = syscall(SYS_read, child->release_fd, &go, 1);
	while (got < 0 && errno == EINTR);
	if (got == 1) {
		if (launch->files.rlim_max)
			syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &launch->files, NULL);
		code = try_paths(child);
		syscall(SYS_write, child->error_fd, &code, sizeof code);
	}
	for (;;)
		syscall(SYS_exit_group, 125);
}

int sonde_launch_hold(struct sonde_launch *launch)
{
	int release[2];
	int error[2];
	size_t words = 0;
	while (launch->argv[words])
		words++;
	char **shell = calloc(words + 2, sizeof *shell);
	int rc = shell ? list_paths(launch) : sonde_error(ENOMEM, "out of memory for the command's words");
	if (rc) {
		free(shell);
		return rc;
	}
	shell[0] = (char *)(uintptr_t) "/bin/sh";
	memcpy(shell + 2, launch->argv + 1, (words - 1) * sizeof *shell);
	if (pipe2(release, O_CLOEXEC)) {
		rc = sonde_error(errno, "cannot make a pipe: %s", strerror(errno));
		free(shell);
		return rc;
	}
	if (pipe2(error, O_CLOEXEC)) {
		rc = sonde_error(errno, "cannot make a pipe: %s", strerror(errno));
		close(release[0]);
		close(release[1]);
		free(shell);
		return rc;
	}
	const struct child child = {.launch = launch, .shell = shell, .release_fd = release[0], .error_fd = error[1]};
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		be_child(&child);
	int code = errno;
	free(shell);
	close(release[0]);
	close(error[1]);
	launch->release_fd = release[1];
	launch->error_fd = error[0];
	if (pid < 0)
		return sonde_error(code, "cannot start a process: %s", strerror(code));
	launch->pid = pid;
	return 0;
}

static uint64_t bytes_of(pid_t pid, const char *file, const char *field)
{
	char *text = sonde_file_read_whole(NULL, "/proc/%d/%s", (int)pid, file);
	const char *at = text ? strstr(text, field) : NULL;
	uint64_t size_b = at ? strtoull(at + strlen(field), NULL, 10) * 1024 : 0;
	free(text);
	return size_b;
}

/* The kernel's peak RSS (VmHWM) lags behind its per-CPU counters; walking the pages (smaps_rollup) is exact. Until its
 * exec the process touches a few more pages, and the final peak may be off by what one CPU has not added up. */
static uint64_t held_rss_b(pid_t pid)
{
	uint64_t mark_b = bytes_of(pid, "status", "\nVmHWM:"), now_b = bytes_of(pid, "smaps_rollup", "\nRss:");
	uint64_t more_b = 32 * (uint64_t)sysconf(_SC_PAGESIZE);
	return mark_b || now_b ? (mark_b > now_b ? mark_b : now_b) + more_b : 0;
}

/* Reads the child's next message; 0 also if the child is gone or its exec has closed the pipe. */
static int listen_to(const struct sonde_launch *launch)
{
	int code = 0;
	ssize_t got;
	do
		got = read(launch->error_fd, &code, sizeof code);
	while (got < 0 && errno == EINTR);
	return code;
}

int sonde_launch_release(struct sonde_launch *launch)
{
	listen_to(launch); /* the child has started */
	launch->held_rss_b = held_rss_b(launch->pid);
	launch->released_ns = sonde_clock_now_ns();
	(void)!write(launch->release_fd, "g", 1); /* if the child was killed, waiting for it reports that */
	close(launch->release_fd);
	launch->release_fd = -1;
	int code = listen_to(launch);
	close(launch->error_fd);
	launch->error_fd = -1;
	if (!code)
		return 0;
	waitpid(launch->pid, NULL, 0);
	code = exec_error(launch, code);
	return sonde_error(code, "cannot run '%s': %s", launch->argv[0], strerror(code));
}
