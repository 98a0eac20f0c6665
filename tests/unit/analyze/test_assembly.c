/* test_assembly.c: instructions decoded from known bytes, and the message for samples without code. */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze_fixture.h"
#include "sections.h"
#include "symbol/instructions.h"
#include "util/error.h"

/* xor eax, eax · add eax, 1 · cmp eax, edi · jl −7 · ret · int3 */
static const uint8_t loop[] = {0x31, 0xc0, 0x83, 0xc0, 0x01, 0x39, 0xf8, 0x7c, 0xf9, 0xc3, 0xcc};

struct seen {
	char text[8][64];
	uint64_t address[8];
	size_t size_b[8], count, stop_at;
	int is_last[8];
};

static int take(void *context, const struct sonde_instruction *instruction)
{
	struct seen *seen = context;
	snprintf(seen->text[seen->count], sizeof *seen->text, "%s", instruction->text);
	seen->address[seen->count] = instruction->address;
	seen->size_b[seen->count] = instruction->size_b;
	seen->is_last[seen->count] = instruction->is_last;
	seen->count++;
	return seen->count == seen->stop_at ? 7 : 0;
}

static void known_bytes_are_decoded(void **state)
{
	static const char *const texts[] = {"xor eax, eax", "add eax, 1", "cmp eax, edi", "jl 0x1002", "ret", "int3"};
	static const size_t sizes[] = {2, 3, 2, 2, 1, 1};
	const struct sonde_code code = {EM_X86_64, 0x1000, loop, sizeof loop};
	struct seen seen = {0};
	uint64_t address = 0x1000;
	(void)state;
	int rc = sonde_code_each(&code, take, &seen);
	if (rc == -ENOSYS)
		skip();
	assert_int_equal(rc, 0);
	assert_int_equal(seen.count, 6);
	for (size_t i = 0; i < 6; address += sizes[i], i++) {
		assert_string_equal(seen.text[i], texts[i]);
		assert_int_equal(seen.address[i], address);
		assert_int_equal(seen.size_b[i], sizes[i]);
		assert_int_equal(seen.is_last[i], i == 4);
	}
	seen = (struct seen){.stop_at = 2};
	assert_int_equal(sonde_code_each(&code, take, &seen), 7);
	assert_int_equal(seen.count, 2);
	assert_int_equal(sonde_code_each(&(struct sonde_code){EM_S390, 0, loop, 4}, take, &seen), -ENOSYS);
}

/* Without a file there are addresses, with their time, and the reason. */
static void addresses_are_told_without_code(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	const struct recording_place plain = {"outer", "/src/a.c", 30, 0x5000};
	const struct recording_place inlined[] = {{"inner", "/src/b.h", 7, 0}, {"outer", "/src/a.c", 31, 0x5000}};
	recording_symbol(&r, 1, 0x5010, &plain, 1);
	recording_symbol(&r, 1, 0x5020, inlined, 2);
	uint32_t call = recording_node(&r, 0, 1, 0x5010);
	samples_add(&r, call, 5, 0);
	samples_add(&r, recording_node(&r, 0, 1, 0x5020), 20, 0);
	samples_add(&r, recording_call(&r, call, 1, "callee", 1), 75, 0);
	/* It calls itself: the time below counts once. */
	samples_add(&r, recording_node(&r, recording_node(&r, call, 1, 0x5010), 1, 0x5010), 10, 0);
	recording_close(&r, START + 400 * MS, 0);
	struct sections s =
	    sections_of(path, "assembly", &(struct sonde_pass_options){.requested = 1, .focus = "outer"});
	const struct sonde_section *t = sections_get(&s, "assembly");
	assert_int_equal(t->table.row_count, 2);
	assert_int_equal(sonde_report_cell(t, 0, "address")->integer, 0x5010);
	assert_int_equal(sonde_report_cell(t, 0, "self_ns")->integer, 15 * MS);
	assert_int_equal(sonde_report_cell(t, 0, "total_ns")->integer, 90 * MS);
	assert_int_equal(sonde_report_cell(t, 0, "samples")->integer, 15);
	assert_int_equal(sonde_report_cell(t, 0, "line")->integer, 30);
	assert_int_equal(sonde_report_cell(t, 0, "function")->kind, SONDE_CELL_ABSENT);
	assert_int_equal(sonde_report_cell(t, 0, "instruction")->kind, SONDE_CELL_ABSENT);
	assert_int_equal(sonde_report_cell(t, 1, "self_ns")->integer, 20 * MS);
	assert_string_equal(sonde_report_cell_text(t, 1, "function"), "inner");
	assert_string_equal(sonde_report_cell_text(t, 1, "file"), "/src/b.h");
	assert_true(sections_noted(t->notes, "only sampled addresses: /usr/bin/prog"));
	sections_free(&s);
	s = sections_of(path, "assembly", &(struct sonde_pass_options){.requested = 1, .focus = "inner"});
	assert_true(sections_noted(sections_get(&s, "assembly")->notes, "was always inlined"));
	sections_free(&s);
	s = sections_of(path, "assembly", &(struct sonde_pass_options){.requested = 1, .focus = "nope"});
	assert_true(sections_noted(sections_get(&s, "assembly")->notes, "no sampled stack contains the function nope"));
	sections_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(known_bytes_are_decoded),
	    cmocka_unit_test(addresses_are_told_without_code),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
