/* test_unwinder.c: stacks of a stopped child are unwound from a copy, from its live memory, or not at all, with the
 * reason. */
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <cmocka.h>

#include "fake_recorder.h"
#include "source/stack/unwinder.h"

#define COPY_B 65536
#define NEAR_B 4096 /* no function here is longer */
#define GENERATED_B 4096

/* What the child reports, in shared memory. */
struct told {
	ucontext_t context;
	_Atomic int ready;
};

static struct told *told;
static uint8_t *generated; /* executable memory without a file */
static pid_t child;
static uint8_t copy[COPY_B];
static struct sonde_recorder recorder;
static struct sonde_images *images;
static struct sonde_spaces *spaces;
static struct sonde_unwinder *unwinder;
static struct sonde_unwind_sample sample;

__attribute__((noinline)) static void inner(void)
{
	getcontext(&told->context);
	told->ready = 1;
	for (;;)
		pause();
}

__attribute__((noinline)) static int middle(volatile int *value)
{
	volatile char large[3000]; /* so that the copy can end between inner and outer */
	for (size_t i = 0; i < sizeof large; i++)
		large[i] = (char)*value;
	inner();
	return large[17];
}

__attribute__((noinline)) static int outer(volatile int *value)
{
	return middle(value) + 1;
}

/* --- fixture --------------------------------------------------------------------------------------------- */

static size_t read_child(uint64_t address, void *out, size_t size_b)
{
	struct iovec local = {out, size_b}, remote = {(void *)(uintptr_t)address, size_b};
	ssize_t got_b = process_vm_readv(child, &local, 1, &remote, 1, 0);
	return got_b > 0 ? (size_t)got_b : 0;
}

/* As much of the child's stack as there is, up to a page's end. */
static size_t copy_stack(uint64_t sp)
{
	size_t done_b = 0;
	while (done_b < COPY_B) {
		size_t part_b = 4096 - (sp + done_b) % 4096;
		part_b = part_b < COPY_B - done_b ? part_b : COPY_B - done_b;
		if (read_child(sp + done_b, copy + done_b, part_b) != part_b)
			break;
		done_b += part_b;
	}
	return done_b;
}

static void take_regs(struct sonde_unwind_regs *regs)
{
	const mcontext_t *machine = &told->context.uc_mcontext;
#if defined(__x86_64__)
	*regs = (struct sonde_unwind_regs){.pc = (uint64_t)machine->gregs[REG_RIP],
					   .sp = (uint64_t)machine->gregs[REG_RSP],
					   .fp = (uint64_t)machine->gregs[REG_RBP]};
#else
	*regs = (struct sonde_unwind_regs){
	    .pc = machine->pc, .sp = machine->sp, .fp = machine->regs[29], .lr = machine->regs[30]};
#endif
}

static int start_child(void **state)
{
	(void)state;
	told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	generated = mmap(NULL, GENERATED_B, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (told == MAP_FAILED || generated == MAP_FAILED)
		return -1;
	static const uint8_t stub[] = {0x48, 0x83, 0xc4, 0x08, 0xc3}; /* add $8,%rsp; ret */
	memcpy(generated + 64, stub, sizeof stub);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		volatile int value = 1;
		_exit(outer(&value));
	}
	while (!told->ready)
		usleep(1000);
	return 0;
}

static int stop_child(void **state)
{
	(void)state;
	kill(child, SIGKILL);
	return waitpid(child, NULL, 0) == child ? 0 : -1;
}

static int setup(void **state)
{
	(void)state;
	memset(&recorder, 0, sizeof recorder);
	if (sonde_images_new(&images, &recorder, NULL, NULL) || sonde_spaces_new(&spaces, images) ||
	    sonde_unwinder_new(&unwinder, &recorder, images, spaces))
		return -1;
	sample = (struct sonde_unwind_sample){.pid = child, .time_ns = 1, .has_user = 1, .stack = copy};
	take_regs(&sample.regs);
	sample.stack_b = copy_stack(sample.regs.sp);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sonde_unwinder_free(unwinder);
	sonde_spaces_free(spaces);
	sonde_images_free(images);
	fake_recorder_fini(&recorder);
	return 0;
}

static int main_bias(struct dl_phdr_info *info, size_t size_b, void *out)
{
	(void)size_b;
	*(uint64_t *)out = info->dlpi_addr;
	return 1; /* the program itself comes first */
}

static enum sonde_stack_status run(uint32_t *stack)
{
	sonde_unwinder_begin(unwinder);
	return sonde_unwinder_run(unwinder, &sample, stack);
}

static const struct sonde_trie_frame *frames_of(uint32_t stack, size_t *count)
{
	assert_in_range(stack, 1, recorder.stack_count);
	*count = recorder.stacks[stack - 1].count;
	return recorder.frames + recorder.stacks[stack - 1].first;
}

static void in_function(const struct sonde_trie_frame *frame, const void *function)
{
	uint64_t bias = 0, start = (uint64_t)(uintptr_t)function;
	dl_iterate_phdr(main_bias, &bias);
	assert_in_range(frame->address + bias, start, start + NEAR_B);
	assert_non_null(strstr(recorder.modules[frame->module - 1].path, "test_unwinder"));
}

/* The known part of the stack. */
static void ends_in_known_functions(uint32_t stack, size_t at)
{
	size_t count;
	const struct sonde_trie_frame *frames = frames_of(stack, &count);
	assert_in_range(count, at + 4, 64);
	in_function(&frames[at], inner);
	in_function(&frames[at + 1], middle);
	in_function(&frames[at + 2], outer);
	in_function(&frames[at + 3], start_child);
}

/* --- tests ----------------------------------------------------------------------------------------------- */

static void a_copy_that_holds_the_stack_is_enough(void **state)
{
	(void)state;
	uint32_t stack;
	assert_int_equal(run(&stack), SONDE_STACK_COMPLETE);
	ends_in_known_functions(stack, 0);
	assert_int_equal(run(&stack), SONDE_STACK_COMPLETE); /* from the cache */
	ends_in_known_functions(stack, 0);
	assert_int_equal(recorder.modules[0].flags, 0);
	for (size_t i = 0; i < recorder.module_count; i++)
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(recorder.modules[i].path, recorder.modules[j].path);
}

static void what_lies_above_the_copy_is_read_from_the_process(void **state)
{
	(void)state;
	uint32_t stack;
	sample.stack_b = 1024;
	assert_int_equal(run(&stack), SONDE_STACK_COMPLETE);
	ends_in_known_functions(stack, 0);
}

static void a_stack_that_has_changed_is_truncated(void **state)
{
	(void)state;
	uint32_t stack;
	size_t count;
	sample.stack_b = 1024;
	copy[1000] ^= 1; /* within the compared window, and nothing that unwinding reads */
	assert_int_equal(run(&stack), SONDE_STACK_TRUNCATED);
	in_function(&frames_of(stack, &count)[0], inner);
	assert_in_range(count, 1, 2);
}

static void without_a_copy_only_the_leaf_is_known(void **state)
{
	(void)state;
	uint32_t stack;
	size_t count;
	sample.stack_b = 0;
	assert_int_equal(run(&stack), SONDE_STACK_TRUNCATED);
	frames_of(stack, &count);
	assert_int_equal(count, 1);
}

static void a_return_address_outside_every_mapping_is_said(void **state)
{
	(void)state;
	uint32_t stack;
	sample.regs.pc = 0x10;
	assert_int_equal(run(&stack), SONDE_STACK_UNMAPPED);
	assert_int_equal(stack, 0);
}

static void code_of_another_machine_gives_its_leaf(void **state)
{
	(void)state;
	uint32_t stack;
	size_t count;
	sample.leaf_only = 1;
	assert_int_equal(run(&stack), SONDE_STACK_NO_TABLE);
	in_function(&frames_of(stack, &count)[0], inner);
	assert_int_equal(count, 1);
}

static void kernel_frames_stand_before_user_frames(void **state)
{
	(void)state;
	static const uint64_t kernel[] = {0xffffffff81000010, 0xffffffff81000020};
	uint32_t stack;
	size_t count;
	sample.kernel = kernel;
	sample.kernel_count = 2;
	assert_int_equal(run(&stack), SONDE_STACK_COMPLETE);
	const struct sonde_trie_frame *frames = frames_of(stack, &count);
	assert_int_equal(recorder.modules[frames[0].module - 1].flags, SONDE_MODULE_KERNEL);
	assert_int_equal(frames[0].address, 0xffffffff81000010);
	assert_int_equal(frames[1].address, 0xffffffff8100001f);
	ends_in_known_functions(stack, 2);

	sample.has_user = 0; /* exiting: the kernel's frames are all there is */
	assert_int_equal(run(&stack), SONDE_STACK_COMPLETE);
	frames_of(stack, &count);
	assert_int_equal(count, 2);
	sample.kernel_count = 0;
	assert_int_equal(run(&stack), SONDE_STACK_NO_USER);
}

static void generated_code_is_followed_by_frame_pointers(void **state)
{
	(void)state;
	uint32_t stack;
	size_t count;
	uint64_t pushed[2] = {sample.regs.fp, sample.regs.pc}; /* as a generated function that inner calls would */
	memmove(copy + 16, copy, COPY_B - 16);
	memcpy(copy, pushed, 16);
	sample.regs.sp -= 16;
	sample.stack_b += sample.stack_b + 16 <= COPY_B ? 16 : 0;
	sample.regs.fp = sample.regs.sp;
	sample.regs.pc = (uint64_t)(uintptr_t)generated + 128;
	assert_int_equal(run(&stack), SONDE_STACK_FRAME_POINTER);
	const struct sonde_trie_frame *frames = frames_of(stack, &count);
	assert_int_equal(recorder.modules[frames[0].module - 1].flags, SONDE_MODULE_ANONYMOUS);
	assert_int_equal(frames[0].address, sample.regs.pc);
	ends_in_known_functions(stack, 1);

	sample.regs.fp = 0x1234568; /* leads nowhere */
	assert_int_equal(run(&stack), SONDE_STACK_NO_TABLE);
	frames_of(stack, &count);
	assert_int_equal(count, 1);
}

#if defined(__x86_64__)
static void a_known_stub_is_stepped_over(void **state)
{
	(void)state;
	uint32_t stack;
	uint64_t pushed[2] = {0, sample.regs.pc}; /* 8 bytes of frame, then the return address */
	memmove(copy + 16, copy, COPY_B - 16);
	memcpy(copy, pushed, 16);
	sample.regs.sp -= 16;
	sample.stack_b += sample.stack_b + 16 <= COPY_B ? 16 : 0;
	sample.regs.pc = (uint64_t)(uintptr_t)generated + 64;
	assert_int_equal(run(&stack), SONDE_STACK_COMPLETE);
	ends_in_known_functions(stack, 1);
}
#endif

static void a_process_that_is_gone_has_no_mappings(void **state)
{
	(void)state;
	uint32_t stack;
	pid_t gone = fork();
	if (gone == 0)
		_exit(0);
	waitpid(gone, NULL, 0);
	sample.pid = gone;
	assert_int_equal(run(&stack), SONDE_STACK_UNMAPPED);
	assert_int_equal(stack, 0);
}

int main(void)
{
#define ROW(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		ROW(a_copy_that_holds_the_stack_is_enough),
		ROW(what_lies_above_the_copy_is_read_from_the_process),
		ROW(a_stack_that_has_changed_is_truncated),
		ROW(without_a_copy_only_the_leaf_is_known),
		ROW(a_return_address_outside_every_mapping_is_said),
		ROW(code_of_another_machine_gives_its_leaf),
		ROW(kernel_frames_stand_before_user_frames),
		ROW(generated_code_is_followed_by_frame_pointers),
#if defined(__x86_64__)
		ROW(a_known_stub_is_stepped_over),
#endif
		ROW(a_process_that_is_gone_has_no_mappings),
	};
	return cmocka_run_group_tests(tests, start_child, stop_child);
}
