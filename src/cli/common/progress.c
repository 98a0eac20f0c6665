/* progress.c: prints a line on the terminal about anything that takes longer than a second.
 *
 * A timer signal prints it, so that busy code need not check a clock. Does nothing if standard error is not a terminal.
 */
#include "cli/common/progress.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *volatile line;
static timer_t timer;
static struct sigaction before;

static void say(int number)
{
	(void)number;
	int code = errno;
	const char *text = line;
	if (text)
		(void)!write(STDERR_FILENO, text, strlen(text));
	errno = code;
}

void sonde_progress_begin(const char *text)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	struct sigaction action = {.sa_handler = say, .sa_flags = SA_RESTART};
	struct itimerspec second = {.it_value.tv_sec = 1};
	if (line || !isatty(STDERR_FILENO) || timer_create(CLOCK_MONOTONIC, &event, &timer))
		return;
	line = text;
	sigaction(SIGALRM, &action, &before);
	timer_settime(timer, 0, &second, NULL);
}

void sonde_progress_end(void)
{
	if (!line)
		return;
	timer_delete(timer);
	sigaction(SIGALRM, &before, NULL);
	line = NULL;
}
