/* launch.h: starts the command to be profiled, held back until the sources are ready.
 *
 * The child waits on a pipe between fork and exec, so that perf events opened on its pid begin at its exec. A failed
 * exec is reported back with its errno. The child keeps our standard streams, signal dispositions and mask as we were
 * given them; it inherits no descriptor of ours.
 */
#ifndef SONDE_RUN_LAUNCH_H
#define SONDE_RUN_LAUNCH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* What the child reads and writes on its pipes before its exec: the kernel counts it as the command's. */
enum { SONDE_LAUNCH_READ_B = 1, SONDE_LAUNCH_WRITTEN_B = sizeof(int) };

struct sonde_launch {
	char **argv; /* the caller's */
	char **env;  /* starts as a copy of environ; sonde_launch_setenv() edits it */
	size_t env_count;
	char **paths; /* where the command may be; made by sonde_launch_hold() */
	size_t path_count;
	pid_t pid;      /* 0 before sonde_launch_hold() */
	int release_fd; /* written to let it go */
	int error_fd;   /* exec's errno comes back here */
	uint64_t
	    held_rss_b; /* the most that was resident when it was let go: the kernel's mark of the process keeps it */
	uint64_t released_ns; /* when it was let go */
	struct rlimit files;  /* descriptors, as we were given them; ours are as many as may be */
};

/* As many descriptors for us as may be, until sonde_launch_fini(): they are no matter of the command's limit.
 * sonde_launch_init() does it, too. */
void sonde_launch_raise_files(struct sonde_launch *launch);

int sonde_launch_init(struct sonde_launch *launch, char **argv);
void sonde_launch_fini(struct sonde_launch *launch);

/* Edits the child's environment only. */
int sonde_launch_setenv(struct sonde_launch *launch, const char *name, const char *value);
/* Puts `value` in front of what the variable holds, separated by `separator`. */
int sonde_launch_prepend(struct sonde_launch *launch, const char *name, const char *value, char separator);

/* Forks; the child waits. */
int sonde_launch_hold(struct sonde_launch *launch);

/* Lets it exec; 0, or the negative errno of its exec (-ENOENT, -EACCES, …), after which it is reaped. */
int sonde_launch_release(struct sonde_launch *launch);

#endif
