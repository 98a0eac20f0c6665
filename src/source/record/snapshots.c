/* snapshots.c: a list of pending requests, in the order in which they were made. There are few at a time.
 *
 * RSS is read at once (statm: a microsecond). For PSS (smaps_rollup), the kernel walks the process's page tables, which
 * takes 40 ns per page (four times as long in virtual machines), and blocks changes of the process's mappings in the
 * meantime. So PSS is read only while all its readings together have taken less CPU time than 0.1 % of the time since
 * the recording began, plus a small allowance at the start. Requested snapshots have a CPU-time budget of their own, so
 * that snapshots at an interval cannot use it up. A PSS value is used only if RSS is still about the same as at the
 * time of the snapshot. On a busy machine, a reading may wait for a CPU; this waiting does not count as CPU time.
 */
#include "source/record/snapshots.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "format/link.h"
#include "util/array.h"
#include "util/error.h"
#include "util/file.h"

#define SNAPSHOTS_MAX 65536u /* per recording */
#define PSS_PAGE_NS 40u
#define PAGES_TO_MEASURE 256u /* with fewer pages, opening the file is most of the cost */
#define STILL_SHARE 100u      /* RSS may have changed by 1 part in this many since the snapshot */

/* A pending request. */
struct ask {
	uint32_t process;
	uint32_t label; /* string id */
	enum sonde_snapshot_reason reason;
	int answer_fd;
	int claimed;
	uint64_t time_ns, rss_b, pss_b;
};

/* Budgets of CPU time for PSS: each is first_ns, plus 1 / share of the time since the recording began. */
enum account { REQUESTED, INTERVAL, END, ACCOUNTS };

static const struct {
	uint64_t first_ns, share;
} budgets[ACCOUNTS] = {[REQUESTED] = {2000000, 2000}, [INTERVAL] = {125000, 4000}, [END] = {375000, 4000}};

struct sonde_snapshots {
	struct sonde_recorder *recorder;
	struct ask *asks;
	size_t count, cap;
	uint32_t requested;
	uint64_t start_ns;
	uint64_t pss_ns[ACCOUNTS]; /* CPU time of PSS readings so far */
	uint64_t page_ns;
	uint64_t page_b;
};

int sonde_snapshots_new(struct sonde_snapshots **out, struct sonde_recorder *recorder, uint64_t start_ns)
{
	struct sonde_snapshots *snapshots = calloc(1, sizeof *snapshots);
	if (!snapshots)
		return sonde_error(ENOMEM, "out of memory for snapshots");
	snapshots->recorder = recorder;
	snapshots->start_ns = start_ns;
	snapshots->page_ns = PSS_PAGE_NS;
	snapshots->page_b = (uint64_t)getpagesize();
	*out = snapshots;
	return 0;
}

void sonde_snapshots_free(struct sonde_snapshots *snapshots)
{
	if (!snapshots)
		return;
	for (size_t i = 0; i < snapshots->count; i++)
		if (snapshots->asks[i].answer_fd >= 0)
			close(snapshots->asks[i].answer_fd);
	free(snapshots->asks);
	free(snapshots);
}

/* --- memory of a process ------------------------------------------------------------------------------------------ */

uint64_t sonde_snapshots_resident_b(pid_t pid)
{
	char text[128];
	unsigned long long pages = 0;
	sonde_file_read(text, sizeof text, "/proc/%d/statm", (int)pid);
	return sscanf(text, "%*u %llu", &pages) == 1 ? (uint64_t)pages * (uint64_t)getpagesize() : 0;
}

/* True if RSS is still about the same as at the snapshot. The program does not wait for us, so its memory may have
 * changed. */
static int is_still(pid_t pid, uint64_t rss_b)
{
	uint64_t now_b = sonde_snapshots_resident_b(pid);
	return (now_b > rss_b ? now_b - rss_b : rss_b - now_b) <= rss_b / STILL_SHARE;
}

/* PSS in bytes; 0 if it may not be read, would take too long, or would not be that of the time of the snapshot. */
static uint64_t proportional_b(struct sonde_snapshots *snapshots, pid_t pid, uint64_t rss_b,
			       enum sonde_snapshot_reason reason)
{
	char text[2048];
	unsigned long long pss_kib = 0;
	enum account account = reason == SONDE_SNAPSHOT_INTERVAL ? INTERVAL
			       : reason == SONDE_SNAPSHOT_END    ? END
								 : REQUESTED;
	uint64_t pages = rss_b / snapshots->page_b + 1, passed_ns = sonde_clock_now_ns() - snapshots->start_ns;
	uint64_t allowed_ns = budgets[account].first_ns + passed_ns / budgets[account].share;
	if (!rss_b || snapshots->pss_ns[account] + pages * snapshots->page_ns > allowed_ns)
		return 0;
	uint64_t before_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	sonde_file_read(text, sizeof text, "/proc/%d/smaps_rollup", (int)pid);
	uint64_t took_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
	snapshots->pss_ns[account] += took_ns;
	if (pages > PAGES_TO_MEASURE)
		snapshots->page_ns = (snapshots->page_ns + took_ns / pages + 1) / 2;
	const char *line = strstr(text, "\nPss:");
	return line && is_still(pid, rss_b) && sscanf(line, "\nPss: %llu kB", &pss_kib) == 1 ? pss_kib * 1024 : 0;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static int refuse(struct sonde_snapshots *snapshots, const struct sonde_snapshot_ask *ask, int code, const char *cause)
{
	struct sonde_recorder_loss loss = {
	    .source = "memory", .cause = cause, .process = ask->process, .count = 1, .time_ns = ask->time_ns};
	sonde_recorder_lost(snapshots->recorder, &loss);
	return code;
}

int sonde_snapshots_ask(struct sonde_snapshots *snapshots, const struct sonde_snapshot_ask *ask)
{
	if (snapshots->requested == SNAPSHOTS_MAX)
		return refuse(snapshots, ask, -E2BIG, "too many snapshots");
	if (SONDE_ARRAY_RESERVE(snapshots->asks, snapshots->cap, snapshots->count + 1))
		return refuse(snapshots, ask, -ENOMEM, "no memory for snapshots");
	struct ask row = {
	    .process = ask->process,
	    .label = sonde_recorder_string(snapshots->recorder, ask->label, ask->label_b),
	    .reason = ask->reason,
	    .answer_fd = ask->answer_fd,
	    .time_ns = ask->time_ns,
	    .rss_b = ask->rss_b ? ask->rss_b : sonde_snapshots_resident_b(ask->pid),
	};
	if (!row.rss_b && ask->reason != SONDE_SNAPSHOT_API)
		return -ESRCH;
	row.pss_b = proportional_b(snapshots, ask->pid, row.rss_b, ask->reason);
	snapshots->asks[snapshots->count++] = row;
	snapshots->requested++;
	return 0;
}

void sonde_snapshots_claim(struct sonde_snapshots *snapshots, uint32_t process)
{
	for (size_t i = 0; i < snapshots->count; i++)
		snapshots->asks[i].claimed |= snapshots->asks[i].process == process;
}

static struct ask *earliest(const struct sonde_snapshots *snapshots, uint32_t process)
{
	struct ask *first = NULL;
	for (size_t i = 0; i < snapshots->count; i++) {
		struct ask *ask = &snapshots->asks[i];
		if (ask->process == process && (!first || ask->time_ns < first->time_ns))
			first = ask;
	}
	return first;
}

uint64_t sonde_snapshots_due(const struct sonde_snapshots *snapshots, uint32_t process, uint64_t until_ns)
{
	const struct ask *ask = earliest(snapshots, process);
	return ask && ask->time_ns <= until_ns ? ask->time_ns : 0;
}

/* --- taking ------------------------------------------------------------------------------------------------------ */

static void answer(const struct sonde_snapshots *snapshots, const struct ask *ask, uint32_t number,
		   const struct sonde_snapshot_live *live)
{
	struct sonde_link_snapshot answer = {
	    .head = {SONDE_LINK_SNAPSHOT, SONDE_LINK_VERSION},
	    .number = number,
	    .after_ns = ask->time_ns > snapshots->start_ns ? ask->time_ns - snapshots->start_ns : 0,
	    .rss_b = ask->rss_b,
	    .pss_b = ask->pss_b,
	    .has_heap = live != NULL,
	};
	if (live) {
		answer.live_b = live->size_b;
		answer.live_blocks = live->blocks;
		answer.mean_b = live->mean_b;
	}
	/* The requester may have stopped waiting. */
	(void)!send(ask->answer_fd, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(ask->answer_fd);
}

/* `live`: NULL if unknown. */
static void take(struct sonde_snapshots *snapshots, struct ask *place, const struct sonde_snapshot_live *live)
{
	struct ask ask = *place;
	struct sonde_meta_snapshot snapshot = {
	    .process = ask.process,
	    .reason = ask.reason,
	    .label = ask.label,
	    .time_ns = ask.time_ns,
	    .rss_b = ask.rss_b,
	    .pss_b = ask.pss_b,
	};
	uint32_t number = sonde_recorder_snapshot(snapshots->recorder, &snapshot);
	if (ask.answer_fd >= 0)
		answer(snapshots, &ask, number, live);
	snapshots->count--;
	memmove(place, place + 1, (size_t)(snapshots->asks + snapshots->count - place) * sizeof *place);
}

void sonde_snapshots_take(struct sonde_snapshots *snapshots, uint32_t process, uint64_t time_ns,
			  const struct sonde_snapshot_live *live)
{
	struct ask *ask = earliest(snapshots, process);
	if (!ask)
		return;
	ask->time_ns = time_ns;
	take(snapshots, ask, live);
}

void sonde_snapshots_take_remainder(struct sonde_snapshots *snapshots)
{
	for (size_t i = 0; i < snapshots->count;)
		if (snapshots->asks[i].claimed)
			i++;
		else
			take(snapshots, &snapshots->asks[i], NULL);
}
