/* table.c: looks rows up, and maps cache files.
 *
 * A lookup uses a first-level index to find the rows of one 4 KB page of code (a few dozen rows), then searches these
 * rows without branches. The index takes one word per page, 60 KB for the largest modules, and is built when a table is
 * mapped. A mapped file is read once from end to end when it is opened (checksum, order, kinds); after that lookups
 * trust it, because cache files are written once, renamed into place, and belong to the user who maps them. Many
 * processes map the same tables, so a recorder passes them sealed memory that includes the index, of which they
 * validate only the header.
 */
#include "unwind/table.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "unwind/expression.h"

#define PAGE_BITS 12

const struct sonde_unwind_row *sonde_unwind_table_find(const struct sonde_unwind_table *table, uint64_t address)
{
	const struct sonde_unwind_row *row = table->rows;
	uint64_t offset = address - table->base;
	size_t left = table->count, page = offset >> PAGE_BITS;
	if (!left || offset > UINT32_MAX || offset < row->address)
		return NULL;
	if (page + 1 < table->page_count) {
		row += table->pages[page];
		left = table->pages[page + 1] - table->pages[page] + 1;
	}
	while (left > 1) {
		size_t half = left / 2;
		row = row[half].address <= offset ? row + half : row;
		left -= half;
	}
	return row;
}

static size_t page_count_of(const struct sonde_unwind_row *rows, size_t count)
{
	return (rows[count - 1].address >> PAGE_BITS) + 2;
}

/* pages[p]: the last row at or before the start of page p, or the very first row. */
static void fill_pages(uint32_t *pages, size_t page_count, const struct sonde_unwind_row *rows, size_t count)
{
	size_t row = 0;
	for (size_t page = 0; page < page_count; page++) {
		while (row + 1 < count && rows[row + 1].address <= (uint64_t)page << PAGE_BITS)
			row++;
		pages[page] = (uint32_t)row;
	}
}

void sonde_unwind_table_index(struct sonde_unwind_table *table)
{
	if (!table->count || table->count > UINT32_MAX || table->pages)
		return;
	size_t page_count = page_count_of(table->rows, table->count);
	void *pages =
	    mmap(NULL, page_count * sizeof(uint32_t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return;
	fill_pages(pages, page_count, table->rows, table->count);
	table->pages = pages;
	table->page_count = page_count;
}

uint64_t sonde_unwind_table_check(const struct sonde_unwind_row *rows, size_t count, size_t expressions_b)
{
	uint64_t hash = 0xcbf29ce484222325u;
	for (size_t i = 0; i < count; i++) {
		uint64_t head;
		uint32_t tail;
		memcpy(&head, &rows[i], sizeof head);
		memcpy(&tail, (const char *)&rows[i] + sizeof head, sizeof tail);
		hash = (hash ^ head) * 0x9e3779b97f4a7c15u;
		hash = (hash ^ (hash >> 32) ^ tail) * 0xbf58476d1ce4e5b9u;
	}
	const uint8_t *expressions = (const uint8_t *)(rows + count);
	for (size_t i = 0; i < expressions_b; i++)
		hash = (hash ^ (hash >> 29) ^ expressions[i]) * 0x9e3779b97f4a7c15u;
	return hash ^ (hash >> 32);
}

static int is_head_ok(const struct sonde_unwind_file *head, uint32_t version, const uint8_t *build_id,
		      size_t build_id_b)
{
	return !memcmp(head->magic, SONDE_UNWIND_FILE_MAGIC, sizeof head->magic) && head->version == version &&
	       build_id_b <= sizeof head->build_id && head->build_id_b == build_id_b &&
	       !memcmp(head->build_id, build_id, build_id_b);
}

/* The number of bytes that follow the rows and expressions in a file of size_b bytes; -1 if the file is too small for
 * the rows and expressions. */
static int64_t remainder_of(const struct sonde_unwind_file *head, size_t size_b)
{
	size_t left_b = size_b - sizeof *head, rows_b;
	if (head->count > left_b / sizeof(struct sonde_unwind_row))
		return -1;
	rows_b = head->count * sizeof(struct sonde_unwind_row);
	if (head->expressions_b > left_b - rows_b || head->expressions_b % 4)
		return -1;
	return (int64_t)(left_b - rows_b - head->expressions_b);
}

/* True if the expressions of row i of `count` lie within the expression area. */
static int are_expressions_ok(const struct sonde_unwind_row *rows, size_t i, size_t count, size_t expressions_b)
{
	uint64_t rows_b = (count - i) * sizeof *rows, at = (uint64_t)rows[i].cfa_off;
	if (rows[i].kind != SONDE_UNWIND_EXPRESSION || !rows[i].cfa_off)
		return 1;
	return rows[i].cfa_off > 0 && at >= rows_b &&
	       sonde_unwind_rules_fit((const uint8_t *)&rows[i] + at, expressions_b, at - rows_b);
}

static int are_rows_ok(const struct sonde_unwind_row *rows, const struct sonde_unwind_file *head)
{
	int bad = 0;
	for (size_t i = 0; i < head->count; i++)
		bad |= !sonde_unwind_kind_is_known(rows[i].kind) || (i && rows[i].address <= rows[i - 1].address) ||
		       !are_expressions_ok(rows, i, head->count, head->expressions_b);
	return !bad && sonde_unwind_table_check(rows, head->count, head->expressions_b) == head->check;
}

/* The mapped file; NULL on error, with the cause in *code. */
static const void *map_file(int fd, size_t *size_b, int *code)
{
	struct stat facts;
	*code = fstat(fd, &facts) ? -errno : 0;
	if (!*code && (!S_ISREG(facts.st_mode) || facts.st_size < (off_t)sizeof(struct sonde_unwind_file)))
		*code = -EBADMSG;
	if (*code)
		return NULL;
	*size_b = (size_t)facts.st_size;
	void *mapping = mmap(NULL, *size_b, PROT_READ, MAP_SHARED, fd, 0);
	if (mapping != MAP_FAILED)
		return mapping;
	*code = -errno;
	return NULL;
}

int sonde_unwind_table_map(struct sonde_unwind_table *out, int fd, const uint8_t *build_id, size_t build_id_b)
{
	size_t size_b = 0;
	int code;
	const struct sonde_unwind_file *head = map_file(fd, &size_b, &code);
	if (!head)
		return code;
	const struct sonde_unwind_row *rows = (const void *)(head + 1);
	if (!is_head_ok(head, SONDE_UNWIND_FILE_VERSION, build_id, build_id_b) || remainder_of(head, size_b) ||
	    !are_rows_ok(rows, head)) {
		munmap((void *)(uintptr_t)head, size_b);
		return -EBADMSG;
	}
	*out = (struct sonde_unwind_table){.rows = rows,
					   .count = head->count,
					   .expressions_b = head->expressions_b,
					   .base = head->base,
					   .mapping = head,
					   .mapping_b = size_b};
	sonde_unwind_table_index(out);
	return 0;
}

int sonde_unwind_table_map_sealed(struct sonde_unwind_table *out, int fd, const uint8_t *build_id, size_t build_id_b)
{
	size_t size_b = 0;
	int code;
	const struct sonde_unwind_file *head = map_file(fd, &size_b, &code);
	if (!head)
		return code;
	const struct sonde_unwind_row *rows = (const void *)(head + 1);
	int64_t remainder_b = remainder_of(head, size_b);
	size_t page_count = head->count && remainder_b >= 0 ? page_count_of(rows, head->count) : 0;
	if (!is_head_ok(head, SONDE_UNWIND_FILE_SEALED, build_id, build_id_b) || !page_count ||
	    (size_t)remainder_b != page_count * sizeof *out->pages) {
		munmap((void *)(uintptr_t)head, size_b);
		return -EBADMSG;
	}
	*out = (struct sonde_unwind_table){.rows = rows,
					   .count = head->count,
					   .expressions_b = head->expressions_b,
					   .base = head->base,
					   .mapping = head,
					   .mapping_b = size_b,
					   .pages =
					       (const void *)((const char *)(rows + head->count) + head->expressions_b),
					   .page_count = page_count,
					   .has_pages = 1};
	return 0;
}

void sonde_unwind_table_unmap(struct sonde_unwind_table *table)
{
	if (table->mapping)
		munmap((void *)(uintptr_t)table->mapping, table->mapping_b);
	if (table->pages && !table->has_pages)
		munmap((void *)(uintptr_t)table->pages, table->page_count * sizeof *table->pages);
	*table = (struct sonde_unwind_table){0};
}
