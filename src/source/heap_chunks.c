/* heap_chunks.c: keeps the live blocks, sums by site, and encodes events into columns (format/record.h, HEAP).
 *
 * A chunk's summary says what was alive before it and what each site did in it, so that a reader sums chunks and
 * decodes only the one in which the peak lies. What an event costs here decides what a program costs that allocates
 * much: it is one look at the live blocks and one at its form (heap_forms.h), whose counts become the sums of sites
 * when the chunk is written. Changes come in batches, so that what memory is needed is asked for ahead.
 */
#include "source/heap_chunks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "fold/heap_stat.h"
#include "fold/heap_worth.h"
#include "source/columns.h"
#include "source/heap_live.h"
#include "util/error.h"

#define EVENTS_A_CHUNK (1u << 20)
#define SITES_A_CHUNK 16384u
#define MARK_NS 1000000u /* at the least from one time to the next */
#define BATCH 256u
#define AHEAD 12u /* changes: their slots have come by the time they are needed */
#define NOBODY_ASKED "it ended by a signal or _exit(), or executed another program: nobody could look"

enum { BLOCK, LIFE, SITE, SIZE, THREAD, TIME, COLUMNS };

struct site {
	uint64_t live_b, live_blocks; /* as the last chunk left them */
	uint32_t row;                 /* of the chunk's stats, + 1; 0 = none yet */
};

struct sonde_heap_chunks {
	struct sonde_recorder *recorder;
	uint32_t process;
	struct sonde_heap_live live;
	uint64_t live_b, live_blocks;
	uint64_t last_begun; /* nothing was allocated since; 0 = something was */
	struct sonde_heap_block last_ended;
	uint64_t rests;     /* of blocks that were split: their beginnings are not blocks of a size */
	struct site *sites; /* by id */
	size_t site_cap;
	/* the chunk that is being filled */
	struct sonde_columns columns;
	struct sonde_heap_summary summary;
	struct sonde_heap_stat *stats; /* summary.sites rows */
	uint32_t stat_cap;
	uint32_t *rows; /* forms in the order of their first event */
	uint32_t row_count, row_cap;
	uint32_t last_site; /* of the last of them */
	uint32_t run_thread, run;
	uint32_t until_mark; /* events */
	uint64_t *marks_ns;  /* times of every time_every-th event */
	uint32_t mark_count, mark_cap;
	uint64_t last_ns;
	int exact_times;
	int looked;
	char why_not[200]; /* nobody could look for pointers */
	int error;
	uint64_t refused;           /* changes, after the error */
	uint32_t events[2 * BATCH]; /* of the batch that is being taken (struct filling) */
};

static void start_chunk(struct sonde_heap_chunks *chunks)
{
	chunks->summary = (struct sonde_heap_summary){.heap = chunks->summary.heap,
						      .time_every = chunks->exact_times ? 1 : SONDE_HEAP_TIME_EVERY,
						      .mean_b = chunks->summary.mean_b,
						      .live_b = chunks->live_b,
						      .live_blocks = chunks->live_blocks};
	chunks->run = 0;
	chunks->row_count = 0;
	chunks->last_site = 0;
	chunks->until_mark = 0;
}

int sonde_heap_chunks_new(struct sonde_heap_chunks **out, struct sonde_recorder *recorder, uint32_t process,
			  uint32_t heap, uint64_t mean_b)
{
	struct sonde_heap_chunks *chunks = calloc(1, sizeof *chunks);
	if (!chunks)
		return sonde_error(ENOMEM, "no memory for the allocations of a process");
	chunks->recorder = recorder;
	chunks->process = process;
	sonde_columns_init(&chunks->columns, COLUMNS);
	chunks->live.forms.mean_b = mean_b;
	chunks->summary.heap = heap;
	chunks->summary.mean_b = mean_b;
	start_chunk(chunks);
	*out = chunks;
	return 0;
}

void sonde_heap_chunks_free(struct sonde_heap_chunks *chunks)
{
	if (!chunks)
		return;
	sonde_columns_fini(&chunks->columns);
	sonde_heap_live_fini(&chunks->live);
	free(chunks->sites);
	free(chunks->stats);
	free(chunks->rows);
	free(chunks->marks_ns);
	free(chunks);
}

int sonde_heap_chunks_exact_times(struct sonde_heap_chunks *chunks)
{
	if (chunks->exact_times)
		return 0;
	chunks->exact_times = 1;
	int code = sonde_heap_chunks_flush(chunks);
	chunks->summary.time_every = 1; /* also where there was nothing to flush */
	return code;
}

int sonde_heap_chunks_is_alive(const struct sonde_heap_chunks *chunks, uint64_t address)
{
	struct sonde_heap_block block;
	return sonde_heap_live_find(&chunks->live, address, &block);
}

/* --- sites ------------------------------------------------------------------------------------------------------- */

static int out_of_memory(struct sonde_heap_chunks *chunks)
{
	return chunks->error = sonde_error(ENOMEM, "no memory for the places that allocate");
}

static struct site *site_of(struct sonde_heap_chunks *chunks, uint32_t id)
{
	if (id < chunks->site_cap)
		return &chunks->sites[id];
	size_t cap = chunks->site_cap ? chunks->site_cap : 256;
	while (cap <= id)
		cap *= 2;
	struct site *sites = realloc(chunks->sites, cap * sizeof *sites);
	if (!sites) {
		out_of_memory(chunks);
		return NULL;
	}
	memset(sites + chunks->site_cap, 0, (cap - chunks->site_cap) * sizeof *sites);
	chunks->sites = sites;
	chunks->site_cap = cap;
	return &sites[id];
}

static int grow_stats(struct sonde_heap_chunks *chunks)
{
	uint32_t cap = chunks->stat_cap ? 2 * chunks->stat_cap : 16;
	struct sonde_heap_stat *stats = realloc(chunks->stats, cap * sizeof *stats);
	if (!stats)
		return out_of_memory(chunks);
	chunks->stats = stats;
	chunks->stat_cap = cap;
	return 0;
}

/* A row for the site in the chunk's stats. */
static int add_stat(struct sonde_heap_chunks *chunks, uint32_t id)
{
	struct site *site = site_of(chunks, id);
	if (!site)
		return -ENOMEM;
	if (site->row)
		return 0;
	if (chunks->summary.sites == chunks->stat_cap && grow_stats(chunks))
		return -ENOMEM;
	site->row = ++chunks->summary.sites;
	chunks->stats[site->row - 1] = (struct sonde_heap_stat){.site = id};
	return 0;
}

static int grow_rows(struct sonde_heap_chunks *chunks)
{
	uint32_t cap = chunks->row_cap ? 2 * chunks->row_cap : 64;
	uint32_t *rows = realloc(chunks->rows, cap * sizeof *rows);
	if (!rows)
		return out_of_memory(chunks);
	chunks->rows = rows;
	chunks->row_cap = cap;
	return 0;
}

/* The form's first event in the chunk. */
static __attribute__((noinline)) int add_row(struct sonde_heap_chunks *chunks, uint32_t id)
{
	struct sonde_heap_form *form = &chunks->live.forms.row[id];
	if (form->row)
		return 0;
	if (add_stat(chunks, form->site) || (chunks->row_count == chunks->row_cap && grow_rows(chunks)))
		return -ENOMEM;
	chunks->rows[chunks->row_count++] = id;
	form->row = chunks->row_count;
	sonde_columns_put(&chunks->columns, SITE,
			  sonde_varint_zigzag((int64_t)form->site - (int64_t)chunks->last_site));
	sonde_columns_put(&chunks->columns, SIZE, form->size_b);
	chunks->last_site = form->site;
	return 0;
}

/* --- chunks ------------------------------------------------------------------------------------------------------ */

/* log2 by the exponent of a double, which processors without a fast bit count make faster. Values are below 2^52. */
static unsigned class_of(uint64_t value)
{
	double real = (double)(int64_t)(value | 1);
	uint64_t bits;
	memcpy(&bits, &real, sizeof bits);
	unsigned class = (unsigned)(bits >> 52) - 1023;
	return class < SONDE_HEAP_CLASSES ? class : SONDE_HEAP_CLASSES - 1;
}

static void end_run(struct sonde_heap_chunks *chunks)
{
	if (chunks->run) {
		sonde_columns_put(&chunks->columns, THREAD, chunks->run_thread);
		sonde_columns_put(&chunks->columns, THREAD, chunks->run);
	}
	chunks->run = 0;
}

static void add_form(struct sonde_heap_chunks *chunks, struct sonde_heap_form *form)
{
	struct sonde_heap_stat *stat = &chunks->stats[chunks->sites[form->site].row - 1];
	struct sonde_heap_worth worth = sonde_heap_worth(form->size_b, chunks->summary.mean_b);
	uint64_t temporary = stat->temporary + form->temporary * worth.blocks;
	stat->begins += form->begins * worth.blocks;
	stat->begun_b += form->begins * worth.size_b;
	stat->begun_variance += form->begins * worth.variance;
	stat->ends += form->ends * worth.blocks;
	stat->ended_b += form->ends * worth.size_b;
	stat->ended_variance += form->ends * worth.variance;
	stat->temporary = temporary < UINT32_MAX ? (uint32_t)temporary : UINT32_MAX;
	if (form->begins && form->size_b > stat->largest_b)
		stat->largest_b = form->size_b;
	chunks->summary.size_classes[class_of(form->size_b)] += form->begins * worth.blocks;
	form->live += form->begins - form->ends;
	form->row = form->begins = form->ends = form->temporary = 0;
}

/* Forms into the sums of sites, and those into what is alive of each. */
static void add_forms(struct sonde_heap_chunks *chunks)
{
	for (uint32_t i = 0; i < chunks->row_count; i++)
		add_form(chunks, &chunks->live.forms.row[chunks->rows[i]]);
	chunks->summary.size_classes[0] -= chunks->rests;
	chunks->rests = 0;
	for (uint32_t i = 0; i < chunks->summary.sites; i++) {
		const struct sonde_heap_stat *stat = &chunks->stats[i];
		struct site *site = &chunks->sites[stat->site];
		site->live_b += stat->begun_b - stat->ended_b;
		site->live_blocks += stat->begins - stat->ends;
		site->row = 0;
	}
	sonde_heap_forms_sweep(&chunks->live.forms);
}

/* All of them where zones ask for them, else so few that most are MARK_NS apart. */
static void put_marks(struct sonde_heap_chunks *chunks)
{
	uint64_t passed_ns = chunks->last_ns - chunks->columns.time_min_ns, last_ns = chunks->columns.time_min_ns;
	uint32_t step = 1;
	while (!chunks->exact_times && step < chunks->mark_count && passed_ns / chunks->mark_count * step < MARK_NS)
		step *= 2;
	for (uint32_t i = 0; i < chunks->mark_count; i += step) {
		sonde_columns_put(&chunks->columns, TIME, chunks->marks_ns[i] - last_ns);
		last_ns = chunks->marks_ns[i];
	}
	chunks->summary.time_every *= step;
	chunks->mark_count = 0;
}

static int write_chunk(struct sonde_heap_chunks *chunks)
{
	struct sonde_heap_summary *summary = &chunks->summary;
	uint8_t *bytes = malloc(sizeof *summary + summary->sites * SONDE_HEAP_STAT_MOST_B), *at = bytes;
	if (!bytes)
		return sonde_error(ENOMEM, "no memory for the summary of a heap chunk");
	memcpy(at, summary, sizeof *summary);
	at += sizeof *summary;
	for (uint32_t i = 0, site = 0; i < summary->sites; site = chunks->stats[i++].site)
		at = sonde_heap_stat_put(at, &chunks->stats[i], site, summary->mean_b != 0);
	struct sonde_chunk chunk = {
	    .type = SONDE_CHUNK_HEAP,
	    .process = chunks->process,
	    .time_min_ns = chunks->columns.time_min_ns,
	    .time_max_ns = chunks->last_ns,
	    .count = chunks->columns.rows,
	    .summary = bytes,
	    .summary_b = (uint32_t)(at - bytes),
	};
	int code = sonde_recorder_chunk(chunks->recorder, &chunks->columns, &chunk);
	free(bytes);
	return code;
}

int sonde_heap_chunks_flush(struct sonde_heap_chunks *chunks)
{
	if (!chunks->columns.rows && !chunks->summary.unknown)
		return chunks->error;
	end_run(chunks);
	put_marks(chunks);
	add_forms(chunks);
	int code = write_chunk(chunks);
	start_chunk(chunks);
	chunks->error = chunks->error ? chunks->error : code;
	return chunks->error;
}

uint64_t sonde_heap_chunks_last_ns(const struct sonde_heap_chunks *chunks)
{
	return chunks->last_ns;
}

int sonde_heap_chunks_cut(struct sonde_heap_chunks *chunks, uint64_t time_ns)
{
	int code = sonde_heap_chunks_flush(chunks);
	if (chunks->last_ns <= time_ns)
		chunks->last_ns = time_ns + 1;
	return code;
}

void sonde_heap_chunks_alive(const struct sonde_heap_chunks *chunks, uint64_t *blocks, uint64_t *size_b)
{
	*blocks = chunks->live_blocks;
	*size_b = chunks->live_b;
}

/* --- events ------------------------------------------------------------------------------------------------------ */

#define LIFE_SHIFT 24u

/* What changes with every event, while a batch is taken: in registers, but for the events. */
struct filling {
	uint32_t *event; /* life << LIFE_SHIFT | the form's row × 2, + 1 when the block ends */
	uint64_t live_b, live_blocks;
	uint64_t last_begun;          /* nothing was allocated since; 0 = something was */
	struct sonde_heap_slot ended; /* the last one; no words: none */
	uint32_t rows;                /* since the last mark was looked for */
};

static inline void begin_batch(struct sonde_heap_chunks *chunks, struct filling *filling)
{
	if (chunks->columns.rows >= EVENTS_A_CHUNK || chunks->summary.sites >= SITES_A_CHUNK)
		sonde_heap_chunks_flush(chunks);
	*filling = (struct filling){.event = chunks->events,
				    .live_b = chunks->live_b,
				    .live_blocks = chunks->live_blocks,
				    .last_begun = chunks->last_begun};
}

/* Events into the columns that each of them has. */
static void put_events(struct sonde_heap_chunks *chunks, size_t count)
{
	uint8_t *block = sonde_columns_room(&chunks->columns, BLOCK, 2 * BATCH);
	uint8_t *life = sonde_columns_room(&chunks->columns, LIFE, 2 * BATCH);
	if (!block || !life) {
		out_of_memory(chunks);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t code = chunks->events[i] & ((1u << LIFE_SHIFT) - 1);
		*life = (uint8_t)(chunks->events[i] >> LIFE_SHIFT);
		life += code & 1;
		if (code < 0x80)
			*block++ = (uint8_t)code;
		else
			block = sonde_varint_put(block, code);
	}
	sonde_columns_used(&chunks->columns, BLOCK, block);
	sonde_columns_used(&chunks->columns, LIFE, life);
}

static inline void end_batch(struct sonde_heap_chunks *chunks, const struct filling *filling)
{
	put_events(chunks, (size_t)(filling->event - chunks->events));
	chunks->live_b = filling->live_b;
	chunks->live_blocks = filling->live_blocks;
	chunks->last_begun = filling->last_begun;
	if (!filling->ended.words[0])
		return;
	const struct sonde_heap_slot *slot = &filling->ended;
	const struct sonde_heap_form *form = &chunks->live.forms.row[sonde_heap_slot_form(slot)];
	chunks->last_ended = (struct sonde_heap_block){.address = sonde_heap_slot_address(slot),
						       .born = sonde_heap_slot_born(slot),
						       .size_b = form->size_b, /* it may be forgotten */
						       .site = form->site};
}

/* Which times are written is decided when the chunk is: how fast events come is known then. */
static void put_mark(struct sonde_heap_chunks *chunks)
{
	if (!chunks->columns.rows)
		chunks->columns.time_min_ns = chunks->last_ns;
	if (chunks->mark_count == chunks->mark_cap) {
		uint32_t cap = chunks->mark_cap ? 2 * chunks->mark_cap : 64;
		uint64_t *marks = realloc(chunks->marks_ns, cap * sizeof *marks);
		if (!marks) {
			out_of_memory(chunks);
			return;
		}
		chunks->marks_ns = marks;
		chunks->mark_cap = cap;
	}
	chunks->marks_ns[chunks->mark_count++] = chunks->last_ns;
	chunks->until_mark = chunks->summary.time_every;
}

/* Who did the next events, and their time where it is due. */
static void begin_rows(struct sonde_heap_chunks *chunks, const struct sonde_heap_change *change)
{
	if (chunks->run_thread != change->thread)
		end_run(chunks);
	chunks->run_thread = change->thread;
	if (change->time > chunks->last_ns)
		chunks->last_ns = change->time;
	if (!chunks->until_mark)
		put_mark(chunks);
}

static void end_rows(struct sonde_heap_chunks *chunks, uint32_t rows, uint64_t time_ns)
{
	chunks->columns.rows += rows;
	chunks->run += rows;
	chunks->until_mark -= rows;
	if (time_ns > chunks->last_ns)
		chunks->last_ns = time_ns;
}

static inline void find_peak(struct sonde_heap_chunks *chunks, const struct filling *filling)
{
	if (__builtin_expect(filling->live_b <= chunks->summary.peak_b, 1))
		return;
	chunks->summary.peak_b = filling->live_b;
	chunks->summary.peak_blocks = filling->live_blocks;
	chunks->summary.peak_at = chunks->columns.rows + filling->rows;
}

static inline void take_out(struct sonde_heap_chunks *chunks, struct filling *filling, uint64_t time_ns,
			    const struct sonde_heap_slot *slot)
{
	uint32_t id = sonde_heap_slot_form(slot);
	struct sonde_heap_form *form = &chunks->live.forms.row[id];
	if (__builtin_expect(!form->row, 0) && add_row(chunks, id))
		return;
	uint64_t life_ns = (time_ns - sonde_heap_slot_born(slot)) & SONDE_HEAP_BORN_MAX;
	unsigned class = class_of(life_ns <= SONDE_HEAP_BORN_MAX / 2 ? life_ns : 0); /* else it is below 0 */
	class = class < SONDE_HEAP_LIFE_LEAST ? 0 : class;
	unsigned temporary = filling->last_begun == sonde_heap_slot_address(slot);
	form->ends++;
	form->temporary += temporary;
	filling->live_b -= form->worth_b;
	filling->live_blocks -= form->worth_blocks;
	chunks->summary.life_classes[class] += form->worth_blocks;
	filling->ended = *slot;
	*filling->event++ = (class | temporary * SONDE_HEAP_TEMPORARY) << LIFE_SHIFT | (form->row - 1) << 1 | 1;
	filling->rows++;
}

/* A block begins where one is whose end was not seen: that ends first. */
static inline void replace(struct sonde_heap_chunks *chunks, struct filling *filling,
			   const struct sonde_heap_change *change, const struct sonde_heap_slot *before)
{
	take_out(chunks, filling, change->time, before);
	end_rows(chunks, filling->rows, change->time);
	filling->rows = 0;
	begin_rows(chunks, change);
}

static inline void put_in(struct sonde_heap_chunks *chunks, struct filling *filling,
			  const struct sonde_heap_change *change, uint64_t born)
{
	uint64_t address = sonde_heap_live_address(change->address);
	uint32_t id = sonde_heap_forms_id(&chunks->live.forms, change->site, change->size_b);
	struct sonde_heap_slot before = {0};
	if (!address)
		return;
	int was = id ? sonde_heap_live_push(&chunks->live, address, born, id, &before) : -ENOMEM;
	if (__builtin_expect(was != 0, 0)) {
		if (was < 0) {
			out_of_memory(chunks);
			return;
		}
		replace(chunks, filling, change, &before);
	}
	struct sonde_heap_form *form = &chunks->live.forms.row[id];
	if (__builtin_expect(!form->row, 0) && add_row(chunks, id))
		return;
	form->begins++;
	filling->live_b += form->worth_b;
	filling->live_blocks += form->worth_blocks;
	filling->last_begun = address;
	*filling->event++ = (form->row - 1) << 1;
	filling->rows++;
	find_peak(chunks, filling);
}

static inline void take(struct sonde_heap_chunks *chunks, struct filling *filling,
			const struct sonde_heap_change *change)
{
	struct sonde_heap_slot slot;
	uint64_t address = sonde_heap_live_address(change->address);
	if (!sonde_heap_live_pull(&chunks->live, address, &slot)) {
		chunks->summary.unknown += address != 0;
		return;
	}
	take_out(chunks, filling, change->time, &slot);
	if (filling->last_begun == address)
		filling->last_begun = 0;
}

/* A block that ends before anything else happens: nobody need look for it. 0 when it is not one. */
static inline int take_both(struct sonde_heap_chunks *chunks, struct filling *filling,
			    const struct sonde_heap_change *begins, const struct sonde_heap_change *ends)
{
	uint64_t address = sonde_heap_live_address(begins->address);
	if (ends->site || ends->address != begins->address || ends->thread != begins->thread || !address ||
	    filling->rows + 2 > chunks->until_mark || sonde_heap_live_has(&chunks->live, address))
		return 0;
	uint32_t id = sonde_heap_forms_id(&chunks->live.forms, begins->site, begins->size_b);
	struct sonde_heap_form *form = &chunks->live.forms.row[id];
	if (!id || (__builtin_expect(!form->row, 0) && add_row(chunks, id)))
		return 0;
	struct sonde_heap_slot slot = sonde_heap_slot(address, begins->time, id);
	form->begins++;
	filling->live_b += form->worth_b;
	filling->live_blocks += form->worth_blocks;
	filling->last_begun = address;
	*filling->event++ = (form->row - 1) << 1;
	filling->rows++;
	find_peak(chunks, filling);
	take_out(chunks, filling, ends->time, &slot);
	filling->last_begun = 0;
	return 1;
}

/* Changes of one thread, as far as they need no time but the first's. How many there were. */
static inline size_t take_run(struct sonde_heap_chunks *chunks, struct filling *filling,
			      const struct sonde_heap_change *changes, size_t count)
{
	uint32_t thread = changes->thread;
	size_t i = 0;
	begin_rows(chunks, changes);
	do {
		if (i + AHEAD < count)
			sonde_heap_live_expect(&chunks->live, changes[i + AHEAD].address);
		if (!changes[i].site)
			take(chunks, filling, &changes[i]);
		else if (i + 1 < count && take_both(chunks, filling, &changes[i], &changes[i + 1]))
			i++;
		else
			put_in(chunks, filling, &changes[i], changes[i].time);
		i++;
		if (!chunks->columns.rows) /* what is alive after an end can be a chunk's most at its very start */
			break;
	} while (i < count && changes[i].thread == thread && filling->rows < chunks->until_mark);
	find_peak(chunks, filling);
	end_rows(chunks, filling->rows, changes[i - 1].time);
	filling->rows = 0;
	return i;
}

static void take_batch(struct sonde_heap_chunks *chunks, const struct sonde_heap_change *changes, size_t count)
{
	struct filling filling;
	begin_batch(chunks, &filling);
	for (size_t i = 0; i < count;)
		i += take_run(chunks, &filling, changes + i, count - i);
	end_batch(chunks, &filling);
}

void sonde_heap_chunks_changes(struct sonde_heap_chunks *chunks, const struct sonde_heap_change *changes, size_t count)
{
	while (count && !chunks->error) {
		size_t some = count < BATCH ? count : BATCH;
		take_batch(chunks, changes, some);
		changes += some;
		count -= some;
	}
	chunks->refused += count;
}

void sonde_heap_chunks_begins(struct sonde_heap_chunks *chunks, uint64_t time_ns, uint32_t thread, uint64_t address,
			      uint64_t size_b, uint32_t site)
{
	struct sonde_heap_change change = {time_ns, address, size_b, site, thread};
	if (address && site)
		sonde_heap_chunks_changes(chunks, &change, 1);
}

void sonde_heap_chunks_ends(struct sonde_heap_chunks *chunks, uint64_t time_ns, uint32_t thread, uint64_t address)
{
	struct sonde_heap_change change = {time_ns, address, 0, 0, thread};
	sonde_heap_chunks_changes(chunks, &change, 1);
}

void sonde_heap_chunks_kept(struct sonde_heap_chunks *chunks, uint64_t time_ns, uint32_t thread, uint64_t address)
{
	const struct sonde_heap_block *ended = &chunks->last_ended;
	struct sonde_heap_change change = {time_ns, address, ended->size_b, ended->site, thread};
	struct filling filling;
	if (!ended->site || ended->address != sonde_heap_live_address(address) ||
	    sonde_heap_chunks_is_alive(chunks, address))
		return;
	begin_batch(chunks, &filling);
	begin_rows(chunks, &change);
	put_in(chunks, &filling, &change, ended->born);
	filling.last_begun = chunks->last_begun;
	end_rows(chunks, filling.rows, time_ns);
	end_batch(chunks, &filling);
}

/* --- blocks that are split --------------------------------------------------------------------------------------- */

/* Of the blocks alive, one that is of one form is counted as one of another. */
static void recount(struct sonde_heap_chunks *chunks, uint32_t from, uint32_t to)
{
	chunks->live.forms.row[from].live--;
	chunks->live.forms.row[to].live++;
}

/* What is left of a block that was split: it begins with 0 bytes, and is as large as it is. */
static void put_rest(struct sonde_heap_chunks *chunks, struct filling *filling, const struct sonde_heap_change *change,
		     uint64_t born, uint64_t size_b)
{
	struct sonde_heap_block block = {change->address, born, size_b, change->site, 0}, before;
	uint32_t empty = sonde_heap_forms_id(&chunks->live.forms, change->site, 0);
	if (!size_b || !empty || sonde_heap_live_add(&chunks->live, &block, &before) || add_row(chunks, empty))
		return;
	struct sonde_heap_form *form = &chunks->live.forms.row[empty];
	form->begins++;
	recount(chunks, empty, block.form);
	chunks->rests++;
	filling->live_blocks++;
	begin_rows(chunks, change);
	*filling->event++ = (form->row - 1) << 1;
	end_rows(chunks, 1, change->time);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void sonde_heap_chunks_splits(struct sonde_heap_chunks *chunks, uint64_t time_ns, uint32_t thread, uint64_t address,
			      const struct sonde_heap_split *split)
{
	struct sonde_heap_block block;
	struct filling filling;
	if (!sonde_heap_live_take(&chunks->live, address, &block)) {
		chunks->summary.unknown++;
		return;
	}
	uint64_t ends_b = least(split->ends_b, block.size_b); /* of the size that is known */
	uint64_t before_b = least(split->before_b, block.size_b - ends_b);
	uint64_t after_b = least(split->after_b, block.size_b - ends_b - before_b);
	struct sonde_heap_change change = {time_ns, address, 0, block.site, thread};
	uint32_t ends = sonde_heap_forms_id(&chunks->live.forms, block.site, ends_b);
	if (!ends)
		return;
	struct sonde_heap_slot slot = sonde_heap_slot(sonde_heap_live_address(address), block.born, ends);
	recount(chunks, block.form, ends);
	begin_batch(chunks, &filling);
	filling.last_begun = 0;
	begin_rows(chunks, &change);
	take_out(chunks, &filling, time_ns, &slot);
	end_rows(chunks, filling.rows, time_ns);
	filling.rows = 0;
	put_rest(chunks, &filling, &change, block.born, before_b);
	change.address = address + split->before_b + split->ends_b;
	put_rest(chunks, &filling, &change, block.born, after_b);
	find_peak(chunks, &filling);
	end_batch(chunks, &filling);
}

/* --- ends -------------------------------------------------------------------------------------------------------- */

/* What happened after an error is not known: said once. */
static void tell_refused(struct sonde_heap_chunks *chunks)
{
	struct sonde_recorder_loss loss = {
	    .source = "heap",
	    .cause = chunks->error == -ENOMEM ? "no memory to keep the blocks of a heap: not recorded from there on"
					      : "a heap could not be written: not recorded from there on",
	    .process = chunks->process,
	    .count = chunks->refused ? chunks->refused : 1,
	    .time_ns = chunks->last_ns,
	};
	if (chunks->refused || chunks->error == -ENOMEM)
		sonde_recorder_lost(chunks->recorder, &loss);
	chunks->refused = 0;
}

int sonde_heap_chunks_error(const struct sonde_heap_chunks *chunks)
{
	return chunks->error;
}

uint64_t sonde_heap_chunks_mean_b(const struct sonde_heap_chunks *chunks)
{
	return chunks->summary.mean_b;
}

const struct sonde_heap_live *sonde_heap_chunks_live(const struct sonde_heap_chunks *chunks)
{
	return &chunks->live;
}

void sonde_heap_chunks_looked(struct sonde_heap_chunks *chunks, const char *why)
{
	chunks->looked = !why;
	snprintf(chunks->why_not, sizeof chunks->why_not, "%s", why ? why : "");
}

void sonde_heap_chunks_close(struct sonde_heap_chunks *chunks)
{
	sonde_heap_chunks_flush(chunks);
	tell_refused(chunks);
	for (size_t id = 0; id < chunks->site_cap && !chunks->looked; id++) {
		const struct site *site = &chunks->sites[id];
		struct sonde_recorder_heap_leak leak = {.site = (uint32_t)id,
							.kind = SONDE_HEAP_NOT_KNOWN,
							.blocks = site->live_blocks,
							.size_b = site->live_b,
							.detail = *chunks->why_not ? chunks->why_not : NOBODY_ASKED};
		if (site->live_blocks)
			sonde_recorder_heap_leak(chunks->recorder, &leak);
	}
}
