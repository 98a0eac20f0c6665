/* test_derived.c: functions in assembly are single-stepped; at each instruction the unwinder finds the true caller
 * or reports that it is unknown; planted return addresses, frame pointers and frame addresses are not accepted. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "fake_recorder.h"
#include "frame_shapes.h"
#include "source/stack/unwinder.h"

#define COPY_B 16384
#define STEPS_MAX 20000
#define EXIT_FORBIDDEN 99

static struct sonde_recorder recorder;
static struct sonde_images *images;
static struct sonde_spaces *spaces;
static struct sonde_unwinder *unwinder;
static pid_t child;
static uint8_t copy[COPY_B];

static uint64_t address_of(const void *code)
{
	return (uint64_t)(uintptr_t)code;
}

static int setup(void **state)
{
	(void)state;
	memset(&recorder, 0, sizeof recorder);
	return sonde_images_new(&images, &recorder, NULL, NULL) || sonde_spaces_new(&spaces, images) ||
	       sonde_unwinder_new(&unwinder, &recorder, images, spaces);
}

static int teardown(void **state)
{
	(void)state;
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	child = 0;
	sonde_unwinder_free(unwinder);
	sonde_spaces_free(spaces);
	sonde_images_free(images);
	fake_recorder_fini(&recorder);
	return 0;
}

/* --- every instruction of every shape -------------------------------------------------------------------- */

/* Calls each shape by its address, and all of them once more from the last one's caller. */
__attribute__((noinline)) static int run_shapes(uint64_t rounds)
{
	int wrong = 0;
	for (unsigned i = 0; i < shape_count; i++)
		wrong += shapes[i].run(rounds) != 42;
	return wrong;
}

static void start_child(uint64_t rounds)
{
	child = fork();
	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(EXIT_FORBIDDEN);
		raise(SIGSTOP);
		_exit(run_shapes(rounds));
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FORBIDDEN)
		skip(); /* a sandbox without ptrace */
	assert_true(WIFSTOPPED(status));
}

static size_t copy_stack(uint64_t sp)
{
	size_t done_b = 0;
	while (done_b < COPY_B) {
		size_t part_b = 4096 - (sp + done_b) % 4096;
		part_b = part_b < COPY_B - done_b ? part_b : COPY_B - done_b;
		struct iovec local = {copy + done_b, part_b}, remote = {(void *)(uintptr_t)(sp + done_b), part_b};
		if (process_vm_readv(child, &local, 1, &remote, 1, 0) != (ssize_t)part_b)
			break;
		done_b += part_b;
	}
	return done_b;
}

/* Shapes that were called and have not returned: where each returns to. */
struct calls {
	unsigned depth;
	uint64_t sp[16]; /* where its return address lies */
	uint64_t ra[16];
	uint64_t rbp[16]; /* of its caller */
};

static const struct shape *shape_at(uint64_t pc)
{
	const struct shape *found = NULL;
	for (unsigned i = 0; i < shape_count; i++) {
		uintptr_t run = (uintptr_t)shapes[i].run;
		if (address_of((const void *)run) <= pc && (!found || run > (uintptr_t)found->run))
			found = &shapes[i];
	}
	return found;
}

struct found {
	unsigned right, refused;
};

/* Unwinds where the child stands, and compares with the calls that were seen. */
static void look(const struct user_regs_struct *regs, const struct calls *calls, struct found *found)
{
	struct sonde_unwind_sample sample = {.pid = child, .time_ns = 1, .has_user = 1, .stack = copy};
	const uint64_t registers[SONDE_UNWIND_REGISTERS] = {
	    regs->rax, regs->rdx, regs->rcx, regs->rbx, regs->rsi, regs->rdi, regs->rbp, regs->rsp, regs->r8,
	    regs->r9,  regs->r10, regs->r11, regs->r12, regs->r13, regs->r14, regs->r15, regs->rip};
	memcpy(sample.registers, registers, sizeof registers);
	sonde_unwind_sample_registers(&sample);
	sample.stack_b = copy_stack(regs->rsp);
	const struct shape *shape = shape_at(regs->rip);
	unsigned number = (unsigned)(shape - shapes);
	/* A word below the stack pointer is as the function left it only while the child stands still: not to be read.
	 */
	sample.copy_only = !strcmp(shape->name, "below");
	uint32_t stack;
	sonde_unwinder_begin(unwinder);
	enum sonde_stack_status status = sonde_unwinder_run(unwinder, &sample, &stack);
	if (sonde_stack_is_complete(status)) {
		assert_in_range(stack, 1, recorder.stack_count);
		const struct sonde_trie_frame *frames = recorder.frames + recorder.stacks[stack - 1].first;
		size_t count = recorder.stacks[stack - 1].count;
		assert_true(count > calls->depth);
		uint64_t bias = regs->rip - frames[0].address;
		for (unsigned i = 0; i < calls->depth; i++) /* innermost first */
			assert_int_equal(frames[1 + i].address + bias, calls->ra[calls->depth - 1 - i] - 1);
		found[number].right++;
	} else {
		assert_int_equal(status, sample.copy_only ? SONDE_STACK_TRUNCATED : SONDE_STACK_NO_TABLE);
		found[number].refused++;
		if (shape->rules == SHAPE_ALL)
			fail_msg("no rule in %s at +%#llx", shape->name,
				 regs->rip - address_of((const void *)(uintptr_t)shape->run));
	}
}

/* One instruction on; 0: the child has ended. */
static int step_child(struct user_regs_struct *regs)
{
	int status;
	if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) || waitpid(child, &status, 0) != child)
		return 0;
	if (WIFEXITED(status)) {
		assert_int_equal(WEXITSTATUS(status), 0);
		child = 0;
		return 0;
	}
	assert_true(WIFSTOPPED(status));
	assert_int_equal(WSTOPSIG(status), SIGTRAP);
	return !ptrace(PTRACE_GETREGS, child, NULL, regs);
}

static int is_inside(uint64_t pc)
{
	return pc >= address_of(shapes_begin) && pc < address_of(shapes_end);
}

/* A call is seen by what it pushes: the address behind itself. */
static void follow_calls(struct calls *calls, const struct user_regs_struct *before, const struct user_regs_struct *now)
{
	while (calls->depth && now->rsp > calls->sp[calls->depth - 1]) {
		calls->depth--;
		assert_int_equal(now->rbp, calls->rbp[calls->depth]);
	}
	uint64_t ra = 0;
	struct iovec local = {&ra, sizeof ra}, remote = {(void *)(uintptr_t)now->rsp, sizeof ra};
	process_vm_readv(child, &local, 1, &remote, 1, 0);
	if (now->rsp != before->rsp - 8 || ra - before->rip > 7 || ra == before->rip || ra == now->rip)
		return;
	assert_true(calls->depth < 16);
	calls->sp[calls->depth] = now->rsp;
	calls->rbp[calls->depth] = now->rbp;
	calls->ra[calls->depth++] = ra;
}

static void every_instruction_has_the_true_caller_or_none(void **state)
{
	(void)state;
	struct found found[32] = {0};
	assert_true(shape_count <= 32);
	for (uint64_t rounds = 2; rounds <= 3; rounds++) {
		struct user_regs_struct before, now;
		struct calls calls = {0};
		int is_in = 0;
		start_child(rounds);
		assert_int_equal(ptrace(PTRACE_GETREGS, child, NULL, &before), 0);
		for (int i = 0; i < STEPS_MAX && step_child(&now); i++, before = now) {
			if (!is_in && is_inside(now.rip))
				calls.depth = 0;
			is_in = is_inside(now.rip);
			if (!is_in)
				continue;
			follow_calls(&calls, &before, &now);
			look(&now, &calls, found);
		}
		assert_int_equal(child, 0); /* it ended, and all shapes gave 42 */
	}
	for (unsigned i = 0; i < shape_count; i++) {
		print_message("%s: %u right, %u refused\n", shapes[i].name, found[i].right, found[i].refused);
		assert_true(found[i].right + found[i].refused > 0);
		if (shapes[i].rules != SHAPE_ALL)
			assert_true(found[i].refused > 0);
	}
}

/* --- what is planted ------------------------------------------------------------------------------------- */

/* A stack that begins with these words, of a process that is this one. */
static size_t unwind_words(const void *pc, uint64_t fp_offset, const uint64_t *words, size_t count,
			   enum sonde_stack_status *status)
{
	static uint64_t memory[512];
	memset(memory, 0, sizeof memory);
	memcpy(memory, words, count * sizeof *words);
	struct sonde_unwind_sample sample = {.pid = getpid(),
					     .time_ns = 1,
					     .has_user = 1,
					     .copy_only = 1,
					     .stack = (const uint8_t *)memory,
					     .stack_b = sizeof memory};
	sample.regs = (struct sonde_unwind_regs){.pc = address_of(pc), .sp = 0x7f0000001000, .fp = 0};
	if (fp_offset)
		sample.regs.fp = sample.regs.sp + fp_offset;
	uint32_t stack;
	sonde_unwinder_begin(unwinder);
	*status = sonde_unwinder_run(unwinder, &sample, &stack);
	return stack ? recorder.stacks[stack - 1].count : 0;
}

/* How many frames are found when the first word of the stack is `ra` and the code is a leaf function. */
static size_t leaf_frames(const void *ra)
{
	enum sonde_stack_status status;
	const uint64_t words[] = {address_of(ra)};
	size_t count = unwind_words(shape_in_leaf, 0, words, 1, &status);
	assert_int_not_equal(status, SONDE_STACK_COMPLETE);
	assert_int_not_equal(status, SONDE_STACK_DERIVED);
	assert_int_not_equal(status, SONDE_STACK_FRAME_POINTER);
	return count;
}

static void return_addresses_that_no_call_left_are_not_believed(void **state)
{
	(void)state;
	static const uint8_t data[64] = {0xe8, 0, 0, 0, 0};
	assert_int_equal(leaf_frames(shape_behind_leaf), 2);
	assert_int_equal(leaf_frames(shape_behind_nothing), 1);
	assert_int_equal(leaf_frames(shape_behind_other), 1); /* a stale one: a call, but of another function */
	assert_int_equal(leaf_frames((const void *)(uintptr_t)run_shapes), 1);
	assert_int_equal(leaf_frames(data + 5), 1); /* not executable */
	assert_int_equal(leaf_frames(NULL), 1);
	assert_int_equal(leaf_frames((const void *)0x1234), 1);
}

/* Code whose rule is refused, and a frame pointer that leads to `ra`. */
static size_t refused_frames(const void *ra, uint64_t saved_fp, uint64_t fp_offset)
{
	enum sonde_stack_status status;
	const uint64_t words[] = {address_of(shape_behind_refused), address_of(shape_behind_refused), saved_fp,
				  address_of(ra)};
	size_t count = unwind_words(shape_in_refused, fp_offset, words, 4, &status);
	assert_int_equal(
	    status == SONDE_STACK_COMPLETE || status == SONDE_STACK_DERIVED || status == SONDE_STACK_FRAME_POINTER, 0);
	return count;
}

static void frame_pointers_that_lie_are_not_believed(void **state)
{
	(void)state;
	assert_int_equal(refused_frames(shape_behind_refused, 0, 16), 2); /* a direct call of this very function */
	assert_int_equal(refused_frames(shape_behind_other, 0, 16), 1);
	assert_int_equal(refused_frames(shape_behind_leaf, 0, 16), 1);
	assert_int_equal(refused_frames(shape_behind_nothing, 0, 16), 1);
	assert_int_equal(refused_frames(shape_behind_refused, 0, 0), 1); /* no frame pointer: 0 is no root here */
	assert_int_equal(refused_frames(shape_behind_refused, 0, 20), 1);
	assert_int_equal(refused_frames(shape_behind_refused, 0, 1u << 20), 1);
}

/* --- a frame address below the stack pointer -------------------------------------------------------------- */

#define PLANTED_RA (SHAPE_BELOW_ALIGN + 0x40u) /* where the return address lies */

/* How many frames are found when the stack pointer is `above` an aligned address, the slot holds `saved` and the return
 * address, at PLANTED_RA, is `ra`. */
static size_t below_frames(uint64_t above, uint64_t saved, const void *ra)
{
	uint64_t memory[128] = {0};
	uint64_t base = 0x7f0000001000;
	struct sonde_unwind_sample sample = {.pid = getpid(), .time_ns = 1, .has_user = 1, .copy_only = 1};
	memory[SHAPE_BELOW_SLOT / 8] = saved;
	memory[PLANTED_RA / 8] = address_of(ra);
	sample.stack = (const uint8_t *)memory + above;
	sample.stack_b = sizeof memory - above;
	sample.regs = (struct sonde_unwind_regs){.pc = address_of(shape_in_below), .sp = base + above};
	uint32_t stack;
	sonde_unwinder_begin(unwinder);
	assert_false(sonde_stack_is_complete(sonde_unwinder_run(unwinder, &sample, &stack)));
	return recorder.stacks[stack - 1].count;
}

static void a_frame_address_below_the_stack_pointer_is_where_it_was_saved_before(void **state)
{
	(void)state;
	uint64_t base = 0x7f0000001000, saved = base + PLANTED_RA;
	assert_int_equal(below_frames(0x40, saved, shape_behind_below), 2);
	assert_int_equal(below_frames(0, saved, shape_behind_below), 2);
	assert_int_equal(below_frames(SHAPE_BELOW_TOP, saved, shape_behind_below), 2);
	assert_int_equal(below_frames(SHAPE_BELOW_TOP + 8, saved, shape_behind_below), 1); /* not in its frame */
	assert_int_equal(below_frames(0x40, saved, shape_behind_other), 1); /* a call, but of another function */
	assert_int_equal(below_frames(0x40, saved, shape_behind_nothing), 1);
	assert_int_equal(below_frames(0x40, saved + 8, shape_behind_below), 1);
	assert_int_equal(below_frames(0x40, saved + 4, shape_behind_below), 1);
	assert_int_equal(below_frames(0x40, base, shape_behind_below), 1); /* below the stack pointer */
	assert_int_equal(below_frames(0x40, 0, shape_behind_below), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(every_instruction_has_the_true_caller_or_none, setup, teardown),
	    cmocka_unit_test_setup_teardown(return_addresses_that_no_call_left_are_not_believed, setup, teardown),
	    cmocka_unit_test_setup_teardown(frame_pointers_that_lie_are_not_believed, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_frame_address_below_the_stack_pointer_is_where_it_was_saved_before, setup,
					    teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
