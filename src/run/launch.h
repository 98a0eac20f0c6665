/* launch.h: starts the command to be profiled and holds it until the sources are ready.
 *
 * The child waits on a pipe between fork and exec, so that perf events opened on its pid start at its exec. The errno
 * of a failed exec is reported back. The child gets our standard streams, signal dispositions and signal mask as we
 * inherited them, and none of our descriptors.
 *
 *	sonde_launch_init(&launch, argv);
 *	sonde_launch_hold(&launch);    // forked, waiting: attach to launch.pid here
 *	sonde_launch_release(&launch); // execs
 *	sonde_launch_fini(&launch);
 */
#ifndef SONDE_RUN_LAUNCH_H
#define SONDE_RUN_LAUNCH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Bytes that the child reads and writes on its pipes before its exec: the kernel counts them as the command's. */
enum { SONDE_LAUNCH_READ_B = 1, SONDE_LAUNCH_WRITTEN_B = sizeof(int) };

struct sonde_launch {
	char **argv; /* owned by the caller */
	char **env;  /* starts as a copy of environ; sonde_launch_setenv() edits it */
	size_t env_count;
	char **paths; /* candidate paths of the command; set by sonde_launch_hold() */
	size_t path_count;
	pid_t pid;            /* 0 before sonde_launch_hold() */
	int release_fd;       /* writing to it releases the child */
	int error_fd;         /* exec's errno comes back here */
	uint64_t held_rss_b;  /* peak RSS at release: the kernel's peak of the process includes it */
	uint64_t released_ns; /* when the child was released */
	struct rlimit files;  /* our original limit of descriptors; ours is raised to the maximum */
};

/* Raises our limit of descriptors to the maximum until sonde_launch_fini(); the command keeps the original limit.
 * sonde_launch_init() calls this too. */
void sonde_launch_raise_files(struct sonde_launch *launch);

int sonde_launch_init(struct sonde_launch *launch, char **argv);
void sonde_launch_fini(struct sonde_launch *launch);

/* Changes the child's environment only. */
int sonde_launch_setenv(struct sonde_launch *launch, const char *name, const char *value);
/* Prepends `value` to a variable, separated by `separator`. */
int sonde_launch_prepend(struct sonde_launch *launch, const char *name, const char *value, char separator);

/* Forks; the child waits. */
int sonde_launch_hold(struct sonde_launch *launch);

/* Lets the child exec; 0, or the negative errno of its exec (-ENOENT, -EACCES, …), after which it is reaped. */
int sonde_launch_release(struct sonde_launch *launch);

#endif
