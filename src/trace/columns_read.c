/* columns_read.c: the decoding loops (columns_read.h). */
#include "trace/columns_read.h"

#include "trace/reader.h"

#define COLUMNS_MAX 64

/* The directory does not store the number of columns. But the total size of directory and columns grows with each
 * column counted, so only one number of columns gives the size of the body. */
int sonde_columns_split(struct sonde_column *columns, size_t count, const struct sonde_chunk_data *data)
{
	uint64_t raw_b = data->head->raw_b;
	uint64_t sum_b = 0;
	size_t all;
	for (all = 0; all < COLUMNS_MAX && 4 * (all + 1) <= raw_b; all++) {
		uint32_t column_b;
		memcpy(&column_b, data->body + 4 * all, sizeof column_b);
		sum_b += column_b;
		if (all + 1 >= count && 4 * (all + 1) + sum_b >= raw_b)
			break;
	}
	if (4 * (all + 1) + sum_b != raw_b)
		return -EBADMSG;
	const uint8_t *at = data->body + 4 * (all + 1);
	for (size_t i = 0; i < count; i++) {
		uint32_t column_b;
		memcpy(&column_b, data->body + 4 * i, sizeof column_b);
		columns[i] = (struct sonde_column){at, at + column_b};
		at += column_b;
	}
	return 0;
}

/* Packs the seven-bit groups of eight bytes together. */
static inline uint64_t squeeze(uint64_t word)
{
	word &= 0x7f7f7f7f7f7f7f7fu;
	word = (word & 0x007f007f007f007fu) | (word & 0x7f007f007f007f00u) >> 1;
	word = (word & 0x00003fff00003fffu) | (word & 0x3fff00003fff0000u) >> 2;
	return (word & 0x000000000fffffffu) | (word & 0x0fffffff00000000u) >> 4;
}

/* A position in a column: up to eight bytes are loaded, of which `used_bits` are consumed. */
struct feed {
	const uint8_t *at; /* where `word` was loaded */
	const uint8_t *end;
	uint64_t word;
	uint64_t stops; /* high bits of the last bytes of the values still in `word` */
	unsigned used_bits;
};

static inline const uint8_t *feed_at(const struct feed *feed)
{
	return feed->at + feed->used_bits / 8;
}

static inline void load(struct feed *feed)
{
	feed->at = feed_at(feed);
	feed->used_bits = 0;
	if (feed->end - feed->at < 8)
		return;
	memcpy(&feed->word, feed->at, sizeof feed->word);
	feed->stops = ~feed->word & 0x8080808080808080u;
}

/* Like sonde_varint_get(), but faster for mixed lengths: one load serves all values that end within eight bytes, and
 * taking a value only clears the lowest stop bit, so that no instruction waits for a length. Returns 0, or -EBADMSG at
 * the end of the column. */
static inline int take(struct feed *feed, uint64_t *out)
{
	if (!feed->stops)
		load(feed);
	if (feed->stops) {
		uint64_t upto = feed->stops ^ (feed->stops - 1);
		*out = squeeze((feed->word & upto) >> feed->used_bits);
		feed->used_bits = (unsigned)__builtin_ctzll(feed->stops) + 1;
		feed->stops &= feed->stops - 1;
		return 0;
	}
	const uint8_t *at = sonde_varint_get(feed->at, feed->end, out);
	if (!at)
		return -EBADMSG;
	feed->at = at;
	return 0;
}

/* The next eight values, if all of them are one byte long, as ids and short times are. */
static inline int eight_bytes(const uint8_t *at, const uint8_t *end, uint64_t *word)
{
	if (end - at < 8)
		return 0;
	memcpy(word, at, sizeof *word);
	return !(*word & 0x8080808080808080u);
}

int sonde_column_times(struct sonde_column *column, size_t count, uint64_t base, uint64_t *out)
{
	uint64_t time = base, delta, word;
	const uint8_t *at = column->at;
	size_t i = 0;
	for (; i + 8 <= count && eight_bytes(at, column->end, &word); i += 8, at += 8)
		for (size_t k = 0; k < 8; k++)
			out[i + k] = time += at[k];
	struct feed feed = {.at = at, .end = column->end};
	for (; i < count; i++) {
		if (take(&feed, &delta))
			return -EBADMSG;
		out[i] = time += delta;
	}
	column->at = feed_at(&feed);
	return 0;
}

int sonde_column_ids(struct sonde_column *column, size_t count, uint32_t max, uint32_t *out)
{
	const uint8_t *at = column->at;
	uint64_t value, word;
	size_t i = 0;
	for (; max >= 0x7f && i + 8 <= count && eight_bytes(at, column->end, &word); i += 8, at += 8)
		for (size_t k = 0; k < 8; k++)
			out[i + k] = at[k];
	for (; i < count; i++) {
		at = sonde_varint_get(at, column->end, &value);
		if (!at)
			return -EBADMSG;
		out[i] = value <= max ? (uint32_t)value : 0;
	}
	column->at = at;
	return 0;
}

int sonde_column_id_deltas(struct sonde_column *column, size_t count, uint32_t max, uint32_t *out)
{
	struct feed feed = {.at = column->at, .end = column->end};
	uint64_t value = 0, delta;
	for (size_t i = 0; i < count; i++) {
		if (take(&feed, &delta))
			return -EBADMSG;
		value += (uint64_t)sonde_varint_unzigzag(delta);
		out[i] = value <= max ? (uint32_t)value : 0;
	}
	column->at = feed_at(&feed);
	return 0;
}

int sonde_column_deltas(struct sonde_column *column, size_t count, uint64_t *out)
{
	struct feed feed = {.at = column->at, .end = column->end};
	uint64_t value = 0, delta;
	for (size_t i = 0; i < count; i++) {
		if (take(&feed, &delta))
			return -EBADMSG;
		out[i] = value += (uint64_t)sonde_varint_unzigzag(delta);
	}
	column->at = feed_at(&feed);
	return 0;
}
