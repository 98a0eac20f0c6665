/* clock_jumps.c: preloaded: the wall clock is set back and forth by an hour between any two readings. */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define HOUR_S 3600

static time_t shift(void)
{
	static _Atomic unsigned readings;
	unsigned reading = atomic_fetch_add(&readings, 1);
	return reading % 3 == 1 ? -HOUR_S : reading % 3 == 2 ? HOUR_S : 0;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
	int result = (int)syscall(SYS_clock_gettime, clock, out);
	if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		out->tv_sec += shift();
	return result;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
	int result = (int)syscall(SYS_gettimeofday, out, zone);
	if (!result)
		out->tv_sec += shift();
	return result;
}

time_t time(time_t *out)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}
