/* signals.c: signal handlers that only increment counters. */
#include "run/signals.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/file.h"

static volatile sig_atomic_t interrupts;
static volatile sig_atomic_t ends;
static volatile sig_atomic_t quits;
static volatile sig_atomic_t saves;
static volatile sig_atomic_t snapshots;
static _Atomic uint64_t forward; /* bit number − 1 */

static void on_end(int number, siginfo_t *info, void *context)
{
	(void)context;
	ends = ends + 1;
	if (number == SIGINT)
		interrupts = interrupts + 1;
	if (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT)
		quits = quits + 1;
	/* Signals from the terminal reach the whole process group, except for the hang-up: SIGHUP goes to the session
	 * leader only. */
	if (info->si_code != SI_KERNEL || (number == SIGHUP && getsid(0) == getpid()))
		atomic_fetch_or(&forward, UINT64_C(1) << (number - 1));
}

static void on_save(int number)
{
	(void)number;
	saves = saves + 1;
}

static void on_snapshot(int number)
{
	(void)number;
	snapshots = snapshots + 1;
}

/* Original dispositions of signals that we changed and that a command would inherit. */
static struct {
	int number, is_known;
	struct sigaction given;
} changed[] = {{.number = SIGXFSZ}, {.number = SIGPIPE}, {.number = SIGCHLD}};

static void change(int number, void (*handler)(int), struct sigaction *old)
{
	struct sigaction action = {.sa_handler = handler}, before = {.sa_handler = SIG_DFL};
	sigaction(number, &action, &before);
	for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
		if (changed[i].number != number || changed[i].is_known)
			continue;
		changed[i].given = before;
		changed[i].is_known = 1;
	}
	if (old)
		*old = before;
}

void sonde_signals_give_back(void)
{
	for (size_t i = 0; i < sizeof changed / sizeof *changed; i++)
		if (changed[i].is_known)
			sigaction(changed[i].number, &changed[i].given, NULL);
}

void sonde_signals_ignore_file_limit(struct sigaction *old)
{
	change(SIGXFSZ, SIG_IGN, old);
}

static void catch (int number)
{
	struct sigaction old, action = {.sa_sigaction = on_end, .sa_flags = SA_SIGINFO | SA_RESTART};
	if (!sigaction(number, NULL, &old) && old.sa_handler != SIG_IGN)
		sigaction(number, &action, NULL);
}

void sonde_signals_catch(int saves_wanted, int snapshots_wanted)
{
	static const int numbers[] = {SIGINT,  SIGTERM,   SIGHUP,  SIGQUIT, SIGUSR1,   SIGUSR2,
				      SIGALRM, SIGVTALRM, SIGPROF, SIGPOLL, SIGSTKFLT, SIGPWR};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		catch (numbers[i]);
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
		catch (number);
	struct sigaction save = {.sa_handler = on_save, .sa_flags = SA_RESTART};
	struct sigaction snapshot = {.sa_handler = on_snapshot, .sa_flags = SA_RESTART};
	if (saves_wanted)
		sigaction(SIGUSR2, &save, NULL);
	if (snapshots_wanted)
		sigaction(SIGUSR1, &snapshot, NULL);
	change(SIGPIPE, SIG_IGN, NULL);
	change(SIGCHLD, SIG_DFL, NULL);
	sonde_signals_ignore_file_limit(NULL);
}

int sonde_signals_take_forward(void)
{
	uint64_t waiting = atomic_load(&forward);
	if (!waiting)
		return 0;
	int number = __builtin_ctzll(waiting) + 1;
	atomic_fetch_and(&forward, ~(UINT64_C(1) << (number - 1)));
	return number;
}

unsigned sonde_signals_ends(void)
{
	return (unsigned)ends;
}

unsigned sonde_signals_quits(void)
{
	return (unsigned)quits;
}

unsigned sonde_signals_interrupts(void)
{
	return (unsigned)interrupts;
}

int sonde_signals_take_save(void)
{
	int requested = saves != 0;
	saves = 0;
	return requested;
}

int sonde_signals_take_snapshot(void)
{
	int requested = snapshots != 0;
	snapshots = 0;
	return requested;
}

int sonde_signals_is_ignored_by(pid_t pid, int number)
{
	/* the supplementary groups precede it: 700 KB at most */
	char *text = sonde_file_read_whole(NULL, "/proc/%d/status", (int)pid);
	const char *line = text ? strstr(text, "\nSigIgn:") : NULL;
	int is_ignored = line && strtoull(line + strlen("\nSigIgn:"), NULL, 16) >> (number - 1) & 1;
	free(text);
	return is_ignored;
}
