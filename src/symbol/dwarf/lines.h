/* lines.h: reads DWARF 2 to 5 line tables without libdw. */
#ifndef SONDE_SYMBOL_DWARF_LINES_H
#define SONDE_SYMBOL_DWARF_LINES_H

#include <elfutils/libdw.h>

#include "symbol/elf.h"
#include "symbol/texts.h"

/* .debug_line and .debug_line_str of a file; shared by the reading threads. */
struct sonde_dwarf_sections {
	uint8_t *line, *line_str;
	size_t line_b, line_str_b;
};

/* Missing sections are read as empty. */
void sonde_dwarf_sections_read(struct sonde_dwarf_sections *out, const struct sonde_elf *file);
void sonde_dwarf_sections_free(struct sonde_dwarf_sections *sections);

struct sonde_dwarf_file {
	const char *name;
	uint64_t folder;
	uint32_t text;
	uint32_t has_text;
};

/* A row, which holds for the code from `address` on, up to the next row. file UINT32_MAX: there is no code. */
struct sonde_dwarf_row {
	uint64_t address;
	uint32_t file, line;
};

struct sonde_dwarf_sequence {
	size_t first, count;
	uint64_t low;
};

/* Rows within a sequence ascend; sequences are sorted by their first row. */
struct sonde_dwarf_lines {
	unsigned version;
	const char *unit_folder;
	const char **folders;
	struct sonde_dwarf_file *files;
	struct sonde_dwarf_row *rows;
	struct sonde_dwarf_sequence *sequences;
	size_t folder_count, file_count, row_count, sequence_count;
	size_t folder_capacity, file_capacity, row_capacity, sequence_capacity;
};

/* A unit without a line table, or with a damaged one, has no rows. The only error is -ENOMEM. */
int sonde_dwarf_lines_read(struct sonde_dwarf_lines *out, const struct sonde_dwarf_sections *sections, Dwarf_Die *unit);
void sonde_dwarf_lines_free(struct sonde_dwarf_lines *lines);

/* The full path of the file with the number that rows and call sites use; id 0 if there is none. */
int sonde_dwarf_lines_file(struct sonde_dwarf_lines *lines, uint64_t number, struct sonde_texts *texts, uint32_t *out);

#endif
