/* flop_reports.c: reads reports of work. A library call first reports "m=30 n=40 k=50" as the `size` of its zone, then
 * its work. */
#include "analyze/work/flop_reports.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/error.h"

#define SIZE_KEY "size"
#define TEXT_MAX_B 96u

int sonde_flop_is_library(const struct sonde_site *site)
{
	return site && site->kind == SONDE_SITE_ZONE && (!strcmp(site->unit, "blas") || !strcmp(site->unit, "lapack"));
}

static int size_read(const char *text, int64_t size[SONDE_FLOP_SIZES])
{
	static const char titles[SONDE_FLOP_SIZES] = {'m', 'n', 'k'};
	int found = 0;
	for (int i = 0; i < SONDE_FLOP_SIZES; i++) {
		size[i] = -1;
		if (text[0] != titles[i] || text[1] != '=')
			continue;
		char *end;
		size[i] = strtoll(text + 2, &end, 10);
		found = 1;
		text = *end == ' ' ? end + 1 : end;
	}
	return found && !*text;
}

/* True if the event has the sizes of a library call. */
static int is_size(const struct sonde_event *event, int64_t size[SONDE_FLOP_SIZES])
{
	const struct sonde_event_arg *arg = (const struct sonde_event_arg *)event;
	size_t event_b = (size_t)event->words * 8;
	char text[TEXT_MAX_B];
	if (event->type != SONDE_EVENT_ARG || event_b < sizeof *arg || arg->kind != SONDE_ARG_TEXT ||
	    arg->key_b != strlen(SIZE_KEY) || arg->value_b >= sizeof text ||
	    (size_t)arg->key_b + arg->value_b > event_b - sizeof *arg || memcmp(arg + 1, SIZE_KEY, arg->key_b))
		return 0;
	memcpy(text, (const char *)(arg + 1) + arg->key_b, arg->value_b);
	text[arg->value_b] = '\0';
	return size_read(text, size);
}

static double sane(double value)
{
	return isfinite(value) && value > 0 ? value : 0;
}

static int report_add(struct sonde_flop_reports *reports, const struct sonde_event *event, uint32_t thread,
		      const int64_t *size, size_t most)
{
	const struct sonde_event_work *work = (const struct sonde_event_work *)event;
	if ((size_t)event->words * 8 < sizeof *work)
		return 0;
	struct sonde_flop_sums *sums = &reports->sums[size != NULL];
	sums->reports++;
	sums->flop += sane(work->flop);
	sums->bytes += sane(work->bytes);
	if (reports->count == most)
		return 0;
	if (SONDE_ARRAY_RESERVE(reports->row, reports->cap, reports->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu reports of work", reports->count + 1);
	struct sonde_flop_report *report = &reports->row[reports->count++];
	*report = (struct sonde_flop_report){.time_ns = event->time,
					     .thread = thread,
					     .is_library = size != NULL,
					     .flop = sane(work->flop),
					     .bytes = sane(work->bytes),
					     .size = {-1, -1, -1}};
	if (size)
		memcpy(report->size, size, sizeof report->size);
	return 0;
}

/* What a thread reported last; its next event may be in another chunk. */
struct reported {
	int64_t size[SONDE_FLOP_SIZES];
	int is_size;
};

static int batch_read(struct sonde_flop_reports *reports, const struct sonde_batch *batch, struct reported *reported,
		      size_t most)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < batch->count; i++) {
		if (batch->events[i]->type == SONDE_EVENT_WORK)
			rc = report_add(reports, batch->events[i], batch->thread,
					reported->is_size ? reported->size : NULL, most);
		reported->is_size = is_size(batch->events[i], reported->size);
	}
	return rc;
}

static int compare(const void *left, const void *right)
{
	const struct sonde_flop_report *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

int sonde_flop_reports_read(struct sonde_flop_reports *reports, struct sonde_session *session, size_t most)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	*reports = (struct sonde_flop_reports){0};
	size_t threads = sonde_session_thread_count(session) + 1;
	struct reported *reported = calloc(threads, sizeof *reported);
	int rc = reported ? sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_EVENTS)
			  : sonde_error(ENOMEM, "out of memory for %zu threads", threads);
	if (rc < 0) {
		free(reported);
		return rc;
	}
	while ((rc = sonde_cursor_next(cursor, &batch)) != 0 && rc != -ENOMEM) {
		int code =
		    rc > 0 && batch->thread < threads ? batch_read(reports, batch, &reported[batch->thread], most) : 0;
		if (code < 0) {
			rc = code;
			break;
		}
	}
	sonde_cursor_close(cursor);
	free(reported);
	if (rc >= 0 && reports->count)
		qsort(reports->row, reports->count, sizeof *reports->row, compare);
	return rc < 0 ? rc : 0;
}

void sonde_flop_reports_fini(struct sonde_flop_reports *reports)
{
	free(reports->row);
	*reports = (struct sonde_flop_reports){0};
}

struct sonde_flop_sums sonde_flop_sums_of(const struct sonde_flop_reports *reports, int is_library)
{
	return reports->sums[is_library != 0];
}
