/* symbols.c: symbol.h: puts the index, ELF symbols and call-frame ranges of a module together.
 *
 * Everything is opened when the first address needs it: a module whose units are all in the cache opens no DWARF, one
 * whose functions all have DWARF reads no symbol table. Names come from DWARF where it covers an address, because it
 * knows inlining and gives split and cloned functions (".cold", ".part.0") back to the function they come from.
 */
#include "symbol/symbol.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/clock.h"
#include "symbol/cfi_entries.h"
#include "symbol/debugfile.h"
#include "symbol/demangle.h"
#include "symbol/dwarf.h"
#include "symbol/elf_symbols.h"
#include "symbol/index.h"
#include "symbol/maps.h"
#include "util/arena.h"
#include "util/error.h"

#define INLINE_MAX 256

struct sonde_symbols {
	struct sonde_arena arena; /* results, and names in readable form */
	struct sonde_symbol_options options;
	int has_file; /* else names alone: kernel, perf map */
	struct sonde_elf module;
	struct sonde_elf debug; /* path NULL: none */
	int has_looked_for_debug, has_read_names, has_read_ranges;
	struct sonde_names names;
	struct sonde_cfi_entries ranges;
	struct sonde_index index;
	struct sonde_dwarf *dwarf;
};

static int new_symbols(struct sonde_symbols **out)
{
	*out = calloc(1, sizeof **out);
	return *out ? 0 : sonde_error(ENOMEM, "out of memory for symbols");
}

/* Section headers are the last thing in the image. */
static size_t vdso_size_b(const Elf64_Ehdr *image)
{
	return image->e_shoff + (size_t)image->e_shnum * image->e_shentsize;
}

/* [vdso] is the same image in every process. */
static int open_module(struct sonde_elf *out, const char *path, const char *root)
{
	char full[PATH_MAX];
	const Elf64_Ehdr *vdso = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	if (!strcmp(path, "[vdso]") && vdso)
		return sonde_elf_open_bytes(out, path, vdso, vdso_size_b(vdso));
	if (snprintf(full, sizeof full, "%s%s", root ? root : "", path) >= (int)sizeof full)
		return sonde_error(ENAMETOOLONG, "%s: the path is too long", path);
	return sonde_elf_open(out, full);
}

int sonde_symbols_open(struct sonde_symbols **out, const char *path, const uint8_t *build_id, size_t build_id_b,
		       const struct sonde_symbol_options *options)
{
	struct sonde_symbols *symbols;
	int error = new_symbols(&symbols);
	if (error)
		return error;
	if (options)
		symbols->options = *options;
	error = open_module(&symbols->module, path, symbols->options.root);
	symbols->has_file = !error;
	if (!error && build_id_b &&
	    (build_id_b != symbols->module.build_id_b || memcmp(build_id, symbols->module.build_id, build_id_b)))
		error = sonde_error(ESTALE, "%s: the file is not the one that was recorded (another build-id)", path);
	if (!error && symbols->options.root) {
		symbols->options.root = sonde_arena_strndup(&symbols->arena, options->root, strlen(options->root));
		error = symbols->options.root ? 0 : -ENOMEM;
	}
	if (!error && !symbols->options.no_dwarf)
		sonde_index_load(&symbols->index, symbols->module.build_id, symbols->module.build_id_b);
	if (error) {
		sonde_symbols_close(symbols);
		return error;
	}
	*out = symbols;
	return 0;
}

static int open_names(struct sonde_symbols **out, int (*read)(struct sonde_names *, const char *), const char *path)
{
	struct sonde_symbols *symbols;
	int error = new_symbols(&symbols);
	if (error)
		return error;
	error = read(&symbols->names, path);
	if (error) {
		sonde_symbols_close(symbols);
		return error;
	}
	symbols->has_read_names = 1;
	*out = symbols;
	return 0;
}

int sonde_symbols_kernel(struct sonde_symbols **out)
{
	return open_names(out, sonde_maps_kernel, "/proc/kallsyms");
}

int sonde_symbols_perf_map(struct sonde_symbols **out, uint32_t pid, const char *root)
{
	char path[PATH_MAX];
	if (snprintf(path, sizeof path, "%s/tmp/perf-%u.map", root ? root : "", pid) >= (int)sizeof path)
		return sonde_error(ENAMETOOLONG, "%s: the path is too long", root);
	return open_names(out, sonde_maps_perf, path);
}

void sonde_symbols_close(struct sonde_symbols *symbols)
{
	if (!symbols)
		return;
	sonde_dwarf_close(symbols->dwarf);
	sonde_index_fini(&symbols->index);
	sonde_names_fini(&symbols->names);
	sonde_cfi_entries_free(&symbols->ranges);
	if (symbols->debug.path)
		sonde_elf_close(&symbols->debug);
	if (symbols->has_file)
		sonde_elf_close(&symbols->module);
	sonde_arena_fini(&symbols->arena);
	free(symbols);
}

static void look_for_debug(struct sonde_symbols *symbols)
{
	struct sonde_debugfile_options options = {symbols->options.root, symbols->options.debuginfod};
	struct sonde_elf_section section;
	if (symbols->has_looked_for_debug || !symbols->has_file)
		return;
	symbols->has_looked_for_debug = 1;
	if (sonde_elf_section(&symbols->module, ".debug_info", &section))
		sonde_debugfile_open(&symbols->debug, &symbols->module, &options);
}

static int read_names(struct sonde_symbols *symbols)
{
	if (symbols->has_read_names)
		return 0;
	symbols->has_read_names = 1;
	look_for_debug(symbols);
	int error = sonde_elf_symbols_read(&symbols->names, &symbols->module, &symbols->module);
	if (!error)
		error = sonde_elf_symbols_packed(&symbols->names, &symbols->module);
	if (!error && symbols->debug.path)
		error = sonde_elf_symbols_read(&symbols->names, &symbols->debug, &symbols->module);
	sonde_names_sort(&symbols->names);
	return error;
}

static int lacks_units(const struct sonde_symbols *symbols, const uint64_t *addresses, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!sonde_index_segment(&symbols->index, addresses[i]))
			return 1;
	}
	return 0;
}

/* Brings the index up to the addresses. Without DWARF it stays empty. */
static int read_units(struct sonde_symbols *symbols, const uint64_t *addresses, size_t count)
{
	uint64_t deadline_ns = symbols->options.deadline_ns;
	if (!symbols->has_file || symbols->options.no_dwarf || !lacks_units(symbols, addresses, count) ||
	    (deadline_ns && sonde_clock_now_ns() >= deadline_ns))
		return 0;
	look_for_debug(symbols);
	const struct sonde_elf *file = symbols->debug.path ? &symbols->debug : &symbols->module;
	int error = symbols->dwarf ? 0 : sonde_dwarf_open(&symbols->dwarf, file);
	if (error)
		return error == -ENOENT ? 0 : error;
	error = sonde_dwarf_read(symbols->dwarf, &symbols->index, addresses, count, deadline_ns);
	if (!error && symbols->index.is_changed) {
		symbols->index.is_changed = 0;
		sonde_index_store(&symbols->index, symbols->module.build_id, symbols->module.build_id_b);
	}
	return error;
}

/* The call-frame range that holds an address; 0 = none. */
static uint64_t range_start(struct sonde_symbols *symbols, uint64_t address)
{
	if (!symbols->has_file)
		return 0;
	if (!symbols->has_read_ranges && sonde_cfi_entries_read(&symbols->ranges, &symbols->module))
		symbols->ranges = (struct sonde_cfi_entries){0};
	symbols->has_read_ranges = 1;
	uint64_t offset = address - symbols->ranges.base;
	size_t low = 0, high = symbols->ranges.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (symbols->ranges.entries[middle].start <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || offset - symbols->ranges.entries[low - 1].start >= symbols->ranges.entries[low - 1].size_b)
		return 0;
	return symbols->ranges.base + symbols->ranges.entries[low - 1].start;
}

static const char *readable(struct sonde_symbols *symbols, struct sonde_name *name)
{
	if (!name->is_demangled) {
		name->is_demangled = 1;
		char *text = sonde_demangle(name->text);
		char *kept = text ? sonde_arena_strndup(&symbols->arena, text, strlen(text)) : NULL;
		name->text = kept ? kept : name->text;
		free(text);
	}
	return name->text;
}

static struct sonde_symbol_location *new_locations(struct sonde_symbols *symbols, size_t count,
						   struct sonde_symbol_result *result)
{
	struct sonde_symbol_location *locations = sonde_arena_alloc(&symbols->arena, count * sizeof *locations);
	if (locations)
		*result = (struct sonde_symbol_result){locations, count};
	return locations;
}

/* The chain of inlined functions of a span. */
static int resolve_span(struct sonde_symbols *symbols, const struct sonde_index_span *span,
			struct sonde_symbol_result *result)
{
	const struct sonde_index *index = &symbols->index;
	size_t count = 0;
	for (uint32_t node = span->node; node != SONDE_INDEX_NONE && count < INLINE_MAX; count++)
		node = index->nodes[node].parent;
	struct sonde_symbol_location *locations = new_locations(symbols, count, result);
	if (!locations)
		return sonde_error(ENOMEM, "out of memory for symbols");
	uint32_t file = span->file, line = span->line, node = span->node;
	for (size_t i = 0; i < count; i++) {
		const struct sonde_index_node *from = &index->nodes[node];
		locations[i] = (struct sonde_symbol_location){.function = sonde_texts_get(&index->texts, from->name),
							      .file = sonde_texts_get(&index->texts, file),
							      .line = line,
							      .start_line = from->start_line,
							      .start = from->start};
		file = from->call_file;
		line = from->call_line;
		node = from->parent;
	}
	return 0;
}

/* A symbol, or the call-frame range of a function without a name; file and line still may come from a line table. */
static int resolve_name(struct sonde_symbols *symbols, uint64_t address, const struct sonde_index_span *span,
			struct sonde_symbol_result *result)
{
	struct sonde_symbol_location location = {0};
	int error = read_names(symbols);
	if (error)
		return error;
	struct sonde_name *name = sonde_names_find(&symbols->names, address);
	uint64_t range = !name || !name->size_b ? range_start(symbols, address) : 0;
	/* A symbol without a size does not reach into the next function. */
	if (name && range <= name->start) {
		location.function = readable(symbols, name);
		location.start = name->start;
	} else {
		location.start = range;
	}
	if (span && span->file) {
		location.file = sonde_texts_get(&symbols->index.texts, span->file);
		location.line = span->line;
	}
	*result = (struct sonde_symbol_result){0};
	if (!location.start && !location.function && !location.file)
		return 0;
	struct sonde_symbol_location *locations = new_locations(symbols, 1, result);
	if (!locations)
		return sonde_error(ENOMEM, "out of memory for symbols");
	*locations = location;
	return 0;
}

int sonde_symbols_resolve(struct sonde_symbols *symbols, const uint64_t *addresses, size_t count,
			  struct sonde_symbol_result *results)
{
	const struct sonde_index_span *last = NULL;
	int error = read_units(symbols, addresses, count);
	for (size_t i = 0; !error && i < count; i++) {
		const struct sonde_index_segment *segment = sonde_index_segment(&symbols->index, addresses[i]);
		const struct sonde_index_span *span =
		    segment ? sonde_index_span(&symbols->index, segment, addresses[i]) : NULL;
		int has_function = span && span->node != SONDE_INDEX_NONE;
		if (has_function && span == last)
			results[i] = results[i - 1];
		else if (has_function)
			error = resolve_span(symbols, span, &results[i]);
		else
			error = resolve_name(symbols, addresses[i], span, &results[i]);
		last = span;
	}
	return error;
}

int sonde_symbols_has_lines(const struct sonde_symbols *symbols)
{
	struct sonde_elf_section section;
	return symbols->index.segment_count || symbols->dwarf || symbols->debug.path ||
	       (symbols->has_file && !sonde_elf_section(&symbols->module, ".debug_line", &section));
}
