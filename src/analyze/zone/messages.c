/* messages.c: messages, instant events and mismatched zone ends, in time order. While reading, only the earliest ones
 * up to the limit are kept: whenever twice as many have accumulated, they are sorted and the later half is counted and
 * dropped. */
#include "analyze/marks.h"
#include "analyze/cpu/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/contents.h"
#include "analyze/words.h"
#include "util/array.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 50 };
enum { TIME, KIND, NAME, TEXT, THREAD, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [TIME] = {"time_ns", "time", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [KIND] = {"kind", "kind", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [NAME] = {"name", "name", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [TEXT] = {"text", "text", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [THREAD] = {"thread", "thread", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
};

struct message {
	uint64_t time_ns;
	uint32_t site, thread;
	uint16_t type;
	char *text;
};

struct messages {
	struct sonde_session *session;
	struct sonde_pass_options options;
	struct message *messages;
	size_t count, cap, limit;
	uint64_t dropped, mismatches;
};

static int messages_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct messages *messages = state;
	messages->session = session;
	messages->options = *options;
	messages->limit = options->limit ? options->limit : DEFAULT_ROWS;
	return 0;
}

static void messages_end(void *state)
{
	struct messages *messages = state;
	for (size_t i = 0; i < messages->count; i++)
		free(messages->messages[i].text);
	free(messages->messages);
}

static int compare(const void *left, const void *right)
{
	const struct message *a = left, *b = right;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

/* Sorts, and keeps at most the limit. */
static void trim(struct messages *messages)
{
	if (messages->count)
		qsort(messages->messages, messages->count, sizeof *messages->messages, compare);
	while (messages->count > messages->limit) {
		free(messages->messages[--messages->count].text);
		messages->dropped++;
	}
}

static int ensure_capacity(struct messages *messages)
{
	if (messages->count < messages->cap)
		return 0;
	if (messages->count >= 2 * messages->limit) {
		trim(messages);
		return 0;
	}
	return SONDE_ARRAY_RESERVE(messages->messages, messages->cap, messages->count + 1)
		   ? sonde_error(ENOMEM, "out of memory for messages")
		   : 0;
}

/* The text of an event, which may be shorter than its length field claims. */
static char *text_of(const struct sonde_event *event)
{
	const struct sonde_event_text *text = (const struct sonde_event_text *)event;
	size_t size_b = (size_t)event->words * 8;
	if (size_b < sizeof *text)
		return strdup("");
	size_t most_b = size_b - sizeof *text;
	return strndup((const char *)(text + 1), text->len_b < most_b ? (size_t)text->len_b : most_b);
}

static int messages_feed(void *state, const struct sonde_batch *batch)
{
	struct messages *messages = state;
	for (size_t i = 0; batch->type == SONDE_CHUNK_EVENTS && i < batch->count; i++) {
		const struct sonde_event *event = batch->events[i];
		if (event->type != SONDE_EVENT_MESSAGE && event->type != SONDE_EVENT_INSTANT &&
		    event->type != SONDE_EVENT_MISMATCH)
			continue;
		if (!sonde_pass_takes(&messages->options, event->time, batch->thread))
			continue;
		messages->mismatches += event->type == SONDE_EVENT_MISMATCH;
		int rc = ensure_capacity(messages);
		char *text = rc == 0 ? text_of(event) : NULL;
		if (rc == 0 && !text)
			rc = sonde_error(ENOMEM, "out of memory for a message");
		if (rc < 0)
			return rc;
		messages->messages[messages->count++] =
		    (struct message){event->time, event->site, batch->thread, event->type, text};
	}
	return 0;
}

static int row_add(const struct messages *messages, const struct message *message, struct sonde_report *report,
		   struct sonde_section *section)
{
	const struct sonde_run *run = sonde_session_run(messages->session);
	const struct sonde_site *site = sonde_session_site(messages->session, message->site);
	const struct sonde_thread *thread = sonde_session_thread(messages->session, message->thread);
	struct sonde_cell *row = sonde_report_row(report, section);
	char *text = sonde_arena_strndup(&report->arena, message->text, strlen(message->text));
	if (!text)
		return sonde_error(ENOMEM, "out of memory for a row");
	row[TIME] = sonde_cell_int(message->time_ns > run->start_ns ? message->time_ns - run->start_ns : 0);
	row[KIND] = sonde_cell_text(message->type == SONDE_EVENT_MESSAGE   ? "message"
				    : message->type == SONDE_EVENT_INSTANT ? "instant"
									   : "mismatch");
	row[NAME] = sonde_cell_text(site ? site->name : "");
	row[TEXT] = sonde_cell_text(text);
	row[THREAD] = sonde_cell_text(thread ? thread->name : "");
	return 0;
}

static int messages_finish(void *state, struct sonde_report *report)
{
	struct messages *messages = state;
	trim(messages);
	if (!messages->count)
		return sonde_pass_nothing(
		    &messages->options, report, "messages", "Messages",
		    "no messages or instants: add sonde_message() and sonde_instant() (sonde/sonde.h)");
	struct sonde_section *section =
	    sonde_report_table(report, "messages", "Messages in time order", columns, COLUMNS);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < messages->count; i++)
		rc = row_add(messages, &messages->messages[i], report, section);
	if (rc < 0)
		return rc;
	section->table.omitted = messages->dropped;
	sonde_report_note(report, section, 0, "times are since the start of the recording");
	if (messages->mismatches)
		sonde_report_note(
		    report, section, 1, "%llu zone%s ended while another one was open: see the rows of kind mismatch",
		    (unsigned long long)messages->mismatches, sonde_word(messages->mismatches, " was", "s were"));
	return 0;
}

const struct sonde_pass sonde_pass_messages = {
    .name = "messages",
    .needs = SONDE_NEEDS(API),
    .has = sonde_has_events,
    .title = "messages, instants and mismatched zone ends",
    .types = 1u << SONDE_CHUNK_EVENTS,
    .state_b = sizeof(struct messages),
    .begin = messages_begin,
    .feed = messages_feed,
    .finish = messages_finish,
    .end = messages_end,
};
