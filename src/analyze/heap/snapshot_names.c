/* snapshot_names.c: finds snapshots by number or label (heap/snapshots.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/heap/snapshots.h"
#include "util/error.h"

enum { NAMED_MAX = 12 };

/* True if `text`, text_b bytes long, is the snapshot's label. */
static int is_called(const struct sonde_snapshot *snapshot, const char *text, size_t text_b)
{
	return strlen(snapshot->label) == text_b && memcmp(snapshot->label, text, text_b) == 0;
}

struct named {
	size_t count, first; /* snapshots with that label: their number, and the first */
	size_t own, own_at;  /* of these, the command's own: their number, and the last */
};

static struct named named(const struct sonde_session *session, const char *text, size_t text_b)
{
	struct named found = {0};
	for (size_t i = 0; text_b && i < sonde_session_snapshot_count(session); i++) {
		const struct sonde_snapshot *snapshot = sonde_session_snapshot(session, i);
		if (!is_called(snapshot, text, text_b))
			continue;
		found.first = found.count++ ? found.first : i + 1;
		if (snapshot->process != sonde_session_run(session)->root_process)
			continue;
		/* Each exec ends a program, too, so a process may have several such snapshots: the last is meant. */
		int ends = snapshot->reason == SONDE_SNAPSHOT_END && found.own_at;
		if (!ends || snapshot->time_ns >= sonde_session_snapshot(session, found.own_at - 1)->time_ns)
			found.own_at = i + 1;
		found.own = ends ? 1 : found.own + 1;
	}
	return found;
}

/* The number of the snapshot that `text` names; 0 if none or several match. */
static size_t find(const struct sonde_session *session, const char *text, size_t text_b)
{
	struct named found = named(session, text, text_b);
	if (found.count == 1 || found.own == 1)
		return found.count == 1 ? found.first : found.own_at;
	if (found.count || !text_b || strspn(text, "0123456789") < text_b)
		return 0;
	unsigned long long number = strtoull(text, NULL, 10);
	return number <= sonde_session_snapshot_count(session) ? (size_t)number : 0;
}

/* Labels chosen by programs are untrusted: removes terminal control characters. */
static size_t put(char *out, size_t out_b, size_t used, const char *text)
{
	int more = snprintf(out + used, out_b - used, "%s", text);
	size_t end = used + (size_t)more < out_b ? used + (size_t)more : out_b - 1;
	for (; used < end; used++)
		if ((unsigned char)out[used] < ' ' || out[used] == 0x7f)
			out[used] = '?';
	return end;
}

/* Formats 'the recording has 1 "start", 2 "loaded", 3'. */
static void list(const struct sonde_session *session, char *out, size_t out_b)
{
	size_t count = sonde_session_snapshot_count(session), used = 0;
	char one[160];
	*out = '\0';
	for (size_t i = 0; i < count && i < NAMED_MAX; i++) {
		const struct sonde_snapshot *snapshot = sonde_session_snapshot(session, i);
		if (*snapshot->label)
			snprintf(one, sizeof one, "%s%zu \"%.100s\"", i ? ", " : "", i + 1, snapshot->label);
		else
			snprintf(one, sizeof one, "%s%zu", i ? ", " : "", i + 1);
		used = put(out, out_b, used, one);
	}
	if (count > NAMED_MAX)
		put(out, out_b, used, ", …");
}

static int complain(const struct sonde_session *session, const char *text, size_t text_b)
{
	char all[2200];
	struct named found = named(session, text, text_b);
	list(session, all, sizeof all);
	if (found.count)
		return sonde_error(EINVAL, "%zu snapshots are named '%.*s': use its number: %s", found.count,
				   (int)text_b, text, all);
	return sonde_error(ENOENT, "no snapshot '%.*s'; the recording has %s", (int)text_b, text, all);
}

int sonde_snapshots_find(const struct sonde_session *session, const char *text, size_t *from, size_t *to)
{
	const char *comma = strchr(text, ',');
	if (!sonde_session_snapshot_count(session))
		return sonde_error(ENOENT, "the recording has no snapshots: take them with sonde_snapshot(), sonde "
					   "snapshot -p PID or sonde record --snapshot-every 10s");
	if (!comma)
		return sonde_error(EINVAL, "'%s' is not two snapshots separated by a comma, like before,after", text);
	for (const char *at = comma; at; at = strchr(at + 1, ',')) { /* labels may contain commas */
		size_t first = find(session, text, (size_t)(at - text)), second = find(session, at + 1, strlen(at + 1));
		if (first && second) {
			*from = first;
			*to = second;
			return 0;
		}
	}
	if (!find(session, text, (size_t)(comma - text)))
		return complain(session, text, (size_t)(comma - text));
	return complain(session, comma + 1, strlen(comma + 1));
}
