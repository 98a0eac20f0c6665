/* symbols.c: combines a module's index, ELF symbols and call-frame ranges (symbol.h).
 *
 * Everything is opened when the first address needs it: a module whose units are all cached opens no DWARF, and one
 * whose functions all have DWARF reads no symbol table. Where DWARF covers an address its names win, because it
 * describes inlining and attributes split and cloned functions (".cold", ".part.0") to the function that they come
 * from.
 */
#include "symbol/symbol.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/hash.h"
#include "symbol/frames/cfi_entries.h"
#include "symbol/dwarf/debugfile.h"
#include "symbol/demangle.h"
#include "symbol/dwarf/dwarf.h"
#include "symbol/elf_symbols.h"
#include "symbol/index.h"
#include "symbol/kernel.h"
#include "symbol/maps.h"
#include "symbol/names.h"
#include "util/arena.h"
#include "util/error.h"

#define INLINE_MAX 256
#define KERNEL_LIST_NS (600 * 1000000000ull) /* the cached list is reread for unknown code once it is this old */
#define UNIT_TYPICAL_B (16u << 10)

struct sonde_symbols {
	struct sonde_arena arena; /* results and demangled names */
	struct sonde_symbol_options options;
	int has_file; /* 1 = a module with a file; 0 = only names (kernel, perf map) */
	struct sonde_elf module;
	struct sonde_elf debug; /* path NULL: none */
	int is_kernel, reads_no_dwarf;
	int has_looked_for_debug, has_read_names, has_read_ranges;
	struct sonde_name_table names;
	struct sonde_name_table ranges; /* call-frame ranges, without texts */
	const struct sonde_name_entry *last_name;
	const char *last_text; /* its demangled form */
	struct sonde_index index;
	struct sonde_dwarf *dwarf;
};

static int new_symbols(struct sonde_symbols **out)
{
	*out = calloc(1, sizeof **out);
	return *out ? 0 : sonde_error(ENOMEM, "out of memory for symbols");
}

/* Section headers come last in the image. */
static size_t vdso_size_b(const Elf64_Ehdr *image)
{
	return image->e_shoff + (size_t)image->e_shnum * image->e_shentsize;
}

/* Opens a module's file. [vdso] is taken from our own memory, since it is the same image in every process. */
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
	int rc = new_symbols(&symbols);
	if (rc)
		return rc;
	if (options)
		symbols->options = *options;
	rc = open_module(&symbols->module, path, symbols->options.root);
	symbols->has_file = !rc;
	if (!rc && build_id_b &&
	    (build_id_b != symbols->module.build_id_b || memcmp(build_id, symbols->module.build_id, build_id_b)))
		rc = sonde_error(ESTALE, "%s: the file is not the recorded one (another build-id)", path);
	if (!rc && symbols->options.root) {
		symbols->options.root = sonde_arena_strndup(&symbols->arena, options->root, strlen(options->root));
		rc = symbols->options.root ? 0 : -ENOMEM;
	}
	if (!rc && !symbols->options.no_dwarf)
		sonde_index_load(&symbols->index, symbols->module.build_id, symbols->module.build_id_b);
	if (rc) {
		sonde_symbols_close(symbols);
		return rc;
	}
	*out = symbols;
	return 0;
}

int sonde_symbols_kernel(struct sonde_symbols **out)
{
	struct sonde_symbols *symbols;
	int rc = new_symbols(&symbols);
	if (rc)
		return rc;
	rc = sonde_kernel_names(&symbols->names, 0);
	if (rc) {
		sonde_symbols_close(symbols);
		return rc;
	}
	symbols->is_kernel = symbols->has_read_names = 1;
	*out = symbols;
	return 0;
}

int sonde_symbols_perf_map(struct sonde_symbols **out, uint32_t pid, const char *root)
{
	char path[PATH_MAX];
	if (snprintf(path, sizeof path, "%s/tmp/perf-%u.map", root ? root : "", pid) >= (int)sizeof path)
		return sonde_error(ENAMETOOLONG, "%s: the path is too long", root);
	struct sonde_names names = {0};
	struct sonde_symbols *symbols = NULL;
	int rc = sonde_maps_perf(&names, path);
	if (!rc)
		rc = new_symbols(&symbols);
	if (!rc)
		rc = sonde_name_table_pack(&symbols->names, &names);
	sonde_names_fini(&names);
	if (rc) {
		sonde_symbols_close(symbols);
		return rc;
	}
	symbols->has_read_names = 1;
	*out = symbols;
	return 0;
}

void sonde_symbols_close(struct sonde_symbols *symbols)
{
	if (!symbols)
		return;
	sonde_dwarf_close(symbols->dwarf);
	sonde_index_fini(&symbols->index);
	sonde_name_table_fini(&symbols->names);
	sonde_name_table_fini(&symbols->ranges);
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

/* The file that contains the module's DWARF, if any. */
static const struct sonde_elf *dwarf_file(struct sonde_symbols *symbols)
{
	look_for_debug(symbols);
	return symbols->debug.path ? &symbols->debug : &symbols->module;
}

static int needs_units(const struct sonde_symbols *symbols, const uint64_t *addresses, size_t count)
{
	if (!symbols->has_file || symbols->options.no_dwarf)
		return 0;
	for (size_t i = 0; i < count; i++) {
		if (sonde_index_is_missing(&symbols->index, addresses[i]))
			return 1;
	}
	return 0;
}

static int collect_names(struct sonde_names *out, const struct sonde_symbols *symbols)
{
	int rc = sonde_elf_symbols_read(out, &symbols->module, &symbols->module);
	if (!rc)
		rc = sonde_elf_symbols_packed(out, &symbols->module);
	if (!rc && symbols->debug.path)
		rc = sonde_elf_symbols_read(out, &symbols->debug, &symbols->module);
	return rc;
}

/* Identifies the debug file that added names: 0 for none. */
static uint64_t names_source(const struct sonde_symbols *symbols)
{
	struct stat facts;
	if (!symbols->debug.path || fstat(symbols->debug.fd, &facts))
		return 0;
	return sonde_hash_pair((uint64_t)facts.st_size, (uint64_t)facts.st_mtim.tv_sec) | 1;
}

/* Loads the table from the cache, or else collects, sorts and caches the names. */
static int open_table(struct sonde_name_table *out, const struct sonde_symbols *symbols, const char *kind,
		      uint64_t source, int (*collect)(struct sonde_names *, const struct sonde_symbols *))
{
	const struct sonde_cache_key key = {symbols->module.build_id, symbols->module.build_id_b, kind};
	struct sonde_names names = {0};
	if (!sonde_name_table_load(out, &key, source))
		return 0;
	int rc = collect(&names, symbols);
	sonde_names_sort(&names);
	if (!rc)
		rc = sonde_name_table_pack(out, &names);
	sonde_names_fini(&names);
	if (!rc)
		sonde_name_table_store(out, &key, source);
	return rc;
}

static int read_names(struct sonde_symbols *symbols)
{
	if (symbols->has_read_names)
		return 0;
	symbols->has_read_names = 1;
	look_for_debug(symbols);
	return open_table(&symbols->names, symbols, "names", names_source(symbols), collect_names);
}

/* Reads the units that the addresses need. Without DWARF the index stays empty. */
static int read_units(struct sonde_symbols *symbols, const uint64_t *addresses, size_t count)
{
	uint64_t deadline_ns = symbols->options.deadline_ns;
	if (symbols->reads_no_dwarf || !needs_units(symbols, addresses, count) ||
	    (deadline_ns && sonde_clock_now_ns() >= deadline_ns))
		return 0;
	const struct sonde_elf *file = dwarf_file(symbols);
	int rc = symbols->dwarf ? 0 : sonde_dwarf_open(&symbols->dwarf, file);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	rc = sonde_dwarf_read(symbols->dwarf, &symbols->index, addresses, count, deadline_ns);
	if (!rc && symbols->index.is_changed) {
		symbols->index.is_changed = 0;
		sonde_index_store(&symbols->index, symbols->module.build_id, symbols->module.build_id_b);
	}
	return rc;
}

static int collect_ranges(struct sonde_names *out, const struct sonde_symbols *symbols)
{
	struct sonde_cfi_entries entries;
	if (sonde_cfi_entries_read(&entries, &symbols->module))
		return 0;
	int rc = 0;
	for (size_t i = 0; !rc && i < entries.count; i++) {
		struct sonde_name name = {entries.base + entries.entries[i].start, entries.entries[i].size_b, "", 0};
		rc = name.size_b ? sonde_names_add(out, &name) : 0;
	}
	sonde_cfi_entries_free(&entries);
	return rc;
}

/* Start of the call-frame range that covers an address; 0 = none. */
static uint64_t range_start(struct sonde_symbols *symbols, uint64_t address)
{
	if (!symbols->has_file)
		return 0;
	if (!symbols->has_read_ranges &&
	    open_table(&symbols->ranges, symbols, "ranges", symbols->module.frame_header.size_b, collect_ranges))
		symbols->ranges = (struct sonde_name_table){0};
	symbols->has_read_ranges = 1;
	const struct sonde_name_entry *range = sonde_name_table_find(&symbols->ranges, address);
	return range ? range->start : 0;
}

/* Finds the name of an address. Code that was loaded after the kernel's list was cached is missing from the list, so
 * the list is read again for unknown code, but only if it is old. */
static const struct sonde_name_entry *find_name(struct sonde_symbols *symbols, uint64_t address)
{
	const struct sonde_name_entry *entry = sonde_name_table_find(&symbols->names, address);
	struct sonde_name_table anew;
	if (entry || !symbols->is_kernel || symbols->names.age_ns < KERNEL_LIST_NS || sonde_kernel_names(&anew, 1))
		return entry;
	sonde_name_table_fini(&symbols->names);
	symbols->names = anew;
	symbols->last_name = NULL;
	return sonde_name_table_find(&symbols->names, address);
}

/* The readable form of a name. It is a copy in the arena, because the table may be read again. */
static const char *readable(struct sonde_symbols *symbols, const struct sonde_name_entry *name)
{
	if (name != symbols->last_name) {
		const char *plain = sonde_name_table_text(&symbols->names, name);
		char *text = sonde_demangle(plain);
		plain = text ? text : plain;
		symbols->last_text = sonde_arena_strndup(&symbols->arena, plain, strlen(plain));
		symbols->last_name = name;
		free(text);
	}
	return symbols->last_text;
}

static struct sonde_symbol_location *new_locations(struct sonde_symbols *symbols, size_t count,
						   struct sonde_symbol_result *result)
{
	struct sonde_symbol_location *locations = sonde_arena_alloc(&symbols->arena, count * sizeof *locations);
	if (locations)
		*result = (struct sonde_symbol_result){.locations = locations, .count = count};
	return locations;
}

/* Resolves a span's chain of inlined functions. */
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

/* Resolves an address to a symbol, or to the call-frame range of an unnamed function. File and line are added if a line
 * table has them. */
static int resolve_name(struct sonde_symbols *symbols, uint64_t address, const struct sonde_index_span *span,
			struct sonde_symbol_result *result)
{
	struct sonde_symbol_location location = {0};
	int rc = read_names(symbols);
	if (rc)
		return rc;
	const struct sonde_name_entry *name = find_name(symbols, address);
	uint64_t range = !name || !name->size_b ? range_start(symbols, address) : 0;
	/* A symbol without a size must not extend into the next function. */
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

static int has_dwarf(struct sonde_symbols *symbols)
{
	struct sonde_elf_section info;
	return !sonde_elf_section(dwarf_file(symbols), ".debug_info", &info) && info.type != SHT_NOBITS;
}

/* Rough estimates: decompression takes 4 ns per byte of the file, listing units 0.5 ns, and reading units 10 ns per
 * byte of the units. */
uint64_t sonde_symbols_price_ns(struct sonde_symbols *symbols, const uint64_t *addresses, size_t count)
{
	struct sonde_elf_section info;
	uint64_t price_ns = 200000, units_b = 0, last = UINT64_MAX;
	if (!needs_units(symbols, addresses, count) || sonde_elf_section(dwarf_file(symbols), ".debug_info", &info) ||
	    info.type == SHT_NOBITS)
		return 0;
	if (info.flags & SHF_COMPRESSED)
		price_ns += info.size_b * 16;
	if (!symbols->index.unit_count)
		price_ns += info.size_b / 2;
	for (size_t i = 0; i < count; i++) {
		const struct sonde_index_unit *unit = sonde_index_unit(&symbols->index, addresses[i]);
		if (!sonde_index_is_missing(&symbols->index, addresses[i]) || (unit && unit->entry == last))
			continue;
		units_b += unit ? unit->size_b : UNIT_TYPICAL_B;
		last = unit ? unit->entry : UINT64_MAX;
	}
	uint64_t most_b = info.flags & SHF_COMPRESSED ? info.size_b * 4 : info.size_b;
	return price_ns + (units_b < most_b ? units_b : most_b) * 10;
}

void sonde_symbols_read_no_dwarf(struct sonde_symbols *symbols)
{
	symbols->reads_no_dwarf = 1;
}

int sonde_symbols_resolve(struct sonde_symbols *symbols, const uint64_t *addresses, size_t count,
			  struct sonde_symbol_result *results)
{
	const struct sonde_index_span *last = NULL;
	int rc = read_units(symbols, addresses, count);
	int may_lack = !rc && needs_units(symbols, addresses, count) && has_dwarf(symbols);
	for (size_t i = 0; !rc && i < count; i++) {
		const struct sonde_index_segment *segment = sonde_index_segment(&symbols->index, addresses[i]);
		const struct sonde_index_span *span =
		    segment ? sonde_index_span(&symbols->index, segment, addresses[i]) : NULL;
		int has_function = span && span->node != SONDE_INDEX_NONE;
		if (has_function && span == last)
			results[i] = results[i - 1];
		else if (has_function)
			rc = resolve_span(symbols, span, &results[i]);
		else
			rc = resolve_name(symbols, addresses[i], span, &results[i]);
		results[i].is_dwarf_missing = may_lack && sonde_index_is_missing(&symbols->index, addresses[i]);
		last = span;
	}
	return rc;
}
