/* zone_inject.c: an injected object that pushes three CPU samples, for programs that also link libsonde. */
#include <string.h>

#include "runtime/sample.h"

__attribute__((constructor(60000))) static void push_samples(void)
{
	uint64_t stack[4] = {11, 22, 33, 44};
	struct sonde_event_cpu_sample sample;
	memset(&sample, 0, sizeof(sample));
	for (uint64_t i = 1; i <= 3; i++) {
		sample.cpu_ns = i;
		sample.pc = 0x1000 + i;
		sample.stack_b = sizeof(stack);
		sonde_sample_push(&sample, stack);
	}
}
