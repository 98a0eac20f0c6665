/* test_cfi.c: compiled rows equal the output of readelf for the same file; the cache; hostile files. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "symbol/cache.h"
#include "symbol/frames/cfi.h"
#include "unwind/step.h"
#include "util/error.h"

static char directory[] = "/tmp/sonde-test-cfi-XXXXXX";

/* The columns of a line of `readelf --debug-dump=frames-interp` that rows keep. */
struct columns {
	char cfa[32], rbp[16], ra[16];
};

static void split_line(const char *names, const char *line, struct columns *out)
{
	char name[16], value[32];
	int name_b, value_b;
	*out = (struct columns){.rbp = "u"};
	while (sscanf(names, "%15s%n", name, &name_b) == 1 && sscanf(line, "%31s%n", value, &value_b) == 1) {
		char *to = !strcmp(name, "CFA") ? out->cfa : !strcmp(name, "rbp") ? out->rbp : out->ra;
		if (!strcmp(name, "CFA") || !strcmp(name, "rbp") || !strcmp(name, "ra"))
			snprintf(to, to == out->cfa ? sizeof out->cfa : sizeof out->rbp, "%.15s", value);
		names += name_b;
		line += value_b;
		if (!strncmp(line, " (", 2)) /* 'r10 (r10)': one value */
			line += strcspn(line, ")") + 1;
	}
}

/* What readelf would print of a row; frames of the signal trampoline and of expressions are 'exp' to it. */
static void print_row(const struct sonde_unwind_row *row, struct columns *out)
{
	*out = (struct columns){.cfa = "exp", .rbp = "u", .ra = "c-8"};
	if (row->kind == SONDE_UNWIND_SP || row->kind == SONDE_UNWIND_FP)
		snprintf(out->cfa, sizeof out->cfa, "%s+%d", row->kind == SONDE_UNWIND_SP ? "rsp" : "rbp",
			 row->cfa_off);
	if (row->kind == SONDE_UNWIND_END)
		snprintf(out->ra, sizeof out->ra, "u");
	if (row->fp_off != SONDE_UNWIND_FP_SAME && row->fp_off != SONDE_UNWIND_FP_LOST)
		snprintf(out->rbp, sizeof out->rbp, "c%+d", row->fp_off);
}

static int is_same(const struct sonde_unwind_row *row, const struct columns *theirs)
{
	struct columns ours;
	print_row(row, &ours);
	if (row->kind == SONDE_UNWIND_END)
		return !strcmp(theirs->ra, "u");
	if (row->kind == SONDE_UNWIND_SIGNAL)
		return !strcmp(theirs->ra, "exp");
	if (!strcmp(ours.cfa, "exp")) /* other registers too */
		return !strcmp(theirs->cfa, "exp") || strncmp(theirs->cfa, "r", 1) == 0;
	return !strcmp(ours.cfa, theirs->cfa) && !strcmp(ours.ra, theirs->ra) &&
	       (!strcmp(ours.rbp, theirs->rbp) || !strcmp(theirs->rbp, "exp"));
}

/* Every line that readelf prints; functions without a line have the rule of their CIE, which is printed too. */
static size_t compare_with_readelf(const struct sonde_unwind_table *table, const char *path, size_t *wrong)
{
	char command[512], line[512], names[512] = "";
	size_t compared = 0;
	unsigned long long address;
	int used, in_function = 0;
	snprintf(command, sizeof command, "readelf --debug-dump=frames-interp %s 2>/dev/null", path);
	FILE *pipe = popen(command, "r");
	assert_non_null(pipe);
	while (fgets(line, sizeof line, pipe)) {
		struct columns theirs;
		if (strstr(line, " CIE ") || strstr(line, " FDE "))
			in_function = strstr(line, " FDE ") != NULL;
		else if (sscanf(line, " LOC%n", &used) == 0 && !strncmp(line, "   LOC", 6))
			snprintf(names, sizeof names, "%s", line + 6);
		else if (in_function && !strstr(line, "terminator") && sscanf(line, "%llx %n", &address, &used) == 1) {
			split_line(names, line + used, &theirs);
			const struct sonde_unwind_row *row = sonde_unwind_table_find(table, address);
			compared++;
			if (row && is_same(row, &theirs))
				continue;
			if (!(*wrong)++)
				print_message("%s %#llx: readelf says %s", path, address, line);
		}
	}
	pclose(pipe);
	return compared;
}

static void open_table(struct sonde_unwind_table *table, const char *path)
{
	struct sonde_elf file;
	assert_int_equal(sonde_elf_open(&file, path), 0);
	assert_int_equal(sonde_cfi_open(table, &file), 0);
	sonde_elf_close(&file);
}

static const char *libc_path(void)
{
	static char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	assert_non_null(maps);
	while (fgets(line, sizeof line, maps) && !strstr(line, "/libc.so"))
		;
	fclose(maps);
	line[strcspn(line, "\n")] = 0;
	char *path = strchr(line, '/');
	assert_non_null(path);
	return path;
}

static void rows_say_what_readelf_says(void **state)
{
	(void)state;
	const char *paths[] = {libc_path(), "/proc/self/exe"};
	char self[512] = {0};
	assert_true(readlink(paths[1], self, sizeof self - 1) > 0);
	paths[1] = self;
	if (system("readelf --version >/dev/null 2>&1")) {
		print_message("readelf is not installed\n");
		skip();
	}
	for (size_t i = 0; i < 2; i++) {
		struct sonde_unwind_table table;
		size_t wrong = 0;
		open_table(&table, paths[i]);
		size_t compared = compare_with_readelf(&table, paths[i], &wrong);
		print_message("%s: %zu lines compared, %zu rows\n", paths[i], compared, table.count);
		assert_in_range(compared, i ? 10 : 20000, 10000000);
		assert_int_equal(wrong, 0);
		sonde_unwind_table_unmap(&table);
	}
}

static size_t count_kind(const struct sonde_unwind_table *table, enum sonde_unwind_kind kind)
{
	size_t count = 0;
	for (size_t i = 0; i < table->count; i++)
		count += table->rows[i].kind == kind;
	return count;
}

static void the_special_rows_of_libc_are_there(void **state)
{
	(void)state;
	struct sonde_unwind_table table;
	open_table(&table, libc_path());
	assert_in_range(count_kind(&table, SONDE_UNWIND_SIGNAL), 1, 2); /* __restore_rt */
	assert_in_range(count_kind(&table, SONDE_UNWIND_END), 1, 4);    /* clone, clone3 */
	assert_in_range(count_kind(&table, SONDE_UNWIND_PLT), 1, 4);
	assert_in_range(count_kind(&table, SONDE_UNWIND_EXPRESSION), 0, 50);
	for (size_t i = 1; i < table.count; i++) {
		assert_true(table.rows[i].address > table.rows[i - 1].address);
		assert_memory_not_equal(&table.rows[i].cfa_off, &table.rows[i - 1].cfa_off, 8);
	}
	assert_int_equal(table.rows[table.count - 1].kind, SONDE_UNWIND_NONE);
	sonde_unwind_table_unmap(&table);
}

/* --- the cache ---------------------------------------------------------------------------------------------------- */

static void use_cache(const char *name, mode_t mode)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", directory, name);
	assert_true(!mkdir(path, mode) || errno == EEXIST);
	assert_int_equal(chmod(path, mode), 0);
	setenv("XDG_CACHE_HOME", path, 1);
}

static void tables_are_kept_and_found_again(void **state)
{
	(void)state;
	struct sonde_elf file;
	struct sonde_unwind_table first, second;
	struct stat facts;
	use_cache("kept", 0700);
	assert_int_equal(sonde_elf_open(&file, libc_path()), 0);
	struct sonde_cache_key key = {file.build_id, file.build_id_b, "unwind"};
	assert_int_equal(sonde_cache_read(&key), -ENOENT);
	assert_int_equal(sonde_cfi_open(&first, &file), 0);
	int fd = sonde_cache_read(&key);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &facts), 0);
	assert_int_equal(facts.st_mode & 0777, 0600);
	assert_int_equal(facts.st_size,
			 sizeof(struct sonde_unwind_file) + first.count * sizeof *first.rows + first.expressions_b);
	close(fd);
	assert_int_equal(sonde_cfi_open(&second, &file), 0);
	assert_int_equal(second.count, first.count);
	assert_int_equal(second.base, first.base);
	assert_memory_equal(second.rows, first.rows, first.count * sizeof *first.rows);
	sonde_unwind_table_unmap(&first);
	sonde_unwind_table_unmap(&second);
	sonde_elf_close(&file);
}

static void damaged_cache_files_are_replaced(void **state)
{
	(void)state;
	struct sonde_elf file;
	struct sonde_unwind_table table;
	use_cache("damaged", 0700);
	assert_int_equal(sonde_elf_open(&file, libc_path()), 0);
	struct sonde_cache_key key = {file.build_id, file.build_id_b, "unwind"};
	assert_int_equal(sonde_cache_write(&key, "SONDEUNW", 8, "rubbish", 7), 0);
	assert_int_equal(sonde_cfi_open(&table, &file), 0);
	assert_in_range(table.count, 1000, 10000000);
	sonde_unwind_table_unmap(&table);
	int fd = sonde_cache_read(&key);
	assert_int_equal(sonde_unwind_table_map(&table, fd, file.build_id, file.build_id_b), 0);
	close(fd);
	sonde_unwind_table_unmap(&table);
	sonde_elf_close(&file);
}

static void a_cache_that_others_may_write_is_not_used(void **state)
{
	(void)state;
	const uint8_t build_id[20] = {1};
	struct sonde_cache_key key = {build_id, sizeof build_id, "test"};
	use_cache("open", 0777);
	assert_int_equal(sonde_cache_write(&key, "x", 1, "y", 1), -ENOENT);
	use_cache("own", 0700);
	assert_int_equal(sonde_cache_write(&key, "x", 1, "y", 1), 0);
	key.build_id_b = 4;
	assert_int_equal(sonde_cache_write(&key, "x", 1, "y", 1), -ENOENT); /* too short to be unique */
	key.build_id_b = 20;
	char path[600];
	snprintf(path, sizeof path, "%s/own/sonde", directory);
	assert_int_equal(chmod(path, 0770), 0);
	assert_int_equal(sonde_cache_read(&key), -ENOENT);
	assert_int_equal(chmod(path, 0700), 0);
	int fd = sonde_cache_read(&key);
	assert_true(fd >= 0);
	close(fd);
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	assert_int_equal(sonde_cache_write(&key, "x", 1, "y", 1), -ENOENT);
}

/* The directory of another user, as root with HOME kept by sudo sees it. */
static void root_does_not_write_into_a_users_home(void **state)
{
	(void)state;
	const uint8_t build_id[20] = {1};
	struct sonde_cache_key key = {build_id, sizeof build_id, "test"};
	char path[600];
	if (geteuid()) {
		print_message("needs root to give a directory away\n");
		skip();
	}
	snprintf(path, sizeof path, "%s/home", directory);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(chown(path, 12345, 12345), 0);
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", path, 1);
	assert_int_equal(sonde_cache_write(&key, "x", 1, "y", 1), -ENOENT);
	assert_int_equal(rmdir(path), 0); /* nothing was made inside */
	unsetenv("HOME");
}

/* --- hostile files ------------------------------------------------------------------------------------------------ */

static uint8_t *read_file(const char *path, size_t *out_b)
{
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	uint8_t *bytes = malloc(64u << 20);
	assert_non_null(bytes);
	*out_b = fread(bytes, 1, 64u << 20, file);
	fclose(file);
	return bytes;
}

static void foreign_files_are_refused_with_a_sentence(void **state)
{
	(void)state;
	struct sonde_elf file;
	assert_int_equal(sonde_elf_open(&file, "/nowhere/at/all"), -ENOENT);
	assert_non_null(strstr(sonde_error_text(), "/nowhere/at/all"));
	assert_int_equal(sonde_elf_open(&file, "/etc/passwd"), -EBADMSG);
	assert_non_null(strstr(sonde_error_text(), "not an ELF file"));
	assert_int_equal(sonde_elf_open(&file, "/dev/null"), -EBADMSG);
	assert_int_equal(sonde_elf_open_bytes(&file, "[vdso]", "\177ELF", 4), -EBADMSG);
}

/* Truncated anywhere, and with bytes changed: an answer or an error, and ascending rows. */
static void damaged_modules_do_no_harm(void **state)
{
	(void)state;
	size_t size_b;
	unsigned seed = 1;
	uint8_t *bytes = read_file("/proc/self/exe", &size_b), *copy = malloc(size_b);
	unsetenv("XDG_CACHE_HOME");
	for (int round = 0; round < 400; round++) {
		struct sonde_elf file;
		struct sonde_unwind_table table;
		memcpy(copy, bytes, size_b);
		size_t cut_b = round % 4 ? size_b : (size_t)rand_r(&seed) % size_b;
		for (int i = 0; i < round % 50; i++)
			copy[(size_t)rand_r(&seed) % (i % 2 ? size_b : 4096)] = (uint8_t)rand_r(&seed);
		if (sonde_elf_open_bytes(&file, "damaged", copy, cut_b))
			continue;
		if (!sonde_cfi_open(&table, &file)) {
			for (size_t i = 1; i < table.count; i++)
				assert_true(table.rows[i].address > table.rows[i - 1].address);
			sonde_unwind_table_unmap(&table);
		}
		sonde_elf_close(&file);
	}
	free(copy);
	free(bytes);
}

/* Without section headers .eh_frame is found through its program header. */
static void a_module_without_sections_keeps_its_table(void **state)
{
	(void)state;
	size_t size_b;
	uint8_t *bytes = read_file(libc_path(), &size_b);
	struct sonde_unwind_table whole, stripped;
	struct sonde_elf file;
	open_table(&whole, libc_path());
	memset(bytes + 0x28, 0, 8); /* e_shoff */
	memset(bytes + 0x3c, 0, 4); /* e_shnum, e_shstrndx */
	assert_int_equal(sonde_elf_open_bytes(&file, "stripped", bytes, size_b), 0);
	assert_int_equal(sonde_cfi_open(&stripped, &file), 0);
	assert_int_equal(stripped.count, whole.count);
	assert_memory_equal(stripped.rows, whole.rows, whole.count * sizeof *whole.rows);
	sonde_unwind_table_unmap(&whole);
	sonde_unwind_table_unmap(&stripped);
	sonde_elf_close(&file);
	free(bytes);
}

/* Of modules without .eh_frame, as Go links them; compressed too. */
static void debug_frame_is_read(void **state)
{
	(void)state;
	struct sonde_unwind_table eh, plain, packed;
	char command[1024], path[512];
	if (system("command -v gcc objcopy >/dev/null 2>&1")) {
		print_message("gcc is not installed\n");
		skip();
	}
	snprintf(command, sizeof command,
		 "cd %s && printf 'int ext(int);int f(int n){char b[n+1];b[n]=1;return ext(b[n])+1;}"
		 "int g(int n){return ext(n)+ext(n+1);}' >f.c && "
		 "gcc -O2 -fPIC -shared -nostdlib -fno-plt -Wl,--build-id=none -o eh.so f.c && "
		 "gcc -O2 -fPIC -shared -nostdlib -fno-plt -Wl,--build-id=none -g -fno-asynchronous-unwind-tables -o "
		 "plain.so f.c && "
		 "objcopy --compress-debug-sections=zlib plain.so packed.so",
		 directory);
	assert_int_equal(system(command), 0);
	struct sonde_unwind_table *tables[] = {&eh, &plain, &packed};
	const char *names[] = {"eh.so", "plain.so", "packed.so"};
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "%s/%s", directory, names[i]);
		open_table(tables[i], path);
	}
	assert_in_range(plain.count, 6, 100);
	assert_int_equal(packed.count, plain.count);
	assert_memory_equal(packed.rows, plain.rows, plain.count * sizeof *plain.rows);
	assert_int_equal(plain.count, eh.count);
	for (size_t i = 0; i < eh.count; i++)
		assert_memory_equal(&plain.rows[i].cfa_off, &eh.rows[i].cfa_off, 8); /* all but the address */
	for (size_t i = 0; i < 3; i++)
		sonde_unwind_table_unmap(tables[i]);
}

#if defined(__x86_64__)
/* The stack at 0x1000: the word at 0x1000 + n holds 0x2000 + n, but for saved stack pointers. */
static int read_stack(void *context, uint64_t address, uint64_t *out)
{
	(void)context;
	*out = address == 0x1098 || address == 0x1018 ? 0x1100 : 0x1000 + address;
	return 0;
}

/* Functions of one instruction, each with a rule as written by OpenSSL, glibc or GCC, or by none of them. */
static const char rules_source[] =
    ".text\n"
    "saved: .cfi_startproc\n .cfi_offset rbp, -24\n .cfi_escape 0x0f,6,0x77,0x98,1,6,0x23,8\n nop\n .cfi_endproc\n"
    "below: .cfi_startproc\n .cfi_escape 0x0f,5,0x77,0x78,6,0x23,8\n nop\n .cfi_endproc\n"
    "in_rax: .cfi_startproc\n .cfi_def_cfa rax, 8\n nop\n .cfi_endproc\n"
    "in_r10: .cfi_startproc\n .cfi_def_cfa r10, 0\n nop\n .cfi_endproc\n"
    "indexed: .cfi_startproc\n .cfi_escape 0x0f,11,0x77,8,0x79,0,0x38,0x1e,0x22,6,0x23,0x88,1\n nop\n .cfi_endproc\n"
    "by_rdi: .cfi_startproc\n .cfi_def_cfa_offset 0\n .cfi_register rip, rdi\n nop\n .cfi_endproc\n"
    "valued: .cfi_startproc\n .cfi_escape 0x16,6,3,0x11,0x60,0x22\n nop\n .cfi_endproc\n"
    "located: .cfi_startproc\n .cfi_escape 0x10,16,2,0x77,0x20\n nop\n .cfi_endproc\n"
    "unknown: .cfi_startproc\n .cfi_escape 0x0f,2,0xf1,1\n nop\n .cfi_endproc\n";

static void rules_beyond_rows_are_followed(void **state)
{
	(void)state;
	const struct {
		const char *name;
		uint8_t kind;
		enum sonde_unwind_result result;
		uint64_t sp, pc, fp;
	} cases[] = {
	    {"saved", SONDE_UNWIND_SP_LOAD, SONDE_UNWIND_STEPPED, 0x1108, 0x2100, 0x20f0},
	    {"below", SONDE_UNWIND_SP_LOAD, SONDE_UNWIND_STEPPED, 0x2000, 0x2ff8, 0x77},
	    {"in_rax", SONDE_UNWIND_REGISTER, SONDE_UNWIND_STEPPED, 0x1208, 0x2200, 0x77},
	    {"in_r10", SONDE_UNWIND_REGISTER + 10, SONDE_UNWIND_STEPPED, 0x1280, 0x2278, 0x77},
	    {"indexed", SONDE_UNWIND_EXPRESSION, SONDE_UNWIND_STEPPED, 0x1188, 0x2180, 0x77},
	    {"by_rdi", SONDE_UNWIND_EXPRESSION, SONDE_UNWIND_STEPPED, 0x1000, 0x4005, 0x77},
	    {"valued", SONDE_UNWIND_EXPRESSION, SONDE_UNWIND_STEPPED, 0x1008, 0x2000, 0xfe8},
	    {"located", SONDE_UNWIND_EXPRESSION, SONDE_UNWIND_STEPPED, 0x1008, 0x2020, 0x77},
	    {"unknown", SONDE_UNWIND_EXPRESSION, SONDE_UNWIND_UNKNOWN, 0x1000, 1, 0x77},
	};
	const uint64_t all[17] = {[0] = 0x1200, [5] = 0x4005, [9] = 2, [10] = 0x1280};
	char path[512], command[1024];
	struct sonde_unwind_table table;
	if (system("command -v gcc >/dev/null 2>&1")) {
		print_message("gcc is not installed\n");
		skip();
	}
	snprintf(path, sizeof path, "%s/rules.s", directory);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(rules_source, file);
	fclose(file);
	snprintf(command, sizeof command, "cd %s && gcc -shared -nostdlib -Wl,--build-id=none -o rules.so rules.s",
		 directory);
	assert_int_equal(system(command), 0);
	snprintf(path, sizeof path, "%s/rules.so", directory);
	open_table(&table, path);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct sonde_unwind_row *row =
		    sonde_unwind_table_find(&table, table.base + table.rows[0].address + i);
		struct sonde_unwind_regs regs = {.pc = 1, .sp = 0x1000, .fp = 0x77, .all = all};
		int signal;
		assert_non_null(row);
		print_message("%s\n", cases[i].name);
		assert_int_equal(row->kind, cases[i].kind);
		assert_int_equal(sonde_unwind_step(row, &regs, read_stack, NULL, &signal), cases[i].result);
		assert_int_equal(regs.sp, cases[i].sp);
		assert_int_equal(regs.pc, cases[i].pc);
		assert_int_equal(regs.fp, cases[i].fp);
	}
	sonde_unwind_table_unmap(&table);
}
#else
static void rules_beyond_rows_are_followed(void **state)
{
	(void)state;
	skip();
}
#endif

static void addresses_follow_segments(void **state)
{
	(void)state;
	struct sonde_elf file = {.segments = {{.address = 0x401000, .offset = 0x1000, .size_b = 0x500},
					      {.address = 0x400000, .offset = 0, .size_b = 0x200}},
				 .segment_count = 2,
				 .executable_count = 1};
	uint64_t address = 7;
	assert_int_equal(sonde_elf_address(&file, 0x1234, &address), 0);
	assert_int_equal(address, 0x401234);
	assert_int_equal(sonde_elf_address(&file, 0x1ff, &address), 0);
	assert_int_equal(address, 0x4001ff);
	assert_int_equal(sonde_elf_address(&file, 0x200, &address), -ENOENT);
	assert_int_equal(address, 0x4001ff);
	assert_true(sonde_elf_is_code(&file, 0x4014ff));
	assert_false(sonde_elf_is_code(&file, 0x401500));
	assert_false(sonde_elf_is_code(&file, 0x400010));
}

static int set_up(void **state)
{
	(void)state;
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	return mkdtemp(directory) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	char command[64];
	snprintf(command, sizeof command, "rm -rf %s", directory);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_say_what_readelf_says),
	    cmocka_unit_test(the_special_rows_of_libc_are_there),
	    cmocka_unit_test(tables_are_kept_and_found_again),
	    cmocka_unit_test(damaged_cache_files_are_replaced),
	    cmocka_unit_test(a_cache_that_others_may_write_is_not_used),
	    cmocka_unit_test(root_does_not_write_into_a_users_home),
	    cmocka_unit_test(foreign_files_are_refused_with_a_sentence),
	    cmocka_unit_test(damaged_modules_do_no_harm),
	    cmocka_unit_test(a_module_without_sections_keeps_its_table),
	    cmocka_unit_test(debug_frame_is_read),
	    cmocka_unit_test(rules_beyond_rows_are_followed),
	    cmocka_unit_test(addresses_follow_segments),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
