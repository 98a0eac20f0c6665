/* pass_on.h: what the commands share that run a program: they end as it ended. */
#ifndef SONDE_CLI_COMMON_PASS_ON_H
#define SONDE_CLI_COMMON_PASS_ON_H

#include "cli/common/command.h"
#include "source/record/recorder.h"

/* Option rows that they share: {SONDE_PASS_ON_PID(offsetof(struct request, pid))}. */
#define SONDE_PASS_ON_PID(to) \
	"pid", 'p', "PID", "look at a running process instead of starting a command", SONDE_PID(to)
#define SONDE_PASS_ON_DURATION(to) \
	"duration", 'd', "TIME", "stop after this long: 10s, 500ms, 2m; a command goes on", SONDE_TIME(to, 1000000)
#define SONDE_PASS_ON_FORCE(to) "force", 'f', NULL, "overwrite FILE when it exists", SONDE_FLAG(to)

#define SONDE_PASS_ON_KEEP_ARGUMENTS(to)                                                                              \
	"keep-arguments", 0, NULL, "keep command lines as they are: passwords and keys in them become *** otherwise", \
	    SONDE_FLAG(to)

#define SONDE_PASS_ON_LEAST_INTERVAL_NS SONDE_RESOURCES_LEAST_INTERVAL_NS

/* Options, then the command, or -p and no command. −1: go on; else the exit code, with what is wrong printed. */
int sonde_pass_on_parse(struct sonde_parse *parse, int argc, char **argv, char ***command, const pid_t *pid);

/* Prints why nothing was recorded, with the command's name before it; the exit code. `rc`: of sonde_supervise(). */
int sonde_pass_on_failure(const char *command, const struct sonde_record_options *record, int rc);

/* Ends as the program did, whose status is as wait(2) gives it: returns its exit code, or raises the signal. */
int sonde_pass_on(int status);

#endif
