/* heap_check.c: part of an object that otherwise equals libsonde-heap.so: it repeats each stack walk from the start,
 * and compares. At the process's end it prints to standard error how many walks there were and how many differed. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "inject/heap/heap.h"

/* The function of libsonde-heap.so, under another name (meson.build). */
struct hook_frame *hook_unwind_real(struct hook_thread *thread, const struct hook_caller *caller);
struct hook_frame *hook_unwind(struct hook_thread *thread, const struct hook_caller *caller);

static _Atomic unsigned long walks, differ, deepest;
static _Atomic(struct hook_thread *) spare;

/* Returns the number of frames of a stack that are reported. */
static size_t told(const struct hook_thread *thread)
{
	size_t depth = (size_t)(thread->innermost - thread->frames);
	return depth < SONDE_HEAP_FRAMES_MAX ? depth : SONDE_HEAP_FRAMES_MAX;
}

static int is_same(const struct hook_thread *a, const struct hook_thread *b)
{
	size_t count = told(a);
	if (count != told(b) || (count < SONDE_HEAP_FRAMES_MAX && a->status != b->status))
		return 0;
	for (size_t i = 0; i < count; i++)
		if (a->innermost[-(ptrdiff_t)i].pc != b->innermost[-(ptrdiff_t)i].pc)
			return 0;
	return 1;
}

struct hook_frame *hook_unwind(struct hook_thread *thread, const struct hook_caller *caller)
{
	struct hook_frame *innermost = hook_unwind_real(thread, caller);
	struct hook_thread *fresh = atomic_exchange(&spare, NULL);
	if (!fresh && !(fresh = inject_connect_page(sizeof *fresh)))
		return innermost;
	memcpy((void *)fresh, (const void *)thread, offsetof(struct hook_thread, frames));
	fresh->frames[0] = thread->frames[0];
	fresh->innermost = fresh->frames;
	hook_unwind_real(fresh, caller);
	atomic_fetch_add(&walks, 1);
	if (!is_same(thread, fresh))
		atomic_fetch_add(&differ, 1);
	if (told(thread) > atomic_load(&deepest))
		atomic_store(&deepest, told(thread));
	atomic_store(&spare, fresh); /* a block that other code put there is lost */
	return innermost;
}

__attribute__((destructor)) static void say(void)
{
	char text[128];
	int text_b = snprintf(text, sizeof text, "heap walks: %lu, %lu differ, %lu deep\n", atomic_load(&walks),
			      atomic_load(&differ), atomic_load(&deepest));
	if (atomic_load(&walks) && write(2, text, (size_t)text_b) < 0)
		return;
}
