/* heap_process.c: whether allocations of this process are recorded; its beginning, forked children, and its end. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "inject/heap.h"

struct heap_process *heap_process;
uint64_t heap_mean_b;
uint64_t heap_seed;

static uint64_t read_number(const char *text)
{
	uint64_t value = 0;
	for (; *text >= '0' && *text <= '9' && value < UINT64_C(1) << 50; text++)
		value = value * 10 + (uint64_t)(*text - '0');
	return value;
}

int heap_process_init(void)
{
	static enum { NEW, READING, KNOWN } state;
	if (state != NEW || !environ) /* the dynamic loader allocates before the C library has begun */
		return state == KNOWN;
	state = READING;
	const char *wanted = getenv(HEAP_ENV);
	if (wanted && inject_connect_name() && !heap_rules_init() && !heap_stack_init()) {
		heap_mean_b = read_number(wanted);
		heap_seed = sonde_clock_now_ns() ^ (uint64_t)getpid() << 32;
		heap_process = inject_connect_page(sizeof(*heap_process));
	}
	if (!heap_process || heap_mean_b)
		heap_record_look(0);
	state = KNOWN;
	return 1;
}
