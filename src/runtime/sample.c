/* sample.c: CPU samples from signal handlers into the ring (sample.h). */
#include <errno.h>
#include <string.h>

#include "runtime/runtime.h"
#include "runtime/sample.h"

int sonde_sample_push(const struct sonde_event_cpu_sample *sample, const void *stack)
{
	if (SONDE_HOT_LOAD(sonde_hot_self->off))
		return SONDE_ERR_OFF;
	struct sonde_ring_pool *pool;
	struct sonde_thread *thread = sonde_thread_enter(&pool);
	if (!thread)
		return SONDE_ERR_OFF;
	int saved = errno;
	uint64_t stack_b = sample->stack_b < SONDE_RING_CHUNK_B / 2 ? sample->stack_b & ~UINT64_C(7) : 0;
	uint32_t words = (uint32_t)((sizeof(*sample) + stack_b) / 8);
	struct sonde_event head = {.type = SONDE_EVENT_CPU_SAMPLE, .words = (uint16_t)words};
	head.time = sonde_event_time(pool);
	struct sonde_event *event = sonde_event_reserve(thread, pool, words);
	if (event) {
		struct sonde_event_cpu_sample *own = (struct sonde_event_cpu_sample *)(void *)event;
		memcpy((char *)own + sizeof(head), (const char *)sample + sizeof(head), sizeof(*own) - sizeof(head));
		own->stack_b = stack_b;
		memcpy(own + 1, stack, (size_t)stack_b);
		sonde_event_publish(event, &head);
	}
	errno = saved;
	sonde_thread_leave(thread);
	return event ? SONDE_OK : SONDE_ERR_FULL;
}
