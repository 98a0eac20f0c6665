/* signals.c: counters that handlers raise. */
#include "run/signals.h"

#include <stddef.h>

static volatile sig_atomic_t interrupts;
static volatile sig_atomic_t ends;
static volatile sig_atomic_t forward;
static volatile sig_atomic_t saves;

static void on_end(int number, siginfo_t *info, void *context)
{
	(void)context;
	ends = ends + 1;
	if (number == SIGINT)
		interrupts = interrupts + 1;
	if (info->si_code != SI_KERNEL) /* the terminal's go to the whole group */
		forward = number;
}

static void on_save(int number)
{
	(void)number;
	saves = saves + 1;
}

void sonde_signals_ignore_file_limit(struct sigaction *old)
{
	struct sigaction action = {.sa_handler = SIG_IGN};
	sigaction(SIGXFSZ, &action, old);
}

void sonde_signals_catch(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		struct sigaction old;
		struct sigaction action = {.sa_sigaction = on_end, .sa_flags = SA_SIGINFO | SA_RESTART};
		if (!sigaction(numbers[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
	}
	struct sigaction save = {.sa_handler = on_save, .sa_flags = SA_RESTART};
	sigaction(SIGUSR2, &save, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sonde_signals_ignore_file_limit(NULL);
}

int sonde_signals_take_forward(void)
{
	int number = forward;
	forward = 0;
	return number;
}

unsigned sonde_signals_ends(void)
{
	return (unsigned)ends;
}

unsigned sonde_signals_interrupts(void)
{
	return (unsigned)interrupts;
}

int sonde_signals_take_save(void)
{
	int asked = saves != 0;
	saves = 0;
	return asked;
}
