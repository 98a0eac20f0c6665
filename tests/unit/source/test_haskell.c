/* test_haskell.c: a frame of code compiled by GHC belongs to StgRun() if StgRun() was called for it, and to no other
 * function. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "source/stack/haskell.h"

#define CODE 0x400000u
#define RUN (CODE + 64)  /* StgRun() */
#define PLT (CODE + 128) /* jmp *GOT */
#define GOT (CODE + 160)
#define CALL (CODE + 200)  /* behind the call of StgRun() */
#define AFTER (CODE + 220) /* in Haskell code, behind a call: add $8,%rsp */
#define STACK 0x7ffe00000000u
#define FRAME_B (16384 + 48)

static uint64_t known;
static uint8_t code[256];
static uint8_t stack[2 * FRAME_B];

static int read_code(void *context, uint64_t address, void *out, size_t size_b)
{
	(void)context;
	if (address < CODE || address - CODE > sizeof code || size_b > sizeof code - (address - CODE))
		return -1;
	memcpy(out, code + (address - CODE), size_b);
	return 0;
}

static int read_stack(void *context, uint64_t address, uint64_t *out)
{
	(void)context;
	if (address < STACK || address - STACK > sizeof stack - 8)
		return -1;
	memcpy(out, stack + (address - STACK), sizeof *out);
	return 0;
}

static const struct sonde_process_memory memory = {read_code, NULL};

static void put_call(uint64_t target)
{
	int32_t distance = (int32_t)(target - CALL);
	code[CALL - CODE - 5] = 0xe8;
	memcpy(code + (CALL - CODE - 4), &distance, sizeof distance);
}

static void put_word(uint64_t at, uint64_t value)
{
	memcpy(stack + at, &value, sizeof value);
}

static int setup(void **state)
{
	(void)state;
	static const uint8_t run[] = {0x48, 0x83, 0xec, 0x30, 0x48, 0x89, 0xe0, 0x48, 0x81, 0xec, 0,
				      0x40, 0,    0,    0x48, 0x89, 0x18, 0x48, 0x89, 0x68, 8};
	static const uint8_t plt[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, GOT - PLT - 11, 0, 0, 0};
	static const uint8_t after[] = {0x48, 0x83, 0xc4, 0x08};
	const uint64_t target = RUN;
	known = 0;
	memset(code, 0, sizeof code);
	memset(stack, 0, sizeof stack);
	memcpy(code + (RUN - CODE), run, sizeof run);
	memcpy(code + (PLT - CODE), plt, sizeof plt);
	memcpy(code + (GOT - CODE), &target, sizeof target);
	memcpy(code + (AFTER - CODE), after, sizeof after);
	put_call(RUN);
	put_word(FRAME_B, CALL);
	put_word(16384 + 8, 0x1234); /* rbp */
	return 0;
}

static int step(struct sonde_unwind_regs *regs)
{
	return sonde_haskell_step(regs, read_stack, NULL, &memory, &known);
}

static void is_left(uint64_t pc, uint64_t sp)
{
	struct sonde_unwind_regs regs = {.pc = pc, .sp = sp, .fp = 0x4200000};
	assert_int_equal(step(&regs), 1);
	assert_int_equal(regs.pc, CALL);
	assert_int_equal(regs.sp, STACK + FRAME_B + 8);
	assert_int_equal(regs.fp, 0x1234);
}

static void haskell_code_is_left_for_who_called_stg_run(void **state)
{
	(void)state;
	is_left(CODE + 8, STACK);
	put_call(PLT);
	is_left(CODE + 8, STACK);
}

static void a_call_of_c_may_have_aligned_the_stack(void **state)
{
	(void)state;
	is_left(AFTER, STACK - 8);
}

static void a_known_caller_needs_no_code_any_more(void **state)
{
	(void)state;
	is_left(CODE + 8, STACK);
	memset(code, 0, sizeof code); /* the process has gone */
	is_left(CODE + 8, STACK);
	struct sonde_unwind_regs regs = {.pc = CODE + 8, .sp = STACK, .fp = 7};
	put_word(FRAME_B, CALL + 8);
	assert_int_equal(step(&regs), 0);
	put_word(FRAME_B, 0);
	assert_int_equal(step(&regs), 0);
	known = 0;
	put_word(FRAME_B, CALL);
	assert_int_equal(step(&regs), 0);
}

static void other_code_is_not(void **state)
{
	(void)state;
	struct sonde_unwind_regs regs = {.pc = CODE + 8, .sp = STACK, .fp = 7}, before = regs;
	put_call(RUN + 4); /* of another function */
	assert_int_equal(step(&regs), 0);
	put_call(RUN);
	code[RUN - CODE + 11] = 0x20; /* another size */
	assert_int_equal(step(&regs), 0);
	code[RUN - CODE + 11] = 0x40;
	put_word(FRAME_B, CALL + 1);
	assert_int_equal(step(&regs), 0);
	put_word(FRAME_B, 0);
	assert_int_equal(step(&regs), 0);
	regs.sp = before.sp = STACK + sizeof stack;
	assert_int_equal(step(&regs), 0);
	assert_memory_equal(&regs, &before, sizeof regs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(haskell_code_is_left_for_who_called_stg_run, setup),
	    cmocka_unit_test_setup(a_call_of_c_may_have_aligned_the_stack, setup),
	    cmocka_unit_test_setup(a_known_caller_needs_no_code_any_more, setup),
	    cmocka_unit_test_setup(other_code_is_not, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
