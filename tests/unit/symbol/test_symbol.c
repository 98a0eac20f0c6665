/* test_symbol.c: programs compiled here resolve to the functions, inlined functions and lines of their source. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <cmocka.h>

#include "symbol/demangle.h"
#include "symbol/elf.h"
#include "symbol/index.h"
#include "symbol/maps.h"
#include "symbol/symbol.h"
#include "util/error.h"

#define ADDRESSES_MAX 4000
#ifdef __clang__ /* whose inlined functions GNU addr2line 2.40 misreads in DWARF 5 */
#define IS_READ_BY_ADDR2LINE 0
#else
#define IS_READ_BY_ADDR2LINE 1
#endif

static char directory[] = "/tmp/sonde-test-symbol-XXXXXX";

/* Line 4 is in leaf(), which line 10 inlines into middle(), which line 16 inlines into outer(), which begins at 12. */
static const char chain_source[] = "static volatile int sink;\n"
				   "static inline __attribute__((always_inline)) int leaf(int x)\n"
				   "{\n"
				   "	__asm__ volatile(\".globl mark\\nmark: nop\");\n"
				   "	return x * sink;\n"
				   "}\n"
				   "static inline __attribute__((always_inline)) int middle(int x)\n"
				   "{\n"
				   "	sink += 2;\n"
				   "	return leaf(x + 1) + 5;\n"
				   "}\n"
				   "__attribute__((noipa, noinline)) int outer(int x)\n"
				   "{\n"
				   "	for (int i = 0; i < x; i++)\n"
				   "		sink += i;\n"
				   "	return middle(x) / 3;\n"
				   "}\n"
				   "int main(int count, char **args)\n"
				   "{\n"
				   "	return outer(count) + (args == 0);\n"
				   "}\n";

static int run(const char *format, ...)
{
	char command[2048];
	va_list args;
	va_start(args, format);
	int len_b = vsnprintf(command, sizeof command, format, args);
	va_end(args);
	assert_in_range(len_b, 1, sizeof command - 1);
	return system(command);
}

static char *make_path(const char *name)
{
	static char paths[4][256];
	static unsigned next;
	char *path = paths[next++ % 4];
	snprintf(path, sizeof paths[0], "%s/%s", directory, name);
	return path;
}

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(make_path(name), "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* Skips the test where the tool is not installed. */
static void need(const char *tool)
{
	if (!run("command -v %s >/dev/null 2>&1", tool))
		return;
	print_message("%s is not installed\n", tool);
	skip();
}

static void compile_chain(const char *name, const char *options)
{
	need("gcc");
	write_file("chain.c", chain_source);
	assert_int_equal(run("cd %s && gcc -O2 %s -o %s chain.c", directory, options, name), 0);
}

static uint64_t address_of(const char *name, const char *symbol)
{
	char line[512];
	uint64_t address = 0;
	snprintf(line, sizeof line, "nm %s", make_path(name));
	FILE *pipe = popen(line, "r");
	assert_non_null(pipe);
	while (fgets(line, sizeof line, pipe)) {
		char text[256];
		unsigned long long value;
		if (sscanf(line, "%llx %*c %255s", &value, text) == 2 && !strcmp(text, symbol))
			address = value;
	}
	pclose(pipe);
	assert_int_not_equal(address, 0);
	return address;
}

static struct sonde_symbols *open_symbols(const char *path)
{
	struct sonde_symbols *symbols;
	assert_int_equal(sonde_symbols_open(&symbols, path, NULL, 0, NULL), 0);
	return symbols;
}

static struct sonde_symbol_result resolve_one(struct sonde_symbols *symbols, uint64_t address)
{
	struct sonde_symbol_result result;
	assert_int_equal(sonde_symbols_resolve(symbols, &address, 1, &result), 0);
	return result;
}

static void assert_location(const struct sonde_symbol_location *location, const char *function, unsigned line,
			    unsigned start_line, uint64_t start)
{
	assert_string_equal(location->function, function);
	assert_non_null(location->file);
	assert_non_null(strstr(location->file, "/chain.c"));
	assert_int_equal(location->line, line);
	assert_int_equal(location->start_line, start_line);
	assert_int_equal(location->start, start);
}

static void assert_chain(struct sonde_symbols *symbols, uint64_t mark, uint64_t outer)
{
	struct sonde_symbol_result result = resolve_one(symbols, mark);
	assert_int_equal(result.count, 3);
	assert_location(&result.locations[0], "leaf", 4, 2, outer);
	assert_location(&result.locations[1], "middle", 10, 7, outer);
	assert_location(&result.locations[2], "outer", 16, 12, outer);
}

static void check_chain_of(const char *name)
{
	struct sonde_symbols *symbols = open_symbols(make_path(name));
	assert_chain(symbols, address_of("chain", "mark"), address_of("chain", "outer"));
	sonde_symbols_close(symbols);
}

static void inlined_functions_and_lines_are_found(void **state)
{
	(void)state;
	const char *options[] = {"-g",
				 "-g -gdwarf-4",
				 "-g -gz",
				 "-g -no-pie",
				 "-g -static",
				 "-g -gsplit-dwarf",
				 "-g -ffunction-sections -Wl,--gc-sections",
				 "-g -m64 -Wl,--build-id=none"};
	for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
		compile_chain("chain", options[i]);
		check_chain_of("chain");
	}
}

static void the_vdso_has_names(void **state)
{
	(void)state;
	const uint64_t image = getauxval(AT_SYSINFO_EHDR);
	if (!image) {
		print_message("this kernel has no vdso\n");
		skip();
	}
	struct sonde_symbols *symbols = open_symbols("[vdso]");
	uint64_t addresses[4096];
	struct sonde_symbol_result results[4096];
	size_t named = 0;
	for (uint64_t i = 0; i < 4096; i++)
		addresses[i] = i;
	assert_int_equal(sonde_symbols_resolve(symbols, addresses, 4096, results), 0);
	for (size_t i = 0; i < 4096; i++)
		named += results[i].count && results[i].locations->function &&
			 strstr(results[i].locations->function, "clock_gettime");
	assert_in_range(named, 1, 4096);
	sonde_symbols_close(symbols);
}

static void options_leave_dwarf_out(void **state)
{
	(void)state;
	compile_chain("chain", "-g");
	const struct sonde_symbol_options cases[] = {{.no_dwarf = 1}, {.deadline_ns = 1}};
	uint64_t mark = address_of("chain", "mark"), outer = address_of("chain", "outer");
	for (size_t i = 0; i < 2; i++) {
		struct sonde_symbols *symbols;
		assert_int_equal(sonde_symbols_open(&symbols, make_path("chain"), NULL, 0, &cases[i]), 0);
		struct sonde_symbol_result result = resolve_one(symbols, outer + 1);
		assert_int_equal(result.count, 1);
		assert_string_equal(result.locations->function, "outer");
		assert_int_equal(result.locations->start, outer);
		assert_null(result.locations->file);
		assert_true(mark > outer);
		sonde_symbols_close(symbols);
	}
}

static void a_stripped_function_is_its_call_frame_range(void **state)
{
	(void)state;
	compile_chain("chain", "-g");
	assert_int_equal(run("cd %s && strip -o bare chain", directory), 0);
	uint64_t outer = address_of("chain", "outer"), mark = address_of("chain", "mark");
	struct sonde_symbols *symbols = open_symbols(make_path("bare"));
	for (uint64_t address = outer; address <= mark; address++) {
		struct sonde_symbol_result result = resolve_one(symbols, address);
		assert_int_equal(result.count, 1);
		assert_null(result.locations->function);
		assert_int_equal(result.locations->start, outer);
	}
	assert_int_equal(resolve_one(symbols, 1).count, 0);
	sonde_symbols_close(symbols);
}

static void separate_debug_files_are_found(void **state)
{
	(void)state;
	const char *options[] = {"-g", "-g -Wl,--build-id=none"}; /* checked by build-id, by CRC */
	for (size_t i = 0; i < 2; i++) {
		compile_chain("chain", options[i]);
		assert_int_equal(run("cd %s && mkdir -p .debug && objcopy --only-keep-debug chain .debug/chain.dbg && "
				     "strip -o bare chain && objcopy --add-gnu-debuglink=.debug/chain.dbg bare",
				     directory),
				 0);
		check_chain_of("bare");
		assert_int_equal(run("echo x >> %s/.debug/chain.dbg", directory), 0);
		if (i) { /* another CRC: not the file of this module */
			struct sonde_symbols *symbols = open_symbols(make_path("bare"));
			assert_null(resolve_one(symbols, address_of("chain", "outer")).locations->function);
			sonde_symbols_close(symbols);
		}
	}
}

static void debug_files_are_found_under_a_root(void **state)
{
	(void)state;
	struct sonde_elf file;
	struct sonde_symbols *symbols;
	char id[64] = "";
	compile_chain("chain", "-g");
	assert_int_equal(sonde_elf_open(&file, make_path("chain")), 0);
	for (size_t i = 0; i < file.build_id_b; i++)
		snprintf(id + 2 * i, 3, "%02x", file.build_id[i]);
	sonde_elf_close(&file);
	assert_int_equal(run("cd %s && mkdir -p root/usr/lib/debug/.build-id/%.2s root/opt && strip -o root/opt/bare "
			     "chain && objcopy --only-keep-debug chain root/usr/lib/debug/.build-id/%.2s/%s.debug",
			     directory, id, id, id + 2),
			 0);
	struct sonde_symbol_options options = {.root = make_path("root")};
	assert_int_equal(sonde_symbols_open(&symbols, "/opt/bare", NULL, 0, &options), 0);
	assert_chain(symbols, address_of("chain", "mark"), address_of("chain", "outer"));
	sonde_symbols_close(symbols);
}

static void a_replaced_file_is_refused(void **state)
{
	(void)state;
	struct sonde_elf file;
	struct sonde_symbols *symbols;
	compile_chain("chain", "-g");
	assert_int_equal(sonde_elf_open(&file, make_path("chain")), 0);
	assert_int_equal(sonde_symbols_open(&symbols, make_path("chain"), file.build_id, file.build_id_b, NULL), 0);
	sonde_symbols_close(symbols);
	file.build_id[3] ^= 1;
	assert_int_equal(sonde_symbols_open(&symbols, make_path("chain"), file.build_id, file.build_id_b, NULL),
			 -ESTALE);
	assert_non_null(strstr(sonde_error_text(), "/chain"));
	assert_int_equal(sonde_symbols_open(&symbols, make_path("nothing"), NULL, 0, NULL), -ENOENT);
	sonde_elf_close(&file);
}

static void what_was_read_is_kept(void **state)
{
	(void)state;
	compile_chain("chain", "-g");
	uint64_t mark = address_of("chain", "mark"), outer = address_of("chain", "outer");
	assert_int_equal(
	    run("cd %s && mkdir -p -m 700 cache .debug && objcopy --only-keep-debug chain .debug/kept.dbg && "
		"strip -o kept chain && objcopy --add-gnu-debuglink=.debug/kept.dbg kept",
		directory),
	    0);
	setenv("XDG_CACHE_HOME", make_path("cache"), 1);
	struct sonde_symbols *symbols = open_symbols(make_path("kept"));
	assert_chain(symbols, mark, outer);
	sonde_symbols_close(symbols);
	assert_int_equal(run("rm %s/.debug/kept.dbg", directory), 0);
	symbols = open_symbols(make_path("kept"));
	assert_chain(symbols, mark, outer); /* no debug file any more: from the cache */
	sonde_symbols_close(symbols);
	assert_int_equal(run("for f in %s/cache/sonde/*.symbols; do printf x | dd of=$f bs=1 seek=200 conv=notrunc "
			     "2>/dev/null; done",
			     directory),
			 0);
	symbols = open_symbols(make_path("kept"));
	assert_null(resolve_one(symbols, mark).locations->function); /* damaged: not used */
	sonde_symbols_close(symbols);
	unsetenv("XDG_CACHE_HOME");
}

static void make_kept(const char *options)
{
	compile_chain("chain", options);
	assert_int_equal(
	    run("cd %s && rm -rf cache && mkdir -p -m 700 cache .debug && objcopy --only-keep-debug chain "
		".debug/kept.dbg && strip -o kept chain && objcopy --add-gnu-debuglink=.debug/kept.dbg kept",
		directory),
	    0);
	setenv("XDG_CACHE_HOME", make_path("cache"), 1);
}

/* Once an address of a unit was looked up, the cache answers for the whole unit, also in compressed files. */
static void a_unit_is_read_once(void **state)
{
	(void)state;
	const char *options[] = {"-g", "-g -gz"};
	for (size_t i = 0; i < 2; i++) {
		make_kept(options[i]);
		uint64_t main_at = address_of("chain", "main"), mark = address_of("chain", "mark");
		struct sonde_symbols *symbols = open_symbols(make_path("kept"));
		assert_true(sonde_symbols_price_ns(symbols, &main_at, 1) > 0);
		struct sonde_symbol_result result = resolve_one(symbols, main_at);
		assert_string_equal(result.locations->function, "main");
		assert_int_equal(result.is_dwarf_missing, 0);
		assert_true(sonde_symbols_price_ns(symbols, &mark, 1) == 0);
		sonde_symbols_close(symbols);
		assert_int_equal(run("rm %s/.debug/kept.dbg", directory), 0);
		symbols = open_symbols(make_path("kept"));
		assert_true(sonde_symbols_price_ns(symbols, &mark, 1) == 0);
		sonde_symbols_read_no_dwarf(symbols);
		assert_chain(symbols, mark, address_of("chain", "outer"));
		sonde_symbols_close(symbols);
	}
	unsetenv("XDG_CACHE_HOME");
}

/* Names found without reading DWARF are marked as incomplete; if there is no DWARF, they are all there is. */
static void names_say_that_there_is_more(void **state)
{
	(void)state;
	compile_chain("chain", "-g");
	assert_int_equal(run("cd %s && rm -rf .debug && strip -g -o plain chain", directory), 0);
	uint64_t outer = address_of("chain", "outer");
	const char *files[] = {"chain", "plain"};
	for (int i = 0; i < 2; i++) {
		struct sonde_symbols *symbols = open_symbols(make_path(files[i]));
		sonde_symbols_read_no_dwarf(symbols);
		struct sonde_symbol_result result = resolve_one(symbols, outer);
		assert_int_equal(result.count, 1);
		assert_string_equal(result.locations->function, "outer");
		assert_null(result.locations->file);
		assert_int_equal(result.is_dwarf_missing, i == 0);
		sonde_symbols_close(symbols);
	}
}

static void add_unit(struct sonde_index *index, uint64_t start, const char *name)
{
	uint32_t text;
	assert_int_equal(sonde_texts_intern(&index->texts, name, &text), 0);
	*sonde_index_add_node(index) =
	    (struct sonde_index_node){.start = start, .parent = SONDE_INDEX_NONE, .name = text};
	*sonde_index_add_span(index) = (struct sonde_index_span){.node = (uint32_t)index->node_count - 1, .line = 7};
	*sonde_index_add_segment(index) = (struct sonde_index_segment){start, start + 16, index->span_count - 1, 1};
}

static const char *name_in(const struct sonde_index *index, uint64_t address)
{
	const struct sonde_index_segment *segment = sonde_index_segment(index, address);
	const struct sonde_index_span *span = segment ? sonde_index_span(index, segment, address) : NULL;
	return span ? sonde_texts_get(&index->texts, index->nodes[span->node].name) : NULL;
}

/* Two recorders that loaded the same file and read different units: the second to store keeps what the first stored. */
static void two_writers_lose_nothing(void **state)
{
	(void)state;
	const uint8_t id[20] = {1, 2, 3};
	struct sonde_index first, second, both;
	assert_int_equal(run("rm -rf %s/cache && mkdir -p -m 700 %s/cache", directory, directory), 0);
	setenv("XDG_CACHE_HOME", make_path("cache"), 1);
	assert_int_equal(sonde_index_load(&first, id, sizeof id), -ENOENT);
	add_unit(&first, 0x1000, "base");
	assert_int_equal(sonde_index_store(&first, id, sizeof id), 0);
	sonde_index_fini(&first);
	assert_int_equal(sonde_index_load(&first, id, sizeof id), 0);
	assert_int_equal(sonde_index_load(&second, id, sizeof id), 0);
	add_unit(&first, 0x3000, "one");
	add_unit(&second, 0x2000, "two");
	assert_int_equal(sonde_index_store(&first, id, sizeof id), 0);
	assert_int_equal(sonde_index_store(&second, id, sizeof id), 0);
	assert_int_equal(sonde_index_load(&both, id, sizeof id), 0);
	assert_int_equal(both.segment_count, 3);
	assert_int_equal(both.node_count, 3);
	assert_string_equal(name_in(&both, 0x1001), "base");
	assert_string_equal(name_in(&both, 0x2001), "two");
	assert_string_equal(name_in(&both, 0x300f), "one");
	assert_null(name_in(&both, 0x3010));
	sonde_index_fini(&first);
	sonde_index_fini(&second);
	sonde_index_fini(&both);
	unsetenv("XDG_CACHE_HOME");
}

/* --- against addr2line -------------------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	return slash ? slash + 1 : path ? path : "??";
}

/* "function file:line" for each location, as addr2line is made to say it. */
static void print_ours(char *out, size_t out_b, const struct sonde_symbol_result *result)
{
	size_t len_b = 0;
	*out = 0;
	for (size_t i = 0; i < result->count && len_b < out_b; i++) {
		const struct sonde_symbol_location *at = &result->locations[i];
		len_b += (size_t)snprintf(out + len_b, out_b - len_b, "%s %s:%u;", at->function ? at->function : "??",
					  base_name(at->file), at->line);
	}
}

/* The lines of one address: function and location alternate. 0 at the end. */
static int read_theirs(FILE *pipe, char *out, size_t out_b)
{
	char function[4096], place[4096];
	size_t len_b = 0;
	*out = 0;
	for (;;) {
		int first = getc(pipe);
		if (first == EOF)
			return len_b > 0;
		ungetc(first, pipe);
		if (first == '0' && len_b)
			return 1;
		if (!fgets(function, sizeof function, pipe))
			return 0;
		if (first == '0') /* the address */
			continue;
		if (!fgets(place, sizeof place, pipe))
			return 0;
		function[strcspn(function, "\n")] = 0;
		char *colon = strrchr(place, ':');
		assert_non_null(colon);
		*colon = 0;
		len_b += (size_t)snprintf(out + len_b, out_b - len_b, "%s %s:%d;", function, base_name(place),
					  atoi(colon + 1));
		assert_true(len_b < out_b);
	}
}

/* Every `step`th byte of .text; how many differ although we name a function (padding has none for us). */
static size_t compare_with_addr2line(const char *path, unsigned step, size_t *compared)
{
	static uint64_t addresses[ADDRESSES_MAX];
	static struct sonde_symbol_result results[ADDRESSES_MAX];
	struct sonde_elf file;
	struct sonde_elf_section text;
	char command[600], ours[8192], theirs[8192];
	size_t count = 0, wrong = 0;
	assert_int_equal(sonde_elf_open(&file, path), 0);
	assert_int_equal(sonde_elf_section(&file, ".text", &text), 0);
	sonde_elf_close(&file);
	FILE *list = fopen(make_path("list"), "w");
	for (uint64_t at = 0; at < text.size_b && count < ADDRESSES_MAX; at += step) {
		addresses[count++] = text.address + at;
		fprintf(list, "%#llx\n", (unsigned long long)(text.address + at));
	}
	fclose(list);
	struct sonde_symbols *symbols = open_symbols(path);
	assert_int_equal(sonde_symbols_resolve(symbols, addresses, count, results), 0);
	snprintf(command, sizeof command, "addr2line -a -i -f -C -e %s < %s", path, make_path("list"));
	FILE *pipe = popen(command, "r");
	*compared = 0;
	for (size_t i = 0; i < count && read_theirs(pipe, theirs, sizeof theirs); i++) {
		print_ours(ours, sizeof ours, &results[i]);
		if (!results[i].count || !results[i].locations[results[i].count - 1].start_line)
			continue;
		++*compared;
		if (strcmp(ours, theirs) && !wrong++)
			print_message("%#llx: %s\naddr2line: %s\n", (unsigned long long)addresses[i], ours, theirs);
	}
	pclose(pipe);
	sonde_symbols_close(symbols);
	return wrong;
}

static void addr2line_agrees(void **state)
{
	(void)state;
	size_t compared;
	char self[512] = {0};
	need("addr2line");
	compile_chain("chain", "-g");
	assert_int_equal(compare_with_addr2line(make_path("chain"), 1, &compared), 0);
	assert_in_range(compared, 40, ADDRESSES_MAX);
	if (!IS_READ_BY_ADDR2LINE)
		return;
	assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
	size_t wrong = compare_with_addr2line(self, 11, &compared);
	print_message("%zu of %zu addresses of this test differ\n", wrong, compared);
	assert_in_range(wrong, 0, compared / 100); /* addr2line gives some inlined lines the file of the unit */
}

/* --- languages ---------------------------------------------------------------------------------------------------- */

static void cplusplus_names_are_readable(void **state)
{
	(void)state;
	need("g++");
	write_file("names.cc",
		   "namespace geometry {\n"
		   "template <typename T> struct Box {\n"
		   "	T side;\n"
		   "	__attribute__((noinline)) T area(T scale) const;\n"
		   "};\n"
		   "template <typename T> T Box<T>::area(T scale) const { return side * side * scale; }\n"
		   "}\n"
		   "int main(int count, char **) { return (int)geometry::Box<double>{1.5}.area(count); }\n");
	assert_int_equal(run("cd %s && g++ -g -O1 -o names names.cc && strip -g -o names-bare names", directory), 0);
	uint64_t area = address_of("names", "_ZNK8geometry3BoxIdE4areaEd");
	const char *files[] = {"names", "names-bare"};
	for (size_t i = 0; i < 2; i++) {
		struct sonde_symbols *symbols = open_symbols(make_path(files[i]));
		struct sonde_symbol_result result = resolve_one(symbols, area);
		assert_int_equal(result.count, 1);
		assert_string_equal(result.locations->function, "geometry::Box<double>::area(double) const");
		assert_int_equal(result.locations->start, area);
		assert_int_equal(result.locations->line, i ? 0 : 6);
		sonde_symbols_close(symbols);
	}
}

static void names_are_demangled(void **state)
{
	(void)state;
	const struct {
		const char *mangled, *readable;
	} cases[] = {
	    {"_ZN3foo3barEi", "foo::bar(int)"},
	    {"_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back(int&&)"},
	    {"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
	    {"_RNvC6_123foo3bar", "123foo::bar"},
	    {"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
	    {"main", NULL},
	    {"_start", NULL},
	    {"_Z", NULL},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *readable = sonde_demangle(cases[i].mangled);
		if (cases[i].readable) {
			assert_non_null(readable);
			assert_string_equal(readable, cases[i].readable);
		} else {
			assert_null(readable);
		}
		free(readable);
	}
	char *long_name = malloc(100000);
	memset(long_name, 'P', 100000);
	memcpy(long_name, "_Z1f", 4);
	long_name[99999] = 0;
	assert_null(sonde_demangle(long_name));
	free(long_name);
}

/* Short names whose readable form is twice as long with each part: P<P<P<int, int>, P<int, int>>, …> */
static void names_that_grow_without_end_are_left(void **state)
{
	(void)state;
	static const char *const cpp = "_Z1f1PIiiES_IS0_S0_ES_IS1_S1_ES_IS2_S2_E";
	char name[400], *readable = sonde_demangle(cpp);
	assert_non_null(readable);
	assert_non_null(strstr(readable, "P<P<int, int>, P<int, int> >"));
	free(readable);
	size_t used = (size_t)snprintf(name, sizeof name, "_Z1f1PIiiE");
	for (int i = 0; i < 34; i++) {
		char digit = (char)(i < 10 ? '0' + i : 'A' + i - 10);
		used += (size_t)snprintf(name + used, sizeof name - used, "S_IS%c_S%c_E", digit, digit);
	}
	assert_null(sonde_demangle(name));
	static const char rust[] = /* tuples of tuples */
	    "_RINvC1a1bTllETB7_B7_ETBb_Bb_ETBj_Bj_ETBr_Br_ETBz_Bz_ETBH_BH_ETBP_BP_ETBX_BX_ETB15_B15_ETB1d_B1"
	    "d_ETB1n_B1n_ETB1x_B1x_ETB1H_B1H_ETB1R_B1R_ETB21_B21_ETB2b_B2b_ETB2l_B2l_ETB2v_B2v_ETB2F_B2F_ETB"
	    "2P_B2P_EE";
	assert_null(sonde_demangle(rust));
}

static void rust_names_are_readable(void **state)
{
	(void)state;
	need("rustc");
	write_file("names.rs",
		   "mod shapes {\n"
		   "	pub struct Square(pub u64);\n"
		   "	impl Square {\n"
		   "		#[inline(never)]\n"
		   "		pub fn area(&self) -> u64 { self.0 * self.0 }\n"
		   "	}\n"
		   "}\n"
		   "fn main() { std::process::exit(shapes::Square(std::env::args().count() as u64).area() as i32) }\n");
	if (run("cd %s && rustc -g -O -o names-rs names.rs 2>rustc.log", directory)) {
		print_message("rustc does not work here\n");
		skip();
	}
	char line[512], command[512];
	unsigned long long address = 0;
	snprintf(command, sizeof command, "nm %s | grep Square.*area", make_path("names-rs"));
	FILE *pipe = popen(command, "r");
	assert_non_null(fgets(line, sizeof line, pipe));
	pclose(pipe);
	assert_int_equal(sscanf(line, "%llx", &address), 1);
	struct sonde_symbols *symbols = open_symbols(make_path("names-rs"));
	struct sonde_symbol_result result = resolve_one(symbols, address);
	assert_int_equal(result.count, 1);
	assert_string_equal(result.locations->function, "names::shapes::Square::area");
	assert_int_equal(result.locations->start_line, 5);
	sonde_symbols_close(symbols);
}

/* --- text files, hostile files ------------------------------------------------------------------------------------ */

static void perf_maps_are_read(void **state)
{
	(void)state;
	struct sonde_symbols *symbols;
	assert_int_equal(run("mkdir -p %s/jit/tmp", directory), 0);
	write_file("jit/tmp/perf-77.map", "7f0000001000 100 py::first:/a b.py\n"
					  "7f0000001200 80 old\n"
					  "rubbish\n"
					  "7f0000001200 40 new\n"
					  "0x7f0000001300 0 empty\n"
					  "7f0000001400 10 last");
	assert_int_equal(sonde_symbols_perf_map(&symbols, 77, make_path("jit")), 0);
	assert_string_equal(resolve_one(symbols, 0x7f0000001000).locations->function, "py::first:/a b.py");
	assert_string_equal(resolve_one(symbols, 0x7f00000010ff).locations->function, "py::first:/a b.py");
	assert_int_equal(resolve_one(symbols, 0x7f0000001100).count, 0);
	assert_string_equal(resolve_one(symbols, 0x7f0000001230).locations->function, "new");
	assert_int_equal(resolve_one(symbols, 0x7f0000001240).count, 0);
	assert_int_equal(resolve_one(symbols, 0x7f0000001300).count, 0);
	assert_string_equal(resolve_one(symbols, 0x7f000000140f).locations->function, "last");
	sonde_symbols_close(symbols);
	assert_int_equal(sonde_symbols_perf_map(&symbols, 78, make_path("jit")), -ENOENT);
}

static const char *name_at(const struct sonde_name_table *table, uint64_t address)
{
	const struct sonde_name_entry *entry = sonde_name_table_find(table, address);
	return entry ? sonde_name_table_text(table, entry) : NULL;
}

static void kernel_symbols_are_read_or_the_lock_is_named(void **state)
{
	(void)state;
	struct sonde_names names = {0};
	struct sonde_name_table table;
	write_file("kallsyms", "ffffffff81000000 T _text\nffffffff81000100 t helper\nffffffff81000080 D data\n"
			       "ffffffffc0000000 t probe\t[module]\n");
	assert_int_equal(sonde_maps_kernel(&names, make_path("kallsyms")), 0);
	assert_int_equal(sonde_name_table_pack(&table, &names), 0);
	sonde_names_fini(&names);
	assert_string_equal(name_at(&table, 0xffffffff810000ff), "_text");
	assert_string_equal(name_at(&table, 0xffffffff81000100), "helper");
	assert_string_equal(name_at(&table, 0xffffffffc0000010), "probe [module]");
	assert_null(name_at(&table, 0xffffffff80ffffff));
	assert_null(name_at(&table, 0xffffffff81200000)); /* too far behind helper: code loaded later, perhaps */
	sonde_name_table_fini(&table);
	write_file("kallsyms", "0000000000000000 T _text\n0000000000000000 t helper\n");
	assert_int_equal(sonde_maps_kernel(&names, make_path("kallsyms")), -EPERM);
	assert_non_null(strstr(sonde_error_text(), "kptr_restrict"));
	sonde_names_fini(&names);
}

/* From the cache the same names, but not with another kernel's modules; damage is noticed. */
static void the_kernel_s_list_is_cached(void **state)
{
	(void)state;
	const uint8_t boot[16] = {9};
	const struct sonde_cache_key key = {boot, sizeof boot, "kernel"};
	struct sonde_names names = {0};
	struct sonde_name_table table;
	assert_int_equal(run("rm -rf %s/cache && mkdir -p -m 700 %s/cache", directory, directory), 0);
	setenv("XDG_CACHE_HOME", make_path("cache"), 1);
	write_file("kallsyms",
		   "ffffffff81000000 T _text\nffffffffc0000000 t probe\t[module]\nffffffff81000100 t helper\n");
	assert_int_equal(sonde_maps_kernel(&names, make_path("kallsyms")), 0);
	assert_int_equal(sonde_name_table_pack(&table, &names), 0);
	assert_int_equal(sonde_name_table_store(&table, &key, 5), 0);
	sonde_name_table_fini(&table);
	sonde_names_fini(&names);
	assert_int_equal(sonde_name_table_load(&table, &key, 6), -ENOENT);
	assert_int_equal(sonde_name_table_load(&table, &key, 5), 0);
	assert_int_equal(table.count, 3);
	assert_string_equal(name_at(&table, 0xffffffff81000101), "helper");
	assert_string_equal(name_at(&table, 0xffffffffc0000000), "probe [module]");
	assert_null(name_at(&table, 0xffffffffc0010000));
	sonde_name_table_fini(&table);
	assert_int_equal(run("truncate -s -1 %s/cache/sonde/*.kernel", directory), 0);
	assert_int_equal(sonde_name_table_load(&table, &key, 5), -EBADMSG);
	unsetenv("XDG_CACHE_HOME");
}

/* Bytes changed in a program with DWARF: an answer or an error, never a crash. */
static void damaged_programs_do_no_harm(void **state)
{
	(void)state;
	static uint64_t addresses[64];
	static struct sonde_symbol_result results[64];
	unsigned seed = 3;
	compile_chain("chain", "-g -Wl,--build-id=none");
	uint64_t outer = address_of("chain", "outer");
	for (uint64_t i = 0; i < 64; i++)
		addresses[i] = outer - 32 + i;
	FILE *file = fopen(make_path("chain"), "rb");
	static char bytes[1 << 17];
	size_t size_b = fread(bytes, 1, sizeof bytes, file);
	fclose(file);
	for (int round = 0; round < 300; round++) {
		struct sonde_symbols *symbols;
		char kept[32];
		size_t places[32];
		for (int i = 0; i < 32; i++) {
			places[i] = (size_t)rand_r(&seed) % (size_b - 0x3000) + (round % 2 ? 0x3000 : 64);
			kept[i] = bytes[places[i]];
			bytes[places[i]] = (char)rand_r(&seed);
		}
		file = fopen(make_path("damaged"), "wb");
		assert_int_equal(fwrite(bytes, 1, size_b, file), size_b);
		fclose(file);
		if (!sonde_symbols_open(&symbols, make_path("damaged"), NULL, 0, NULL)) {
			sonde_symbols_resolve(symbols, addresses, 64, results);
			sonde_symbols_close(symbols);
		}
		for (int i = 32; i-- > 0;)
			bytes[places[i]] = kept[i];
	}
}

static int set_up(void **state)
{
	(void)state;
	unsetenv("XDG_CACHE_HOME"); /* no cache unless a test makes one */
	unsetenv("HOME");
	return mkdtemp(directory) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return run("rm -rf %s", directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(inlined_functions_and_lines_are_found),
	    cmocka_unit_test(the_vdso_has_names),
	    cmocka_unit_test(options_leave_dwarf_out),
	    cmocka_unit_test(a_stripped_function_is_its_call_frame_range),
	    cmocka_unit_test(separate_debug_files_are_found),
	    cmocka_unit_test(debug_files_are_found_under_a_root),
	    cmocka_unit_test(a_replaced_file_is_refused),
	    cmocka_unit_test(what_was_read_is_kept),
	    cmocka_unit_test(a_unit_is_read_once),
	    cmocka_unit_test(names_say_that_there_is_more),
	    cmocka_unit_test(two_writers_lose_nothing),
	    cmocka_unit_test(the_kernel_s_list_is_cached),
	    cmocka_unit_test(addr2line_agrees),
	    cmocka_unit_test(cplusplus_names_are_readable),
	    cmocka_unit_test(names_are_demangled),
	    cmocka_unit_test(names_that_grow_without_end_are_left),
	    cmocka_unit_test(rust_names_are_readable),
	    cmocka_unit_test(perf_maps_are_read),
	    cmocka_unit_test(kernel_symbols_are_read_or_the_lock_is_named),
	    cmocka_unit_test(damaged_programs_do_no_harm),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
