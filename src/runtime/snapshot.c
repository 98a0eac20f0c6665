/* snapshot.c: snapshots of the process that can be compared with each other (sonde.h).
 *
 * RSS is read here, at the moment of the call: the drainer runs later, possibly after the process has exited.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "format/heap.h"
#include "runtime/runtime.h"

#define LABEL_MAX_B 4095u

/* Waits two ticks of the clock that stamps allocations (format/heap.h): blocks that this thread has allocated before
 * are then stamped earlier than those that it allocates next. */
static void settle(const struct sonde_ring_pool *pool)
{
	uint64_t from = sonde_event_time(pool);
	while (sonde_event_time(pool) - from < (uint64_t)2 << SONDE_HEAP_TICK_SHIFT)
		;
}

/* The RSS of the process; 0 if /proc is unavailable. */
static uint64_t resident_b(void)
{
	char text[128];
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	const char *at = strchr(text, ' ');
	uint64_t pages = 0;
	for (at = at ? at + 1 : ""; *at >= '0' && *at <= '9'; at++)
		pages = pages * 10 + (uint64_t)(*at - '0');
	return pages * (uint64_t)getpagesize();
}

int sonde_snapshot(const char *label)
{
	if (!label)
		return SONDE_ERR_ARGUMENT;
	if (sonde_thread_is_off())
		return SONDE_ERR_OFF;
	int saved = errno;
	struct sonde_process *process = sonde_process_get();
	struct sonde_ring_pool *pool = process ? atomic_load(&process->pool) : NULL;
	size_t label_b = strnlen(label, LABEL_MAX_B);
	struct sonde_event_snapshot event = {
	    .text = {.head.type = SONDE_EVENT_SNAPSHOT, .len_b = sizeof(event.rss_b) + label_b}, .rss_b = resident_b()};
	if (pool)
		settle(pool);
	int code = sonde_event_send(&event.text.head, sizeof(event), label, label_b);
	pool = process ? atomic_load(&process->pool) : NULL; /* created by the first event */
	if (code == SONDE_OK && pool) {
		settle(pool);
		sonde_process_wake(process, pool);
	}
	errno = saved;
	return code;
}
