/* changes.c: tracks the live blocks, and encodes events into columns (heap/chunks.h).
 *
 * The cost of an event here determines the overhead for programs that allocate much: it is one lookup of the live block
 * and one of its form (a site and a size, heap/forms.h). The counts of forms become the sums of sites when the chunk is
 * written. Changes come in batches, so that memory can be prefetched.
 */
#include <errno.h>
#include <stdlib.h>

#include "fold/heap_chunk.h"
#include "fold/heap_worth.h"
#include "source/heap/chunks_state.h"
#include "util/array.h"

#define EVENTS_A_CHUNK (1u << 20)
#define SITES_A_CHUNK 16384u
#define AHEAD 16u /* how many changes ahead slots are prefetched: enough time for them to be loaded */
#define FAR_AHEAD (2 * AHEAD)

/* --- events ------------------------------------------------------------------------------------------------------ */

#define LIFE_SHIFT 24u
#define MARKS_MOST 4096u /* maximum of marks in a chunk, unless exact times are required */

/* State that changes with every event of a batch. It is kept in registers, except for the events. */
struct filling {
	uint32_t *event; /* lifetime class << LIFE_SHIFT | the form's row × 2, + 1 if the block ends */
	uint64_t live_b, live_blocks;
	uint64_t last_begun;          /* address of the latest allocated block while it is alive; 0 = it has ended */
	struct sonde_heap_slot ended; /* the last block that ended; words all 0: none */
	uint32_t rows;                /* rows added since the last check whether a mark is due */
};

/* Returns 0 if recording has stopped because an earlier chunk could not be written or a change could not be stored. */
static inline int begin_batch(struct sonde_heap_chunks *chunks, struct filling *filling)
{
	if (chunks->columns.rows >= EVENTS_A_CHUNK || chunks->summary.sites >= SITES_A_CHUNK)
		sonde_heap_chunks_flush(chunks);
	if (chunks->error)
		return 0;
	*filling = (struct filling){.event = chunks->events,
				    .live_b = chunks->live_b,
				    .live_blocks = chunks->live_blocks,
				    .last_begun = chunks->last_begun};
	return 1;
}

/* Encodes the events of a batch: each event is written to the columns that its kind uses. */
static void put_events(struct sonde_heap_chunks *chunks, size_t count)
{
	uint8_t *block = sonde_columns_capacity(&chunks->columns, SONDE_HEAP_COLUMN_BLOCK, 2 * SONDE_HEAP_BATCH);
	uint8_t *life = sonde_columns_capacity(&chunks->columns, SONDE_HEAP_COLUMN_LIFE, 2 * SONDE_HEAP_BATCH);
	if (!block || !life) {
		chunks->is_torn = 1;
		sonde_heap_chunks_no_memory(chunks);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t code = chunks->events[i] & ((1u << LIFE_SHIFT) - 1);
		*life = (uint8_t)(chunks->events[i] >> LIFE_SHIFT);
		life += code & 1;
		block = sonde_heap_put_block(block, code);
	}
	sonde_columns_used(&chunks->columns, SONDE_HEAP_COLUMN_BLOCK, block);
	sonde_columns_used(&chunks->columns, SONDE_HEAP_COLUMN_LIFE, life);
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
						       .size_b = form->size_b, /* the form may be removed */
						       .site = form->site};
}

/* Drops every second mark: if a chunk has few events, it keeps the exact times of all of them, otherwise of every n-th
 * one. */
static void thin_marks(struct sonde_heap_chunks *chunks)
{
	for (uint32_t i = 0; i < chunks->mark_count / 2; i++)
		chunks->marks_ns[i] = chunks->marks_ns[2 * i];
	chunks->mark_count /= 2;
	chunks->summary.time_every *= 2;
}

/* Adds a mark, which is the exact time of an event. Which marks are written is decided when the chunk is complete and
 * its event rate is known. */
static void put_mark(struct sonde_heap_chunks *chunks)
{
	if (!chunks->columns.rows)
		chunks->columns.time_min_ns = chunks->last_ns;
	if (chunks->mark_count == MARKS_MOST && !chunks->exact_times)
		thin_marks(chunks);
	if (SONDE_ARRAY_RESERVE(chunks->marks_ns, chunks->mark_cap, chunks->mark_count + 1)) {
		chunks->is_torn = 1;
		sonde_heap_chunks_no_memory(chunks);
		return;
	}
	chunks->marks_ns[chunks->mark_count++] = chunks->last_ns;
	chunks->until_mark = chunks->summary.time_every;
}

/* Prepares for rows of the change's thread: starts a new run if another thread acted last, and adds a mark if one is
 * due. */
static void begin_rows(struct sonde_heap_chunks *chunks, const struct sonde_heap_change *change)
{
	if (chunks->run_thread != change->thread)
		sonde_heap_chunks_end_run(chunks);
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

static inline void begin_one(const struct sonde_heap_chunks *chunks, struct filling *filling,
			     struct sonde_heap_form *form)
{
	struct sonde_heap_worth worth = sonde_heap_worth(form->size_b, chunks->summary.mean_b);
	form->begins++;
	filling->live_b += worth.size_b;
	filling->live_blocks += worth.blocks;
}

static inline void take_out(struct sonde_heap_chunks *chunks, struct filling *filling, uint64_t time_ns,
			    const struct sonde_heap_slot *slot)
{
	uint32_t id = sonde_heap_slot_form(slot);
	struct sonde_heap_form *form = &chunks->live.forms.row[id];
	if (__builtin_expect(!form->row, 0) && sonde_heap_chunks_row(chunks, id))
		return;
	uint64_t life_ns = (time_ns - sonde_heap_slot_born(slot)) & SONDE_HEAP_BORN_MAX;
	unsigned class = sonde_heap_life_class(life_ns <= SONDE_HEAP_BORN_MAX / 2 ? life_ns : 0); /* else negative */
	unsigned temporary = filling->last_begun == sonde_heap_slot_address(slot);
	form->ends++;
	form->temporary += temporary;
	struct sonde_heap_worth worth = sonde_heap_worth(form->size_b, chunks->summary.mean_b);
	filling->live_b -= worth.size_b;
	filling->live_blocks -= worth.blocks;
	chunks->summary.life_classes[class] += worth.blocks;
	filling->ended = *slot;
	*filling->event++ =
	    (uint32_t)sonde_heap_life_code(class, temporary) << LIFE_SHIFT | sonde_heap_block_code(form->row - 1, 1);
	filling->rows++;
}

/* Handles a block that begins at the address of another block whose end was not seen: the other block ends first. */
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
			sonde_heap_chunks_no_memory(chunks);
			return;
		}
		replace(chunks, filling, change, &before);
	}
	struct sonde_heap_form *form = &chunks->live.forms.row[id];
	if (__builtin_expect(!form->row, 0) && sonde_heap_chunks_row(chunks, id))
		return;
	begin_one(chunks, filling, form);
	filling->last_begun = address;
	*filling->event++ = sonde_heap_block_code(form->row - 1, 0);
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

/* Takes the beginning and the end of a block whose end is the very next change, so that it needs no entry in the table.
 * Returns 0 if the two changes are not such a pair. */
static inline int take_both(struct sonde_heap_chunks *chunks, struct filling *filling,
			    const struct sonde_heap_change *begins, const struct sonde_heap_change *ends)
{
	uint64_t address = sonde_heap_live_address(begins->address);
	if (ends->site || ends->address != begins->address || ends->thread != begins->thread || !address ||
	    filling->rows + 2 > chunks->until_mark || sonde_heap_live_has(&chunks->live, address))
		return 0;
	uint32_t id = sonde_heap_forms_id(&chunks->live.forms, begins->site, begins->size_b);
	struct sonde_heap_form *form = &chunks->live.forms.row[id];
	if (!id || (__builtin_expect(!form->row, 0) && sonde_heap_chunks_row(chunks, id)))
		return 0;
	struct sonde_heap_slot slot = sonde_heap_slot(address, begins->time, id);
	begin_one(chunks, filling, form);
	filling->last_begun = address;
	*filling->event++ = sonde_heap_block_code(form->row - 1, 0);
	filling->rows++;
	find_peak(chunks, filling);
	take_out(chunks, filling, ends->time, &slot);
	filling->last_begun = 0;
	return 1;
}

/* Prefetches the memory that a change needs which is far ahead; and for a change that is nearer, the memory to which
 * its prefetched memory points. */
static inline void expect(const struct sonde_heap_chunks *chunks, const struct sonde_heap_change *changes, size_t count)
{
	const struct sonde_heap_live *live = &chunks->live;
	if (__builtin_expect(!sonde_heap_forms_are_many(&live->forms), 1)) {
		if (AHEAD < count)
			sonde_heap_live_expect(live, changes[AHEAD].address);
		return;
	}
	if (FAR_AHEAD < count) {
		const struct sonde_heap_change *far = &changes[FAR_AHEAD];
		sonde_heap_live_expect(live, far->address);
		if (far->site)
			sonde_heap_forms_expect(&live->forms, far->site, far->size_b);
	}
	if (AHEAD < count) {
		const struct sonde_heap_change *near = &changes[AHEAD];
		uint32_t form = near->site ? sonde_heap_forms_likely(&live->forms, near->site, near->size_b)
					   : sonde_heap_live_likely(live, near->address);
		sonde_heap_forms_expect_row(&live->forms, form);
	}
}

/* Takes changes of one thread, up to the next mark. Returns their number. */
static inline size_t take_run(struct sonde_heap_chunks *chunks, struct filling *filling,
			      const struct sonde_heap_change *changes, size_t count)
{
	uint32_t thread = changes->thread;
	size_t i = 0;
	begin_rows(chunks, changes);
	do {
		expect(chunks, changes + i, count - i);
		if (!changes[i].site)
			take(chunks, filling, &changes[i]);
		else if (i + 1 < count && take_both(chunks, filling, &changes[i], &changes[i + 1]))
			i++;
		else
			put_in(chunks, filling, &changes[i], changes[i].time);
		i++;
		if (!chunks->columns.rows) /* the peak may follow an end only at a chunk's very start */
			break;
	} while (i < count && changes[i].thread == thread && filling->rows < chunks->until_mark && !chunks->error);
	find_peak(chunks, filling);
	end_rows(chunks, filling->rows, changes[i - 1].time);
	filling->rows = 0;
	return i;
}

/* Takes a batch of changes. Returns the number taken, which is less than `count` if a change could not be stored. */
static size_t take_batch(struct sonde_heap_chunks *chunks, const struct sonde_heap_change *changes, size_t count)
{
	struct filling filling;
	size_t i = 0;
	if (!begin_batch(chunks, &filling))
		return 0;
	while (i < count && !chunks->error)
		i += take_run(chunks, &filling, changes + i, count - i);
	end_batch(chunks, &filling);
	return i;
}

void sonde_heap_chunks_changes(struct sonde_heap_chunks *chunks, const struct sonde_heap_change *changes, size_t count)
{
	while (count && !chunks->error) {
		size_t taken = take_batch(chunks, changes, count < SONDE_HEAP_BATCH ? count : SONDE_HEAP_BATCH);
		changes += taken;
		count -= taken;
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
	if (!begin_batch(chunks, &filling)) {
		chunks->refused++;
		return;
	}
	begin_rows(chunks, &change);
	put_in(chunks, &filling, &change, ended->born);
	filling.last_begun = chunks->last_begun;
	end_rows(chunks, filling.rows, time_ns);
	end_batch(chunks, &filling);
}

/* --- split blocks ------------------------------------------------------------------------------------------------ */

/* Counts one live block under form `to` instead of `from`. */
static void recount(struct sonde_heap_chunks *chunks, uint32_t from, uint32_t to)
{
	chunks->live.forms.row[from].live--;
	chunks->live.forms.row[to].live++;
}

/* The remainder of a split block: its begin event has 0 bytes, but the block is stored with its full size. */
static void put_remainder(struct sonde_heap_chunks *chunks, struct filling *filling,
			  const struct sonde_heap_change *change, uint64_t born, uint64_t size_b)
{
	struct sonde_heap_block block = {change->address, born, size_b, change->site, 0}, before;
	uint32_t empty = sonde_heap_forms_id(&chunks->live.forms, change->site, 0);
	if (!size_b || !empty || sonde_heap_live_add(&chunks->live, &block, &before) ||
	    sonde_heap_chunks_row(chunks, empty))
		return;
	struct sonde_heap_form *form = &chunks->live.forms.row[empty];
	form->begins++;
	recount(chunks, empty, block.form);
	chunks->rests++;
	filling->live_blocks++;
	begin_rows(chunks, change);
	*filling->event++ = sonde_heap_block_code(form->row - 1, 0);
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
	if (!begin_batch(chunks, &filling)) {
		chunks->refused++;
		return;
	}
	if (!sonde_heap_live_take(&chunks->live, address, &block)) {
		chunks->summary.unknown++;
		return;
	}
	uint64_t ends_b = least(split->ends_b, block.size_b); /* limited to the known size */
	uint64_t before_b = least(split->before_b, block.size_b - ends_b);
	uint64_t after_b = least(split->after_b, block.size_b - ends_b - before_b);
	struct sonde_heap_change change = {time_ns, address, 0, block.site, thread};
	uint32_t ends = sonde_heap_forms_id(&chunks->live.forms, block.site, ends_b);
	if (!ends)
		return;
	struct sonde_heap_slot slot = sonde_heap_slot(sonde_heap_live_address(address), block.born, ends);
	recount(chunks, block.form, ends);
	filling.last_begun = 0;
	begin_rows(chunks, &change);
	take_out(chunks, &filling, time_ns, &slot);
	end_rows(chunks, filling.rows, time_ns);
	filling.rows = 0;
	put_remainder(chunks, &filling, &change, block.born, before_b);
	change.address = address + split->before_b + split->ends_b;
	put_remainder(chunks, &filling, &change, block.born, after_b);
	find_peak(chunks, &filling);
	end_batch(chunks, &filling);
}
