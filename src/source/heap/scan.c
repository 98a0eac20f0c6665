/* scan.c: an index of the live blocks, and the marking that uses it.
 *
 * The index consists of the blocks, sorted by address, and of a page directory for each GB in which a block begins. The
 * directory has, for each page, the number of blocks that begin before that page. So a lookup costs two reads and a
 * search among the blocks of a page.
 *
 * Memory is read from another process, by system calls, each of which costs as much as reading thousands of bytes. So
 * pending blocks are taken by the thousand, sorted, and neighbours are read together. The most recently found ones are
 * read first, which keeps the list of pending blocks short. Everything is linear in the bytes read; a long list with
 * nodes far apart costs a call per node.
 */
#include "source/heap/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/error.h"

#define PAGE_BITS 12u
#define REGION_BITS 30u
#define REGIONS (1u << (47 - REGION_BITS)) /* of user space */
#define PAGES (1u << (REGION_BITS - PAGE_BITS))
#define DIGIT_BITS 16u
#define DIGITS (1u << DIGIT_BITS)
#define FEW 4096u             /* no directory for up to this many blocks: it costs 1 ms, and most processes are small */
#define BATCH 4096u           /* blocks */
#define BUFFER_B (256u << 10) /* copied data is scanned while it is in the L2 cache */
#define SEGMENT_B (64u << 10)
#define SPARSE_B (32u << 10) /* from this size on, untouched pages are skipped */
#define GAP_B 2048u          /* gaps between blocks up to this size are read too */
#define PIECES 512u
#define SIZE_MAX_B ((UINT64_C(1) << 40) - 1)
#define SITE_MAX ((1u << 24) - 1)

struct segment {
	uint32_t block;
	uint32_t at_b; /* in the buffer */
	uint32_t size_b;
};

struct sonde_heap_scan {
	const struct sonde_heap_reader *reader;
	struct sonde_heap_found *blocks;
	uint8_t *states; /* enum sonde_heap_state */
	size_t count;
	uint64_t low, span; /* range of addresses in any block */
	uint32_t **regions;
	uint32_t *waiting; /* blocks that were reached but not read yet */
	size_t waiting_count, waiting_cap;
	int without_tails;
	uint8_t marks; /* state that blocks get when a pointer to them is found: REACHED or LOST_BY */
	uint8_t *buffer;
	uint32_t buffer_b;
	struct segment segments[BATCH];
	size_t segment_count;
	struct sonde_heap_extent pieces[PIECES];
	size_t piece_count;
};

static uint64_t end_of(const struct sonde_heap_found *block)
{
	return block->address + (block->size_b ? block->size_b : 1);
}

/* --- the index --------------------------------------------------------------------------------------------------- */

static int compare_blocks(const void *left, const void *right)
{
	const struct sonde_heap_found *a = left, *b = right;
	return (a->address > b->address) - (a->address < b->address);
}

/* Radix sort by 16 bits, lowest first. */
static int sort(struct sonde_heap_found **blocks, size_t count)
{
	if (count <= FEW) {
		qsort(*blocks, count, sizeof **blocks, compare_blocks);
		return 0;
	}
	struct sonde_heap_found *from = *blocks, *to = malloc(count * sizeof *to);
	size_t *starts = malloc(DIGITS * sizeof *starts);
	int code = to && starts ? 0 : sonde_error(ENOMEM, "no memory to sort %zu blocks", count);
	for (unsigned shift = 0; !code && shift < 48; shift += DIGIT_BITS) {
		memset(starts, 0, DIGITS * sizeof *starts);
		for (size_t i = 0; i < count; i++)
			starts[from[i].address >> shift & (DIGITS - 1)]++;
		size_t sum = 0;
		for (size_t digit = 0; digit < DIGITS; digit++) {
			size_t those = starts[digit];
			starts[digit] = sum;
			sum += those;
		}
		for (size_t i = 0; i < count; i++)
			to[starts[from[i].address >> shift & (DIGITS - 1)]++] = from[i];
		struct sonde_heap_found *swapped = from;
		from = to;
		to = swapped;
	}
	free(to);
	free(starts);
	*blocks = from;
	return code;
}

static int make_directory(struct sonde_heap_scan *scan)
{
	scan->regions = calloc(REGIONS, sizeof *scan->regions);
	if (!scan->regions)
		return -ENOMEM;
	for (size_t i = 0; scan->count > FEW && i < scan->count;) {
		uint64_t region = scan->blocks[i].address >> REGION_BITS;
		uint32_t *pages = malloc((PAGES + 1) * sizeof *pages);
		if (!pages)
			return -ENOMEM;
		scan->regions[region] = pages;
		for (uint32_t page = 0; page <= PAGES; page++) {
			uint64_t start = (region << REGION_BITS) + ((uint64_t)page << PAGE_BITS);
			while (i < scan->count && scan->blocks[i].address < start)
				i++;
			pages[page] = (uint32_t)i;
		}
	}
	return 0;
}

/* The number of blocks that begin at or before an address. The blocks of a page are spread roughly evenly, so the
 * search starts at an estimated position, which usually costs one memory read. */
static size_t count_before(const struct sonde_heap_scan *scan, uint64_t address)
{
	size_t from = 0, to = scan->count;
	const uint32_t *pages = scan->regions[address >> REGION_BITS];
	if (pages) {
		uint64_t page = address >> PAGE_BITS & (PAGES - 1), in_page = address & ((1u << PAGE_BITS) - 1);
		from = pages[page];
		to = pages[page + 1];
		size_t guess = from + (in_page * (to - from) >> PAGE_BITS);
		while (guess < to && scan->blocks[guess].address <= address)
			guess++;
		while (guess > from && scan->blocks[guess - 1].address > address)
			guess--;
		return guess;
	}
	while (from < to) {
		size_t middle = (from + to) / 2;
		if (scan->blocks[middle].address <= address)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

size_t sonde_heap_scan_find(const struct sonde_heap_scan *scan, uint64_t address)
{
	if (address - scan->low >= scan->span)
		return scan->count;
	size_t before = count_before(scan, address);
	return before && address < end_of(&scan->blocks[before - 1]) ? before - 1 : scan->count;
}

size_t sonde_heap_scan_first(const struct sonde_heap_scan *scan, uint64_t address)
{
	return address && address >> 47 == 0 ? count_before(scan, address - 1) : address ? scan->count : 0;
}

static struct sonde_heap_found found_of(const struct sonde_heap_block *block)
{
	uint64_t size_b = block->size_b < SIZE_MAX_B ? block->size_b : SIZE_MAX_B;
	return (struct sonde_heap_found){block->address, size_b & SIZE_MAX_B,
					 block->site <= SITE_MAX ? block->site & SITE_MAX : 0};
}

int sonde_heap_scan_new(struct sonde_heap_scan **out, const struct sonde_heap_live *live,
			const struct sonde_heap_reader *reader)
{
	struct sonde_heap_scan *scan = calloc(1, sizeof *scan);
	struct sonde_heap_block block;
	if (!scan)
		return sonde_error(ENOMEM, "no memory to scan %zu blocks", live->count);
	scan->reader = reader;
	scan->marks = SONDE_HEAP_REACHED;
	scan->blocks = malloc((live->count + 1) * sizeof *scan->blocks);
	scan->states = calloc(live->count + 1, 1);
	scan->buffer = malloc(BUFFER_B);
	int code = scan->blocks && scan->states && scan->buffer && live->count < UINT32_MAX ? 0 : -ENOMEM;
	for (size_t at = 0; !code && sonde_heap_live_next(live, &at, &block);)
		if (block.address >> 47 == 0)
			scan->blocks[scan->count++] = found_of(&block);
	code = code ? code : sort(&scan->blocks, scan->count);
	code = code ? code : make_directory(scan);
	if (code) {
		sonde_heap_scan_free(scan);
		return sonde_error(ENOMEM, "no memory to scan %zu blocks", live->count);
	}
	for (size_t i = 0; i < scan->count; i++) {
		uint64_t end = end_of(&scan->blocks[i]) + 1; /* + 1: an empty array is addressed after its end */
		scan->low = scan->blocks[0].address;
		scan->span = end - scan->low > scan->span ? end - scan->low : scan->span;
	}
	if (scan->low + scan->span > UINT64_C(1) << 47)
		scan->span = (UINT64_C(1) << 47) - scan->low;
	*out = scan;
	return 0;
}

void sonde_heap_scan_free(struct sonde_heap_scan *scan)
{
	if (!scan)
		return;
	for (size_t i = 0; scan->regions && scan->count > FEW && i < REGIONS; i++)
		free(scan->regions[i]);
	free(scan->regions);
	free(scan->blocks);
	free(scan->states);
	free(scan->waiting);
	free(scan->buffer);
	free(scan);
}

size_t sonde_heap_scan_count(const struct sonde_heap_scan *scan)
{
	return scan->count;
}

const struct sonde_heap_found *sonde_heap_scan_block(const struct sonde_heap_scan *scan, size_t i)
{
	return &scan->blocks[i];
}

enum sonde_heap_state sonde_heap_scan_state(const struct sonde_heap_scan *scan, size_t i)
{
	return (enum sonde_heap_state)scan->states[i];
}

/* --- marking ----------------------------------------------------------------------------------------------------- */

int sonde_heap_scan_mark(struct sonde_heap_scan *scan, size_t i)
{
	if (scan->states[i] == SONDE_HEAP_REACHED)
		return 0;
	if (SONDE_ARRAY_RESERVE(scan->waiting, scan->waiting_cap, scan->waiting_count + 1))
		return sonde_error(ENOMEM, "no memory to follow pointers");
	scan->states[i] = SONDE_HEAP_REACHED;
	scan->waiting[scan->waiting_count++] = (uint32_t)i;
	return 0;
}

/* `new T[0]` of objects with destructors allocates 8 bytes that hold the count 0, and the program keeps the address
 * after them (LeakSanitizer's IsSpecialCaseOfOperatorNew0). */
static int is_empty_array(const struct sonde_heap_scan *scan, size_t i, uint64_t address)
{
	uint64_t held = 1;
	const struct sonde_heap_found *block = &scan->blocks[i];
	struct sonde_heap_extent piece = {block->address, block->address + 8};
	if (block->size_b != 8 || address != piece.end)
		return 0;
	return !scan->reader->read(scan->reader->context, &piece, 1, &held) && !held;
}

void sonde_heap_scan_without_tails(struct sonde_heap_scan *scan)
{
	scan->without_tails = 1;
}

static int is_tail(const struct sonde_heap_scan *scan, size_t i, uint64_t address)
{
	uint64_t size_b = scan->blocks[i].size_b, behind_b = size_b % 16;
	return scan->without_tails && behind_b >= 1 && behind_b <= 8 && size_b > 16 &&
	       address == scan->blocks[i].address + size_b - behind_b;
}

/* Handles a word in the range of the blocks; `self` is the block that contains it (count = none). */
static int take(struct sonde_heap_scan *scan, uint64_t word, size_t self)
{
	size_t before = count_before(scan, word);
	if (!before)
		return 0;
	size_t i = before - 1;
	if (scan->states[i] >= scan->marks || i == self || is_tail(scan, i, word))
		return 0;
	if (word >= end_of(&scan->blocks[i]) && !is_empty_array(scan, i, word))
		return 0;
	if (scan->marks == SONDE_HEAP_REACHED)
		return sonde_heap_scan_mark(scan, i);
	scan->states[i] = scan->marks;
	return 0;
}

/* Handles words at an aligned address of the process. */
static int take_all(struct sonde_heap_scan *scan, const void *words, size_t count, size_t self)
{
	const uint8_t *at = words;
	for (size_t i = 0; i < count; i++, at += 8) {
		uint64_t word;
		memcpy(&word, at, 8);
		if (__builtin_expect(word - scan->low >= scan->span, 1))
			continue;
		int code = take(scan, word, self);
		if (code)
			return code;
	}
	return 0;
}

int sonde_heap_scan_words(struct sonde_heap_scan *scan, const uint64_t *words, size_t count)
{
	return take_all(scan, words, count, scan->count);
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

/* Reads the requested pieces, and scans them. */
static int flush(struct sonde_heap_scan *scan)
{
	int code = 0;
	if (scan->piece_count)
		code = scan->reader->read(scan->reader->context, scan->pieces, scan->piece_count, scan->buffer);
	for (size_t i = 0; !code && i < scan->segment_count; i++) {
		const struct segment *segment = &scan->segments[i];
		code = take_all(scan, scan->buffer + segment->at_b, segment->size_b / 8, segment->block);
	}
	scan->piece_count = scan->segment_count = 0;
	scan->buffer_b = 0;
	return code;
}

/* Requests an aligned extent of at most SEGMENT_B bytes. */
static int want_segment(struct sonde_heap_scan *scan, struct sonde_heap_extent extent, size_t block)
{
	struct sonde_heap_extent *last = scan->piece_count ? &scan->pieces[scan->piece_count - 1] : NULL;
	uint64_t size_b = extent.end - extent.start;
	if (scan->segment_count == BATCH || scan->piece_count == PIECES || scan->buffer_b + size_b + GAP_B > BUFFER_B) {
		int code = flush(scan);
		if (code)
			return code;
		last = NULL;
	}
	if (last && extent.start >= last->end && extent.start - last->end <= GAP_B) {
		scan->buffer_b += (uint32_t)(extent.start - last->end);
		last->end = extent.end;
	} else {
		scan->pieces[scan->piece_count++] = extent;
	}
	scan->segments[scan->segment_count++] = (struct segment){(uint32_t)block, scan->buffer_b, (uint32_t)size_b};
	scan->buffer_b += (uint32_t)size_b;
	return 0;
}

/* Requests an extent; `block` is the block that it belongs to, or count. */
static int want(struct sonde_heap_scan *scan, struct sonde_heap_extent extent, size_t block)
{
	int sparse = scan->reader->present && extent.end - extent.start >= SPARSE_B, code = 0;
	extent.start = (extent.start + 7) & ~UINT64_C(7);
	extent.end &= ~UINT64_C(7);
	while (!code && extent.start < extent.end) {
		struct sonde_heap_extent part = extent;
		if (sparse)
			part = scan->reader->present(scan->reader->context, extent);
		extent.start = part.end;
		while (!code && part.start < part.end) {
			uint64_t left_b = part.end - part.start, size_b = left_b < SEGMENT_B ? left_b : SEGMENT_B;
			struct sonde_heap_extent segment = {part.start, part.start + size_b};
			code = want_segment(scan, segment, block);
			part.start = segment.end;
		}
	}
	return code;
}

int sonde_heap_scan_whole(struct sonde_heap_scan *scan, struct sonde_heap_extent extent)
{
	int code = want(scan, extent, scan->count);
	return code ? code : flush(scan);
}

int sonde_heap_scan_root(struct sonde_heap_scan *scan, struct sonde_heap_extent extent)
{
	int code = 0;
	size_t i = scan->count;
	if (extent.start >> 47 == 0)
		i = count_before(scan, extent.start);
	if (i && i <= scan->count && end_of(&scan->blocks[i - 1]) > extent.start)
		extent.start = end_of(&scan->blocks[i - 1]);
	for (; !code && i < scan->count && scan->blocks[i].address < extent.end; i++) {
		struct sonde_heap_extent part = {extent.start, scan->blocks[i].address};
		if (part.start < part.end)
			code = want(scan, part, scan->count);
		extent.start = end_of(&scan->blocks[i]);
	}
	if (!code && extent.start < extent.end)
		code = want(scan, extent, scan->count);
	return code ? code : flush(scan);
}

static int compare_numbers(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	return (a > b) - (a < b);
}

static int read_block(struct sonde_heap_scan *scan, size_t i)
{
	const struct sonde_heap_found *block = &scan->blocks[i];
	return want(scan, (struct sonde_heap_extent){block->address, block->address + block->size_b}, i);
}

int sonde_heap_scan_finish(struct sonde_heap_scan *scan)
{
	uint32_t batch[BATCH];
	int code = 0;
	while (!code && scan->waiting_count) {
		size_t count = scan->waiting_count < BATCH ? scan->waiting_count : BATCH;
		scan->waiting_count -= count;
		memcpy(batch, scan->waiting + scan->waiting_count, count * sizeof *batch);
		qsort(batch, count, sizeof *batch, compare_numbers);
		for (size_t i = 0; !code && i < count; i++)
			code = read_block(scan, batch[i]);
		code = code ? code : flush(scan);
	}
	scan->marks = SONDE_HEAP_LOST_BY;
	for (size_t i = 0; !code && i < scan->count; i++)
		if (scan->states[i] != SONDE_HEAP_REACHED)
			code = read_block(scan, i);
	return code ? code : flush(scan);
}
