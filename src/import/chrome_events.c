/* chrome_events.c: converts an event into rows according to its phase. Begins and ends are paired in file order,
 * because ends have no name and spans may reuse an id (chrome.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "import/chrome.h"
#include "util/array.h"
#include "util/error.h"

enum { NAMES_MAX = 1 << 20, NAME_MAX_B = 4096, THREADS_MAX = 1 << 16, OPEN_MAX = 4096, ARGS_BUFFER_B = 1 << 20 };
#define NAMES_MAX_B ((size_t)256 << 20)
#define OTHER_NAMES "(further names)"

void sonde_chrome_keep(struct sonde_chrome *chrome, int error)
{
	chrome->error = chrome->error ? chrome->error : error;
}

int sonde_chrome_grow(struct sonde_chrome *chrome, void *rows, uint32_t count, size_t *cap, size_t row_b)
{
	if (!sonde_array_reserve(rows, cap, count + 1, row_b))
		return 0;
	sonde_chrome_keep(chrome, sonde_error(ENOMEM, "out of memory for events"));
	return -ENOMEM;
}

/* --- names, processes, threads ------------------------------------------------------------------------------------ */

struct probe {
	const struct sonde_chrome_names *names;
	const char *text;
	size_t len_b;
};

static int same(const void *context, uint32_t id)
{
	const struct probe *probe = context;
	const struct sonde_string_row *row = &probe->names->rows[id - 1];
	return row->len_b == probe->len_b && !memcmp(row->text, probe->text, probe->len_b);
}

uint32_t sonde_chrome_name(struct sonde_chrome *chrome, const char *text, size_t len_b)
{
	struct sonde_chrome_names *names = &chrome->names;
	len_b = len_b < NAME_MAX_B ? len_b : NAME_MAX_B;
	if (!len_b)
		return 0;
	struct probe probe = {names, text, len_b};
	uint64_t hash = sonde_hash_bytes(text, len_b);
	uint32_t id = sonde_map_find(&names->map, hash, same, &probe);
	if (id)
		return id;
	if ((names->count >= NAMES_MAX || names->arena.total_b >= NAMES_MAX_B) && strcmp(text, OTHER_NAMES)) {
		chrome->counts.names++;
		return sonde_chrome_name(chrome, OTHER_NAMES, strlen(OTHER_NAMES));
	}
	char *copy = sonde_arena_strndup(&names->arena, text, len_b);
	if (!copy || sonde_chrome_grow(chrome, &names->rows, names->count, &names->cap, sizeof *names->rows) ||
	    sonde_map_add(&names->map, hash, names->count + 1)) {
		sonde_chrome_keep(chrome, sonde_error(ENOMEM, "out of memory for names"));
		return 0;
	}
	names->rows[names->count] = (struct sonde_string_row){copy, (uint32_t)len_b};
	return ++names->count;
}

const char *sonde_chrome_text(const struct sonde_chrome *chrome, uint32_t name)
{
	return name ? chrome->names.rows[name - 1].text : "";
}

static uint32_t process_of(struct sonde_chrome *chrome, uint32_t pid)
{
	uint64_t hash = sonde_hash_mix(pid);
	uint32_t at = sonde_map_find(&chrome->process_map, hash, NULL, NULL);
	if (at)
		return at;
	if (sonde_chrome_grow(chrome, &chrome->processes, chrome->process_count, &chrome->process_cap,
			      sizeof *chrome->processes))
		return 0;
	chrome->processes[chrome->process_count++] = (struct sonde_chrome_process){.key = pid};
	sonde_chrome_keep(chrome, sonde_map_add(&chrome->process_map, hash, chrome->process_count));
	return chrome->process_count;
}

uint32_t sonde_chrome_thread(struct sonde_chrome *chrome, uint32_t pid, uint32_t tid)
{
	uint64_t hash = sonde_hash_mix((uint64_t)pid << 32 | tid);
	uint32_t at = sonde_map_find(&chrome->thread_map, hash, NULL, NULL);
	if (at)
		return at - 1;
	if (chrome->thread_count == THREADS_MAX) {
		sonde_chrome_keep(chrome, sonde_error(EFBIG, "%s is too big: it has more than %d threads",
						      sonde_input_name(chrome->job->input), THREADS_MAX));
		return UINT32_MAX;
	}
	uint32_t process = process_of(chrome, pid);
	if (!process || sonde_chrome_grow(chrome, &chrome->threads, chrome->thread_count, &chrome->thread_cap,
					  sizeof *chrome->threads))
		return UINT32_MAX;
	chrome->threads[chrome->thread_count] = (struct sonde_chrome_thread){.process = process,
									     .key = tid,
									     .first_ns = INT64_MAX,
									     .last_ns = INT64_MIN,
									     .last_edge_ns = INT64_MIN,
									     .last_slice_ns = INT64_MIN};
	sonde_chrome_keep(chrome, sonde_map_add(&chrome->thread_map, hash, chrome->thread_count + 1));
	return chrome->thread_count++;
}

void sonde_chrome_row(struct sonde_chrome *chrome, const struct sonde_chrome_row *given, uint32_t thread)
{
	struct sonde_chrome_row row = *given;
	struct sonde_chrome_thread *of = &chrome->threads[thread];
	int64_t end_ns = row.time_ns + (row.kind == SONDE_CHROME_SLICE ? (int64_t)row.value : 0);
	of->first_ns = row.time_ns < of->first_ns ? row.time_ns : of->first_ns;
	of->last_ns = end_ns > of->last_ns ? end_ns : of->last_ns;
	chrome->min_ns = row.time_ns < chrome->min_ns ? row.time_ns : chrome->min_ns;
	chrome->max_ns = end_ns > chrome->max_ns ? end_ns : chrome->max_ns;
	row.order = chrome->order++;
	sonde_chrome_keep(chrome, sonde_chrome_spill_add(chrome->spill, &row));
}

/* --- arguments ---------------------------------------------------------------------------------------------------- */

static void args_flush(struct sonde_chrome *chrome)
{
	const uint8_t *from = chrome->args.data;
	if (chrome->args_fd < 0)
		chrome->args_fd = sonde_input_scratch(chrome->job->options->folder);
	sonde_chrome_keep(chrome, chrome->args_fd < 0 ? chrome->args_fd : 0);
	for (size_t left_b = chrome->args.len_b; left_b && !chrome->error;) {
		ssize_t wrote_b = write(chrome->args_fd, from, left_b);
		if (wrote_b <= 0 && errno != EINTR)
			sonde_chrome_keep(chrome,
					  sonde_error(errno, "cannot create a temporary file next to the output: %s",
						      strerror(errno)));
		from += wrote_b > 0 ? wrote_b : 0;
		left_b -= wrote_b > 0 ? (size_t)wrote_b : 0;
	}
	chrome->args_b += chrome->args.len_b;
	sonde_buf_clear(&chrome->args);
}

/* Stores an event's arguments; returns their offset + 1. */
static uint64_t args_keep(struct sonde_chrome *chrome, const struct sonde_chrome_event *event)
{
	if (!event->arg_count)
		return 0;
	if (chrome->args.len_b >= ARGS_BUFFER_B)
		args_flush(chrome);
	uint64_t at = chrome->args_b + chrome->args.len_b + 1;
	sonde_buf_append(&chrome->args, &event->arg_count, sizeof event->arg_count);
	for (uint32_t i = 0; i < event->arg_count; i++) {
		const struct sonde_chrome_arg *arg = &event->args[i];
		struct sonde_chrome_stored stored = {arg->bits, (uint16_t)arg->key_b, (uint16_t)arg->text_b,
						     (uint8_t)arg->kind};
		sonde_buf_append(&chrome->args, &stored, sizeof stored);
		sonde_buf_append(&chrome->args, event->bytes + arg->key_at, arg->key_b);
		sonde_buf_append(&chrome->args, event->bytes + arg->text_at, arg->text_b);
	}
	sonde_chrome_keep(chrome, sonde_buf_error(&chrome->args));
	return at;
}

static double arg_real(const struct sonde_chrome_arg *arg)
{
	double real;
	memcpy(&real, &arg->bits, sizeof real);
	return arg->kind == SONDE_ARG_FLOAT ? real
	       : arg->kind == SONDE_ARG_INT ? (double)(int64_t)arg->bits
					    : (double)arg->bits;
}

/* --- phases ------------------------------------------------------------------------------------------------------- */

static void begin_take(struct sonde_chrome *chrome, struct sonde_chrome_event *event, uint32_t thread)
{
	struct sonde_chrome_thread *of = &chrome->threads[thread];
	chrome->counts.unordered += event->time_ns < of->last_edge_ns;
	of->last_edge_ns = event->time_ns;
	if (of->open_count == OPEN_MAX) {
		of->over++;
		chrome->counts.deep++;
		return;
	}
	if (sonde_chrome_grow(chrome, &of->open, of->open_count, &of->open_cap, sizeof *of->open))
		return;
	of->open[of->open_count++] = (struct sonde_chrome_open){event->time_ns, args_keep(chrome, event), event->name};
}

static void slice_put(struct sonde_chrome *chrome, uint32_t thread, const struct sonde_chrome_open *open,
		      int64_t end_ns)
{
	struct sonde_chrome_row row = {.time_ns = open->time_ns,
				       .value = (uint64_t)(end_ns - open->time_ns),
				       .args = open->args,
				       .thread = thread,
				       .name = open->name,
				       .kind = SONDE_CHROME_SLICE};
	sonde_chrome_row(chrome, &row, thread);
}

static void end_take(struct sonde_chrome *chrome, struct sonde_chrome_event *event, uint32_t thread)
{
	struct sonde_chrome_thread *of = &chrome->threads[thread];
	chrome->counts.unordered += event->time_ns < of->last_edge_ns;
	of->last_edge_ns = event->time_ns;
	if (of->over) {
		of->over--;
		return;
	}
	if (!of->open_count || event->time_ns < of->open[of->open_count - 1].time_ns ||
	    event->time_ns - SONDE_CHROME_DUR_MAX_NS > of->open[of->open_count - 1].time_ns) {
		chrome->counts.unopened++;
		return;
	}
	struct sonde_chrome_open *open = &of->open[--of->open_count];
	open->args = open->args ? open->args : args_keep(chrome, event);
	of->by_end = 1; /* the rows of such slices are added when the slices end */
	slice_put(chrome, thread, open, event->time_ns);
}

static void slice_take(struct sonde_chrome *chrome, struct sonde_chrome_event *event, uint32_t thread)
{
	struct sonde_chrome_thread *of = &chrome->threads[thread];
	chrome->counts.endless += !event->has_dur;
	of->by_end |= event->time_ns < of->last_slice_ns;
	of->last_slice_ns = event->time_ns;
	struct sonde_chrome_open open = {event->time_ns, args_keep(chrome, event), event->name};
	slice_put(chrome, thread, &open, event->time_ns + (event->has_dur ? event->dur_ns : 0));
}

static uint64_t span_hash(const struct sonde_chrome_event *event)
{
	uint64_t who = sonde_hash_pair(event->id, (uint64_t)event->scope << 32 | event->name);
	return sonde_hash_pair(who,
			       (uint64_t)event->category << 32 | (event->scope || event->is_global ? 0 : event->pid));
}

static void span_take(struct sonde_chrome *chrome, struct sonde_chrome_event *event, uint32_t thread)
{
	uint64_t hash = span_hash(event);
	uint32_t at = sonde_map_find(&chrome->span_map, hash, NULL, NULL);
	struct sonde_chrome_row row = {.time_ns = event->time_ns, .thread = thread, .name = event->name};
	int begins = event->phase == 'b' || event->phase == 'S';
	if (!begins && (!at || !chrome->spans[at - 1].number)) {
		chrome->counts.unopened++;
		return;
	}
	if (begins) {
		if (sonde_chrome_grow(chrome, &chrome->spans, chrome->span_count, &chrome->span_cap,
				      sizeof *chrome->spans))
			return;
		uint32_t before = at && chrome->spans[at - 1].number ? at : 0;
		row.kind = SONDE_CHROME_SPAN_BEGIN;
		row.args = args_keep(chrome, event);
		row.value = ++chrome->span_number;
		if (at && !before) { /* reuse the entry of a span that has ended */
			chrome->spans[at - 1].number = chrome->span_number;
		} else {
			chrome->spans[chrome->span_count++] = (struct sonde_chrome_span){chrome->span_number, before};
			sonde_chrome_keep(chrome, sonde_map_set(&chrome->span_map, hash, chrome->span_count));
		}
	} else {
		struct sonde_chrome_span *span = &chrome->spans[at - 1];
		row.kind = SONDE_CHROME_SPAN_END;
		row.value = span->number;
		span->number = 0;
		if (span->before)
			sonde_chrome_keep(chrome, sonde_map_set(&chrome->span_map, hash, span->before));
	}
	sonde_chrome_row(chrome, &row, thread);
}

static void instant_take(struct sonde_chrome *chrome, struct sonde_chrome_event *event, uint32_t thread)
{
	struct sonde_chrome_row row = {.time_ns = event->time_ns,
				       .args = args_keep(chrome, event),
				       .thread = thread,
				       .name = event->name,
				       .kind = SONDE_CHROME_INSTANT};
	sonde_chrome_row(chrome, &row, thread);
}

/* Each number of a counter event becomes its own series "NAME.KEY", or just NAME if it is the only one and its key adds
 * no information to the name. If the event has an id, "NAME[ID]" replaces NAME. */
static void counter_take(struct sonde_chrome *chrome, struct sonde_chrome_event *event, uint32_t thread)
{
	const char *name = sonde_chrome_text(chrome, event->name);
	for (uint32_t i = 0; i < event->arg_count; i++) {
		const struct sonde_chrome_arg *arg = &event->args[i];
		if (arg->kind == SONDE_ARG_TEXT)
			continue;
		char text[2 * SONDE_CHROME_ARG_MAX_B];
		const char *key = event->bytes + arg->key_at;
		int plain = event->arg_count == 1 && ((arg->key_b == 5 && !memcmp(key, "value", 5)) ||
						      (arg->key_b == strlen(name) && !memcmp(key, name, arg->key_b)));
		snprintf(text, sizeof text, "%.895s%s%.*s%s%s%.*s", name, event->id_b ? "[" : "", (int)event->id_b,
			 event->bytes + event->id_at, event->id_b ? "]" : "", plain ? "" : ".",
			 plain ? 0 : (int)arg->key_b, key);
		double real = arg_real(arg);
		struct sonde_chrome_row row = {.time_ns = event->time_ns,
					       .thread = thread,
					       .name = sonde_chrome_name(chrome, text, strlen(text)),
					       .kind = SONDE_CHROME_GAUGE};
		memcpy(&row.value, &real, sizeof real);
		sonde_chrome_row(chrome, &row, thread);
	}
}

static void metadata_take(struct sonde_chrome *chrome, struct sonde_chrome_event *event)
{
	const char *what = sonde_chrome_text(chrome, event->name);
	int is_process = !strcmp(what, "process_name"), is_label = !strcmp(what, "process_labels");
	if (!is_process && !is_label && strcmp(what, "thread_name"))
		return;
	for (uint32_t i = 0; i < event->arg_count; i++) {
		const struct sonde_chrome_arg *arg = &event->args[i];
		if (arg->kind != SONDE_ARG_TEXT)
			continue;
		uint32_t name = sonde_chrome_name(chrome, event->bytes + arg->text_at, arg->text_b);
		if (is_process || is_label) {
			uint32_t process = process_of(chrome, event->pid);
			if (process)
				*(is_label ? &chrome->processes[process - 1].label
					   : &chrome->processes[process - 1].name) = name;
		} else {
			uint32_t thread = sonde_chrome_thread(chrome, event->pid, event->tid);
			if (thread != UINT32_MAX)
				chrome->threads[thread].name = name;
		}
		return;
	}
}

void sonde_chrome_take(struct sonde_chrome *chrome, struct sonde_chrome_event *event)
{
	static const struct {
		char phase;
		void (*take)(struct sonde_chrome *chrome, struct sonde_chrome_event *event, uint32_t thread);
	} phases[] = {
	    {'X', slice_take},   {'B', begin_take},   {'E', end_take},     {'b', span_take},    {'e', span_take},
	    {'S', span_take},    {'F', span_take},    {'n', instant_take}, {'T', instant_take}, {'i', instant_take},
	    {'I', instant_take}, {'R', instant_take}, {'C', counter_take},
	};
	chrome->counts.events++;
	if (event->phase == 'M') {
		metadata_take(chrome, event);
		return;
	}
	if (event->phase == 'P' && (event->has_start || event->samples.count || event->node_count)) {
		sonde_chrome_profile_take(chrome, event);
		return;
	}
	for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
		if (phases[i].phase != event->phase)
			continue;
		if (!event->has_time || event->has_dur < 0 ||
		    (event->has_dur && (event->dur_ns < 0 || event->dur_ns > SONDE_CHROME_DUR_MAX_NS))) {
			chrome->counts.timeless++;
			return;
		}
		uint32_t thread = sonde_chrome_thread(chrome, event->pid, event->tid);
		if (thread != UINT32_MAX)
			phases[i].take(chrome, event, thread);
		return;
	}
	int is_flow = event->phase == 's' || event->phase == 't' || event->phase == 'f';
	int is_object = event->phase == 'N' || event->phase == 'O' || event->phase == 'D';
	++*(is_flow ? &chrome->counts.flows : is_object ? &chrome->counts.objects : &chrome->counts.unknown);
}

void sonde_chrome_close(struct sonde_chrome *chrome)
{
	for (uint32_t i = 0; i < chrome->thread_count; i++) {
		struct sonde_chrome_thread *of = &chrome->threads[i];
		while (of->open_count) {
			const struct sonde_chrome_open *open = &of->open[--of->open_count];
			int64_t end_ns = chrome->max_ns > open->time_ns ? chrome->max_ns : open->time_ns;
			if (end_ns - SONDE_CHROME_DUR_MAX_NS > open->time_ns)
				end_ns = open->time_ns;
			slice_put(chrome, i, open, end_ns);
			chrome->counts.unclosed++;
		}
	}
	if (chrome->args.len_b)
		args_flush(chrome);
}
