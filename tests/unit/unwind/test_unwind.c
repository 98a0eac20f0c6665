/* test_unwind.c: rows are found and applied; this process unwinds itself as glibc's backtrace() does. */
#include <ctype.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "unwind/expression.h"
#include "unwind/step.h"
#include "unwind/table.h"
#include "unwind_chain.h"
#include "unwind_self.h"

#define FRAMES 256
#define ROWS 1000

static void find_gives_the_row_that_covers_an_address(void **state)
{
	(void)state;
	static struct sonde_unwind_row rows[ROWS];
	for (uint32_t i = 0; i < ROWS; i++)
		rows[i] = (struct sonde_unwind_row){.address = 16 + i * i};
	for (size_t count = 1; count <= ROWS; count += 37) {
		struct sonde_unwind_table table = {.rows = rows, .count = count, .base = 0x400000};
		assert_null(sonde_unwind_table_find(&table, 0x400000 + 15));
		assert_null(sonde_unwind_table_find(&table, 0x3fffff));
		assert_null(sonde_unwind_table_find(&table, 0x400000 + ((uint64_t)1 << 32)));
		for (uint32_t i = 0; i < count; i++)
			assert_ptr_equal(sonde_unwind_table_find(&table, 0x400000 + 16 + i * i), &rows[i]);
		for (uint32_t i = 1; i < count; i++)
			assert_ptr_equal(sonde_unwind_table_find(&table, 0x400000 + 15 + i * i), &rows[i - 1]);
		assert_ptr_equal(sonde_unwind_table_find(&table, (uint64_t)0x400000 + UINT32_MAX), &rows[count - 1]);
	}
	assert_null(sonde_unwind_table_find(&(struct sonde_unwind_table){0}, 5));
}

static void the_first_level_changes_no_answer(void **state)
{
	(void)state;
	static struct sonde_unwind_row rows[ROWS];
	unsigned seed = 5;
	for (uint32_t i = 0, at = 5000; i < ROWS; i++, at += 1 + (uint32_t)rand_r(&seed) % (i % 100 ? 50 : 20000))
		rows[i] = (struct sonde_unwind_row){.address = at};
	for (size_t count = 1; count <= ROWS; count += 111) {
		struct sonde_unwind_table plain = {.rows = rows, .count = count, .base = 0x10000}, fast = plain;
		sonde_unwind_table_index(&fast);
		assert_non_null(fast.pages);
		for (uint64_t at = 0x10000; at < 0x10000 + rows[count - 1].address + 10000u; at++)
			assert_ptr_equal(sonde_unwind_table_find(&fast, at), sonde_unwind_table_find(&plain, at));
		assert_ptr_equal(sonde_unwind_table_find(&fast, 0x10000 + (uint64_t)UINT32_MAX), &rows[count - 1]);
		sonde_unwind_table_unmap(&fast);
	}
}

/* A stack of 16 words at address 0x1000. */
static uint64_t words[16];

static int read_words(void *context, uint64_t address, uint64_t *out)
{
	(void)context;
	if (address < 0x1000 || address >= 0x1000 + sizeof words)
		return -1;
	*out = words[(address - 0x1000) / 8];
	return 0;
}

static enum sonde_unwind_result step(struct sonde_unwind_row row, struct sonde_unwind_regs *regs)
{
	int signal = -1;
	if (!row.ra_slot)
		row.ra_slot = 1;
	enum sonde_unwind_result result = sonde_unwind_step(&row, regs, read_words, NULL, &signal);
	assert_int_equal(signal, 0);
	return result;
}

static void steps_follow_rows(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 16; i++)
		words[i] = 0x5000 + i;
	struct sonde_unwind_regs regs = {.pc = 1, .sp = 0x1008, .fp = 0x77};
	struct sonde_unwind_row sp = {.kind = SONDE_UNWIND_SP, .cfa_off = 24, .fp_off = -16};
	assert_int_equal(step(sp, &regs), SONDE_UNWIND_STEPPED);
	assert_int_equal(regs.sp, 0x1020);
	assert_int_equal(regs.pc, 0x5003);
	assert_int_equal(regs.fp, 0x5002);
	regs.fp = 0x1030;
	struct sonde_unwind_row fp = {.kind = SONDE_UNWIND_FP, .cfa_off = 16, .fp_off = SONDE_UNWIND_FP_SAME};
	assert_int_equal(step(fp, &regs), SONDE_UNWIND_STEPPED);
	assert_int_equal(regs.sp, 0x1040);
	assert_int_equal(regs.pc, 0x5007);
	assert_int_equal(regs.fp, 0x1030);
	assert_int_equal(step(fp, &regs), SONDE_UNWIND_BAD); /* 0x1040 is not above the stack pointer */
	words[9] = 0x1060;
	regs.fp = 0x1050;
	struct sonde_unwind_row load = {.kind = SONDE_UNWIND_FP_LOAD, .cfa_off = -8, .fp_off = 0};
	assert_int_equal(step(load, &regs), SONDE_UNWIND_STEPPED);
	assert_int_equal(regs.sp, 0x1060);
	assert_int_equal(regs.pc, 0x500b);
	assert_int_equal(regs.fp, 0x500a);
}

static void steps_follow_the_plt(void **state)
{
	(void)state;
	words[2] = 0x5002;
	words[3] = 0x5003;
	struct sonde_unwind_row plt = {.kind = SONDE_UNWIND_PLT, .cfa_off = 11, .fp_off = SONDE_UNWIND_FP_SAME};
	struct sonde_unwind_regs before = {.pc = 0x40a, .sp = 0x1010}, after = {.pc = 0x40b, .sp = 0x1010};
	assert_int_equal(step(plt, &before), SONDE_UNWIND_STEPPED);
	assert_int_equal(before.pc, 0x5002);
	assert_int_equal(before.sp, 0x1018);
	assert_int_equal(step(plt, &after), SONDE_UNWIND_STEPPED);
	assert_int_equal(after.pc, 0x5003);
	assert_int_equal(after.sp, 0x1020);
}

static void steps_say_why_they_end(void **state)
{
	(void)state;
	const struct sonde_unwind_regs start = {.pc = 1, .sp = 0x1000, .fp = 0x1000};
	struct sonde_unwind_regs regs = start;
	int signal;
	assert_int_equal(sonde_unwind_step(NULL, &regs, read_words, NULL, &signal), SONDE_UNWIND_NO_RULE);
	const struct {
		struct sonde_unwind_row row;
		enum sonde_unwind_result result;
	} cases[] = {
	    {{.kind = SONDE_UNWIND_NONE}, SONDE_UNWIND_NO_RULE},
	    {{.kind = SONDE_UNWIND_KIND_COUNT}, SONDE_UNWIND_NO_RULE},
	    {{.kind = SONDE_UNWIND_END}, SONDE_UNWIND_ROOT},
	    {{.kind = SONDE_UNWIND_EXPRESSION}, SONDE_UNWIND_UNKNOWN},
	    {{.kind = SONDE_UNWIND_SP, .cfa_off = 12}, SONDE_UNWIND_BAD},
	    {{.kind = SONDE_UNWIND_SP, .cfa_off = -8}, SONDE_UNWIND_BAD},
	    {{.kind = SONDE_UNWIND_SP, .cfa_off = 0}, SONDE_UNWIND_BAD},
	    {{.kind = SONDE_UNWIND_SP, .cfa_off = 8 * 17}, SONDE_UNWIND_UNREADABLE},
	    {{.kind = SONDE_UNWIND_FP_LOAD, .cfa_off = 8 * 16}, SONDE_UNWIND_UNREADABLE},
	    {{.kind = SONDE_UNWIND_SP, .cfa_off = 0, .ra_slot = SONDE_UNWIND_RA_LINK}, SONDE_UNWIND_NO_REGISTER},
	    {{.kind = SONDE_UNWIND_REGISTER + 1}, SONDE_UNWIND_NO_REGISTER},
	    {{.kind = SONDE_UNWIND_SP_LOAD, .cfa_off = SONDE_UNWIND_LOAD(-8, 0)}, SONDE_UNWIND_UNREADABLE},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(step(cases[i].row, &regs), cases[i].result);
		assert_memory_equal(&regs, &start, sizeof regs);
	}
	words[0] = 0;
	assert_int_equal(step((struct sonde_unwind_row){.kind = SONDE_UNWIND_SP, .cfa_off = 8}, &regs),
			 SONDE_UNWIND_ROOT);
	assert_memory_equal(&regs, &start, sizeof regs);
}

static void a_lost_frame_pointer_is_not_followed(void **state)
{
	(void)state;
	words[1] = 0x5001;
	struct sonde_unwind_regs regs = {.pc = 1, .sp = 0x1008, .fp = 0x1010};
	struct sonde_unwind_row lost = {.kind = SONDE_UNWIND_SP, .cfa_off = 8, .fp_off = SONDE_UNWIND_FP_LOST};
	struct sonde_unwind_row needed = {.kind = SONDE_UNWIND_FP, .cfa_off = 16, .fp_off = SONDE_UNWIND_FP_SAME};
	assert_int_equal(step(lost, &regs), SONDE_UNWIND_STEPPED);
	assert_int_equal(step(needed, &regs), SONDE_UNWIND_NO_REGISTER);
	assert_int_equal(sonde_unwind_step_fp(&regs, read_words, NULL), SONDE_UNWIND_NO_REGISTER);
}

static void the_link_register_serves_once(void **state)
{
	(void)state;
	struct sonde_unwind_regs regs = {.pc = 1, .sp = 0x1000, .fp = 0x1000, .lr = 0x6000};
	struct sonde_unwind_row leaf = {
	    .kind = SONDE_UNWIND_SP, .fp_off = SONDE_UNWIND_FP_SAME, .ra_slot = SONDE_UNWIND_RA_LINK};
	assert_int_equal(step(leaf, &regs), SONDE_UNWIND_STEPPED);
	assert_int_equal(regs.pc, 0x6000);
	assert_int_equal(regs.sp, 0x1000);
	assert_int_equal(step(leaf, &regs), SONDE_UNWIND_NO_REGISTER);
}

static void frame_pointer_chains_end(void **state)
{
	(void)state;
	words[2] = 0x1040, words[3] = 0x7000, words[8] = 0, words[9] = 0x8000;
	struct sonde_unwind_regs regs = {.pc = 1, .sp = 0x1008, .fp = 0x1010};
	assert_int_equal(sonde_unwind_step_fp(&regs, read_words, NULL), SONDE_UNWIND_STEPPED);
	assert_int_equal(regs.pc, 0x7000);
	assert_int_equal(regs.sp, 0x1020);
	assert_int_equal(sonde_unwind_step_fp(&regs, read_words, NULL), SONDE_UNWIND_STEPPED);
	assert_int_equal(regs.pc, 0x8000);
	assert_int_equal(sonde_unwind_step_fp(&regs, read_words, NULL), SONDE_UNWIND_ROOT);
	regs.fp = 0x1013;
	assert_int_equal(sonde_unwind_step_fp(&regs, read_words, NULL), SONDE_UNWIND_BAD);
	regs.fp = 0x1010;
	assert_int_equal(sonde_unwind_step_fp(&regs, read_words, NULL), SONDE_UNWIND_BAD);
	regs.fp = 0x1080;
	assert_int_equal(sonde_unwind_step_fp(&regs, read_words, NULL), SONDE_UNWIND_UNREADABLE);
}

/* --- against glibc ------------------------------------------------------------------------------------------------ */

static size_t expected_count, captured_count;

/* Unwinds twice: both lists from here to the program's start. */
__attribute__((noinline)) static void capture(void)
{
	static void *expected[FRAMES];
	static uint64_t pcs[FRAMES];
	enum sonde_unwind_result result;
	ucontext_t here;
	expected_count = (size_t)backtrace(expected, FRAMES);
	getcontext(&here);
	captured_count = unwind_self(&here, pcs, FRAMES, &result);
	if (result != SONDE_UNWIND_ROOT)
		print_message("stopped after %zu of %zu frames at %#llx\n", captured_count, expected_count,
			      (unsigned long long)pcs[captured_count - 1]);
	assert_int_equal(result, SONDE_UNWIND_ROOT);
	size_t skip = expected_count - captured_count; /* sanitizers put a function of their own before backtrace() */
	assert_in_range(skip, 0, 1);
	for (size_t i = 1; i < captured_count; i++)
		assert_int_equal(pcs[i], (uint64_t)(uintptr_t)expected[i + skip]);
}

static void hard_frames_are_unwound(void **state)
{
	(void)state;
	unwind_self_open();
	for (int depth = 1; depth < 90; depth += 7) {
		captured_count = 0;
		unwind_chain_run(depth, capture);
		assert_in_range(captured_count, depth + 5, FRAMES - 1);
	}
	unwind_self_close();
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info, (void)context;
	unwind_chain_run(3, capture);
}

static void raise_signal(void)
{
	raise(SIGUSR1);
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	if (!handler)
		action = (struct sigaction){.sa_handler = SIG_DFL};
	assert_int_equal(sigaction(number, &action, NULL), 0);
}

static void signal_frames_are_unwound(void **state)
{
	(void)state;
	static char memory[1 << 18]; /* the handler has a stack of its own, below or above the other */
	assert_int_equal(sigaltstack(&(stack_t){.ss_sp = memory, .ss_size = sizeof memory}, NULL), 0);
	unwind_self_open();
	handle(SIGUSR1, on_signal);
	captured_count = 0;
	unwind_chain_run(5, raise_signal);
	assert_in_range(captured_count, 5 + 3 + 12, FRAMES - 1);
	handle(SIGUSR1, NULL);
	sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
	unwind_self_close();
}

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TRAP_FLAG 0x100

static volatile sig_atomic_t is_stepping;
static volatile size_t steps, complete_count, wrong_count, unexplained_count;
static uint64_t loader_from, loader_to;

/* The dynamic loader's code: where lazy binding runs, whose frame address is in a register that rows do not follow. */
static int find_loader(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size, (void)unused;
	if (info->dlpi_addr != getauxval(AT_BASE))
		return 0;
	for (size_t i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
			loader_from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			loader_to = loader_from + info->dlpi_phdr[i].p_memsz;
		}
	return 1;
}

/* After every instruction: the result of backtrace() from the interrupted pc on must begin with ours. */
static void on_step(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info;
	ucontext_t *machine = context;
	static void *all[FRAMES];
	uint64_t pcs[FRAMES];
	enum sonde_unwind_result result;
	if (!is_stepping) {
		machine->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
		return;
	}
	size_t count = unwind_self(machine, pcs, FRAMES, &result), at = 0;
	size_t total = (size_t)backtrace(all, FRAMES);
	while (at < total && (uint64_t)(uintptr_t)all[at] != pcs[0])
		at++;
	int same = at < total && count <= total - at;
	for (size_t i = 0; same && i < count; i++)
		same = pcs[i] == (uint64_t)(uintptr_t)all[at + i];
	steps++;
	size_t complete = result == SONDE_UNWIND_ROOT && same && count == total - at;
	complete_count += complete;
	unexplained_count += !complete && (!count || pcs[count - 1] < loader_from || pcs[count - 1] >= loader_to);
	wrong_count += !same || (result != SONDE_UNWIND_ROOT && result != SONDE_UNWIND_NO_REGISTER);
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* toupper() is called here alone: its first call goes through lazy binding. */
static void work(void)
{
	char text[64];
	int values[24];
	for (int i = 0; i < 24; i++)
		values[i] = i * 7 % 24;
	qsort(values, 24, sizeof *values, by_value);
	snprintf(text, sizeof text, "%s %d", "x", is_stepping ? toupper(values[3]) : 0);
	free(strdup(text));
}

static void every_instruction_is_unwound(void **state)
{
	(void)state;
	unwind_self_open();
	assert_int_equal(dl_iterate_phdr(find_loader, NULL), 1);
	unwind_chain_run(2, capture); /* loads what backtrace() needs */
	unwind_chain_run(2, work);
	handle(SIGTRAP, on_step);
	is_stepping = 1;
	__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" : : : "memory", "cc");
	unwind_chain_run(2, work); /* libgcc itself crashes on the last instructions of GCC's realigned frames */
	is_stepping = 0;
	__asm__ volatile("nop\n\tnop");
	handle(SIGTRAP, NULL);
	unwind_self_close();
	print_message("%zu of %zu instructions unwound to the start, %zu others outside of the loader\n",
		      complete_count, steps, unexplained_count);
	assert_in_range(steps, 3000, 1000000);
	assert_int_equal(wrong_count, 0);
	assert_int_equal(unexplained_count, 0);
	assert_in_range(complete_count, 3000, steps); /* work() itself, but for one lazy binding */
}
#else
static void every_instruction_is_unwound(void **state)
{
	(void)state;
	print_message("single steps are an x86-64 test, without sanitizers\n");
	skip();
}
#endif

static void damaged_files_are_refused(void **state)
{
	(void)state;
	const uint8_t build_id[] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct {
		struct sonde_unwind_file head;
		struct sonde_unwind_row rows[4];
		uint8_t expressions[8];
	} good = {
	    .head = {.magic = SONDE_UNWIND_FILE_MAGIC,
		     .version = SONDE_UNWIND_FILE_VERSION,
		     .count = 4,
		     .base = 0x1000,
		     .build_id_b = sizeof build_id,
		     .build_id = {1, 2, 3, 4, 5, 6, 7, 8},
		     .expressions_b = sizeof good.expressions},
	    .rows = {{.address = 1, .kind = SONDE_UNWIND_SP},
		     {.address = 5},
		     {.address = 6, .kind = SONDE_UNWIND_EXPRESSION, .cfa_off = 2 * sizeof *good.rows},
		     {.address = 7}},
	    .expressions = {1, 0x30, SONDE_UNWIND_HOW_AT, 1, 0x30, SONDE_UNWIND_HOW_SAME, 0, 0},
	};
	good.head.check = sonde_unwind_table_check(good.rows, 4, sizeof good.expressions);
	struct sonde_unwind_table table;
	int fd = memfd_create("table", 0);
	assert_int_equal(pwrite(fd, &good, sizeof good, 0), sizeof good);
	assert_int_equal(sonde_unwind_table_map(&table, fd, build_id, sizeof build_id), 0);
	assert_int_equal(table.count, 4);
	assert_ptr_equal(sonde_unwind_table_find(&table, 0x1005), &table.rows[1]);
	sonde_unwind_table_unmap(&table);
	assert_int_equal(sonde_unwind_table_map(&table, fd, build_id, 7), -EBADMSG);
	for (size_t i = 0; i < sizeof good; i++) {
		if (i >= offsetof(struct sonde_unwind_file, arch) && i < offsetof(struct sonde_unwind_file, count))
			continue; /* machine and base: any value is possible */
		if (i >= offsetof(struct sonde_unwind_file, build_id) + 8 &&
		    i < offsetof(struct sonde_unwind_file, check))
			continue; /* unused bytes */
		uint8_t byte = (uint8_t)(((const uint8_t *)&good)[i] ^ 0x81);
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)i), 1);
		assert_int_equal(sonde_unwind_table_map(&table, fd, build_id, sizeof build_id), -EBADMSG);
		assert_int_equal(pwrite(fd, &good, sizeof good, 0), sizeof good);
	}
	for (size_t size = 0; size < sizeof good; size++) {
		assert_int_equal(ftruncate(fd, (off_t)size), 0);
		assert_int_equal(sonde_unwind_table_map(&table, fd, build_id, sizeof build_id), -EBADMSG);
	}
	struct sonde_unwind_row swap = good.rows[0];
	good.rows[0] = good.rows[1];
	good.rows[1] = swap;
	good.head.check = sonde_unwind_table_check(good.rows, 4, sizeof good.expressions);
	assert_int_equal(pwrite(fd, &good, sizeof good, 0), sizeof good);
	assert_int_equal(sonde_unwind_table_map(&table, fd, build_id, sizeof build_id), -EBADMSG);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(find_gives_the_row_that_covers_an_address),
	    cmocka_unit_test(the_first_level_changes_no_answer),
	    cmocka_unit_test(steps_follow_rows),
	    cmocka_unit_test(steps_follow_the_plt),
	    cmocka_unit_test(steps_say_why_they_end),
	    cmocka_unit_test(a_lost_frame_pointer_is_not_followed),
	    cmocka_unit_test(the_link_register_serves_once),
	    cmocka_unit_test(frame_pointer_chains_end),
	    cmocka_unit_test(hard_frames_are_unwound),
	    cmocka_unit_test(signal_frames_are_unwound),
	    cmocka_unit_test(every_instruction_is_unwound),
	    cmocka_unit_test(damaged_files_are_refused),
	};
	unsetenv("HOME"); /* no cache */
	unsetenv("XDG_CACHE_HOME");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
