/* stack.c: the bounds of a thread's stack (hook/stack.h), without an allocation or a lock.
 *
 * If the lower bound were too low, stacks of coroutines below it would look like the thread's own, and a walk would
 * continue into the memory in between. So the bound errs on the high side, by a page or two, where no stack ends
 * anyway.
 */
#include "inject/hook/stack.h"

#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "inject/hook/machine.h"

#define PAGE_B ((uintptr_t)4096)
/* the kernel maps nothing else this close below a program's first stack */
#define MAIN_STACK_B ((uintptr_t)128 << 20)
#define APART_MAX_B ((uintptr_t)16 << 20) /* between a thread's first frame and its control block */

/* The path by which the program was executed is at the top of this stack. */
struct inject_stack inject_stack_main(void)
{
	uintptr_t name = getauxval(AT_EXECFN);
	if (!name)
		return (struct inject_stack){0, 0};
	uintptr_t end = (name + strlen((const char *)name) + PAGE_B) & ~(PAGE_B - 1);
	return (struct inject_stack){end > MAIN_STACK_B ? end - MAIN_STACK_B : 0, end};
}

/* Both glibc and musl put a thread's control block above its stack, in the same mapping. */
struct inject_stack inject_stack_created(size_t size_b, size_t guard_b)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	uintptr_t control = (uintptr_t)__builtin_thread_pointer();
	uintptr_t end = control > here && control - here < APART_MAX_B ? control : (here + PAGE_B) & ~(PAGE_B - 1);
	uintptr_t top = ((end + PAGE_B) & ~(PAGE_B - 1)) + INJECT_CONTROL_B + guard_b;
	uintptr_t low = top > size_b ? top - size_b : 0;
	return (struct inject_stack){low < here ? low : here & ~(PAGE_B - 1), end};
}

/* --- /proc/self/maps --------------------------------------------------------------------------------------------- */

/* A line of the file: "start-end …". */
struct line {
	uintptr_t bounds[2];
	int at; /* index of the bound being read; 2 = both are complete */
};

static int digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* True when both bounds are known. */
static int read_char(struct line *line, char c)
{
	int digit = digit_of(c);
	if (c == '\n') {
		*line = (struct line){{0, 0}, 0};
		return 0;
	}
	if (line->at == 2)
		return 0;
	if (digit >= 0)
		line->bounds[line->at] = line->bounds[line->at] << 4 | (uintptr_t)digit;
	else
		line->at++;
	return line->at == 2;
}

struct inject_stack inject_stack_mapped(char *space, size_t space_b)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), control = (uintptr_t)__builtin_thread_pointer();
	struct inject_stack found = {0, 0};
	struct line line = {{0, 0}, 0};
	long got;
	long fd = inject_machine_call(SYS_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC, 0, 0, 0);
	if (fd < 0)
		return found;
	while (!found.end && (got = inject_machine_call(SYS_read, fd, (long)space, (long)space_b, 0, 0, 0)) > 0)
		for (long i = 0; i < got && !found.end; i++)
			if (read_char(&line, space[i]) && here >= line.bounds[0] && here < line.bounds[1])
				found = (struct inject_stack){line.bounds[0], line.bounds[1]};
	inject_machine_call(SYS_close, fd, 0, 0, 0, 0, 0);
	if (control > here && control < found.end) /* mappings above it may go away */
		found.end = control;
	return found;
}
