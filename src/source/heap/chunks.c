/* chunks.c: computes sums by site, and writes the changes as chunks (format/record.h, HEAP).
 *
 * A chunk's summary holds the bytes and blocks that were live before the chunk, and the sums of each site within it. So
 * a reader adds up the summaries, and decodes only the chunk that contains the peak. Events are counted by form
 * (heap/changes.c); these counts become the sums of sites when the chunk is written.
 */
#include "source/heap/chunks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fold/heap_chunk.h"
#include "fold/heap_worth.h"
#include "source/heap/chunks_state.h"
#include "util/array.h"
#include "util/error.h"

#define MARK_NS 1000000u /* most of the times written are at least this far apart */
#define MARKS_AT_ONCE 1024u
#define NOBODY_REQUESTED "memory not scanned: killed by a signal, or ended by _exit() or exec()"

static void start_chunk(struct sonde_heap_chunks *chunks)
{
	chunks->summary = (struct sonde_heap_summary){.heap = chunks->summary.heap,
						      .time_every = 1,
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
	sonde_columns_init(&chunks->columns, SONDE_HEAP_COLUMNS);
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
	chunks->summary.time_every = 1; /* even if there was nothing to flush */
	return code;
}

int sonde_heap_chunks_is_alive(const struct sonde_heap_chunks *chunks, uint64_t address)
{
	struct sonde_heap_block block;
	return sonde_heap_live_find(&chunks->live, address, &block);
}

/* --- sites ------------------------------------------------------------------------------------------------------- */

int sonde_heap_chunks_no_memory(struct sonde_heap_chunks *chunks)
{
	return chunks->error = sonde_error(ENOMEM, "no memory for allocation call sites");
}

static struct sonde_heap_chunk_site *site_of(struct sonde_heap_chunks *chunks, uint32_t id)
{
	if (SONDE_ARRAY_RESERVE_ZEROS(chunks->sites, chunks->site_cap, (size_t)id + 1)) {
		sonde_heap_chunks_no_memory(chunks);
		return NULL;
	}
	return &chunks->sites[id];
}

/* Adds a row for the site to the chunk's stats. */
static int add_stat(struct sonde_heap_chunks *chunks, uint32_t id)
{
	struct sonde_heap_chunk_site *site = site_of(chunks, id);
	if (!site)
		return -ENOMEM;
	if (site->row)
		return 0;
	if (SONDE_ARRAY_RESERVE(chunks->stats, chunks->stat_cap, chunks->summary.sites + 1))
		return sonde_heap_chunks_no_memory(chunks);
	site->row = ++chunks->summary.sites;
	chunks->stats[site->row - 1] = (struct sonde_heap_stat){.site = id};
	return 0;
}

/* Room for `count` values; NULL when out of memory, which the flush reports. */
static uint8_t *capacity(struct sonde_heap_chunks *chunks, size_t column, size_t count)
{
	return sonde_columns_capacity(&chunks->columns, column, count);
}

/* Adds a row for a form, at its first event in the chunk. */
int sonde_heap_chunks_row(struct sonde_heap_chunks *chunks, uint32_t id)
{
	struct sonde_heap_form *form = &chunks->live.forms.row[id];
	if (form->row)
		return 0;
	if (add_stat(chunks, form->site))
		return -ENOMEM;
	if (SONDE_ARRAY_RESERVE(chunks->rows, chunks->row_cap, chunks->row_count + 1))
		return sonde_heap_chunks_no_memory(chunks);
	chunks->rows[chunks->row_count++] = id;
	form->row = chunks->row_count;
	uint8_t *site_at = capacity(chunks, SONDE_HEAP_COLUMN_SITE, 1),
		*size_at = capacity(chunks, SONDE_HEAP_COLUMN_SIZE, 1);
	if (site_at && size_at) {
		sonde_columns_used(&chunks->columns, SONDE_HEAP_COLUMN_SITE,
				   sonde_heap_put_site(site_at, form->site, chunks->last_site));
		sonde_columns_used(&chunks->columns, SONDE_HEAP_COLUMN_SIZE,
				   sonde_heap_put_size(size_at, form->size_b));
	}
	chunks->last_site = form->site;
	return 0;
}

/* --- chunks ------------------------------------------------------------------------------------------------------ */

void sonde_heap_chunks_end_run(struct sonde_heap_chunks *chunks)
{
	uint8_t *at = chunks->run ? capacity(chunks, SONDE_HEAP_COLUMN_THREAD, 2) : NULL;
	if (at)
		sonde_columns_used(&chunks->columns, SONDE_HEAP_COLUMN_THREAD,
				   sonde_heap_put_run(at, chunks->run_thread, chunks->run));
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
	chunks->begun_b += form->begins * worth.size_b;
	chunks->begun_blocks += form->begins * worth.blocks;
	chunks->summary.size_classes[sonde_heap_class(form->size_b)] += form->begins * worth.blocks;
	form->live += form->begins - form->ends;
	form->row = form->begins = form->ends = form->temporary = 0;
}

/* Adds the counts of each form to the sums of its site, and the sums of each site to the site's live blocks. */
static void add_forms(struct sonde_heap_chunks *chunks)
{
	for (uint32_t i = 0; i < chunks->row_count; i++)
		add_form(chunks, &chunks->live.forms.row[chunks->rows[i]]);
	chunks->summary.size_classes[0] -= chunks->rests;
	chunks->begun_blocks -= chunks->rests;
	chunks->rests = 0;
	for (uint32_t i = 0; i < chunks->summary.sites; i++) {
		const struct sonde_heap_stat *stat = &chunks->stats[i];
		struct sonde_heap_chunk_site *site = &chunks->sites[stat->site];
		site->live_b += stat->begun_b - stat->ended_b;
		site->live_blocks += stat->begins - stat->ends;
		site->row = 0;
	}
	sonde_heap_forms_sweep(&chunks->live.forms);
}

/* Writes all times if zones need them, otherwise so few that most are MARK_NS apart. */
static void put_marks(struct sonde_heap_chunks *chunks)
{
	uint64_t passed_ns = chunks->last_ns - chunks->columns.time_min_ns, last_ns = chunks->columns.time_min_ns;
	uint32_t step = 1;
	while (!chunks->exact_times && step < chunks->mark_count && passed_ns / chunks->mark_count * step < MARK_NS)
		step *= 2;
	for (uint32_t i = 0; i < chunks->mark_count;) {
		uint8_t *at = capacity(chunks, SONDE_HEAP_COLUMN_TIME, MARKS_AT_ONCE);
		for (uint32_t k = 0; at && k < MARKS_AT_ONCE && i < chunks->mark_count; k++, i += step) {
			at = sonde_heap_put_time(at, chunks->marks_ns[i], last_ns);
			last_ns = chunks->marks_ns[i];
		}
		if (!at)
			break;
		sonde_columns_used(&chunks->columns, SONDE_HEAP_COLUMN_TIME, at);
	}
	chunks->summary.time_every *= step;
	chunks->mark_count = 0;
}

static int write_chunk(struct sonde_heap_chunks *chunks)
{
	struct sonde_heap_summary *summary = &chunks->summary;
	uint8_t *bytes = malloc(SONDE_HEAP_SUMMARY_MOST_B(summary->sites));
	if (!bytes)
		return sonde_error(ENOMEM, "no memory for the summary of a heap chunk");
	struct sonde_chunk chunk = {
	    .type = SONDE_CHUNK_HEAP,
	    .process = chunks->process,
	    .time_min_ns = chunks->columns.time_min_ns,
	    .time_max_ns = chunks->last_ns,
	    .count = chunks->columns.rows,
	    .summary = bytes,
	    .summary_b = (uint32_t)(sonde_heap_put_summary(bytes, summary, chunks->stats) - bytes),
	};
	int code = sonde_recorder_chunk(chunks->recorder, &chunks->columns, &chunk);
	free(bytes);
	return code;
}

int sonde_heap_chunks_flush(struct sonde_heap_chunks *chunks)
{
	if (chunks->is_torn || (!chunks->columns.rows && !chunks->summary.unknown))
		return chunks->error;
	sonde_heap_chunks_end_run(chunks);
	put_marks(chunks);
	add_forms(chunks);
	if (chunks->summary.peak_b > chunks->peak_b) {
		chunks->peak_b = chunks->summary.peak_b;
		chunks->peak_blocks = chunks->summary.peak_blocks;
	}
	uint32_t rows = chunks->columns.rows;
	int code = write_chunk(chunks);
	start_chunk(chunks);
	if (code) { /* no chunk may follow a missing one: its ends would refer to unknown blocks */
		chunks->is_torn = 1;
		chunks->refused += rows;
	}
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

void sonde_heap_chunks_totals(const struct sonde_heap_chunks *chunks, struct sonde_link_blocks *out)
{
	const struct sonde_heap_summary *open = &chunks->summary;
	int is_peak = open->peak_b > chunks->peak_b;
	out->live_b = chunks->live_b;
	out->live_blocks = chunks->live_blocks;
	out->peak_b = is_peak ? open->peak_b : chunks->peak_b;
	out->peak_blocks = is_peak ? open->peak_blocks : chunks->peak_blocks;
	out->begun_b = chunks->begun_b;
	out->begun_blocks = chunks->begun_blocks - chunks->rests;
	for (uint32_t i = 0; i < chunks->row_count; i++) {
		const struct sonde_heap_form *form = &chunks->live.forms.row[chunks->rows[i]];
		struct sonde_heap_worth worth = sonde_heap_worth(form->size_b, open->mean_b);
		out->begun_b += form->begins * worth.size_b;
		out->begun_blocks += form->begins * worth.blocks;
	}
}

void sonde_heap_chunks_alive(const struct sonde_heap_chunks *chunks, uint64_t *blocks, uint64_t *size_b)
{
	*blocks = chunks->live_blocks;
	*size_b = chunks->live_b;
}

/* --- ends -------------------------------------------------------------------------------------------------------- */

/* Reports once how many events were lost after an error. */
static void record_refused(struct sonde_heap_chunks *chunks)
{
	uint64_t lost = chunks->refused + (chunks->is_torn ? chunks->columns.rows : 0);
	struct sonde_recorder_loss loss = {
	    .source = "heap",
	    .cause = chunks->error == -ENOMEM ? "no memory for a heap's blocks: not recorded from there on"
					      : "a heap could not be written: not recorded from there on",
	    .process = chunks->process,
	    .count = lost ? lost : chunks->error == -ENOMEM,
	    .time_ns = chunks->last_ns,
	};
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

static const char *why_not_known(const struct sonde_heap_chunks *chunks)
{
	if (*chunks->why_not)
		return chunks->why_not;
	return sonde_recorder_options(chunks->recorder)->heap_is_light ? SONDE_HEAP_NOT_REQUESTED : NOBODY_REQUESTED;
}

void sonde_heap_chunks_close(struct sonde_heap_chunks *chunks)
{
	sonde_heap_chunks_flush(chunks);
	record_refused(chunks);
	for (size_t id = 0; id < chunks->site_cap && !chunks->looked; id++) {
		const struct sonde_heap_chunk_site *site = &chunks->sites[id];
		struct sonde_meta_heap_leak leak = {.site = (uint32_t)id,
						    .kind = SONDE_HEAP_NOT_KNOWN,
						    .blocks = site->live_blocks,
						    .size_b = site->live_b};
		if (site->live_blocks)
			leak.detail = sonde_recorder_text(chunks->recorder, why_not_known(chunks));
		sonde_recorder_heap_leak(chunks->recorder, &leak);
	}
}
