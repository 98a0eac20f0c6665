/* decode.c: decodes chunk bodies into arrays of values (decode.h).
 *
 * `memory` holds the arrays back to back, wide types first. Byte columns are used in place.
 */
#include "trace/decode.h"

#include <errno.h>
#include <string.h>

#include "trace/columns_read.h"
#include "trace/reader.h"

struct decoding {
	const struct sonde_chunk_layout *layout;
	size_t rows;
	uint64_t time_min_ns;
	const uint32_t *ids;
	const void *values[SONDE_COLUMNS_MAX];
};

/* Splits the body; returns the number of columns, which is all or up to the end of a group. */
static int split(struct sonde_column *columns, const struct sonde_chunk_layout *layout,
		 const struct sonde_chunk_data *data)
{
	size_t count = layout->count;
	for (;;) {
		if (!sonde_columns_split(columns, count, data))
			return (int)count;
		unsigned group = layout->columns[count - 1].group;
		if (!group)
			return -EBADMSG;
		while (layout->columns[count - 1].group == group)
			count--;
	}
}

/* Allocates a zeroed array for each column that is not used in place; NULL when out of memory. */
static uint8_t *arrange(struct decoding *decoding, struct sonde_buf *memory, size_t known)
{
	size_t count = decoding->layout->count, size_b = 0, changes_b = 0, offsets[SONDE_COLUMNS_MAX] = {0};
	static const uint8_t widths[] = {8, 4, 1};
	for (size_t w = 0; w < sizeof widths; w++)
		for (size_t i = 0; i < count; i++) {
			const struct sonde_column_layout *column = &decoding->layout->columns[i];
			if (column->width_b != widths[w] || (column->width_b == 1 && i < known))
				continue;
			offsets[i] = size_b;
			size_b += decoding->rows * column->width_b;
		}
	for (size_t i = 0; i < count; i++)
		if (decoding->layout->columns[i].coding == SONDE_CODING_CHANGE)
			changes_b = ((size_t)decoding->ids[decoding->layout->columns[i - 1].reference] + 1) * 8;
	sonde_buf_clear(memory);
	uint8_t *at = sonde_buf_extend(memory, changes_b + size_b + 1);
	for (size_t i = 0; at && i < count; i++) {
		decoding->values[i] = at + changes_b + offsets[i];
		if (i >= known)
			memset(at + changes_b + offsets[i], 0, decoding->rows * decoding->layout->columns[i].width_b);
	}
	if (at)
		memset(at, 0, changes_b);
	return at;
}

/* Differences from the previous value with the same id. */
static int add_changes(struct sonde_column *column, size_t rows, const uint32_t *ids, uint64_t *before, uint64_t *out)
{
	for (size_t i = 0; i < rows; i++) {
		uint64_t change;
		if (sonde_column_next(column, &change))
			return -EBADMSG;
		out[i] = before[ids[i]] += (uint64_t)sonde_varint_unzigzag(change);
	}
	return 0;
}

static int take_plain(struct sonde_column *column, size_t rows, uint64_t *out)
{
	for (size_t i = 0; i < rows; i++)
		if (sonde_column_next(column, &out[i]))
			return -EBADMSG;
	return 0;
}

/* Largest id of the reference; for a value without a reference, the maximum of its type. */
static uint32_t id_max(const struct decoding *decoding, const struct sonde_column_layout *column)
{
	return column->reference == SONDE_REFERENCE_NONE ? UINT32_MAX : decoding->ids[column->reference];
}

static int take_bytes(struct decoding *decoding, size_t i, struct sonde_column *column)
{
	decoding->values[i] = column->at;
	column->at = column->end;
	return (size_t)(column->end - (const uint8_t *)decoding->values[i]) == decoding->rows ? 0 : -EBADMSG;
}

static int take_column(struct decoding *decoding, size_t i, struct sonde_column *column, uint64_t *changes)
{
	const struct sonde_column_layout *layout = &decoding->layout->columns[i];
	void *out = (void *)(uintptr_t)decoding->values[i]; /* in `memory`, unless the column has bytes */
	int is_id = layout->width_b == 4;
	switch (layout->coding) {
	case SONDE_CODING_TIME:
		return sonde_column_times(column, decoding->rows, decoding->time_min_ns, out);
	case SONDE_CODING_PLAIN:
		return is_id ? sonde_column_ids(column, decoding->rows, id_max(decoding, layout), out)
			     : take_plain(column, decoding->rows, out);
	case SONDE_CODING_DELTA:
		return is_id ? sonde_column_id_deltas(column, decoding->rows, id_max(decoding, layout), out)
			     : sonde_column_deltas(column, decoding->rows, out);
	case SONDE_CODING_CHANGE:
		return add_changes(column, decoding->rows, decoding->values[i - 1], changes, out);
	default:
		return take_bytes(decoding, i, column);
	}
}

/* Rejects impossible times: an end beyond the range of time, or a time before 0. */
static int check_times(const struct decoding *decoding)
{
	const uint64_t *starts = decoding->values[0];
	for (size_t i = 1; i < decoding->layout->count; i++) {
		const uint64_t *values = decoding->values[i];
		uint8_t reference = decoding->layout->columns[i].reference;
		for (size_t row = 0; reference == SONDE_REFERENCE_DURATION && row < decoding->rows; row++)
			if (values[row] > UINT64_MAX - starts[row])
				return -EBADMSG;
		for (size_t row = 0; reference == SONDE_REFERENCE_BEFORE && row < decoding->rows; row++)
			if (values[row] && values[row] - 1 > starts[row])
				return -EBADMSG;
	}
	return 0;
}

int sonde_chunk_decode(void *columns, const struct sonde_chunk_data *data, const uint32_t ids[SONDE_REFERENCES],
		       struct sonde_buf *memory)
{
	struct sonde_column bodies[SONDE_COLUMNS_MAX];
	struct decoding decoding = {
	    .layout = sonde_chunk_layout(data->head->type),
	    .rows = data->head->count,
	    .time_min_ns = data->head->time_min_ns,
	    .ids = ids,
	};
	int known = split(bodies, decoding.layout, data);
	if (known < 0 || decoding.rows > sonde_column_b(&bodies[0]))
		return -EBADMSG;
	uint8_t *changes = arrange(&decoding, memory, (size_t)known);
	if (!changes)
		return sonde_buf_error(memory);
	for (size_t i = 0; i < (size_t)known; i++)
		if (take_column(&decoding, i, &bodies[i], (uint64_t *)(void *)changes) || sonde_column_end(&bodies[i]))
			return -EBADMSG;
	if (check_times(&decoding))
		return -EBADMSG;
	memcpy(columns, decoding.values, decoding.layout->count * sizeof *decoding.values);
	return 0;
}
