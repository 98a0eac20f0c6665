/* parts.c: the parts of a merged recording (src/merge/), from its INFO records.
 *
 * "merged.count" is the number of parts; "merged.N.WHAT" (N from 1) describes one. Facts about the part have no dot in
 * WHAT; the part's own INFO keys have one. An unmerged recording is a single part. Each part has a contiguous range of
 * process ids, and each process belongs to one part. Nothing is known of a thread outside the window of its part, so
 * that time does not belong to the thread's lifetime; callers get the window here.
 */
#include <stdlib.h>
#include <string.h>

#include "session/state.h"

#define PREFIX "merged."

static void set(struct sonde_part *part, const char *what, const char *value)
{
	uint64_t number = strtoull(value, NULL, 10);
	if (!strcmp(what, "name"))
		part->name = value;
	if (!strcmp(what, "machine"))
		part->machine = value;
	if (!strcmp(what, "note"))
		part->note = value;
	if (!strcmp(what, "start_ns"))
		part->start_ns = number;
	if (!strcmp(what, "end_ns"))
		part->end_ns = number;
	if (!strcmp(what, "first_process"))
		part->first_process = (uint32_t)number;
	if (!strcmp(what, "last_process"))
		part->last_process = (uint32_t)number;
	if (!strcmp(what, "closed"))
		part->closed = number != 0;
	part->attached |= !strcmp(what, "run.attached_pid");
}

/* Splits "merged.N.WHAT" into number and rest; 0 = not such a key. */
size_t sonde_part_key(const char *key, const char **what)
{
	char *end;
	size_t prefix_b = sizeof PREFIX - 1;
	if (strncmp(key, PREFIX, prefix_b) || key[prefix_b] < '1' || key[prefix_b] > '9')
		return 0;
	unsigned long number = strtoul(key + prefix_b, &end, 10);
	if (*end != '.')
		return 0;
	*what = end + 1;
	return number;
}

/* Parents have smaller ids than their children, so the first process without a parent is the command. */
static uint32_t root_of(const struct sonde_session *session, const struct sonde_part *part)
{
	for (uint32_t id = part->first_process; id && id <= part->last_process; id++) {
		const struct sonde_process *process = sonde_session_process(session, id);
		if (!process || !process->parent)
			return process ? id : 0;
	}
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct sonde_part *a = left, *b = right;
	return (a->first_process > b->first_process) - (a->first_process < b->first_process);
}

static int read_parts(struct sonde_session *session, size_t count)
{
	static const struct sonde_part blank = {.name = "", .machine = "", .note = ""};
	int attached_all = 0;
	int rc = sonde_rows_grow(&session->parts, count, &blank);
	for (size_t i = 0; !rc && i < session->infos.count; i++) {
		const struct sonde_session_info *info = sonde_rows_at(&session->infos, i);
		const char *what;
		size_t number = sonde_part_key(info->key, &what);
		attached_all |= !strcmp(info->key, "run.attached_pid");
		if (number && number <= count)
			set(sonde_rows_at(&session->parts, number - 1), what, info->value);
	}
	int attached_some = 0;
	for (size_t i = 0; !rc && i < count; i++)
		attached_some |= ((struct sonde_part *)sonde_rows_at(&session->parts, i))->attached;
	for (size_t i = 0; !rc && i < count; i++) {
		struct sonde_part *part = sonde_rows_at(&session->parts, i);
		part->attached |= attached_all && !attached_some;
		part->root_process = root_of(session, part);
	}
	if (!rc)
		qsort(session->parts.data, count, sizeof(struct sonde_part), compare);
	return rc;
}

int sonde_parts_settle(struct sonde_session *session)
{
	const char *text = sonde_session_info(session, "merged.count");
	size_t count = text ? strtoul(text, NULL, 10) : 0;
	session->parts.count = 0;
	session->whole = (struct sonde_part){.name = "",
					     .machine = "",
					     .note = "",
					     .start_ns = session->run.start_ns,
					     .end_ns = session->run.end_ns,
					     .last_process = UINT32_MAX,
					     .root_process = session->run.root_process,
					     .closed = session->run.closed,
					     .attached = sonde_session_info(session, "run.attached_pid") != NULL};
	if (count < 2 || count > session->infos.count) /* each part has at least one INFO record */
		return 0;
	session->run.root_process = session->whole.root_process = 0; /* there are several commands */
	return read_parts(session, count);
}

size_t sonde_session_part_count(const struct sonde_session *session)
{
	return session->parts.count ? session->parts.count : 1;
}

const struct sonde_part *sonde_session_part(const struct sonde_session *session, size_t i)
{
	return session->parts.count ? sonde_rows_at(&session->parts, i) : i ? NULL : &session->whole;
}

const struct sonde_part *sonde_session_part_of(const struct sonde_session *session, uint32_t process)
{
	size_t from = 0, to = session->parts.count;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		const struct sonde_part *part = sonde_rows_at(&session->parts, middle);
		if (process > part->last_process)
			from = middle + 1;
		else
			to = middle;
	}
	const struct sonde_part *part = sonde_rows_at(&session->parts, from);
	return process && part && process >= part->first_process ? part : &session->whole;
}
