/* runs.c: the measurement loop (bench/runs.h).
 *
 * Nothing is recorded: only the kernel's figures for each process are read, and nothing of ours runs at the same time.
 * Two commands are run in pairs with alternating order (ABBA), so that disturbances of the machine affect both alike.
 * The loop ends when the interval is narrow enough, never because of the verdict.
 */
#include "cli/bench/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/common/command.h"
#include "run/redacted.h"
#include "run/shell.h"
#include "run/signals.h"
#include "run/timed.h"
#include "util/array.h"
#include "util/error.h"

#define SHELL_RUNS 5

struct streams {
	int in_fd, out_fd;
};

/* --- one run ----------------------------------------------------------------------------------------------------- */

static int failed(const struct sonde_bench_runs *runs, enum sonde_versus_side side, int status)
{
	return sonde_error(ECANCELED,
			   "'%s' failed (%s %d), so its time means little; --ignore-failure counts it anyway",
			   runs->show.command[side], WIFSIGNALED(status) ? "signal" : "exit code",
			   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static int run_side(struct sonde_bench_runs *runs, const struct streams *streams, enum sonde_versus_side side,
		    double *values)
{
	struct sonde_timed timed;
	int code = runs->prepare ? sonde_shell_prepare(runs->prepare) : 0;
	if (code || sonde_signals_quits())
		return code;
	code = sonde_timed_run(&timed, runs->argv[side], streams->in_fd, streams->out_fd);
	if (code || sonde_signals_quits())
		return code;
	if (timed.status && !runs->ignore_failure)
		return failed(runs, side, timed.status);
	runs->show.failed += timed.status != 0;
	values[SONDE_VERSUS_WALL] = (double)timed.wall_ns;
	values[SONDE_VERSUS_CPU] = (double)(timed.user_ns + timed.system_ns);
	values[SONDE_VERSUS_USER] = (double)timed.user_ns;
	values[SONDE_VERSUS_SYSTEM] = (double)timed.system_ns;
	values[SONDE_VERSUS_PEAK_RSS] = timed.peak_rss_b ? (double)timed.peak_rss_b : NAN;
	values[SONDE_VERSUS_FAULTS] = (double)timed.faults;
	return 0;
}

static int run_pair(struct sonde_bench_runs *runs, const struct streams *streams, struct sonde_versus_pair *pair,
		    size_t number)
{
	pair->is_baseline_first = runs->versus.has_baseline && number % 2 == 0;
	enum sonde_versus_side first = pair->is_baseline_first ? SONDE_BASELINE : SONDE_CANDIDATE;
	int code = run_side(runs, streams, first, pair->value[first]);
	if (!code && runs->versus.has_baseline && !sonde_signals_quits())
		code = run_side(runs, streams, SONDE_SIDES - 1 - first, pair->value[SONDE_SIDES - 1 - first]);
	return code;
}

/* --- all runs ---------------------------------------------------------------------------------------------------- */

static int add(struct sonde_bench_runs *runs, const struct sonde_versus_pair *pair)
{
	struct sonde_versus *versus = &runs->versus;
	if (SONDE_ARRAY_RESERVE(runs->pairs, runs->pair_cap, versus->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu runs", versus->count + 1);
	runs->pairs[versus->count++] = *pair;
	versus->pair = runs->pairs;
	return 0;
}

static int run_all(struct sonde_bench_runs *runs, const struct streams *streams)
{
	struct sonde_versus_pair pair = {0};
	int code = 0, enough = 0;
	for (size_t i = 0; !code && i < runs->warmup && !sonde_signals_quits(); i++)
		code = run_pair(runs, streams, &pair, i);
	runs->show.failed = 0;
	while (!code && !enough && !sonde_signals_quits()) {
		code = run_pair(runs, streams, &pair, runs->versus.count);
		if (!code && !sonde_signals_quits())
			code = add(runs, &pair);
		if (!code)
			enough = sonde_versus_is_enough(&runs->versus, (size_t)runs->runs);
		if (enough < 0)
			code = sonde_error(-enough, "out of memory for %zu runs", runs->versus.count);
	}
	runs->show.interrupted = sonde_signals_quits() != 0;
	return code;
}

/* Measures a shell that does nothing. */
static int time_shell(struct sonde_bench_runs *runs, const struct streams *streams)
{
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, (char[]){":"}, NULL};
	struct sonde_timed timed;
	for (int i = 0; i < SHELL_RUNS && runs->argv[SONDE_CANDIDATE] == runs->shell[SONDE_CANDIDATE]; i++) {
		int code = sonde_timed_run(&timed, argv, streams->in_fd, streams->out_fd);
		if (code)
			return code;
		if (!i || timed.wall_ns < runs->show.shell_ns)
			runs->show.shell_ns = timed.wall_ns;
	}
	return 0;
}

static int open_streams(struct streams *streams, int show_output)
{
	streams->in_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	streams->out_fd =
	    show_output ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3) : open("/dev/null", O_WRONLY | O_CLOEXEC);
	return streams->in_fd < 0 || streams->out_fd < 0 ? sonde_error(errno, "/dev/null: %s", strerror(errno)) : 0;
}

static int is_line(char **words)
{
	return !words[1] && !sonde_shell_is_plain(words[0]);
}

/* Makes the command line in the form that is shown and written: without secrets. */
static int redact(struct sonde_bench_runs *runs, int side, char *const *words)
{
	char **redacted = sonde_redacted_words(words, NULL);
	runs->shown[side] = redacted ? sonde_shell_line(redacted) : NULL;
	free(redacted);
	return runs->shown[side] ? 0 : -ENOMEM;
}

int sonde_bench_runs_init(struct sonde_bench_runs *runs, char **candidate, char **baseline, int by_shell)
{
	char **words[SONDE_SIDES] = {[SONDE_CANDIDATE] = candidate, [SONDE_BASELINE] = baseline};
	by_shell |= is_line(candidate) || (baseline && is_line(baseline));
	for (int side = 0; side < SONDE_SIDES; side++) {
		runs->line[side] = words[side] ? sonde_shell_line(words[side]) : NULL;
		if (words[side] && !runs->line[side])
			return sonde_error(ENOMEM, "out of memory for the command's arguments");
		char *const shell[] = {(char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c", runs->line[side], NULL};
		memcpy(runs->shell[side], shell, sizeof shell);
		runs->argv[side] = by_shell ? runs->shell[side] : words[side];
		if (words[side] && !runs->keep_arguments && redact(runs, side, words[side]))
			return sonde_error(ENOMEM, "out of memory for the command's arguments");
		runs->show.command[side] = runs->shown[side] ? runs->shown[side] : runs->line[side];
	}
	runs->versus.has_baseline = baseline != NULL;
	return 0;
}

int sonde_bench_runs_measure(struct sonde_bench_runs *runs)
{
	struct streams streams = {-1, -1};
	runs->show.versus = &runs->versus;
	runs->show.warmups = (size_t)runs->warmup;
	runs->versus.margin = runs->margin;
	int code = open_streams(&streams, runs->show_output);
	code = code ? code : time_shell(runs, &streams);
	code = code ? code : run_all(runs, &streams);
	if (streams.in_fd >= 0)
		close(streams.in_fd);
	if (streams.out_fd >= 0)
		close(streams.out_fd);
	if (code == -ECANCELED || (code && !runs->versus.count))
		return code;
	if (!runs->versus.count)
		return sonde_error(EINTR, "interrupted before any run finished");
	if (code) { /* keep what was measured, although it is incomplete */
		snprintf(runs->error, sizeof runs->error, "%s", sonde_error_text());
		runs->show.error = runs->error;
	}
	return 0;
}

int sonde_bench_runs_exit(const struct sonde_bench_runs *runs, int code)
{
	if (code == -ECANCELED)
		return SONDE_EXIT_UNREADABLE;
	if (code)
		return code == -ENOENT   ? SONDE_EXIT_NOT_FOUND
		       : code == -EACCES ? SONDE_EXIT_NOT_EXECUTABLE
					 : SONDE_EXIT_OURS;
	return runs->show.error ? SONDE_EXIT_OURS : SONDE_EXIT_OK;
}

int sonde_bench_gate(enum sonde_verdict verdict)
{
	static const int gate[] = {[SONDE_VERDICT_INCONCLUSIVE] = SONDE_EXIT_INCONCLUSIVE,
				   [SONDE_VERDICT_REGRESSED] = SONDE_EXIT_NEGATIVE,
				   [SONDE_VERDICT_IMPROVED] = SONDE_EXIT_OK,
				   [SONDE_VERDICT_UNCHANGED] = SONDE_EXIT_OK};
	return gate[verdict];
}

void sonde_bench_runs_fini(struct sonde_bench_runs *runs)
{
	for (int side = 0; side < SONDE_SIDES; side++) {
		free(runs->line[side]);
		free(runs->shown[side]);
	}
	free(runs->pairs);
}
