/* lines.c: runs line number programs (DWARF 5 section 6.2; versions 2 to 4 have a different header).
 *
 * libdw allocates every row separately and sorts all of them, which takes longer than reading the rest of a unit. Here,
 * rows go into one array, and only sequences are sorted. Every row takes at least one byte of the program, so the
 * file's size limits the memory. Rows whose address is lower than the previous one's are dropped.
 */
#include "symbol/dwarf/lines.h"

#include <dwarf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/frames/cfi_cursor.h"
#include "util/array.h"
#include "util/error.h"

#define SECTION_MAX_B ((size_t)2 << 30)
#define FORMATS_MAX 16
#define NO_FILE UINT32_MAX

struct header {
	unsigned offset_b, min_step, line_range, opcode_base;
	int line_base;
	uint8_t operands[256]; /* of the standard opcodes */
	struct sonde_cfi_cursor program;
};

struct machine {
	uint64_t address, line, file;
	size_t first; /* first row of the current sequence */
};

void sonde_dwarf_sections_read(struct sonde_dwarf_sections *out, const struct sonde_elf *file)
{
	struct sonde_elf_section section;
	*out = (struct sonde_dwarf_sections){0};
	if (!sonde_elf_section(file, ".debug_line", &section))
		sonde_elf_section_read(file, &section, SECTION_MAX_B, &out->line, &out->line_b);
	if (!sonde_elf_section(file, ".debug_line_str", &section))
		sonde_elf_section_read(file, &section, SECTION_MAX_B, &out->line_str, &out->line_str_b);
}

void sonde_dwarf_sections_free(struct sonde_dwarf_sections *sections)
{
	free(sections->line);
	free(sections->line_str);
}

static int grow(void *array, size_t count, size_t *capacity, size_t each_b)
{
	if (sonde_array_reserve(array, capacity, count + 1, each_b))
		return sonde_error(ENOMEM, "out of memory for %zu entries of a line table", count + 1);
	return 0;
}

static int add_folder(struct sonde_dwarf_lines *lines, const char *name)
{
	int rc = grow(&lines->folders, lines->folder_count, &lines->folder_capacity, sizeof *lines->folders);
	if (!rc)
		lines->folders[lines->folder_count++] = name;
	return rc;
}

static int add_file(struct sonde_dwarf_lines *lines, const char *name, uint64_t folder)
{
	int rc = grow(&lines->files, lines->file_count, &lines->file_capacity, sizeof *lines->files);
	if (!rc)
		lines->files[lines->file_count++] = (struct sonde_dwarf_file){.name = name, .folder = folder};
	return rc;
}

static const char *read_text(struct sonde_cfi_cursor *cursor)
{
	const uint8_t *text = cursor->at, *end = memchr(text, 0, sonde_cfi_left(cursor));
	if (!end) {
		sonde_cfi_fail(cursor);
		return "";
	}
	cursor->at = end + 1;
	return (const char *)text;
}

/* Stores a number in *value or a text in *text; texts in .debug_str, which no compiler uses here, are empty. */
static void read_form(struct sonde_cfi_cursor *cursor, const struct sonde_dwarf_sections *sections, unsigned offset_b,
		      uint64_t form, const char **text, uint64_t *value)
{
	switch (form) {
	case DW_FORM_string:
		*text = read_text(cursor);
		return;
	case DW_FORM_line_strp:
		*value = sonde_cfi_fixed(cursor, offset_b);
		if (*value < sections->line_str_b &&
		    memchr(sections->line_str + *value, 0, sections->line_str_b - *value))
			*text = (const char *)sections->line_str + *value;
		return;
	case DW_FORM_strp:
		sonde_cfi_fixed(cursor, offset_b);
		return;
	case DW_FORM_udata:
		*value = sonde_cfi_uleb(cursor);
		return;
	case DW_FORM_data1:
		*value = sonde_cfi_byte(cursor);
		return;
	case DW_FORM_data2:
		*value = sonde_cfi_fixed(cursor, 2);
		return;
	case DW_FORM_data4:
		*value = sonde_cfi_fixed(cursor, 4);
		return;
	case DW_FORM_data8:
		*value = sonde_cfi_fixed(cursor, 8);
		return;
	case DW_FORM_data16:
		sonde_cfi_sub(cursor, 16);
		return;
	case DW_FORM_block:
		sonde_cfi_sub(cursor, sonde_cfi_uleb(cursor));
		return;
	default:
		sonde_cfi_fail(cursor);
	}
}

/* Version 5 tables of directories or files: entry formats, then entries. */
static int read_table(struct sonde_dwarf_lines *lines, struct sonde_cfi_cursor *cursor,
		      const struct sonde_dwarf_sections *sections, unsigned offset_b, int is_files)
{
	uint64_t formats[FORMATS_MAX][2];
	unsigned format_count = sonde_cfi_byte(cursor);
	if (format_count > FORMATS_MAX)
		sonde_cfi_fail(cursor);
	for (unsigned i = 0; i < format_count && !cursor->bad; i++) {
		formats[i][0] = sonde_cfi_uleb(cursor);
		formats[i][1] = sonde_cfi_uleb(cursor);
	}
	uint64_t count = sonde_cfi_uleb(cursor);
	int rc = 0;
	if (!format_count)
		return 0;
	for (uint64_t i = 0; i < count && !cursor->bad && sonde_cfi_left(cursor) && !rc; i++) {
		const char *name = "", *text;
		uint64_t folder = 0, value;
		for (unsigned k = 0; k < format_count; k++) {
			text = "";
			value = 0;
			read_form(cursor, sections, offset_b, formats[k][1], &text, &value);
			name = formats[k][0] == DW_LNCT_path ? text : name;
			folder = formats[k][0] == DW_LNCT_directory_index ? value : folder;
		}
		rc = is_files ? add_file(lines, name, folder) : add_folder(lines, name);
	}
	return rc;
}

/* Versions 2 to 4: lists that end with an empty text. Directory 0 and file 0 are those of the unit. */
static int read_lists(struct sonde_dwarf_lines *lines, struct sonde_cfi_cursor *cursor, const char *unit_name)
{
	int rc = add_folder(lines, lines->unit_folder);
	for (const char *name; !rc && *(name = read_text(cursor));)
		rc = add_folder(lines, name);
	if (!rc)
		rc = add_file(lines, unit_name ? unit_name : "", 0);
	for (const char *name; !rc && *(name = read_text(cursor));) {
		uint64_t folder = sonde_cfi_uleb(cursor);
		sonde_cfi_uleb(cursor); /* modification time */
		sonde_cfi_uleb(cursor); /* size */
		rc = add_file(lines, name, folder);
	}
	return rc;
}

/* Reads the fixed part; the rest of the header remains in `tables`. -EBADMSG if it is not a line table. */
static int read_header(struct sonde_dwarf_lines *lines, struct header *out, struct sonde_cfi_cursor cursor,
		       struct sonde_cfi_cursor *tables)
{
	uint64_t length = sonde_cfi_fixed(&cursor, 4);
	out->offset_b = length == UINT32_MAX ? 8 : 4;
	if (length == UINT32_MAX)
		length = sonde_cfi_fixed(&cursor, 8);
	struct sonde_cfi_cursor unit = sonde_cfi_sub(&cursor, length);
	lines->version = (unsigned)sonde_cfi_fixed(&unit, 2);
	if (lines->version < 2 || lines->version > 5)
		return -EBADMSG;
	if (lines->version == 5)
		sonde_cfi_fixed(&unit, 2); /* address size and segment selector size */
	uint64_t header_b = sonde_cfi_fixed(&unit, out->offset_b);
	*tables = sonde_cfi_sub(&unit, header_b);
	out->program = unit;
	out->min_step = sonde_cfi_byte(tables);
	if (lines->version >= 4)
		sonde_cfi_byte(tables); /* maximum operations per instruction: 1 on supported machines */
	sonde_cfi_byte(tables);         /* default_is_stmt */
	out->line_base = (int8_t)sonde_cfi_byte(tables);
	out->line_range = sonde_cfi_byte(tables);
	out->opcode_base = sonde_cfi_byte(tables);
	for (unsigned i = 1; i < out->opcode_base; i++)
		out->operands[i] = sonde_cfi_byte(tables);
	return cursor.bad || unit.bad || tables->bad || !out->line_range || !out->opcode_base ? -EBADMSG : 0;
}

/* Adds a row, which replaces the last row if that has the same address. A row with the same file and line as the row
 * before it is skipped. */
static int add_row(struct sonde_dwarf_lines *lines, const struct machine *machine, uint32_t file)
{
	struct sonde_dwarf_row row = {machine->address, file, file == NO_FILE ? 0 : (uint32_t)machine->line};
	size_t count = lines->row_count;
	if (count > machine->first && row.address < lines->rows[count - 1].address)
		return 0;
	if (count > machine->first && row.address == lines->rows[count - 1].address)
		count = --lines->row_count;
	if (count > machine->first && row.file == lines->rows[count - 1].file &&
	    row.line == lines->rows[count - 1].line)
		return 0;
	int rc = grow(&lines->rows, lines->row_count, &lines->row_capacity, sizeof *lines->rows);
	if (!rc)
		lines->rows[lines->row_count++] = row;
	return rc;
}

static int end_sequence(struct sonde_dwarf_lines *lines, struct machine *machine)
{
	int rc = add_row(lines, machine, NO_FILE);
	if (!rc)
		rc =
		    grow(&lines->sequences, lines->sequence_count, &lines->sequence_capacity, sizeof *lines->sequences);
	if (!rc && lines->row_count > machine->first)
		lines->sequences[lines->sequence_count++] = (struct sonde_dwarf_sequence){
		    machine->first, lines->row_count - machine->first, lines->rows[machine->first].address};
	*machine = (struct machine){.line = 1, .file = 1, .first = lines->row_count};
	return rc;
}

static int run_extended(struct sonde_dwarf_lines *lines, struct machine *machine, struct sonde_cfi_cursor *code)
{
	uint64_t length = sonde_cfi_uleb(code);
	struct sonde_cfi_cursor operand = sonde_cfi_sub(code, length);
	switch (sonde_cfi_byte(&operand)) {
	case DW_LNE_end_sequence:
		return end_sequence(lines, machine);
	case DW_LNE_set_address:
		if (length - 1 <= 8)
			machine->address = sonde_cfi_fixed(&operand, (unsigned)(length - 1));
		return 0;
	default:
		return 0;
	}
}

static int run_standard(struct sonde_dwarf_lines *lines, const struct header *header, struct machine *machine,
			struct sonde_cfi_cursor *code, uint8_t op)
{
	switch (op) {
	case DW_LNS_copy:
		return add_row(lines, machine, (uint32_t)machine->file);
	case DW_LNS_advance_pc:
		machine->address += sonde_cfi_uleb(code) * header->min_step;
		return 0;
	case DW_LNS_advance_line:
		machine->line += (uint64_t)sonde_cfi_sleb(code);
		return 0;
	case DW_LNS_set_file:
		machine->file = sonde_cfi_uleb(code);
		return 0;
	case DW_LNS_const_add_pc:
		machine->address += (uint64_t)((255 - header->opcode_base) / header->line_range) * header->min_step;
		return 0;
	case DW_LNS_fixed_advance_pc:
		machine->address += sonde_cfi_fixed(code, 2);
		return 0;
	default:
		for (unsigned i = 0; i < header->operands[op]; i++)
			sonde_cfi_uleb(code);
		return 0;
	}
}

static int run_program(struct sonde_dwarf_lines *lines, const struct header *header)
{
	struct sonde_cfi_cursor code = header->program;
	struct machine machine = {.line = 1, .file = 1};
	int rc = 0;
	while (code.at < code.end && !rc) {
		uint8_t op = *code.at++;
		if (op >= header->opcode_base) {
			unsigned step = op - header->opcode_base;
			machine.address += (uint64_t)(step / header->line_range) * header->min_step;
			machine.line += (uint64_t)(header->line_base + (int)(step % header->line_range));
			rc = add_row(lines, &machine, (uint32_t)machine.file);
		} else if (op) {
			rc = run_standard(lines, header, &machine, &code, op);
		} else {
			rc = run_extended(lines, &machine, &code);
		}
	}
	return rc;
}

static int by_low(const void *a, const void *b)
{
	const struct sonde_dwarf_sequence *x = a, *y = b;
	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

static int read_unit(struct sonde_dwarf_lines *lines, const struct sonde_dwarf_sections *sections, Dwarf_Die *unit,
		     uint64_t offset)
{
	struct header header = {0};
	struct sonde_cfi_cursor tables, all = {sections->line + offset, sections->line + sections->line_b, 0};
	if (read_header(lines, &header, all, &tables))
		return 0;
	int rc;
	if (lines->version < 5) {
		rc = read_lists(lines, &tables, dwarf_diename(unit));
	} else {
		rc = read_table(lines, &tables, sections, header.offset_b, 0);
		if (!rc)
			rc = read_table(lines, &tables, sections, header.offset_b, 1);
	}
	if (!rc)
		rc = run_program(lines, &header);
	if (lines->sequence_count)
		qsort(lines->sequences, lines->sequence_count, sizeof *lines->sequences, by_low);
	return rc;
}

int sonde_dwarf_lines_read(struct sonde_dwarf_lines *out, const struct sonde_dwarf_sections *sections, Dwarf_Die *unit)
{
	struct sonde_dwarf_lines lines = {0};
	Dwarf_Attribute attribute;
	Dwarf_Word offset;
	int rc = 0;
	const char *folder = dwarf_attr(unit, DW_AT_comp_dir, &attribute) ? dwarf_formstring(&attribute) : NULL;
	lines.unit_folder = folder ? folder : "";
	if (dwarf_attr(unit, DW_AT_stmt_list, &attribute) && !dwarf_formudata(&attribute, &offset) &&
	    offset < sections->line_b)
		rc = read_unit(&lines, sections, unit, offset);
	if (rc) {
		sonde_dwarf_lines_free(&lines);
		return rc;
	}
	*out = lines;
	return 0;
}

void sonde_dwarf_lines_free(struct sonde_dwarf_lines *lines)
{
	free(lines->folders);
	free(lines->files);
	free(lines->rows);
	free(lines->sequences);
	*lines = (struct sonde_dwarf_lines){0};
}

/* Resolves "folder/.." and "." in an absolute path, in place: builds often use such paths for sources. */
static void tidy_path(char *path)
{
	char *to = path;
	for (const char *from = path; *from;) {
		size_t part_b = strcspn(from + 1, "/") + 1; /* including the slash before it */
		if (part_b == 3 && !memcmp(from, "/..", 3)) {
			while (to > path && *--to != '/')
				;
		} else if (part_b > 1 && !(part_b == 2 && from[1] == '.')) {
			memmove(to, from, part_b);
			to += part_b;
		}
		from += part_b;
	}
	*to = 0;
}

int sonde_dwarf_lines_file(struct sonde_dwarf_lines *lines, uint64_t number, struct sonde_texts *texts, uint32_t *out)
{
	char path[PATH_MAX];
	*out = 0;
	if (number >= lines->file_count || !*lines->files[number].name)
		return 0;
	struct sonde_dwarf_file *file = &lines->files[number];
	const char *folder = file->folder < lines->folder_count ? lines->folders[file->folder] : "";
	int is_whole = file->name[0] == '/', is_below = !is_whole && folder[0] != '/' && *lines->unit_folder;
	if (!file->has_text) {
		int len_b = snprintf(path, sizeof path, "%s%s%s%s%s", is_below ? lines->unit_folder : "",
				     is_below && *folder ? "/" : "", is_whole ? "" : folder,
				     is_whole || (!is_below && !*folder) ? "" : "/", file->name);
		if (len_b < 0 || len_b >= (int)sizeof path)
			return 0;
		if (*path == '/')
			tidy_path(path);
		int rc = sonde_texts_intern(texts, path, &file->text);
		if (rc)
			return rc;
		file->has_text = 1;
	}
	*out = file->text;
	return 0;
}
