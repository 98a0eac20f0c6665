/* recorded.c: determines the state of each kind from sources, chunks, losses and the options of `sonde record`. */
#include "session/recorded.h"

#include <stdio.h>
#include <string.h>

#include "format/wait.h"
#include "session/state.h"

static const struct kind {
	uint32_t types;
	const char *source, *what, *how;
} kinds[] = {
#define SONDE_KIND(name, types, source, what, how) [SONDE_KIND_##name] = {types, source, what, how},
#include "session/recorded.def"
#undef SONDE_KIND
};

#define BY_DEFAULT "sonde record" /* how to record what is recorded without being asked for */

static int has_chunks(const struct sonde_session *session, uint32_t types)
{
	for (size_t i = 0; i < sonde_reader_count(session->reader); i++) {
		const struct sonde_chunk_head *head = &sonde_reader_entry(session->reader, i)->head;
		if (head->count && head->type < SONDE_CHUNK_TYPES && types >> head->type & 1)
			return 1;
	}
	return 0;
}

/* True if there is data of a kind that shares its chunk type with others; decided by the rows that the chunks refer
 * to. */
static int has_rows(const struct sonde_session *session, enum sonde_kind kind)
{
	for (size_t i = 1; kind == SONDE_KIND_ENERGY && i <= sonde_session_series_count(session); i++)
		if (!strcmp(sonde_session_series(session, (uint32_t)i)->name, "energy"))
			return 1;
	if (kind == SONDE_KIND_ENERGY)
		return sonde_session_info(session, "energy.model") != NULL;
	return kind == SONDE_KIND_HEAP && sonde_session_heap_count(session);
}

static int runs(const struct sonde_source_row *row)
{
	return row && (row->state == SONDE_SOURCE_ON || row->state == SONDE_SOURCE_LIMITED);
}

/* True if a kind was requested from its source. One source records all blocking calls, but only those requested; older
 * recordings do not store which were. */
static int is_requested(const struct sonde_session *session, enum sonde_kind kind, const struct sonde_source_row *row)
{
	const char *requested = sonde_session_info(session, "option.waits");
	if (kind != SONDE_KIND_LOCKS && kind != SONDE_KIND_FILES)
		return 1;
	if (requested)
		return strstr(requested, kind == SONDE_KIND_LOCKS ? "locks" : "files") != NULL;
	return kind == SONDE_KIND_FILES || !row || strcmp(row->method, SONDE_WAIT_METHOD_FILES) != 0;
}

/* True for a flight recorder that never saved. Allocations are exempt: they are written immediately. */
static int is_unsaved(const struct sonde_session *session)
{
	uint32_t all = 0;
	for (size_t i = 0; i < SONDE_KIND_COUNT; i++)
		all |= i == SONDE_KIND_HEAP ? 0 : kinds[i].types;
	return sonde_session_info(session, "option.keep_ns") && !has_chunks(session, all);
}

uint64_t sonde_session_lost_of(const struct sonde_session *session, const char *source)
{
	uint64_t lost = 0;
	for (size_t i = 0; i < sonde_session_lost_count(session); i++)
		if (!strcmp(sonde_session_lost(session, i)->source, source))
			lost += sonde_session_lost(session, i)->count;
	return lost;
}

static void say_part(const struct sonde_session *session, const struct kind *kind, const struct sonde_source_row *row,
		     char *why, size_t why_b)
{
	const char *incomplete = sonde_session_run(session)->incomplete;
	uint64_t lost = sonde_session_lost_of(session, kind->source);
	if (incomplete)
		snprintf(why, why_b, "recorded in part: %s", incomplete);
	else if (lost)
		snprintf(why, why_b, "recorded in part: %llu lost", (unsigned long long)lost);
	else if (row && row->state == SONDE_SOURCE_LIMITED && *row->detail && strcmp(row->name, "cpu") != 0)
		snprintf(why, why_b, "recorded in part: %s", row->detail);
	else
		*why = '\0';
}

/* Why a requested kind is missing; NULL = it was not requested. */
static const char *failure(const struct sonde_session *session, const struct kind *kind,
			   const struct sonde_source_row *row)
{
	const struct sonde_run *run = sonde_session_run(session);
	if (row && row->state == SONDE_SOURCE_UNAVAILABLE && *row->detail)
		return row->detail;
	if (is_unsaved(session) && (row || !*kind->source))
		return "the flight recorder (--keep) saved nothing: its event did not happen";
	if (row && row->state == SONDE_SOURCE_OFF && sonde_session_info(session, "run.attached_pid"))
		return "only of programs started by sonde (sonde record -- COMMAND)";
	if (!row && run->growing && strncmp(kind->how, BY_DEFAULT, sizeof BY_DEFAULT - 1) == 0)
		return "none so far"; /* sources report when they stop */
	return !row && run->incomplete ? run->incomplete : NULL;
}

/* Formats "calls on files (record with --io)", or "allocations: no process loaded it" and then returns 1. */
static int say_not(const struct sonde_session *session, const struct kind *kind, const struct sonde_source_row *row,
		   char *out, size_t out_b)
{
	const char *why = failure(session, kind, row);
	if (why)
		snprintf(out, out_b, "%s: %s", kind->what, why);
	else
		snprintf(out, out_b, "%s (%s)", kind->what, kind->how);
	return why != NULL;
}

/* Sets *failed if the kind was requested. */
static enum sonde_recorded state_of(const struct sonde_session *session, enum sonde_kind which, int *failed, char *why,
				    size_t why_b)
{
	const struct kind *kind = &kinds[which];
	const struct sonde_source_row *row = sonde_session_source_named(session, kind->source);
	const struct sonde_source_row *outside =
	    which == SONDE_KIND_LOCKS ? sonde_session_source_named(session, "blocked") : NULL;
	int requested = is_requested(session, which, row),
	    attached = sonde_session_info(session, "run.attached_pid") != NULL;
	/* Known to be unused, because use would have been observed. */
	int is_unused = row && row->state == SONDE_SOURCE_OFF && !attached;
	/* Waits sampled from outside are in chunks of the same type. */
	int has_own = which != SONDE_KIND_FILES || !row || row->state != SONDE_SOURCE_UNAVAILABLE;
	int is_there = requested && (runs(row) || runs(outside) || is_unused ||
				     (has_own && has_chunks(session, kind->types)) || has_rows(session, which));
	if (!is_there || (which != SONDE_KIND_HEAP && is_unsaved(session))) {
		*failed = say_not(session, kind, requested ? row : NULL, why, why_b);
		return SONDE_RECORDED_NOT;
	}
	say_part(session, kind, runs(row) ? row : outside, why, why_b);
	return *why ? SONDE_RECORDED_IN_PART : SONDE_RECORDED;
}

const char *sonde_recorded_option(uint32_t set, const char *why)
{
	static const char with[] = "record with ";
	for (size_t i = 0; i < SONDE_KIND_COUNT; i++) {
		const char *how = kinds[i].how;
		if (set >> i & 1 && strstr(how, "record") && strstr(why, how))
			return strncmp(how, with, sizeof with - 1) ? how : how + sizeof with - 1;
	}
	return NULL;
}

enum sonde_recorded sonde_recorded_any(const struct sonde_session *session, uint32_t set, char *why, size_t why_b)
{
	enum sonde_recorded best = SONDE_RECORDED_NOT;
	char missing[512] = "", one[384], part[384] = "";
	size_t len = 0;
	int has_failed = 0;
	for (size_t i = 0; i < SONDE_KIND_COUNT; i++) {
		int failed = 0;
		if (!(set >> i & 1))
			continue;
		enum sonde_recorded state = state_of(session, (enum sonde_kind)i, &failed, one, sizeof one);
		best = state > best ? state : best;
		if (state == SONDE_RECORDED_IN_PART)
			memcpy(part, one, sizeof part);
		else if (state == SONDE_RECORDED_NOT && failed && !has_failed++) /* says more than how to record */
			snprintf(missing, sizeof missing, "%s", one);
		else if (state == SONDE_RECORDED_NOT && !has_failed && len < sizeof missing)
			len += (size_t)snprintf(missing + len, sizeof missing - len, "%s%s", len ? ", " : "", one);
	}
	if (best == SONDE_RECORDED_NOT)
		snprintf(why, why_b, "not recorded: %s", missing);
	else
		snprintf(why, why_b, "%s", best == SONDE_RECORDED_IN_PART ? part : "");
	return best;
}
