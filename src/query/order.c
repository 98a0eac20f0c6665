/* order.c: copies the columns that are read, then sorts the rows with a stable counting sort by each key, the last key
 * first. */
#include "query/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "util/error.h"

#define ROWS_FIRST ((size_t)1 << 16)

int sonde_query_order_takes(const struct sonde_query_table *table, unsigned column)
{
	const struct sonde_query_column *row = &table->columns[column];
	if (table->walk != &sonde_query_walk_batches || row->plus || row->number || row->flags & SONDE_QUERY_SPARSE)
		return 0;
	return row->type == SONDE_QUERY_U8 || row->type == SONDE_QUERY_U16 || row->type == SONDE_QUERY_U32;
}

size_t sonde_query_order_row_b(const struct sonde_query_table *table, uint32_t used)
{
	size_t row_b = 2 * sizeof(uint32_t);
	for (size_t c = 0; c < table->column_count; c++)
		if (used & 1u << c)
			row_b += sonde_query_size_b(table->columns[c].type);
	return row_b;
}

/* Copies of all rows of the columns that are read. */
struct copies {
	struct sonde_query_scan *scan;
	uint32_t used;
	uint8_t *columns[SONDE_QUERY_COLUMNS_MAX];
	size_t count, cap;
};

static int grow(struct copies *copies, size_t count)
{
	const struct sonde_query_table *table = copies->scan->table;
	if (count <= copies->cap)
		return 0;
	size_t cap = copies->cap ? 2 * copies->cap : ROWS_FIRST;
	cap = cap < count ? count : cap;
	for (size_t c = 0; c < table->column_count; c++) {
		size_t size_b = sonde_query_size_b(table->columns[c].type);
		if (!(copies->used & 1u << c) || !size_b)
			continue;
		uint8_t *more = realloc(copies->columns[c], cap * size_b);
		if (!more)
			return sonde_error(ENOMEM, "out of memory for %zu rows", cap);
		copies->columns[c] = more;
	}
	copies->cap = cap;
	return 0;
}

/* Copies the scan's block; the values of a column's addend (`plus`) are added here. */
static void copy_column(struct copies *copies, size_t c)
{
	const struct sonde_query_scan *scan = copies->scan;
	const struct sonde_query_place *place = &scan->places[c];
	size_t size_b = sonde_query_size_b(scan->table->columns[c].type);
	uint8_t *to = copies->columns[c] + copies->count * size_b;
	if (place->plus) {
		for (size_t i = 0; i < scan->count; i++, to += size_b) {
			uint64_t value = sonde_query_raw(scan, c, i);
			memcpy(to, &value, sizeof value);
		}
	} else if (place->step_b == size_b) {
		memcpy(to, place->first, scan->count * size_b);
	} else {
		for (size_t i = 0; i < scan->count; i++, to += size_b)
			memcpy(to, place->first + i * place->step_b, size_b);
	}
}

static int take_block(struct copies *copies)
{
	const struct sonde_query_scan *scan = copies->scan;
	if (scan->count > UINT32_MAX - copies->count)
		return sonde_error(ENOMEM, "too many rows to be ordered");
	int rc = grow(copies, copies->count + scan->count);
	for (size_t c = 0; !rc && c < scan->table->column_count; c++)
		if (copies->columns[c])
			copy_column(copies, c);
	copies->count += rc ? 0 : scan->count;
	return rc;
}

static int take_all(struct copies *copies, uint64_t end_ns)
{
	struct sonde_query_scan *scan = copies->scan;
	for (;;) {
		int found = scan->table->walk->next(scan);
		if (sonde_clock_now_ns() >= end_ns)
			return -ETIMEDOUT;
		scan->missing |= found == -EBADMSG;
		if (found == -EBADMSG)
			continue;
		int rc = found > 0 ? take_block(copies) : found;
		if (found <= 0 || rc)
			return rc;
	}
}

/* --- ranks -------------------------------------------------------------------------------------------------------- */

struct named {
	const char *text;
	uint32_t value;
};

static int by_text(const void *left, const void *right)
{
	const struct named *a = left, *b = right;
	if (!a->text || !b->text)
		return (a->text != NULL) - (b->text != NULL);
	return strcmp(a->text, b->text);
}

/* Computes the rank of each value 0 … `most` by its name; values with equal names have equal ranks. */
static int rank_names(const struct sonde_query_scan *scan, const struct sonde_query_column *column, uint32_t most,
		      uint32_t *ranks)
{
	struct named *names = malloc(((size_t)most + 1) * sizeof *names);
	if (!names)
		return sonde_error(ENOMEM, "out of memory for %u names", most);
	for (uint32_t value = 0; value <= most; value++) {
		const char *text = column->text(scan->session, value);
		names[value] = (struct named){text && *text ? text : NULL, value};
	}
	qsort(names, (size_t)most + 1, sizeof *names, by_text);
	uint32_t rank = 0;
	for (size_t i = 0; i <= most; i++) {
		rank += i && by_text(&names[i - 1], &names[i]);
		ranks[names[i].value] = rank;
	}
	free(names);
	return 0;
}

static uint32_t most_of(const struct sonde_query_scan *scan, unsigned c)
{
	uint32_t most = 0;
	for (size_t i = 0; i < scan->count; i++) {
		uint32_t value = (uint32_t)sonde_query_raw(scan, c, i);
		most = value > most ? value : most;
	}
	return most;
}

/* Returns the ranks of the values of a column, in descending order if the key asks for it. malloc'ed; NULL when out of
 * memory. */
static uint32_t *ranks_of(const struct sonde_query_scan *scan, const struct sonde_query_order_key *key, uint32_t most)
{
	const struct sonde_query_column *column = &scan->table->columns[key->column];
	uint32_t *ranks = malloc(((size_t)most + 1) * sizeof *ranks);
	if (!ranks)
		return NULL;
	for (size_t value = 0; value <= most; value++)
		ranks[value] = column->mask ? (value & column->mask) != 0 : (uint32_t)value;
	if (column->text && rank_names(scan, column, most, ranks)) {
		free(ranks);
		return NULL;
	}
	for (size_t value = 0; key->descending && value <= most; value++)
		ranks[value] = most - ranks[value];
	return ranks;
}

/* Stable sort by one key of the row order `from` (NULL = original order) into `to`. */
static int sort_by(const struct sonde_query_scan *scan, const struct sonde_query_order_key *key, const uint32_t *from,
		   uint32_t *to)
{
	uint32_t most = most_of(scan, key->column);
	uint32_t *ranks = ranks_of(scan, key, most);
	size_t *starts = calloc((size_t)most + 2, sizeof *starts);
	int rc = ranks && starts ? 0 : sonde_error(ENOMEM, "out of memory for an order");
	for (size_t i = 0; !rc && i < scan->count; i++)
		starts[ranks[sonde_query_raw(scan, key->column, i)] + 1]++;
	for (size_t rank = 0; !rc && rank <= most; rank++)
		starts[rank + 1] += starts[rank];
	for (uint32_t i = 0; !rc && i < scan->count; i++) {
		uint32_t row = from ? from[i] : i;
		to[starts[ranks[sonde_query_raw(scan, key->column, row)]]++] = row;
	}
	free(ranks);
	free(starts);
	return rc;
}

/* Makes the copies the scan's current block. */
static void place_copies(struct sonde_query_scan *scan, const struct copies *copies)
{
	scan->before = 0;
	scan->i = 0;
	scan->count = copies->count;
	for (size_t c = 0; c < scan->table->column_count; c++)
		scan->places[c] = (struct sonde_query_place){
		    .first = copies->columns[c], .step_b = sonde_query_size_b(scan->table->columns[c].type)};
}

int sonde_query_order(struct sonde_query_scan *scan, uint32_t used, const struct sonde_query_order_key *keys,
		      size_t key_count, uint64_t end_ns)
{
	struct copies copies = {.scan = scan, .used = used};
	for (size_t k = 0; k < key_count; k++)
		copies.used |= 1u << keys[k].column;
	int rc = take_all(&copies, end_ns);
	place_copies(scan, &copies);
	uint32_t *order = NULL, *spare = NULL; /* NULL = original order */
	for (size_t k = key_count; !rc && k > 0; k--) {
		spare = spare ? spare : malloc((copies.count + 1) * sizeof *spare);
		if (!spare)
			rc = sonde_error(ENOMEM, "out of memory for the order of %zu rows", copies.count);
		else
			rc = sonde_clock_now_ns() < end_ns ? sort_by(scan, &keys[k - 1], order, spare) : -ETIMEDOUT;
		uint32_t *sorted = spare;
		spare = order;
		order = sorted;
	}
	free(spare);
	scan->order = order;
	scan->is_copy = 1;
	return rc;
}

void sonde_query_order_free(struct sonde_query_scan *scan)
{
	for (size_t c = 0; scan->is_copy && c < scan->table->column_count; c++)
		free((void *)(uintptr_t)scan->places[c].first);
	free(scan->order);
	scan->order = NULL;
	scan->is_copy = 0;
}
