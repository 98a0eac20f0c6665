/* settings.c: settings of libsonde-heap.so from the environment, and its reaction when recording starts and ends
 * (hook/object.h).
 */

#include "base/clock.h"
#include "inject/heap/heap.h"
#include "inject/hook/connect.h"
#include "inject/hook/object.h"
#include "inject/hook/process.h"
#include "inject/hook/uncounted.h"

/* Its value: the common part (hook/object.h), then mean bytes between samples (0 = every block), then 1 if light. */
const char hook_env[] = "SONDE_HEAP";
const int hook_waits = 1;
uint64_t heap_mean_b;
uint64_t heap_seed;
int heap_is_light;

void hook_configure(const char *wanted)
{
	INJECT_UNCOUNT(heap_filter);
	const char *seed = inject_connect_env(HEAP_SEED_ENV);
	heap_mean_b = hook_read_number(&wanted);
	heap_is_light = hook_read_number(&wanted) != 0;
	hook_is_lazy = heap_is_light;
	heap_seed = seed ? hook_read_number(&seed) : sonde_clock_now_ns() ^ (uint64_t)hook_first_pid << 32;
}

void hook_birth(void)
{
}

void hook_state_is(enum hook_state state)
{
	if (state == HOOK_READY && heap_mean_b)
		heap_record_sample();
	heap_record_look(state != HOOK_OFF && !heap_mean_b);
	if (state == HOOK_OFF)
		heap_left = UINT64_MAX;
}
