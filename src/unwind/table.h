/* table.h: compact call-frame tables: how to find the caller at every address of a module.
 *
 * A table is a sorted array of 12-byte rows, compiled from .eh_frame and .debug_frame by symbol/frames/cfi.c and mapped
 * from the cache file. Each row covers the addresses from its own up to the next row's. A row that needs expressions
 * stores the distance from the row to the expressions, so a copy of such a row is meaningless. A lookup takes no lock
 * and allocates nothing: it is usable in a signal handler of a target. A mapped file is checked once, when it is
 * opened: rows must be sorted, and kinds and sizes in range.
 */
#ifndef SONDE_UNWIND_TABLE_H
#define SONDE_UNWIND_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum sonde_unwind_kind {
	SONDE_UNWIND_NONE = 0,       /* no rule: outside every function with call-frame information */
	SONDE_UNWIND_SP = 1,         /* frame address = stack pointer + cfa_off */
	SONDE_UNWIND_FP = 2,         /* frame address = frame pointer + cfa_off */
	SONDE_UNWIND_PLT = 3,        /* the PLT's expression: sp + 8 + ((pc & 15) >= cfa_off ? 8 : 0) */
	SONDE_UNWIND_END = 4,        /* the return address is undefined: the thread's outermost function */
	SONDE_UNWIND_SIGNAL = 5,     /* signal trampoline: the registers lie in the frame that the kernel pushed */
	SONDE_UNWIND_EXPRESSION = 6, /* expressions (expression.h) cfa_off bytes after the row; 0: not supported */
	SONDE_UNWIND_FP_LOAD = 7,    /* realigned stack: frame address = *(fp + cfa_off), saved fp at fp + fp_off */
	SONDE_UNWIND_SP_LOAD = 8,    /* OpenSSL: frame address = *(sp + LOAD_FROM(cfa_off)) + LOAD_PLUS(cfa_off) */
	SONDE_UNWIND_KIND_COUNT = 9,
	SONDE_UNWIND_REGISTER = 32, /* plus a register's DWARF number: frame address = that register + cfa_off */
	SONDE_UNWIND_KIND_END = SONDE_UNWIND_REGISTER + 32,
};

static inline int sonde_unwind_kind_is_known(uint8_t kind)
{
	return kind < SONDE_UNWIND_KIND_COUNT || (kind >= SONDE_UNWIND_REGISTER && kind < SONDE_UNWIND_KIND_END);
}

/* Packs two offsets into one cfa_off; both are multiples of 8 within ±256 KB. */
#define SONDE_UNWIND_LOAD(from, plus) ((int32_t)((uint32_t)((from) / 8) << 16 | (uint16_t)((plus) / 8)))
#define SONDE_UNWIND_LOAD_FROM(cfa_off) ((int64_t)(int16_t)((uint32_t)(cfa_off) >> 16) * 8)
#define SONDE_UNWIND_LOAD_PLUS(cfa_off) ((int64_t)(int16_t)(uint32_t)(cfa_off)*8)

#define SONDE_UNWIND_FP_SAME INT16_MAX /* the caller's frame pointer is unchanged */
#define SONDE_UNWIND_FP_LOST INT16_MIN /* the frame pointer cannot be recovered here */
#define SONDE_UNWIND_RA_LINK UINT8_MAX /* the return address is still in the link register (aarch64 leaf code) */

struct sonde_unwind_row {
	uint32_t address; /* ELF virtual address − the table's base */
	int32_t cfa_off;
	int16_t fp_off;  /* the saved frame pointer lies at frame address + fp_off, or FP_SAME, FP_LOST */
	uint8_t kind;    /* enum sonde_unwind_kind */
	uint8_t ra_slot; /* the return address lies at frame address − 8 × ra_slot (x86-64: 1), or …RA_LINK */
};
_Static_assert(sizeof(struct sonde_unwind_row) == 12, "unwind row");

/* `rows` is borrowed from a mapping or a buffer; the expressions follow the rows there. */
struct sonde_unwind_table {
	const struct sonde_unwind_row *rows;
	size_t count;
	size_t expressions_b; /* a multiple of 4 */
	uint64_t base;        /* ELF virtual address that row addresses are relative to */
	const void *mapping;
	size_t mapping_b;
	const uint32_t *pages; /* first-level index (sonde_unwind_table_index()); NULL: none */
	size_t page_count;
	int has_pages; /* true if the index is part of the mapping */
};

/* The row that covers `address` (ELF virtual), or NULL. */
const struct sonde_unwind_row *sonde_unwind_table_find(const struct sonde_unwind_table *table, uint64_t address);

/* Maps a cache file read-only and validates it; 0, or a negative errno for a missing, foreign or damaged file. The file
 * must contain the same `build_id`. */
int sonde_unwind_table_map(struct sonde_unwind_table *out, int fd, const uint8_t *build_id, size_t build_id_b);
/* Maps sealed memory that its creator has already validated: only the header is checked. */
int sonde_unwind_table_map_sealed(struct sonde_unwind_table *out, int fd, const uint8_t *build_id, size_t build_id_b);
void sonde_unwind_table_unmap(struct sonde_unwind_table *table);

/* Builds the first-level index of a table that will be searched often; if memory is short, the table works without the
 * index. sonde_unwind_table_map() calls this. */
void sonde_unwind_table_index(struct sonde_unwind_table *table);

#define SONDE_UNWIND_FILE_MAGIC "SONDEUNW"
#define SONDE_UNWIND_FILE_VERSION 3
#define SONDE_UNWIND_FILE_SEALED 4 /* file version of tables in sealed memory, which end with the index */

/* Checksum of a cache file's rows and expressions; costs two multiplications per row. */
uint64_t sonde_unwind_table_check(const struct sonde_unwind_row *rows, size_t count, size_t expressions_b);

/* Header of a cache file; rows follow, then expressions. */
struct sonde_unwind_file {
	char magic[8]; /* "SONDEUNW" */
	uint32_t version;
	uint32_t arch; /* ELF e_machine */
	uint64_t base;
	uint64_t count;
	uint8_t build_id_b;
	uint8_t build_id[23];
	uint64_t check; /* sonde_unwind_table_check() */
	uint64_t expressions_b;
};
_Static_assert(sizeof(struct sonde_unwind_file) == 72, "unwind file");

#endif
