/* chrome_write.c: writes the sorted rows into a recording: nested slices of a thread become zones, overlapping ones
 * become spans; dropped data is reported (chrome.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "import/chrome.h"
#include "util/error.h"

enum {
	START_NS = 1000000000,
	SAME_MAX = 256,
	TEXT_MAX_B = 4096,
	EVENT_MAX_B = 8192,
	DEPTH_MAX = 16384,
	ROWS_BETWEEN = 1 << 18
};
#define SPANS_OF_SLICES UINT64_C(0x8000000000000000) /* ids of spans made from slices */
#define EPOCH_LEAST_NS INT64_C(1000000000000000000)  /* September 2001: a later time counts from 1970, not from boot */

/* An open zone. */
struct level {
	uint64_t end_ns, args;
	uint64_t cursor_ns; /* end of the zone's last child; the zone's start if it has none */
	uint64_t own_ns;    /* a time outside all children; 0 = none yet */
};

struct write {
	struct sonde_chrome *chrome;
	struct sonde_import_job *job;
	const uint8_t *args;
	struct level levels[SONDE_OUT_DEPTH_MAX];
	uint32_t depth, thread;                 /* thread: index + 1, 0 = none yet */
	struct sonde_chrome_row same[SAME_MAX]; /* slices with equal start and end */
	uint32_t same_count;
	uint64_t own_spans, resolution_ns, rows;
	struct sonde_trie_frame *frames;
	struct sonde_trie_frame *cache; /* chrome->frames interned as frames */
	uint64_t event[EVENT_MAX_B / 8];
};

static uint64_t time_of(const struct write *write, int64_t ns)
{
	return START_NS + ((uint64_t)ns - (uint64_t)write->chrome->min_ns);
}

static uint32_t process_id(const struct write *write, uint32_t thread)
{
	return write->chrome->processes[write->chrome->threads[thread].process - 1].id;
}

static uint32_t site_of(struct write *write, uint32_t name, uint32_t kind)
{
	uint64_t hash = sonde_hash_mix((uint64_t)kind << 32 | name);
	uint32_t site = sonde_map_find(&write->chrome->site_map, hash, NULL, NULL);
	if (site)
		return site;
	const char *text = sonde_chrome_text(write->chrome, name);
	site = sonde_out_site(&write->job->out, kind, *text ? text : "(unnamed)", NULL);
	if (sonde_map_add(&write->chrome->site_map, hash, site))
		write->job->out.error = sonde_error(ENOMEM, "out of memory for sites");
	return site;
}

/* --- events ------------------------------------------------------------------------------------------------------- */

static void event_put(struct write *write, uint32_t thread, struct sonde_event *event, size_t size_b)
{
	memset((char *)event + size_b, 0, (8 - size_b % 8) % 8);
	event->words = (uint16_t)((size_b + 7) / 8);
	sonde_out_event(write->job, process_id(write, thread), write->chrome->threads[thread].id, event);
}

/* Iterates over stored arguments; the texts of each follow it. */
static const uint8_t *arg_next(const uint8_t *at, struct sonde_chrome_stored *arg, const char **key, const char **text)
{
	memcpy(arg, at, sizeof *arg);
	*key = (const char *)at + sizeof *arg;
	*text = *key + arg->key_b;
	return (const uint8_t *)*text + arg->text_b;
}

static void args_put(struct write *write, uint32_t thread, uint64_t args, uint64_t span, uint64_t time_ns)
{
	uint32_t count;
	if (!args || !write->args)
		return;
	const uint8_t *at = write->args + args - 1;
	memcpy(&count, at, sizeof count);
	at += sizeof count;
	for (uint32_t i = 0; i < count; i++) {
		struct sonde_chrome_stored arg;
		const char *key, *text;
		at = arg_next(at, &arg, &key, &text);
		struct sonde_event_arg *event = (void *)write->event;
		*event = (struct sonde_event_arg){.head = {.type = SONDE_EVENT_ARG, .time = time_ns},
						  .span = span,
						  .bits = arg.bits,
						  .kind = arg.kind,
						  .key_b = arg.key_b,
						  .value_b = arg.text_b};
		memcpy(event + 1, key, arg.key_b);
		memcpy((char *)(event + 1) + arg.key_b, text, arg.text_b);
		event_put(write, thread, &event->head, sizeof *event + arg.key_b + arg.text_b);
	}
}

static void instant_put(struct write *write, const struct sonde_chrome_row *row)
{
	struct sonde_event_text *event = (void *)write->event;
	char *to = (char *)(event + 1);
	size_t len_b = 0;
	uint32_t count = 0;
	const uint8_t *at = row->args && write->args ? write->args + row->args - 1 : NULL;
	if (at) {
		memcpy(&count, at, sizeof count);
		at += sizeof count;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct sonde_chrome_stored arg;
		const char *key, *text;
		char number[40];
		double real;
		at = arg_next(at, &arg, &key, &text);
		memcpy(&real, &arg.bits, sizeof real);
		if (arg.kind == SONDE_ARG_FLOAT)
			snprintf(number, sizeof number, "%.17g", real);
		else
			snprintf(number, sizeof number, "%lld", (long long)arg.bits);
		int is_text = arg.kind == SONDE_ARG_TEXT,
		    is_plain = count == 1 && arg.key_b == 4 && !memcmp(key, "text", 4);
		int wrote_b = snprintf(to + len_b, TEXT_MAX_B - len_b, "%s%.*s%s%.*s", len_b ? ", " : "",
				       is_plain ? 0 : (int)arg.key_b, key, is_plain ? "" : ": ",
				       is_text ? (int)arg.text_b : (int)strlen(number), is_text ? text : number);
		len_b += wrote_b > 0 ? (size_t)wrote_b : 0;
		if (len_b >= TEXT_MAX_B - 1) {
			len_b = TEXT_MAX_B - 1;
			break;
		}
	}
	event->head = (struct sonde_event){.type = SONDE_EVENT_INSTANT,
					   .site = site_of(write, row->name, SONDE_SITE_INSTANT),
					   .time = time_of(write, row->time_ns)};
	event->len_b = len_b;
	write->job->result->marks++;
	event_put(write, row->thread, &event->head, sizeof *event + len_b);
}

static void gauge_put(struct write *write, const struct sonde_chrome_row *row)
{
	struct sonde_event_value event = {.head = {.type = SONDE_EVENT_GAUGE,
						   .site = site_of(write, row->name, SONDE_SITE_GAUGE),
						   .time = time_of(write, row->time_ns)}};
	memcpy(&event.value, &row->value, sizeof event.value);
	write->job->result->values++;
	event_put(write, row->thread, &event.head, sizeof event);
}

static void span_edge(struct write *write, const struct sonde_chrome_row *row, uint64_t id, int begins,
		      uint64_t time_ns)
{
	struct sonde_event_span event = {.head = {.type = begins ? SONDE_EVENT_SPAN_BEGIN : SONDE_EVENT_SPAN_END,
						  .site = site_of(write, row->name, SONDE_SITE_SPAN),
						  .time = time_ns},
					 .id = id};
	event_put(write, row->thread, &event.head, sizeof event);
	if (!begins)
		return;
	write->job->result->spans++;
	args_put(write, row->thread, row->args, id, time_ns);
}

static void slice_as_span(struct write *write, const struct sonde_chrome_row *row)
{
	uint64_t id = SPANS_OF_SLICES | ++write->own_spans, start_ns = time_of(write, row->time_ns);
	span_edge(write, row, id, 1, start_ns);
	span_edge(write, row, id, 0, start_ns + row->value);
}

/* --- slices ------------------------------------------------------------------------------------------------------- */

/* Ends a zone. Its arguments get a time at which the zone is the innermost: its end, unless a child ends at that
 * time. */
static void zone_end(struct write *write)
{
	struct level *level = &write->levels[--write->depth];
	uint32_t thread = write->thread - 1;
	sonde_out_zone(write->job, process_id(write, thread), write->chrome->threads[thread].id, 0, level->end_ns);
	uint64_t at_ns = level->cursor_ns < level->end_ns || !level->own_ns ? level->end_ns : level->own_ns;
	args_put(write, thread, level->args, 0, at_ns);
	if (write->depth)
		write->levels[write->depth - 1].cursor_ns = level->end_ns;
}

static void zones_end(struct write *write, uint64_t until_ns)
{
	while (write->depth && write->levels[write->depth - 1].end_ns <= until_ns)
		zone_end(write);
}

/* True if a slice fits into the enclosing zone. An end that exceeds the zone's end by no more than the time resolution
 * is clipped. */
static int fits(struct write *write, uint64_t *end_ns)
{
	uint64_t outer_ns = write->depth ? write->levels[write->depth - 1].end_ns : UINT64_MAX;
	if (*end_ns <= outer_ns)
		return 1;
	if (*end_ns - outer_ns > write->resolution_ns)
		return 0;
	*end_ns = outer_ns;
	write->chrome->counts.clipped++;
	return 1;
}

static void slice_put(struct write *write, const struct sonde_chrome_row *row)
{
	uint64_t start_ns = time_of(write, row->time_ns), end_ns = start_ns + row->value;
	zones_end(write, start_ns);
	if (!fits(write, &end_ns)) {
		write->chrome->counts.overlaps++;
		slice_as_span(write, row);
		return;
	}
	struct level *outer = write->depth ? &write->levels[write->depth - 1] : NULL;
	if (outer && !outer->own_ns && start_ns > outer->cursor_ns + 1)
		outer->own_ns = outer->cursor_ns + 1;
	uint32_t site = site_of(write, row->name, SONDE_SITE_ZONE);
	if (write->depth == SONDE_OUT_DEPTH_MAX ||
	    !sonde_out_zone(write->job, process_id(write, row->thread), write->chrome->threads[row->thread].id, site,
			    start_ns)) {
		write->chrome->counts.deep++;
		slice_as_span(write, row);
		return;
	}
	write->levels[write->depth++] = (struct level){.end_ns = end_ns, .args = row->args, .cursor_ns = start_ns};
}

/* Adds slices with equal start and end. The outermost must be added first; it is the last one if the file lists slices
 * by end time. */
static void same_flush(struct write *write)
{
	uint32_t count = write->same_count;
	write->same_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_chrome_row *row = &write->same[i];
		int by_end = write->chrome->threads[row->thread].by_end;
		slice_put(write, by_end ? &write->same[count - 1 - i] : row);
	}
}

static void slice_take(struct write *write, const struct sonde_chrome_row *row)
{
	const struct sonde_chrome_row *last = &write->same[0];
	if (write->same_count &&
	    (write->same_count == SAME_MAX || last->time_ns != row->time_ns || last->value != row->value))
		same_flush(write);
	write->same[write->same_count++] = *row;
}

/* --- samples ------------------------------------------------------------------------------------------------------ */

static uint32_t node_of(struct write *write, uint32_t frame)
{
	struct sonde_chrome *chrome = write->chrome;
	size_t depth = 0;
	if (frame && chrome->frames[frame - 1].node)
		return chrome->frames[frame - 1].node;
	for (uint32_t at = frame; at && depth < DEPTH_MAX; at = chrome->frames[at - 1].parent) {
		const struct sonde_chrome_frame *from = &chrome->frames[at - 1];
		const char *name = sonde_chrome_text(chrome, from->name);
		write->frames[depth++] = sonde_out_name(&write->job->out, *name ? name : "(anonymous)",
							sonde_chrome_text(chrome, from->file), from->line);
	}
	uint32_t node = sonde_trie_intern(&write->job->out.trie, write->frames, depth);
	if (frame)
		chrome->frames[frame - 1].node = node;
	return node;
}

static void sample_put(struct write *write, const struct sonde_chrome_row *row)
{
	uint32_t thread = write->chrome->threads[row->args].id;
	sonde_out_sample(write->job, time_of(write, row->time_ns), thread, node_of(write, row->name), row->value,
			 row->name ? SONDE_STACK_COMPLETE : SONDE_STACK_NO_USER);
}

static void thread_begin(struct write *write, uint32_t thread)
{
	same_flush(write);
	zones_end(write, UINT64_MAX);
	write->thread = thread + 1;
}

/* Periodically releases the pages read from the arguments' file: they stay in the page cache, but not in our RSS. */
static void args_release(struct write *write)
{
	if (write->args && !(++write->rows % ROWS_BETWEEN))
		madvise((void *)(uintptr_t)write->args, write->chrome->args_b, MADV_DONTNEED);
}

static int rows_put(struct write *write)
{
	struct sonde_chrome_row row;
	int rc = 0;
	while (!write->job->out.error && (rc = sonde_chrome_spill_next(write->chrome->spill, &row)) > 0) {
		args_release(write);
		if (row.thread + 1 != write->thread)
			thread_begin(write, row.thread);
		switch (row.kind) {
		case SONDE_CHROME_SLICE:
			slice_take(write, &row);
			break;
		case SONDE_CHROME_SPAN_BEGIN:
		case SONDE_CHROME_SPAN_END:
			span_edge(write, &row, row.value, row.kind == SONDE_CHROME_SPAN_BEGIN,
				  time_of(write, row.time_ns));
			break;
		case SONDE_CHROME_INSTANT:
			instant_put(write, &row);
			break;
		case SONDE_CHROME_GAUGE:
			gauge_put(write, &row);
			break;
		default:
			sample_put(write, &row);
		}
	}
	if (write->job->out.error || rc < 0)
		return write->job->out.error ? write->job->out.error : rc;
	same_flush(write);
	zones_end(write, UINT64_MAX);
	return write->job->out.error;
}

/* --- tables and notes --------------------------------------------------------------------------------------------- */

static uint32_t number_of(const char *text)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && value <= UINT32_MAX ? (uint32_t)value : 0;
}

static void process_put(struct write *write, struct sonde_chrome_process *process, uint64_t start_ns)
{
	struct sonde_chrome *chrome = write->chrome;
	const char *key = sonde_chrome_text(chrome, process->key), *name = sonde_chrome_text(chrome, process->name);
	const char *label = sonde_chrome_text(chrome, process->label);
	char text[SONDE_CHROME_ARG_MAX_B];
	int is_number = number_of(key) || !strcmp(key, "0");
	if (*name && *label)
		snprintf(text, sizeof text, "%.500s (%.500s)", name, label);
	else
		snprintf(text, sizeof text, is_number && !*name && !*label ? "process %.900s" : "%.900s",
			 *name    ? name
			 : *label ? label
			 : *key   ? key
				  : "process");
	process->id = sonde_out_process(&write->job->out, number_of(key), 0, text, start_ns);
}

static void tables_put(struct write *write)
{
	struct sonde_chrome *chrome = write->chrome;
	for (uint32_t i = 0; i < chrome->thread_count; i++) {
		struct sonde_chrome_thread *thread = &chrome->threads[i];
		struct sonde_chrome_process *process = &chrome->processes[thread->process - 1];
		const char *name = sonde_chrome_text(chrome, thread->name),
			   *key = sonde_chrome_text(chrome, thread->key);
		char text[SONDE_CHROME_ARG_MAX_B];
		if (thread->first_ns == INT64_MAX)
			continue;
		if (!process->id)
			process_put(write, process, START_NS);
		snprintf(text, sizeof text, *name || !*key || !number_of(key) ? "%.900s" : "thread %.900s",
			 *name  ? name
			 : *key ? key
				: "thread");
		thread->id = sonde_out_thread(&write->job->out, process->id, number_of(key), text,
					      time_of(write, thread->first_ns));
		sonde_out_thread_end(&write->job->out, thread->id, time_of(write, thread->last_ns));
	}
}

static void notes_put(struct write *write)
{
	const struct sonde_chrome_counts *counts = &write->chrome->counts;
	char clipped[128];
	snprintf(clipped, sizeof clipped, "slices that end up to %llu ns after their parent: cut to fit",
		 (unsigned long long)write->resolution_ns);
	const struct sonde_out_count notes[] = {
	    {counts->flows, "flow arrows left out: recordings have no flows"},
	    {counts->objects, "object events and memory dumps left out"},
	    {counts->unknown, "events of unknown phases left out"},
	    {counts->timeless, "events with a missing or impossible time left out"},
	    {counts->unopened, "ends without a start left out"},
	    {counts->unclosed, "slices without an end: extended to the end of the file"},
	    {counts->endless, "complete events without a duration: taken as 0 ns"},
	    {counts->unordered, "starts or ends out of order: taken in the order of the file"},
	    {counts->overlaps, "slices that overlap others of their thread: shown as spans, not zones"},
	    {counts->deep, "slices nested too deep for zones: shown as spans, or without their own row"},
	    {counts->clipped, clipped},
	    {counts->args, "arguments left out: lists, objects, or too many"},
	    {counts->long_args, "texts of arguments cut at 1 KB"},
	    {counts->names, "names beyond the first million are merged"},
	    {counts->idle, "samples of V8 in (idle) left out"},
	    {counts->samples, "V8 samples: wall time, shown as CPU time"},
	};
	if (write->chrome->is_cut || sonde_input_is_cut(write->job->input))
		sonde_out_note(write->job,
			       "the end of the file is missing (still being written, or cut off): all complete events "
			       "were imported");
	sonde_out_note_counts(write->job, notes, sizeof notes / sizeof *notes);
}

/* Returns the wall-clock time of the start: from the base that the file gives, or from times that count from 1970;
 * otherwise the time when the file was last changed. */
static uint64_t real_of(const struct write *write)
{
	const struct sonde_chrome *chrome = write->chrome;
	if (chrome->has_base && chrome->base_ns < INT64_MAX / 2 && (int64_t)chrome->base_ns + chrome->min_ns > 0)
		return (uint64_t)((int64_t)chrome->base_ns + chrome->min_ns);
	if (chrome->min_ns > EPOCH_LEAST_NS)
		return (uint64_t)chrome->min_ns;
	return sonde_input_changed_ns(write->job->input);
}

static int args_map(struct write *write)
{
	struct sonde_chrome *chrome = write->chrome;
	if (!chrome->args_b)
		return 0;
	write->args = mmap(NULL, chrome->args_b, PROT_READ, MAP_SHARED, chrome->args_fd, 0);
	if (write->args != MAP_FAILED)
		return 0;
	write->args = NULL;
	return sonde_error(errno, "arguments of events cannot be read again: %s", strerror(errno));
}

int sonde_chrome_write(struct sonde_chrome *chrome)
{
	struct sonde_import_job *job = chrome->job;
	struct write *write = calloc(1, sizeof *write);
	if (!write)
		return sonde_error(ENOMEM, "out of memory");
	*write = (struct write){.chrome = chrome, .job = job, .resolution_ns = chrome->has_fractions ? 1 : 1000};
	write->frames = malloc(DEPTH_MAX * sizeof *write->frames);
	int rc = write->frames ? args_map(write) : sonde_error(ENOMEM, "out of memory");
	rc = rc ? rc : sonde_chrome_spill_sort(chrome->spill);
	rc = rc ? rc : sonde_out_begin(job, START_NS, real_of(write), 0);
	if (!rc) {
		tables_put(write);
		rc = rows_put(write);
	}
	if (!rc) {
		if (job->result->zones + job->result->spans)
			sonde_out_source(&job->out, "zones", "imported from trace events", NULL, 0);
		if (job->result->samples)
			sonde_out_source(&job->out, "cpu", "imported from trace events", NULL, 0);
		notes_put(write);
		rc = sonde_out_end(job, time_of(write, chrome->max_ns));
	}
	if (write->args)
		munmap((void *)(uintptr_t)write->args, chrome->args_b);
	free(write->frames);
	free(write);
	return rc;
}
