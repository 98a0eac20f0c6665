/* lookup.c: sorts the stack nodes by module and address and resolves one module at a time.
 *
 * A module's file is opened by its path. If the path no longer leads to the file (the container is gone, the file was
 * deleted or replaced), the file is opened through a descriptor that has been kept open since the module was first
 * sampled.
 *
 * Names and cached data come first and are cheap. Reading DWARF that is not cached has a budget of CPU time, since
 * recording must stay cheap, and a reader of the recording can read the DWARF as well. A module that would cost more
 * than the rest of the budget gets names only, and its records say so. A file that readers will not find, because only
 * the kept descriptor leads to it, is read regardless of its cost.
 */
#include "source/record/lookup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "symbol/symbol.h"
#include "util/error.h"

#define ADDRESSES_A_BATCH 16384u
#define DWARF_SHARE 500u          /* budget: 1 / DWARF_SHARE of the commands' CPU time, 0.2 % */
#define DWARF_LEAST_NS 4000000ull /* minimum budget, for short runs */

struct place {
	uint64_t address;
	uint32_t module;
};

static int by_place(const void *left, const void *right)
{
	const struct place *a = left;
	const struct place *b = right;
	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* A direct-mapped cache of places already seen. Code occurs in many stacks, so this keeps most nodes out of the
 * sort. */
#define PLACES_KEPT 8192u /* a power of two */

static size_t keep_new(const struct sonde_trie *stacks, struct place *kept, struct place *out)
{
	size_t count = 0;
	for (uint32_t i = 0; i < stacks->node_count; i++) {
		struct place place = {stacks->nodes[i].address, stacks->nodes[i].module};
		struct place *before = &kept[sonde_hash_pair(place.address, place.module) % PLACES_KEPT];
		if (!by_place(before, &place))
			continue;
		*before = out[count++] = place;
	}
	return count;
}

/* Stores all sampled places, sorted and without duplicates. Returns their number; 0 also when out of memory (*out
 * NULL). */
static size_t places(const struct sonde_trie *stacks, struct place **out)
{
	*out = NULL;
	struct place *all = stacks->node_count ? malloc(stacks->node_count * sizeof *all) : NULL;
	struct place *kept = calloc(PLACES_KEPT, sizeof *kept);
	if (!all || !kept) {
		free(all);
		free(kept);
		return 0;
	}
	size_t some = keep_new(stacks, kept, all), count = 0;
	free(kept);
	qsort(all, some, sizeof *all, by_place);
	for (size_t i = 0; i < some; i++)
		if (!count || by_place(&all[count - 1], &all[i]))
			all[count++] = all[i];
	*out = all;
	return count;
}

/* True if a path still leads to the file that was sampled. */
static int is_same_file(const char *path, int fd)
{
	struct stat by_path, by_fd;
	return !stat(path, &by_path) && !fstat(fd, &by_fd) && by_path.st_dev == by_fd.st_dev &&
	       by_path.st_ino == by_fd.st_ino;
}

/* Opens the file of a module. Sets `is_kept` if readers will not find the file. A file found by its path is accepted if
 * its build-id matches; a module without a build-id needs the very file that was sampled. */
static int open_symbols(const struct sonde_trie *stacks, const struct sonde_stack_module *module,
			const struct sonde_symbol_options *options, struct sonde_symbols **out, int *is_kept)
{
	*is_kept = 0;
	if (module->flags & SONDE_MODULE_KERNEL)
		return sonde_symbols_kernel(out);
	if (module->flags & SONDE_MODULE_ANONYMOUS)
		return sonde_symbols_perf_map(out, (uint32_t)module->root_pid, NULL);
	if ((module->flags & SONDE_MODULE_SPECIAL) || !module->path)
		return -ENOENT;
	const char *path = stacks->strings->rows[module->path - 1].text;
	int is_proved = module->build_id_b || module->fd < 0 || is_same_file(path, module->fd);
	int rc = is_proved ? sonde_symbols_open(out, path, module->build_id, module->build_id_b, options) : -ESTALE;
	if (!rc || module->fd < 0)
		return rc;
	char kept[64];
	snprintf(kept, sizeof kept, "/proc/self/fd/%d", module->fd);
	*is_kept = 1;
	return sonde_symbols_open(out, kept, module->build_id, module->build_id_b, options);
}

/* The budget for reading DWARF: a share of the CPU time of the child processes that have ended. */
static uint64_t dwarf_budget_ns(void)
{
	struct rusage usage;
	if (getrusage(RUSAGE_CHILDREN, &usage))
		return DWARF_LEAST_NS;
	uint64_t used_us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000u +
			   (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
	uint64_t share_ns = used_us * 1000u / DWARF_SHARE;
	return share_ns > DWARF_LEAST_NS ? share_ns : DWARF_LEAST_NS;
}

static uint32_t intern(struct sonde_trie *stacks, const char *text)
{
	return text ? sonde_strings_intern(stacks->strings, text, strlen(text)) : 0;
}

static int write_symbol(struct sonde_trie *stacks, const struct place *place, const struct sonde_symbol_result *result)
{
	struct sonde_meta_location rows[64];
	size_t count = result->count < 64 ? result->count : 64;
	for (size_t i = 0; i < count; i++) {
		const struct sonde_symbol_location *from = &result->locations[i];
		rows[i] = (struct sonde_meta_location){
		    .function = intern(stacks, from->function),
		    .file = intern(stacks, from->file),
		    .line = from->line,
		    .start_line = from->start_line,
		    .start = from->start,
		};
	}
	struct sonde_meta_symbol record = {
	    .head = {.type = SONDE_META_SYMBOL, .reserved = result->is_dwarf_missing ? SONDE_SYMBOL_NAMES_ONLY : 0},
	    .module = place->module,
	    .count = (uint32_t)count,
	    .address = place->address,
	};
	return sonde_writer_meta(stacks->writer, &record, sizeof record, rows, count * sizeof *rows);
}

/* Deducts the estimated cost from the budget, or forbids reading DWARF if it exceeds the budget. */
static void pay(struct sonde_symbols *symbols, const uint64_t *addresses, size_t count, uint64_t *budget_ns)
{
	uint64_t price_ns = sonde_symbols_price_ns(symbols, addresses, count);
	if (price_ns <= *budget_ns)
		*budget_ns -= price_ns;
	else
		sonde_symbols_read_no_dwarf(symbols);
}

/* Resolves places of one module, sorted by address. budget_ns NULL: no limit. */
static int resolve_batch(struct sonde_trie *stacks, struct sonde_symbols *symbols, const struct place *places,
			 size_t count, uint64_t *budget_ns)
{
	uint64_t *addresses = malloc(count * sizeof *addresses);
	struct sonde_symbol_result *results = calloc(count, sizeof *results);
	int rc = addresses && results ? 0 : sonde_error(ENOMEM, "out of memory for %zu symbols", count);
	for (size_t i = 0; !rc && i < count; i++)
		addresses[i] = places[i].address;
	if (!rc && budget_ns)
		pay(symbols, addresses, count, budget_ns);
	if (!rc)
		rc = sonde_symbols_resolve(symbols, addresses, count, results);
	for (size_t i = 0; !rc && i < count; i++)
		rc = write_symbol(stacks, &places[i], &results[i]);
	free(addresses);
	free(results);
	return rc;
}

int sonde_lookup_symbols(struct sonde_trie *stacks, uint64_t deadline_ns, int debuginfod)
{
	struct sonde_symbol_options options = {.deadline_ns = deadline_ns, .debuginfod = debuginfod};
	struct place *all;
	uint64_t budget_ns = dwarf_budget_ns();
	size_t count = places(stacks, &all);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i; next < count && all[next].module == all[i].module; next++)
			;
		struct sonde_symbols *symbols;
		uint32_t module = all[i].module;
		int is_kept;
		if (!module || module > stacks->module_count ||
		    open_symbols(stacks, &stacks->modules[module - 1], &options, &symbols, &is_kept))
			continue;
		for (size_t at = i; at < next; at += ADDRESSES_A_BATCH) {
			size_t batch = next - at < ADDRESSES_A_BATCH ? next - at : ADDRESSES_A_BATCH;
			if (resolve_batch(stacks, symbols, &all[at], batch, is_kept ? NULL : &budget_ns))
				break;
		}
		sonde_symbols_close(symbols);
	}
	free(all);
	return sonde_writer_error(stacks->writer);
}
