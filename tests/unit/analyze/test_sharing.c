/* test_sharing.c: memory writes in known machine code, and threads that seem to write the same cache line. */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze/findings/findings.h"
#include "format/meta.h"
#include "recording.h"
#include "symbol/elf.h"
#include "symbol/instructions.h"

#define MS 1000000ull
#define PATH "sharing.sonde"
#define FUNCTION 0x1000 /* where code begins */
#define ANY ""          /* versions of capstone differ */
#define BYTES(...)                                              \
	(const uint8_t[]){__VA_ARGS__}, sizeof(const uint8_t[]) \
	{                                                       \
		__VA_ARGS__                                     \
	}

/* --- instructions ------------------------------------------------------------------------------------------------- */

struct known {
	const uint8_t *bytes;
	size_t size_b;
	unsigned sampled; /* byte */
	const char *text; /* NULL: no write */
	unsigned writes;  /* byte */
	int is_atomic, is_repeated;
};

static void skip_undecodable(void)
{
	const struct sonde_code code = {EM_X86_64, FUNCTION, BYTES(0xc3)};
	struct sonde_write write;
	if (sonde_code_find_write(&write, &code, FUNCTION) == -ENOSYS)
		skip();
}

static void check(uint16_t machine, const struct known *known, size_t count)
{
	for (size_t i = 0; i < count; i++, known++) {
		struct sonde_code code = {machine, FUNCTION, known->bytes, known->size_b};
		struct sonde_write write;
		int rc = sonde_code_find_write(&write, &code, FUNCTION + known->sampled);
		if (rc != (known->text != NULL))
			fail_msg("case %zu: %d, instead of %d", i, rc, known->text != NULL);
		if (!known->text)
			continue;
		if (*known->text)
			assert_string_equal(write.text, known->text);
		assert_true(*write.text);
		assert_int_equal(write.address, FUNCTION + known->writes);
		if (write.is_atomic != known->is_atomic || write.is_repeated != known->is_repeated)
			fail_msg("case %zu: atomic %d, repeated %d", i, write.is_atomic, write.is_repeated);
	}
}

/* and eax, 1; lock add [rdi], rax; sub edx, 1; jne to the first */
#define COUNTING BYTES(0x83, 0xe0, 0x01, 0xf0, 0x48, 0x01, 0x07, 0x83, 0xea, 0x01, 0x75, 0xf4)
#define LOCKED "lock add qword ptr [rdi], rax"

static void writes_of_x86_are_known(void **state)
{
	const struct known known[] = {
	    {COUNTING, 7, LOCKED, 3, 1, 1},
	    {COUNTING, 3, LOCKED, 3, 1, 1},
	    {COUNTING, 10, NULL, 0, 0, 0},  /* after the sub */
	    {COUNTING, 4, NULL, 0, 0, 0},   /* no instruction begins there */
	    {COUNTING, 200, NULL, 0, 0, 0}, /* nor is that code */
	    /* add qword ptr [rdi], 1; sub ecx, 1; jne */
	    {BYTES(0x48, 0x83, 0x07, 0x01, 0x83, 0xe9, 0x01, 0x75, 0xf7), 4, "add qword ptr [rdi], 1", 0, 0, 1},
	    /* mov [rdi + rcx*8], rax; add ecx, 1; cmp ecx, edx; jne: half of its index changes */
	    {BYTES(0x48, 0x89, 0x04, 0xcf, 0x83, 0xc1, 0x01, 0x39, 0xd1, 0x75, 0xf5), 4,
	     "mov qword ptr [rdi + rcx*8], rax", 0, 0, 0},
	    /* add dword ptr [rip + 0x1000], 1; jmp */
	    {BYTES(0x83, 0x05, 0x00, 0x10, 0x00, 0x00, 0x01, 0xeb, 0xf7), 7, "add dword ptr [rip + 0x1000], 1", 0, 0,
	     1},
	    {BYTES(0x48, 0x87, 0x07, 0xc3), 3, "xchg qword ptr [rdi], rax", 0, 1, 0},
	    {BYTES(0x48, 0x89, 0x07, 0xc3), 3, "mov qword ptr [rdi], rax", 0, 0, 0}, /* in no loop */
	    {BYTES(0xf3, 0xa4, 0xeb, 0xfc), 2, "rep movsb byte ptr [rdi], byte ptr [rsi]", 0, 0, 0},
	    {BYTES(0x48, 0x83, 0x44, 0x24, 0x08, 0x01, 0xeb, 0xf8), 6, NULL, 0, 0, 0}, /* add [rsp + 8], 1 */
	    {BYTES(0x48, 0x83, 0x45, 0xf8, 0x01, 0xeb, 0xf9), 5, NULL, 0, 0, 0},       /* add [rbp - 8], 1 */
	    {BYTES(0x64, 0x48, 0x83, 0x04, 0x25, 0x10, 0x00, 0x00, 0x00, 0x01, 0xc3), 10, NULL, 0, 0, 0}, /* fs: */
	    {BYTES(0x48, 0x8b, 0x07, 0xeb, 0xfb), 3, NULL, 0, 0, 0}, /* mov rax, [rdi]; jmp */
	};
	(void)state;
	skip_undecodable();
	check(EM_X86_64, known, sizeof known / sizeof *known);
}

#define LE(word) (word) & 0xff, (word) >> 8 & 0xff, (word) >> 16 & 0xff, (word) >> 24 & 0xff
/* subs x3, x3, #1; b.ne to the instruction before it */
#define AGAIN LE(0xf1000463u), LE(0x54ffffc1u)

static void writes_of_aarch64_are_known(void **state)
{
	const struct known known[] = {
	    {BYTES(LE(0xf9000041u), AGAIN), 4, "str x1, [x2]", 0, 0, 1},
	    {BYTES(LE(0xf9000041u), AGAIN), 0, "str x1, [x2]", 0, 0, 1},
	    {BYTES(LE(0xf8008441u), AGAIN), 4, "str x1, [x2], #8", 0, 0, 0},
	    {BYTES(LE(0xf8237841u), AGAIN), 4, "str x1, [x2, x3, lsl #3]", 0, 0, 0},
	    {BYTES(LE(0xf8210040u), AGAIN), 4, ANY, 0, 1, 1},  /* ldadd x1, x0, [x2] */
	    {BYTES(LE(0xc8a17c41u), AGAIN), 4, ANY, 0, 1, 1},  /* cas x1, x1, [x2] */
	    {BYTES(LE(0xf82103e0u), AGAIN), 4, NULL, 0, 0, 0}, /* ldadd x1, x0, [sp] */
	    {BYTES(LE(0xf8bfc041u), AGAIN), 4, NULL, 0, 0, 0}, /* ldapr x1, [x2] */
	    {BYTES(LE(0xc8007c41u), AGAIN), 4, "stxr w0, x1, [x2]", 0, 1, 1},
	    {BYTES(LE(0xf90003e1u), AGAIN), 4, NULL, 0, 0, 0}, /* str x1, [sp] */
	    {BYTES(LE(0xf9400041u), AGAIN), 4, NULL, 0, 0, 0}, /* ldr x1, [x2] */
	    {BYTES(LE(0xf9000041u), AGAIN), 2, NULL, 0, 0, 0},
	};
	(void)state;
	skip_undecodable();
	check(EM_AARCH64, known, sizeof known / sizeof *known);
}

static void other_machines_are_named(void **state)
{
	const struct sonde_code code = {EM_RISCV, FUNCTION, COUNTING};
	struct sonde_write write;
	(void)state;
	assert_int_equal(sonde_code_find_write(&write, &code, FUNCTION), -ENOSYS);
}

/* --- the rule ------------------------------------------------------------------------------------------------------
 * Samples in code of this program, so that there is a file with it.
 */

#if defined(__x86_64__)
#define WRITE "lock addq $1, (%rdi)\n"
#define NOTHING "nopl (%rax)\n" /* 3 bytes */
#define LOOP "subq $1, %rsi\njne test_writer\nret\n"
enum { NOTHING_B = 3 };
#else
#define WRITE "str x1, [x0]\n"
#define NOTHING "nop\n"
#define LOOP "subs x2, x2, #1\nb.ne test_writer\nret\n"
enum { NOTHING_B = 4 };
#endif

__asm__(".pushsection .text\n"
	".hidden test_writer\n.globl test_writer\n.type test_writer, %function\n"
	".hidden test_written\n.globl test_written\n"
	"test_writer:\n" WRITE "test_written:\n" NOTHING NOTHING NOTHING NOTHING NOTHING NOTHING LOOP
	".size test_writer, . - test_writer\n.popsection\n");
extern const char test_writer[], test_written[];

struct made {
	unsigned threads;
	int in_turn;     /* each thread begins when the previous one has ended */
	unsigned places; /* over which samples are spread, from the one after the write on */
	int other_build;
};

static int take_base(struct dl_phdr_info *info, size_t size_b, void *out)
{
	(void)size_b;
	*(uint64_t *)out = info->dlpi_addr;
	return 1; /* the program is the first */
}

/* This program as a module. */
static uint32_t put_self(struct recording *recording, int other_build)
{
	struct sonde_elf file;
	char path[4096] = "";
	assert_true(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
	assert_int_equal(sonde_elf_open(&file, path), 0);
	struct sonde_meta_module module = {.head.type = SONDE_META_MODULE,
					   .id = ++recording->modules,
					   .path = recording_string(recording, path),
					   .build_id_b = (uint8_t)file.build_id_b};
	memcpy(module.build_id, file.build_id, file.build_id_b);
	module.build_id[0] ^= (uint8_t)other_build;
	sonde_elf_close(&file);
	assert_int_equal(sonde_writer_meta(recording->writer, &module, sizeof module, NULL, 0), 0);
	return module.id;
}

static void make(const struct made *made)
{
	enum { SAMPLES = 200, PLACES_MAX = 6 };
	struct recording recording;
	uint64_t base = 0, end_ns = 0;
	uint32_t places[PLACES_MAX];
	dl_iterate_phdr(take_base, &base);
	recording_open(&recording, PATH);
	uint32_t process = recording_process(&recording, 10, 0, "app", RECORDING_START_NS);
	uint32_t module = put_self(&recording, made->other_build);
	uint64_t writer = (uint64_t)(uintptr_t)test_writer - base, written = (uint64_t)(uintptr_t)test_written - base;
	for (unsigned i = 0; i < made->places; i++) {
		const struct recording_place place = {"count", "count.c", 1, writer};
		recording_symbol(&recording, module, written + i * NOTHING_B, &place, 1);
		places[i] = recording_node(&recording, 0, module, written + i * NOTHING_B);
	}
	for (unsigned i = 0; i < made->threads; i++)
		recording_thread(&recording, process, 10 + i, "worker", RECORDING_START_NS);
	for (unsigned k = 0; k < SAMPLES * made->threads; k++) {
		unsigned thread = made->in_turn ? k / SAMPLES : k % made->threads;
		unsigned ms = made->in_turn ? k : k / made->threads;
		end_ns = RECORDING_START_NS + (ms + 1) * MS;
		recording_sample(&recording,
				 (struct recording_sample){end_ns, thread + 1, places[ms % made->places], MS, 0});
	}
	recording_process_end(&recording, process, end_ns, SAMPLES * made->threads * MS, 0);
	recording_close(&recording, end_ns, 0);
}

struct read {
	struct sonde_session *session;
	struct sonde_report *report;
	struct sonde_found found;
	const struct sonde_finding *sharing; /* NULL = not suspected */
};

static void evaluate(struct read *read, const struct made *made)
{
	const struct sonde_pass_options options = {0};
	make(made);
	assert_int_equal(sonde_session_open(&read->session, PATH, &(struct sonde_session_options){.no_symbols = 1}), 0);
	assert_int_equal(sonde_report_new(&read->report), 0);
	assert_int_equal(sonde_findings_find(&read->found, read->session, &options, read->report, NULL), 0);
	read->sharing = NULL;
	for (size_t i = 0; i < read->found.count; i++)
		if (!strcmp(read->found.rows[i].rule->id, "false-sharing"))
			read->sharing = &read->found.rows[i];
}

static int is_said(const struct read *read, const char *words)
{
	for (const struct sonde_note *note = read->report->notes; note; note = note->next)
		if (strstr(note->text, words))
			return 1;
	return 0;
}

static void forget(struct read *read)
{
	free(read->found.rows);
	sonde_report_free(read->report);
	sonde_session_close(read->session);
	unlink(PATH);
}

static void writing_at_once_is_suspected(void **state)
{
	struct read read;
	(void)state;
	skip_undecodable();
	evaluate(&read, &(struct made){.threads = 2, .places = 1});
	assert_non_null(read.sharing);
	assert_true(read.sharing == &read.found.rows[0]); /* before hot-function */
	assert_string_equal(read.sharing->subject, "count");
	assert_non_null(strstr(read.sharing->evidence,
			       "2 threads spend 100 % of their CPU time (0.400 s) in this function at the same time"));
	assert_non_null(strstr(read.sharing->evidence, "100 % of those samples are at one instruction"));
	assert_non_null(strstr(read.sharing->evidence, "not measured"));
	assert_int_equal(sonde_finding_severity(read.sharing), SONDE_SEVERITY_MEDIUM);
	forget(&read);
}

static void what_is_otherwise_is_not_suspected(void **state)
{
	static const struct made cases[] = {
	    {.threads = 1, .places = 1},
	    {.threads = 2, .places = 1, .in_turn = 1},
	    {.threads = 2, .places = 6},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct read read;
		evaluate(&read, &cases[i]);
		assert_null(read.sharing);
		assert_false(is_said(&read, "false sharing"));
		forget(&read);
	}
}

/* The file of another build would contain other instructions. */
static void another_build_is_not_judged(void **state)
{
	struct read read;
	(void)state;
	evaluate(&read, &(struct made){.threads = 2, .places = 1, .other_build = 1});
	assert_null(read.sharing);
	assert_true(is_said(&read, "not checked: false sharing in count ("));
	assert_true(is_said(&read, "the file is from another build than the recorded one"));
	forget(&read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(writes_of_x86_are_known),     cmocka_unit_test(writes_of_aarch64_are_known),
	    cmocka_unit_test(other_machines_are_named),    cmocka_unit_test(writing_at_once_is_suspected),
	    cmocka_unit_test(another_build_is_not_judged), cmocka_unit_test(what_is_otherwise_is_not_suspected),
	};
	setenv("HOME", "/nonexistent", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
