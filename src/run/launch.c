/* launch.c: fork, wait on a pipe, exec.
 *
 * Two pipes, both close-on-exec: the child reads one byte from `release` before it execs (end of file there means that
 * the recorder died: it leaves without a trace), and writes exec's errno to `error` if that fails; a successful exec
 * closes it.
 */
#include "run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/error.h"

extern char **environ;

/* The recorder's descriptors are no matter of the command's limit. */
static void raise_files(struct sonde_launch *launch)
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
	raise_files(launch);
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

static int put(struct sonde_launch *launch, char *entry)
{
	char **env = entry ? realloc(launch->env, (launch->env_count + 2) * sizeof *env) : NULL;
	if (!env) {
		free(entry);
		return sonde_error(ENOMEM, "out of memory for the environment");
	}
	launch->env = env;
	env[launch->env_count++] = entry;
	env[launch->env_count] = NULL;
	return 0;
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
	const char *rest = old ? *old + strlen(name) + 1 : "";
	char *both;
	if (asprintf(&both, *rest ? "%s%c%s" : "%s", value, separator, rest) < 0)
		return sonde_error(ENOMEM, "out of memory for the environment");
	int rc = sonde_launch_setenv(launch, name, both);
	free(both);
	return rc;
}

/* Whether a command without a slash is a file in some directory of PATH. */
static int is_in_path(const char *name)
{
	const char *at = getenv("PATH");
	struct stat status;
	char path[4096];
	while (at && *at) {
		int len = (int)strcspn(at, ":");
		int path_b = snprintf(path, sizeof path, "%.*s%s%s", len, at, len ? "/" : "", name);
		if (path_b < (int)sizeof path && !stat(path, &status))
			return 1;
		at += len + (at[len] == ':');
	}
	return 0;
}

/* A directory of PATH that this user may not enter makes exec say EACCES of a command that is nowhere. */
static int exec_error(const char *name, int code)
{
	return code == EACCES && !strchr(name, '/') && !is_in_path(name) ? ENOENT : code;
}

static _Noreturn void child(struct sonde_launch *launch, int release_fd, int error_fd)
{
	char go;
	ssize_t got;
	do
		got = read(release_fd, &go, 1);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		_exit(125);
	if (launch->files.rlim_max)
		setrlimit(RLIMIT_NOFILE, &launch->files);
	execvpe(launch->argv[0], launch->argv, launch->env);
	int code = exec_error(launch->argv[0], errno);
	ssize_t sent = write(error_fd, &code, sizeof code);
	_exit(sent == sizeof code && code == ENOENT ? 127 : 126);
}

int sonde_launch_hold(struct sonde_launch *launch)
{
	int release[2];
	int error[2];
	if (pipe2(release, O_CLOEXEC))
		return sonde_error(errno, "cannot make a pipe: %s", strerror(errno));
	if (pipe2(error, O_CLOEXEC)) {
		int code = errno;
		close(release[0]);
		close(release[1]);
		return sonde_error(code, "cannot make a pipe: %s", strerror(code));
	}
	pid_t pid = fork();
	if (pid == 0) {
		close(release[1]);
		close(error[0]);
		child(launch, release[0], error[1]);
	}
	int code = errno;
	close(release[0]);
	close(error[1]);
	launch->release_fd = release[1];
	launch->error_fd = error[0];
	if (pid < 0)
		return sonde_error(code, "cannot start a process: %s", strerror(code));
	launch->pid = pid;
	return 0;
}

int sonde_launch_release(struct sonde_launch *launch)
{
	ssize_t got = write(launch->release_fd, "g", 1);
	close(launch->release_fd);
	launch->release_fd = -1;
	int code = 0; /* also of one that was killed before it could run: who waits for it is told */
	do
		got = read(launch->error_fd, &code, sizeof code);
	while (got < 0 && errno == EINTR);
	close(launch->error_fd);
	launch->error_fd = -1;
	if (!code)
		return 0;
	waitpid(launch->pid, NULL, 0);
	return sonde_error(code, "cannot run '%s': %s", launch->argv[0], strerror(code));
}
