/* explain.c: matches blocked intervals of threads with the calls that hooks recorded.
 *
 * Time counts if a thread was blocked and inside a call, and goes to the innermost call. The clocks of calls and
 * switches agree to less than the duration of a switch. But a call is recorded by the program itself: blocking before
 * the hook read the clock, or outside any hook (a page fault that reads from disk, a futex of another library), remains
 * unexplained.
 */
#include "analyze/wait/explain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "session/weigh.h"
#include "util/error.h"

static void add_piece(void *context, const struct sonde_wait_piece *piece)
{
	struct sonde_explain *explain = context;
	explain->into[piece->kind] += piece->ns;
}

static int take_interval(void *context, const struct sonde_interval *interval)
{
	struct sonde_explain *explain = context;
	uint64_t from_ns = interval->from_ns > explain->from_ns ? interval->from_ns : explain->from_ns;
	uint64_t to_ns = interval->to_ns < explain->to_ns ? interval->to_ns : explain->to_ns;
	if (interval->state != SONDE_INTERVAL_BLOCKED || from_ns >= to_ns)
		return 0;
	explain->into = explain->ns[interval->thread];
	sonde_wait_cover_look(&explain->cover, interval->thread, from_ns, to_ns, add_piece, explain);
	return 0;
}

int sonde_explain_init(struct sonde_explain *explain, struct sonde_session *session,
		       const struct sonde_pass_options *options)
{
	*explain = (struct sonde_explain){.known = sonde_weigh_has(session, SONDE_CHUNK_WAITS)};
	if (!explain->known)
		return 0;
	explain->from_ns = options->selection.from_ns;
	explain->to_ns = options->selection.to_ns ? options->selection.to_ns : UINT64_MAX;
	explain->also = (struct sonde_states_also){take_interval, explain};
	explain->count = sonde_session_thread_count(session) + 1;
	explain->ns = calloc(explain->count, sizeof *explain->ns);
	if (!explain->ns)
		return sonde_error(ENOMEM, "out of memory for %zu threads", explain->count);
	return sonde_wait_cover_read(&explain->cover, session, options->selection.thread);
}

void sonde_explain_fini(struct sonde_explain *explain)
{
	sonde_wait_cover_fini(&explain->cover);
	free(explain->ns);
	*explain = (struct sonde_explain){0};
}

/* Inserts a kind, keeping them sorted, longest first. */
static void put_kind(struct sonde_explained *out, enum sonde_wait_kind kind, uint64_t ns)
{
	size_t at = out->kinds++;
	for (; at > 0 && out->most[at - 1].ns < ns; at--)
		out->most[at] = out->most[at - 1];
	out->most[at].kind = kind;
	out->most[at].ns = ns;
	out->ns += ns;
}

void sonde_explain_thread(const struct sonde_explain *explain, const struct sonde_states_row *row, uint32_t thread,
			  struct sonde_explained *out)
{
	*out = (struct sonde_explained){0};
	for (uint32_t kind = 0; thread < explain->count && kind < SONDE_WAIT_KINDS; kind++) {
		uint64_t ns = explain->ns[thread][kind];
		if (row->blocked_ns < row->off_cpu_ns)
			ns = (uint64_t)((double)ns * (double)row->blocked_ns / (double)row->off_cpu_ns);
		if (ns > row->blocked_ns - out->ns) /* rounding of doubles */
			ns = row->blocked_ns - out->ns;
		if (ns)
			put_kind(out, (enum sonde_wait_kind)kind, ns);
	}
}

void sonde_explained_add(struct sonde_explained *to, const struct sonde_explained *from)
{
	uint64_t ns[SONDE_WAIT_KINDS] = {0};
	for (size_t i = 0; i < to->kinds; i++)
		ns[to->most[i].kind] += to->most[i].ns;
	for (size_t i = 0; i < from->kinds; i++)
		ns[from->most[i].kind] += from->most[i].ns;
	*to = (struct sonde_explained){0};
	for (uint32_t kind = 0; kind < SONDE_WAIT_KINDS; kind++)
		if (ns[kind])
			put_kind(to, (enum sonde_wait_kind)kind, ns[kind]);
}

void sonde_explained_say(const struct sonde_explained *explained, uint64_t blocked_ns, char *out, size_t out_b)
{
	size_t at = 0, shown = 0;
	uint64_t shown_ns = 0;
	double all = blocked_ns ? (double)blocked_ns : 1;
	*out = '\0';
	for (; shown < explained->kinds && shown < 3; shown++) {
		double percent = 100 * (double)explained->most[shown].ns / all;
		if (percent < 0.5)
			break;
		at += (size_t)snprintf(out + at, out_b - at, "%s%s %.0f %%", shown ? ", " : "",
				       sonde_wait_row(explained->most[shown].kind)->name, percent);
		shown_ns += explained->most[shown].ns;
		if (at >= out_b)
			return;
	}
	double others = 100 * (double)(explained->ns - shown_ns) / all;
	double remainder = 100 * (double)(blocked_ns - explained->ns) / all;
	if (others >= 0.5)
		at += (size_t)snprintf(out + at, out_b - at, "%sother calls %.0f %%", shown ? ", " : "", others);
	if (at < out_b && remainder >= 0.5)
		snprintf(out + at, out_b - at, "%sunknown %.0f %%", at ? ", " : "", remainder);
}
