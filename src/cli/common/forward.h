/* forward.h: shared by commands that run a program: they exit the way the program did. */
#ifndef SONDE_CLI_COMMON_FORWARD_H
#define SONDE_CLI_COMMON_FORWARD_H

#include "cli/common/command.h"
#include "source/record/recorder.h"

/* Rows for common options: {SONDE_FORWARD_PID(offsetof(struct request, pid))}. */
#define SONDE_FORWARD_PID(to) "pid", 'p', "PID", "attach to a running process", SONDE_PID(to)
#define SONDE_FORWARD_DURATION(to) \
	"duration", 'd', "TIME", "stop after TIME (500ms, 10s, 2m); the command keeps running", SONDE_TIME(to, 1000000)
#define SONDE_FORWARD_FORCE(to) "force", 'f', NULL, "overwrite FILE if it exists", SONDE_FLAG(to)

#define SONDE_FORWARD_KEEP_ARGUMENTS(to) \
	"keep-arguments", 0, NULL, "keep passwords and keys in command lines (default: ***)", SONDE_FLAG(to)

#define SONDE_FORWARD_LEAST_INTERVAL_NS SONDE_RESOURCES_LEAST_INTERVAL_NS

/* Parses options, and then either a command or, if -p was given, no command. Returns −1 to continue, else the exit
 * code, after printing an error. */
int sonde_forward_parse(struct sonde_parse *parse, int argc, char **argv, char ***command, const pid_t *pid);

/* Prints why nothing was recorded, after the command's name; returns the exit code. `rc`: from sonde_supervise(). */
int sonde_forward_failure(const char *command, const struct sonde_record_options *record, int rc);

/* Ends like the program: returns its exit code, or raises the signal that ended it. `status`: the program's, as from
 * wait(2). */
int sonde_forward(int status);

#endif
