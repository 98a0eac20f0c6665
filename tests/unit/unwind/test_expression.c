/* test_expression.c: DWARF expressions with known values, sets of unwind rules, and hostile ones, which terminate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "unwind/expression.h"
#include "unwind/machine.h"
#include "unwind/step.h"
#include "unwind/table.h"

/* A stack of 16 words at address 0x1000: 0x1000 + n holds 0x5000 + n / 8. */
static int read_words(void *context, uint64_t address, uint64_t *out)
{
	(void)context;
	if (address < 0x1000 || address >= 0x1080)
		return -1;
	*out = 0x5000 + (address - 0x1000) / 8;
	return 0;
}

/* The same with a saved stack pointer, 0x1030, at 0x1018. */
static int read_saved(void *context, uint64_t address, uint64_t *out)
{
	int code = read_words(context, address, out);
	*out = address == 0x1018 ? 0x1030 : *out;
	return code;
}

static uint64_t all[SONDE_UNWIND_REGISTERS];

static struct sonde_unwind_regs registers(void)
{
	for (uint64_t i = 0; i < SONDE_UNWIND_REGISTERS; i++)
		all[i] = 0x100 + i;
	return (struct sonde_unwind_regs){.pc = 0x400010, .sp = 0x1008, .fp = 0x1020, .lr = 0x400100, .all = all};
}

static enum sonde_unwind_result evaluate(const void *code, size_t code_b, const uint64_t *first, uint64_t *out)
{
	struct sonde_unwind_expression expression = {.code = code, .code_b = (uint8_t)code_b};
	struct sonde_unwind_regs regs = registers();
	return sonde_unwind_evaluate(&expression, first, &regs, read_words, NULL, out);
}

#define BREG(number) (char)(0x70 + (number))
#define SP SONDE_UNWIND_REG_SP
#define FP SONDE_UNWIND_REG_FP

static void operations_have_known_values(void **state)
{
	(void)state;
	const struct {
		uint64_t value;
		char code[16];
		size_t code_b;
	} cases[] = {
	    {17, {0x30 + 17}, 1},
	    {0xfe, {0x08, (char)0xfe}, 2},
	    {(uint64_t)-2, {0x09, (char)0xfe}, 2},
	    {0x8001, {0x0a, 1, (char)0x80}, 3},
	    {(uint64_t)-0x7fff, {0x0b, 1, (char)0x80}, 3},
	    {0x80000001, {0x0c, 1, 0, 0, (char)0x80}, 5},
	    {0xffffffff80000001, {0x0d, 1, 0, 0, (char)0x80}, 5},
	    {0x0807060504030201, {0x0e, 1, 2, 3, 4, 5, 6, 7, 8}, 9},
	    {624485, {0x10, (char)0xe5, (char)0x8e, 0x26}, 4},
	    {(uint64_t)-123456, {0x11, (char)0xc0, (char)0xbb, 0x78}, 4},
	    {0x5003, {BREG(SP), 16, 0x06}, 3},        /* deref */
	    {0x03, {BREG(SP), 16, (char)0x94, 1}, 4}, /* deref_size */
	    {0x1020 - 8, {BREG(FP), 0x78}, 2},        /* breg −8 */
	    {0x103, {(char)0x92, 3, 0}, 3},           /* bregx */
	    {0x5001 + 264, {BREG(SP), 0, 0x06, 0x23, (char)0x88, 2}, 6},
	    {10, {0x35, 0x12, 0x22}, 3},            /* 5 dup plus */
	    {5, {0x35, 0x36, 0x13}, 3},             /* drop */
	    {11, {0x35, 0x36, 0x14, 0x22}, 4},      /* over */
	    {5, {0x35, 0x36, 0x37, 0x15, 2}, 5},    /* pick */
	    {1, {0x35, 0x36, 0x16, 0x1c}, 4},       /* swap: 6 − 5 */
	    {2, {0x33, 0x1f, 0x31, 0x22, 0x19}, 5}, /* |−3 + 1| */
	    {(uint64_t)-1, {0x30, 0x20}, 2},        /* not */
	    {4, {0x3c, 0x36, 0x1a}, 3},             /* 12 & 6 */
	    {14, {0x3c, 0x36, 0x21}, 3},
	    {10, {0x3c, 0x36, 0x27}, 3},
	    {(uint64_t)-3, {0x39, 0x1f, 0x33, 0x1b}, 4}, /* −9 / 3 */
	    {2, {0x3e, 0x34, 0x1d}, 3},                  /* 14 % 4 */
	    {56, {0x3e, 0x34, 0x1e}, 3},
	    {224, {0x3e, 0x34, 0x24}, 3},
	    {0, {0x3e, 0x08, 64, 0x24}, 4},
	    {3, {0x3e, 0x32, 0x25}, 3},
	    {(uint64_t)-1, {0x31, 0x1f, 0x32, 0x26}, 4}, /* −1 >> 2, signed */
	    {1, {0x31, 0x1f, 0x30, 0x2d}, 4},            /* −1 < 0 */
	    {0, {0x31, 0x1f, 0x30, 0x2b}, 4},
	    {1, {0x31, 0x31, 0x2a}, 3},
	    {1, {0x31, 0x31, 0x29}, 3},
	    {0, {0x31, 0x31, 0x2e}, 3},
	    {7, {0x31, 0x28, 1, 0, 0x30, 0x37}, 6}, /* bra over lit0 */
	    {7, {0x2f, 1, 0, 0x50, 0x37}, 5},       /* skip what is not known */
	    {8, {(char)0x96, 0x38}, 2},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t value = 0;
		assert_int_equal(evaluate(cases[i].code, cases[i].code_b, NULL, &value), SONDE_UNWIND_STEPPED);
		if (value != cases[i].value)
			print_message("case %zu\n", i);
		assert_int_equal(value, cases[i].value);
	}
}

static void rot_moves_the_top_below_two_others(void **state)
{
	(void)state;
	const char code[] = {0x35, 0x36, 0x37, 0x17, 0x3a, 0x1e, 0x22, 0x3a, 0x1e, 0x22};
	uint64_t value = 0; /* 5 6 7 rot: 7 5 6; (6 × 10 + 5) × 10 + 7 */
	assert_int_equal(evaluate(code, sizeof code, NULL, &value), SONDE_UNWIND_STEPPED);
	assert_int_equal(value, 657);
}

static void the_frame_address_is_on_the_stack(void **state)
{
	(void)state;
	uint64_t frame = 0x1040, value = 0;
	assert_int_equal(evaluate("\x11\x70\x22", 3, &frame, &value), SONDE_UNWIND_STEPPED);
	assert_int_equal(value, 0x1030);
}

static void what_is_wrong_is_said(void **state)
{
	(void)state;
	const struct {
		enum sonde_unwind_result result;
		char code[8];
		size_t code_b;
	} cases[] = {
	    {SONDE_UNWIND_UNKNOWN, {0}, 0}, /* nothing on the stack */
	    {SONDE_UNWIND_UNKNOWN, {0x22}, 1},
	    {SONDE_UNWIND_UNKNOWN, {0x31, 0x22}, 2},
	    {SONDE_UNWIND_UNKNOWN, {0x03, 1, 2, 3}, 4}, /* addr */
	    {SONDE_UNWIND_UNKNOWN, {(char)0x97}, 1},    /* push_object_address */
	    {SONDE_UNWIND_UNKNOWN, {0x50}, 1},          /* reg0 */
	    {SONDE_UNWIND_UNKNOWN, {0x0e, 1, 2}, 3},    /* cut off */
	    {SONDE_UNWIND_UNKNOWN, {BREG(SP)}, 1},
	    {SONDE_UNWIND_UNKNOWN, {0x31, 0x30, 0x1b}, 3}, /* divided by 0 */
	    {SONDE_UNWIND_UNKNOWN, {0x31, 0x30, 0x1d}, 3},
	    {SONDE_UNWIND_UNKNOWN, {0x2f, (char)0xfd, (char)0xff}, 3},       /* for ever */
	    {SONDE_UNWIND_UNKNOWN, {0x2f, (char)0xfc, (char)0xff}, 3},       /* before the beginning */
	    {SONDE_UNWIND_UNKNOWN, {0x2f, 1, 0}, 3},                         /* behind the end */
	    {SONDE_UNWIND_UNKNOWN, {0x31, 0x2f, (char)0xfc, (char)0xff}, 4}, /* more than the stack holds */
	    {SONDE_UNWIND_UNKNOWN, {0x31, (char)0x94, 9}, 3},
	    {SONDE_UNWIND_UNKNOWN, {(char)0x92, 63, 0}, 3}, /* no such register */
	    {SONDE_UNWIND_UNREADABLE, {0x30, 0x06}, 2},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t value = 77;
		assert_int_equal(evaluate(cases[i].code, cases[i].code_b, NULL, &value), cases[i].result);
		assert_int_equal(value, 77);
	}
}

/* Only where the thread was interrupted. */
static void a_callers_registers_are_not_known(void **state)
{
	(void)state;
	struct sonde_unwind_regs regs = registers();
	struct sonde_unwind_row by_register = {
	    .kind = SONDE_UNWIND_REGISTER + 3, .cfa_off = 0x1030 - 0x103, .ra_slot = 1, .fp_off = SONDE_UNWIND_FP_SAME};
	int signal;
	assert_int_equal(sonde_unwind_step(&by_register, &regs, read_words, NULL, &signal), SONDE_UNWIND_STEPPED);
	assert_int_equal(regs.sp, 0x1030);
	assert_int_equal(regs.pc, 0x5005);
	assert_int_equal(regs.fp, 0x1020);
	by_register.cfa_off += 16;
	assert_int_equal(sonde_unwind_step(&by_register, &regs, read_words, NULL, &signal), SONDE_UNWIND_NO_REGISTER);
	assert_int_equal(regs.sp, 0x1030);
}

static void a_saved_stack_pointer_is_loaded(void **state)
{
	(void)state;
	struct sonde_unwind_regs regs = {.pc = 1, .sp = 0x1008, .fp = 0x1020};
	struct sonde_unwind_row row = {
	    .kind = SONDE_UNWIND_SP_LOAD, .cfa_off = SONDE_UNWIND_LOAD(16, 8), .ra_slot = 1, .fp_off = -24};
	int signal;
	assert_int_equal(sonde_unwind_step(&row, &regs, read_words, NULL, &signal), SONDE_UNWIND_BAD);
	assert_int_equal(sonde_unwind_step(&row, &regs, read_saved, NULL, &signal), SONDE_UNWIND_STEPPED);
	assert_int_equal(regs.sp, 0x1038);
	assert_int_equal(regs.pc, 0x5006);
	assert_int_equal(regs.fp, 0x5004);
	assert_int_equal(SONDE_UNWIND_LOAD_FROM(SONDE_UNWIND_LOAD(-8, 64)), -8);
	assert_int_equal(SONDE_UNWIND_LOAD_PLUS(SONDE_UNWIND_LOAD(-8, 64)), 64);
	assert_int_equal(SONDE_UNWIND_LOAD_FROM(SONDE_UNWIND_LOAD(1304, -64)), 1304);
	assert_int_equal(SONDE_UNWIND_LOAD_PLUS(SONDE_UNWIND_LOAD(1304, -64)), -64);
}

/* Frame address fp + 16, return address in the word at frame − 16, frame pointer = frame − 0x40. */
static void sets_of_rules_are_followed(void **state)
{
	(void)state;
	const char frame[] = {BREG(FP), 16}, ra[] = {0x11, 0x70, 0x22}, fp[] = {0x11, 0x40, 0x22};
	struct sonde_unwind_rules rules = {
	    .frame = {(const uint8_t *)frame, sizeof frame, 0},
	    .ra = {(const uint8_t *)ra, sizeof ra, SONDE_UNWIND_HOW_AT},
	    .fp = {(const uint8_t *)fp, sizeof fp, SONDE_UNWIND_HOW_VALUE},
	};
	struct {
		struct sonde_unwind_row row;
		uint8_t bytes[SONDE_UNWIND_RULES_MAX_B];
	} table = {.row = {.kind = SONDE_UNWIND_EXPRESSION, .cfa_off = sizeof table.row}};
	size_t size_b = sonde_unwind_rules_write(&rules, table.bytes);
	assert_int_equal(size_b, 5 + 2 + 3 + 3);
	struct sonde_unwind_regs regs = registers();
	int signal;
	assert_int_equal(sonde_unwind_step(&table.row, &regs, read_words, NULL, &signal), SONDE_UNWIND_STEPPED);
	assert_int_equal(regs.sp, 0x1030);
	assert_int_equal(regs.pc, 0x5004);
	assert_int_equal(regs.fp, 0x1030 - 0x40);
	assert_null(regs.all);
	for (size_t cut = 0; cut <= size_b; cut++)
		assert_int_equal(sonde_unwind_rules_fit(table.bytes, cut, 0), cut == size_b);
	table.bytes[1 + 2] = 4; /* no such `how` */
	assert_int_equal(sonde_unwind_rules_fit(table.bytes, size_b, 0), 0);
	table.bytes[1 + 2] = SONDE_UNWIND_HOW_LOST;
	regs = registers();
	assert_int_equal(sonde_unwind_step(&table.row, &regs, read_words, NULL, &signal), SONDE_UNWIND_NO_REGISTER);
	table.row.cfa_off = 0;
	assert_int_equal(sonde_unwind_step(&table.row, &regs, read_words, NULL, &signal), SONDE_UNWIND_UNKNOWN);
	assert_int_equal(regs.sp, 0x1008);
}

static void any_bytes_end(void **state)
{
	(void)state;
	unsigned seed = 7;
	for (int round = 0; round < 20000; round++) {
		uint8_t code[UINT8_MAX];
		uint64_t value, first = 0x1040;
		size_t code_b = (size_t)rand_r(&seed) % sizeof code;
		for (size_t i = 0; i < code_b; i++)
			code[i] = (uint8_t)rand_r(&seed);
		evaluate(code, code_b, round % 2 ? &first : NULL, &value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(operations_have_known_values),      cmocka_unit_test(rot_moves_the_top_below_two_others),
	    cmocka_unit_test(the_frame_address_is_on_the_stack), cmocka_unit_test(what_is_wrong_is_said),
	    cmocka_unit_test(a_callers_registers_are_not_known), cmocka_unit_test(a_saved_stack_pointer_is_loaded),
	    cmocka_unit_test(sets_of_rules_are_followed),        cmocka_unit_test(any_bytes_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
