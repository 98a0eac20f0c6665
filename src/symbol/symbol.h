/* symbol.h: from addresses of a module to functions, inlined functions, files and lines.
 *
 * Addresses are resolved in batches: unique and sorted, so that one walk over a compile unit serves all of them. DWARF
 * comes first, of the functions that were hit (never of the whole file), in parallel; then ELF symbols, then the
 * call-frame range of a stripped function. What was read is cached by build-id. All texts live as long as the struct
 * sonde_symbols.
 */
#ifndef SONDE_SYMBOL_SYMBOL_H
#define SONDE_SYMBOL_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

struct sonde_symbol_location {
	const char *function; /* demangled; NULL = unnamed */
	const char *file;     /* NULL = not known */
	uint32_t line;        /* 0 = not known */
	uint32_t start_line;  /* of the function; 0 = not known */
	uint64_t start;       /* where the machine function begins; 0 = not known */
};

/* Innermost inlined function first; the last is the function that holds the code. count = 0: nothing is known. An
 * unnamed function has one location with function NULL and its call-frame range's start. */
struct sonde_symbol_result {
	const struct sonde_symbol_location *locations;
	size_t count;
	int lacks_dwarf; /* there is DWARF for the address that was not read (too late, or not allowed): names only */
};

struct sonde_symbol_options {
	int no_dwarf;         /* ELF symbols only */
	int debuginfod;       /* ask servers ($DEBUGINFOD_URLS) for missing debug files */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC: after it only ELF symbols; 0 = none */
	const char *root; /* "/proc/123/root" before path, where the module lies in another mount namespace; or NULL */
};

struct sonde_symbols;

/* A module's file by path; `build_id` (may be of size 0) must match the file's, else -ESTALE: the file was replaced. */
int sonde_symbols_open(struct sonde_symbols **out, const char *path, const uint8_t *build_id, size_t build_id_b,
		       const struct sonde_symbol_options *options);

/* Symbols of the running kernel (/proc/kallsyms), -EPERM where addresses are hidden. */
int sonde_symbols_kernel(struct sonde_symbols **out);

/* Symbols of generated code: /tmp/perf-PID.map (under `root`). -ENOENT where there is none. */
int sonde_symbols_perf_map(struct sonde_symbols **out, uint32_t pid, const char *root);

void sonde_symbols_close(struct sonde_symbols *symbols);

/* Fills results[i] for addresses[i]; addresses must be sorted ascending. Not thread-safe for one `symbols`. */
int sonde_symbols_resolve(struct sonde_symbols *symbols, const uint64_t *addresses, size_t count,
			  struct sonde_symbol_result *results);

/* What reading the DWARF that the cache lacks for the addresses would cost: an estimate from its size, in ns of CPU
 * time; 0 = it lacks nothing. */
uint64_t sonde_symbols_price_ns(struct sonde_symbols *symbols, const uint64_t *addresses, size_t count);

/* From now on: of DWARF only what is cached. */
void sonde_symbols_read_no_dwarf(struct sonde_symbols *symbols);

/* Whether line tables were found (the file's own or a separate debug file's). */
int sonde_symbols_has_lines(const struct sonde_symbols *symbols);

#endif
