/* inflate.c: a zlib stream (RFC 1950 and 1951) of known size, in one go.
 *
 * Sections of debug information are inflated whole, and are most of what a first report of a small recording costs.
 * Here the next 56 bits are always at hand, a look-up gives a symbol with its extra bits, and neither buffer is checked
 * byte by byte: both go on behind their ends by more than one step can take. Half of zlib's time or less, which also
 * has to stop anywhere.
 *
 * An entry of a table: bits 0–7 how many bits it takes with the extra ones, 8–11 without, 12–15 what it is, 16–31 the
 * literal, the least length or distance, or where a table for the bits behind begins.
 */
#include "symbol/inflate.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

enum { LITERALS = 288, DISTANCES = 32, CODE_LENGTHS = 19, LENGTH_MAX = 15, END_OF_BLOCK = 256 };
enum { LITERAL_BITS = 11, DISTANCE_BITS = 9, CODE_LENGTH_BITS = 7 };
enum { LITERAL = 1u << 15, SPECIAL = 1u << 14, TABLE = 1u << 13, END = 1u << 12 }; /* the last two with SPECIAL */
enum { COPY_MAX = 258, WORD_B = 8, ADLER_B = 4 };

_Static_assert(SONDE_INFLATE_SPARE_B >= COPY_MAX + 3 * WORD_B, "a step writes no further");

/* Codes are consecutive numbers, so that two of them at least share each table for longer codes, but for one. */
struct table {
	uint32_t *entries;
	unsigned bits, count, most;
};

struct feed {
	const uint8_t *in;
	uint64_t bits;
	unsigned count; /* of them are known; those above are right as well, or 0 */
};

struct inflater {
	struct feed feed;
	const uint8_t *in_end;
	uint8_t *out, *start, *out_end;
	uint32_t literals[(1u << LITERAL_BITS) + (LITERALS / 2 + 2) * (1u << (LENGTH_MAX - LITERAL_BITS))];
	uint32_t distances[(1u << DISTANCE_BITS) + (DISTANCES / 2 + 2) * (1u << (LENGTH_MAX - DISTANCE_BITS))];
	uint32_t code_lengths[1u << CODE_LENGTH_BITS];
};

static inline void refill(struct feed *feed)
{
	uint64_t word;
	memcpy(&word, feed->in, sizeof word);
	feed->bits |= word << feed->count;
	feed->in += (63 - feed->count) >> 3;
	feed->count |= 56;
}

static inline void drop(struct feed *feed, unsigned count)
{
	feed->bits >>= count;
	feed->count -= count;
}

static inline unsigned take(struct feed *feed, unsigned count)
{
	unsigned value = (unsigned)(feed->bits & ((1u << count) - 1));
	drop(feed, count);
	return value;
}

/* --- tables ------------------------------------------------------------------------------------------------------ */

static unsigned reversed(unsigned code, unsigned length)
{
	unsigned out = 0;
	for (; length; length--, code >>= 1)
		out = out << 1 | (code & 1);
	return out;
}

static int put_code(struct table *table, unsigned code, unsigned length, uint32_t entry)
{
	uint32_t *entries = table->entries;
	unsigned at = reversed(code, length), size = 1u << table->bits;
	if (length > table->bits) {
		uint32_t *link = &entries[at & (size - 1)];
		size = 1u << (LENGTH_MAX - table->bits);
		if (!(*link & TABLE)) {
			if (table->most - table->count < size)
				return -EBADMSG;
			*link = SPECIAL | TABLE | table->count << 16;
			for (unsigned i = 0; i < size; i++)
				entries[table->count + i] = SPECIAL;
			table->count += size;
		}
		entries += *link >> 16;
		at >>= table->bits;
		length -= table->bits;
	}
	for (; at < size; at += 1u << length)
		entries[at] = entry;
	return 0;
}

/* `symbols`: entries without lengths. Codes that are left over are no error as long as they do not occur. */
static int make_table(struct table *table, const uint8_t *lengths, unsigned count, const uint32_t *symbols)
{
	unsigned of_length[LENGTH_MAX + 1] = {0}, next[LENGTH_MAX + 2] = {0};
	for (unsigned i = 0; i < count; i++)
		of_length[lengths[i]]++;
	of_length[0] = 0;
	for (unsigned length = 1; length <= LENGTH_MAX; length++) {
		next[length + 1] = (next[length] + of_length[length]) << 1;
		if (next[length] + of_length[length] > 1u << length)
			return -EBADMSG;
	}
	table->count = 1u << table->bits;
	for (unsigned i = 0; i < table->count; i++)
		table->entries[i] = SPECIAL;
	for (unsigned i = 0; i < count; i++) {
		unsigned length = lengths[i];
		uint32_t entry = symbols[i] + (length << 8 | length);
		if (length && put_code(table, next[length]++, length, entry))
			return -EBADMSG;
	}
	return 0;
}

static int make_literals(struct inflater *inflater, const uint8_t *lengths, unsigned count)
{
	static const uint16_t bases[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
					 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
	uint32_t symbols[LITERALS];
	struct table table = {inflater->literals, LITERAL_BITS, 0,
			      sizeof inflater->literals / sizeof *inflater->literals};
	for (unsigned i = 0; i < LITERALS; i++) {
		unsigned of = i - END_OF_BLOCK - 1, extra = of < 8 || of >= 28 ? 0 : of / 4 - 1;
		if (i < END_OF_BLOCK)
			symbols[i] = LITERAL | i << 16;
		else if (i == END_OF_BLOCK)
			symbols[i] = SPECIAL | END;
		else
			symbols[i] = of < sizeof bases / sizeof *bases ? (uint32_t)bases[of] << 16 | extra : SPECIAL;
	}
	return make_table(&table, lengths, count, symbols);
}

static int make_distances(struct inflater *inflater, const uint8_t *lengths, unsigned count)
{
	uint32_t symbols[DISTANCES], base = 1;
	struct table table = {inflater->distances, DISTANCE_BITS, 0,
			      sizeof inflater->distances / sizeof *inflater->distances};
	for (unsigned i = 0; i < DISTANCES; i++) {
		unsigned extra = i < 4 ? 0 : i / 2 - 1;
		symbols[i] = i < 30 ? base << 16 | extra : SPECIAL;
		base += 1u << extra;
	}
	return make_table(&table, lengths, count, symbols);
}

/* --- blocks ------------------------------------------------------------------------------------------------------ */

/* The lengths of all codes, which are written with a code of their own. */
static int read_lengths(struct inflater *inflater, uint8_t *lengths, unsigned count)
{
	for (unsigned i = 0; i < count;) {
		refill(&inflater->feed);
		uint32_t entry = inflater->code_lengths[inflater->feed.bits & ((1u << CODE_LENGTH_BITS) - 1)];
		if (entry & SPECIAL || inflater->feed.in > inflater->in_end + WORD_B)
			return -EBADMSG;
		drop(&inflater->feed, entry & 0xff);
		unsigned symbol = entry >> 16, run = 1;
		uint8_t length = symbol < 16 ? (uint8_t)symbol : 0;
		if (symbol == 16) {
			if (!i)
				return -EBADMSG;
			length = lengths[i - 1];
			run = 3 + take(&inflater->feed, 2);
		} else if (symbol > 16) {
			run = symbol == 17 ? 3 + take(&inflater->feed, 3) : 11 + take(&inflater->feed, 7);
		}
		if (run > count - i)
			return -EBADMSG;
		memset(lengths + i, length, run);
		i += run;
	}
	return 0;
}

static int read_codes(struct inflater *inflater)
{
	static const uint8_t order[CODE_LENGTHS] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
	uint8_t lengths[LITERALS + DISTANCES] = {0}, of_lengths[CODE_LENGTHS] = {0};
	uint32_t symbols[CODE_LENGTHS];
	refill(&inflater->feed);
	unsigned literals = 257 + take(&inflater->feed, 5), distances = 1 + take(&inflater->feed, 5);
	unsigned written = 4 + take(&inflater->feed, 4);
	if (literals > LITERALS)
		return -EBADMSG;
	for (unsigned i = 0; i < written; i++) {
		refill(&inflater->feed);
		of_lengths[order[i]] = (uint8_t)take(&inflater->feed, 3);
	}
	for (unsigned i = 0; i < CODE_LENGTHS; i++)
		symbols[i] = i << 16;
	struct table table = {inflater->code_lengths, CODE_LENGTH_BITS, 0, 1u << CODE_LENGTH_BITS};
	if (make_table(&table, of_lengths, CODE_LENGTHS, symbols) ||
	    read_lengths(inflater, lengths, literals + distances))
		return -EBADMSG;
	return make_literals(inflater, lengths, literals) || make_distances(inflater, lengths + literals, distances)
		   ? -EBADMSG
		   : 0;
}

static int fixed_codes(struct inflater *inflater)
{
	uint8_t lengths[LITERALS], of_distances[DISTANCES];
	memset(lengths, 8, 144);
	memset(lengths + 144, 9, 112);
	memset(lengths + 256, 7, 24);
	memset(lengths + 280, 8, 8);
	memset(of_distances, 5, sizeof of_distances);
	return make_literals(inflater, lengths, LITERALS) || make_distances(inflater, of_distances, DISTANCES)
		   ? -EBADMSG
		   : 0;
}

/* A length or distance with its extra bits. */
static inline unsigned take_value(struct feed *feed, uint32_t entry)
{
	unsigned with = entry & 0xff, without = entry >> 8 & 0xf;
	unsigned value = (unsigned)((feed->bits & ((UINT64_C(1) << with) - 1)) >> without) + (entry >> 16);
	drop(feed, with);
	return value;
}

/* Writes whole words, 3 at least: most copies are short, and how short nobody can foresee. */
static inline uint8_t *copy(uint8_t *out, unsigned distance, unsigned length)
{
	const uint8_t *from = out - distance;
	uint8_t *end = out + length;
	if (distance >= WORD_B) {
		for (unsigned i = 0; i < 3; i++)
			memcpy(out + i * WORD_B, from + i * WORD_B, WORD_B);
		for (out += 3 * WORD_B, from += 3 * WORD_B; out < end; out += WORD_B, from += WORD_B)
			memcpy(out, from, WORD_B);
	} else if (distance == 1) {
		memset(out, *from, length);
	} else {
		while (out < end)
			*out++ = *from++;
	}
	return end;
}

/* Up to the end of a block, where it goes on. A step takes 48 bits at most: 15 + 5 for a length, 15 + 13 for a
 * distance. What changes is local: the compiler cannot know that the bytes that are written are not the inflater's. */
static int read_symbols(struct inflater *inflater)
{
	const uint32_t *literals = inflater->literals, *distances = inflater->distances;
	const uint8_t *in_end = inflater->in_end + WORD_B, *start = inflater->start;
	const uint8_t *out_end = inflater->out_end;
	const unsigned more_literals = (1u << (LENGTH_MAX - LITERAL_BITS)) - 1;
	const unsigned more_distances = (1u << (LENGTH_MAX - DISTANCE_BITS)) - 1;
	struct feed feed = inflater->feed;
	uint8_t *out = inflater->out;
	while (out <= out_end && feed.in <= in_end) {
		refill(&feed);
		uint32_t entry = literals[feed.bits & ((1u << LITERAL_BITS) - 1)];
		if (entry & LITERAL) {
			drop(&feed, entry & 0xff);
			*out++ = (uint8_t)(entry >> 16);
			entry = literals[feed.bits & ((1u << LITERAL_BITS) - 1)];
			if (entry & LITERAL) {
				drop(&feed, entry & 0xff);
				*out++ = (uint8_t)(entry >> 16);
				continue;
			}
			refill(&feed);
		}
		if (entry & TABLE)
			entry = literals[(entry >> 16) + (feed.bits >> LITERAL_BITS & more_literals)];
		if (entry & (LITERAL | SPECIAL)) {
			drop(&feed, entry & 0xff);
			if (entry & SPECIAL) {
				inflater->feed = feed;
				inflater->out = out;
				return entry & END ? 0 : -EBADMSG;
			}
			*out++ = (uint8_t)(entry >> 16);
			continue;
		}
		unsigned length = take_value(&feed, entry);
		entry = distances[feed.bits & ((1u << DISTANCE_BITS) - 1)];
		if (entry & TABLE)
			entry = distances[(entry >> 16) + (feed.bits >> DISTANCE_BITS & more_distances)];
		if (entry & SPECIAL)
			return -EBADMSG;
		unsigned distance = take_value(&feed, entry);
		if (distance > (size_t)(out - start))
			return -EBADMSG;
		out = copy(out, distance, length);
	}
	return -EBADMSG;
}

/* What was loaded ahead is given back. */
static void align(struct inflater *inflater)
{
	inflater->feed.in -= inflater->feed.count >> 3;
	inflater->feed.bits = inflater->feed.count = 0;
}

static int read_stored(struct inflater *inflater)
{
	align(inflater);
	if (inflater->in_end - inflater->feed.in < 4)
		return -EBADMSG;
	const uint8_t *in = inflater->feed.in;
	unsigned size_b = in[0] | (unsigned)in[1] << 8, check = in[2] | (unsigned)in[3] << 8;
	if ((size_b ^ check) != 0xffff || size_b > (size_t)(inflater->in_end - in) - 4 ||
	    size_b > (size_t)(inflater->out_end - inflater->out))
		return -EBADMSG;
	memcpy(inflater->out, in + 4, size_b);
	inflater->out += size_b;
	inflater->feed.in += 4 + size_b;
	return 0;
}

static int read_blocks(struct inflater *inflater)
{
	for (int last = 0; !last;) {
		if (inflater->out > inflater->out_end || inflater->feed.in > inflater->in_end + WORD_B)
			return -EBADMSG;
		refill(&inflater->feed);
		last = (int)take(&inflater->feed, 1);
		unsigned kind = take(&inflater->feed, 2);
		int error = kind == 0   ? read_stored(inflater)
			    : kind == 1 ? fixed_codes(inflater)
					: read_codes(inflater);
		if (!error && kind)
			error = read_symbols(inflater);
		if (error || kind == 3)
			return -EBADMSG;
	}
	align(inflater);
	return 0;
}

int sonde_inflate(uint8_t *out, size_t out_b, const uint8_t *in, size_t in_b)
{
	struct inflater inflater;
	if (in_b < 2 + ADLER_B || (in[0] & 0xf) != Z_DEFLATED || (in[0] << 8 | in[1]) % 31 || in[1] & 0x20)
		return -EBADMSG;
	inflater.feed.in = in + 2;
	inflater.in_end = in + in_b - ADLER_B;
	inflater.out = inflater.start = out;
	inflater.out_end = out + out_b;
	inflater.feed.bits = inflater.feed.count = 0;
	if (read_blocks(&inflater) || inflater.feed.in != inflater.in_end || inflater.out != inflater.out_end)
		return -EBADMSG;
	const uint8_t *check = inflater.in_end;
	uint32_t expected = (uint32_t)check[0] << 24 | (uint32_t)check[1] << 16 | (uint32_t)check[2] << 8 | check[3];
	return adler32_z(adler32(0, NULL, 0), out, out_b) == expected ? 0 : -EBADMSG;
}
