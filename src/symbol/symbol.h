/* symbol.h: resolves addresses of a module to functions, inlined functions, files and lines.
 *
 * Addresses are resolved in batches, unique and sorted, so that one walk over a compile unit serves all of them. DWARF
 * is consulted first, only for the functions that contain the addresses (never the whole file), in parallel; then ELF
 * symbols; then the call-frame range of a stripped function. Results are cached by build-id. All texts live as long as
 * the struct sonde_symbols.
 *
 * 	sonde_symbols_open(&symbols, path, build_id, build_id_b, &options);
 * 	sonde_symbols_resolve(symbols, addresses, count, results); // addresses ascending
 * 	sonde_symbols_close(symbols); // frees all texts in results
 */
#ifndef SONDE_SYMBOL_SYMBOL_H
#define SONDE_SYMBOL_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

struct sonde_symbol_location {
	const char *function; /* demangled; NULL = unnamed */
	const char *file;     /* NULL = unknown */
	uint32_t line;        /* 0 = unknown */
	uint32_t start_line;  /* line where the function starts; 0 = unknown */
	uint64_t start;       /* start address of the machine function; 0 = unknown */
};

/* Innermost inlined function first; the last one is the function that contains the code. count = 0: nothing is known.
 * An unnamed function has one location with function NULL and the start of its call-frame range. */
struct sonde_symbol_result {
	const struct sonde_symbol_location *locations;
	size_t count;
	int is_dwarf_missing; /* the address's DWARF was not read (no time left, or not allowed): names only */
};

struct sonde_symbol_options {
	int no_dwarf;         /* ELF symbols only */
	int debuginfod;       /* query servers ($DEBUGINFOD_URLS) for missing debug files */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; after this time, only ELF symbols are used; 0 = no deadline */
	const char *root;     /* prefix such as "/proc/123/root" if the module is in another mount namespace; or NULL */
};

struct sonde_symbols;

/* Opens a module's file by path. `build_id` (its size may be 0) must match the file's, else -ESTALE: the file was
 * replaced. */
int sonde_symbols_open(struct sonde_symbols **out, const char *path, const uint8_t *build_id, size_t build_id_b,
		       const struct sonde_symbol_options *options);

/* Symbols of the running kernel (/proc/kallsyms); -EPERM if addresses are hidden. */
int sonde_symbols_kernel(struct sonde_symbols **out);

/* Symbols of generated code: /tmp/perf-PID.map (under `root`). -ENOENT if there is none. */
int sonde_symbols_perf_map(struct sonde_symbols **out, uint32_t pid, const char *root);

void sonde_symbols_close(struct sonde_symbols *symbols);

/* Fills results[i] for addresses[i]; addresses must be sorted ascending. Not thread-safe for the same `symbols`. */
int sonde_symbols_resolve(struct sonde_symbols *symbols, const uint64_t *addresses, size_t count,
			  struct sonde_symbol_result *results);

/* The CPU time in ns that reading the DWARF for the addresses will take, estimated from its size; 0 = the cache has all
 * of it. */
uint64_t sonde_symbols_price_ns(struct sonde_symbols *symbols, const uint64_t *addresses, size_t count);

/* From now on use cached DWARF only. */
void sonde_symbols_read_no_dwarf(struct sonde_symbols *symbols);

#endif
