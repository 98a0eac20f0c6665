/* assembly.c: burns CPU time in functions written in assembly, without call-frame information. Usage: assembly SECONDS.
 *
 * Each function of tests/unit/frame_shapes.c gets the same time, one after the other, from main by work_NAME.
 */
#include <stdint.h>
#include <stdlib.h>

#include "../unit/frame_shapes.h"
#include "burn.h"
#include "no_inline.h"

/* Not inlined, because stacks must name this function as the caller. */
NO_INLINE static uint64_t work(uint64_t (*run)(uint64_t), uint64_t until_ns)
{
	uint64_t wrong = 0;
	do {
		for (int i = 0; i < 1000; i++)
			wrong += run(50 + (uint64_t)(i & 1)) != 42;
	} while (thread_cpu_ns() < until_ns);
	no_tail_call();
	return wrong;
}

int main(int argc, char **argv)
{
	uint64_t each_ns = (uint64_t)((argc > 1 ? strtod(argv[1], NULL) : 1) * 1e9) / shape_count;
	uint64_t wrong = 0;
	for (unsigned i = 0; i < shape_count; i++)
		wrong += work(shapes[i].run, thread_cpu_ns() + each_ns);
	return wrong != 0;
}
