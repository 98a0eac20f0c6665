/* sink.c: writes drained events to a file: sites, threads, beginning and end (sink.h). */
#include "runtime/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "fold/redact.h"
#include "runtime/sink_state.h"

static size_t own_b(void)
{
	return (sizeof(struct sonde_sink) + 4095) & ~(size_t)4095;
}

size_t sonde_sink_b(void)
{
	return own_b() + SONDE_LIVE_B + sonde_pools_b();
}

/* --- sites and threads --------------------------------------------------------------------------------------------*/

static void take_site(void *context, const struct sonde_drain_site *site)
{
	struct sonde_sink *sink = context;
	if (site->kind == SONDE_SITE_POOL) { /* a heap, not a site */
		sonde_pools_name(sink->pools, site->id, site->name);
		return;
	}
	if (sink->sites_made + 1 >= SONDE_SINK_SITES)
		return;
	struct sonde_meta_site record = {.head.type = SONDE_META_SITE, .id = ++sink->sites_made, .kind = site->kind};
	record.name = sonde_file_string(sink->file, site->name, strlen(site->name));
	record.function = sonde_file_string(sink->file, site->function, strlen(site->function));
	record.file = sonde_file_string(sink->file, site->file, strlen(site->file));
	record.unit = sonde_file_string(sink->file, site->unit, strlen(site->unit));
	record.line = site->line;
	record.color = site->color;
	sonde_file_meta(sink->file, &record, sizeof(record), NULL, 0);
	sink->sites[site->id] = record.id;
	sonde_live_site(sink->live, site);
}

uint32_t sonde_sink_site(struct sonde_sink *sink, uint32_t site)
{
	if (site == SONDE_RING_SITE_OTHER && !sink->sites[site]) {
		struct sonde_meta_site record = {.head.type = SONDE_META_SITE, .id = ++sink->sites_made};
		record.kind = SONDE_SITE_ZONE;
		record.name = sonde_file_string(sink->file, "(other)", 7);
		sonde_file_meta(sink->file, &record, sizeof(record), NULL, 0);
		sink->sites[site] = record.id;
	}
	return sink->sites[site];
}

/* Runs again for each name that the program sets. */
void sonde_sink_thread_name(struct sonde_sink *sink, const struct sonde_drain_thread *thread, const char *name,
			    size_t name_b)
{
	struct sonde_meta_thread record = {.head.type = SONDE_META_THREAD, .id = (uint32_t)thread->user, .process = 1};
	char text[1024];
	record.tid = thread->tid;
	record.name = sonde_file_string(sink->file, text, sonde_redact(text, sizeof(text), name, name_b, NULL));
	record.start_ns = sink->starts_ns[thread->index];
	sonde_file_meta(sink->file, &record, sizeof(record), NULL, 0);
}

uint32_t sonde_sink_thread(struct sonde_sink *sink, struct sonde_drain_thread *thread, uint64_t time_ns)
{
	if (thread->user)
		return (uint32_t)thread->user;
	char path[64], name[32];
	snprintf(path, sizeof(path), "/proc/self/task/%u/comm", thread->tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t name_b = fd < 0 ? 0 : read(fd, name, sizeof(name));
	if (fd >= 0)
		close(fd);
	thread->user = ++sink->threads_made;
	sink->starts_ns[thread->index] = time_ns;
	sonde_sink_thread_name(sink, thread, name, name_b > 1 ? (size_t)name_b - 1 : 0); /* without the newline */
	return (uint32_t)thread->user;
}

static void take_thread_end(void *context, struct sonde_drain_thread *thread)
{
	struct sonde_sink *sink = context;
	sonde_frames_clear(&sink->threads[thread->index]);
	sonde_live_thread_end(sink->live, thread);
}

static int thread_alive(void *context, uint32_t tid)
{
	(void)context;
	return !syscall(SYS_tgkill, getpid(), tid, 0) || errno != ESRCH;
}

void sonde_sink_lost(struct sonde_sink *sink, const char *cause, uint64_t count)
{
	struct sonde_meta_lost record = {.head.type = SONDE_META_LOST, .process = 1, .count = count};
	record.source = sonde_file_string(sink->file, "zones", 5);
	record.cause = sonde_file_string(sink->file, cause, strlen(cause));
	record.from_ns = record.to_ns = sonde_clock_now_ns();
	sonde_file_meta(sink->file, &record, sizeof(record), NULL, 0);
}

static void take_lost(void *context, enum sonde_ring_lost cause, uint64_t count)
{
	sonde_sink_lost(context, sonde_ring_lost_text(cause), count);
}

/* --- begin and end ------------------------------------------------------------------------------------------------*/

/* Reads a file such as a command line, without secrets: at most 4 KB. */
static uint32_t string_of_file(struct sonde_sink *sink, const char *path)
{
	char words[4096], text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, words, sizeof(words));
	if (fd >= 0)
		close(fd);
	int is_cut = got == (ssize_t)sizeof(words);
	while (got > 0 && (!words[got - 1] || words[got - 1] == '\n'))
		got--;
	if (got > 0 && is_cut)
		got = (ssize_t)sonde_redact_whole(words, (size_t)got);
	if (got > 0)
		got = (ssize_t)sonde_redact(text, sizeof(text), words, (size_t)got, NULL);
	for (ssize_t i = 0; i < got; i++)
		text[i] = text[i] ? text[i] : ' ';
	return got > 0 ? sonde_file_string(sink->file, text, (size_t)got) : 0;
}

static void write_clock(struct sonde_sink *sink)
{
	struct sonde_clockfit_anchor anchor = sonde_clockfit_read();
	struct sonde_meta_clock record = {.head.type = SONDE_META_CLOCK, .mono_ns = anchor.mono_ns};
	record.cycles = sink->ring->clock == SONDE_RING_CLOCK_CYCLES ? anchor.cycles : 0;
	record.raw_ns = sonde_clock_read_ns(CLOCK_MONOTONIC_RAW);
	record.real_ns = sonde_clock_read_ns(CLOCK_REALTIME);
	record.boot_ns = sonde_clock_read_ns(CLOCK_BOOTTIME);
	record.error_ns = sonde_clock_now_ns() - anchor.mono_ns;
	sonde_file_meta(sink->file, &record, sizeof(record), NULL, 0);
}

static void write_begin(struct sonde_sink *sink)
{
	struct sonde_meta_process process = {.head.type = SONDE_META_PROCESS, .id = 1, .pid = (uint32_t)getpid()};
	process.name = string_of_file(sink, "/proc/self/comm");
	process.command = string_of_file(sink, "/proc/self/cmdline");
	process.start_ns = sonde_clock_now_ns();
	sonde_file_meta(sink->file, &process, sizeof(process), NULL, 0);
	struct sonde_meta_info command = {.head.type = SONDE_META_INFO, .value = process.command};
	command.key = sonde_file_string(sink->file, "run.command", 11);
	sonde_file_meta(sink->file, &command, sizeof(command), NULL, 0);
	sonde_file_info(sink->file, "run.recorder", "libsonde inside the program");
	struct sonde_meta_source source = {.head.type = SONDE_META_SOURCE, .state = SONDE_SOURCE_ON};
	const char method[] = "rings in shared memory, written by the program itself";
	source.name = sonde_file_string(sink->file, "zones", 5);
	source.method = sonde_file_string(sink->file, method, sizeof(method) - 1);
	sonde_file_meta(sink->file, &source, sizeof(source), NULL, 0);
	write_clock(sink);
}

struct sonde_sink *sonde_sink_init(void *memory, struct sonde_ring_pool *ring, struct sonde_file *file)
{
	struct sonde_sink *sink = memory;
	sink->ring = ring;
	sink->file = file;
	sink->live = sonde_live_init((char *)memory + own_b());
	sink->pools = sonde_pools_init((char *)memory + own_b() + SONDE_LIVE_B, file);
	write_begin(sink);
	return sink;
}

static void write_lost(struct sonde_sink *sink)
{
	static const char *const causes[SONDE_POOLS_LOST_COUNT] = {
	    [SONDE_POOLS_LOST_NAMES] = "more than 4096 pools in a process",
	    [SONDE_POOLS_LOST_SITES] = "more threads use pools than can be told apart",
	    [SONDE_POOLS_LOST_MEMORY] = "no memory for the blocks of a pool",
	};
	for (int i = 0; i < SONDE_POOLS_LOST_COUNT; i++) {
		uint64_t count = sonde_pools_lost(sink->pools, (enum sonde_pools_lost)i);
		if (count)
			sonde_sink_lost(sink, causes[i], count);
	}
	if (sink->activities)
		sonde_sink_lost(sink, "GPU activities, which sonde record --gpu records", sink->activities);
	sink->activities = 0;
}

void sonde_sink_drain(struct sonde_sink *sink, struct sonde_drain *drain, const struct sonde_clockfit *fit, int final)
{
	const struct sonde_drain_sink calls = {
	    .context = sink,
	    .site = take_site,
	    .zones = sonde_sink_take_zones,
	    .event = sonde_sink_take_event,
	    .counter = sonde_sink_take_counter,
	    .histogram = sonde_sink_take_histogram,
	    .lost = take_lost,
	    .thread_end = take_thread_end,
	    .alive = thread_alive,
	};
	uint64_t before_ns = sonde_clock_now_ns();
	sonde_drain_run(drain, fit, &calls, final);
	sonde_sink_flush_zones(sink);
	sonde_sink_flush_events(sink);
	sonde_pools_run(sink->pools, before_ns);
	write_lost(sink);
}

int sonde_sink_close(struct sonde_sink *sink)
{
	sonde_pools_close(sink->pools);
	write_lost(sink);
	sonde_sink_close_histograms(sink);
	for (uint32_t i = 0; i < sink->thread_rows; i++)
		sonde_frames_clear(&sink->threads[i]);
	sonde_live_fini(sink->live);
	write_clock(sink);
	struct sonde_meta_close record = {.head.type = SONDE_META_CLOSE, .time_ns = sonde_clock_now_ns(), .status = -1};
	sonde_file_meta(sink->file, &record, sizeof(record), NULL, 0);
	struct sonde_file *file = sink->file;
	sink->file = NULL; /* first: a child forked now has no file of ours */
	return sonde_file_close(file);
}

void sonde_sink_answer(const struct sonde_sink *sink, const struct sonde_link_query *query,
		       struct sonde_link_answer *out)
{
	sonde_live_answer(sink->live, query, out);
}

void sonde_sink_blocks(const struct sonde_sink *sink, const char *name, struct sonde_link_blocks *out)
{
	sonde_pools_answer(sink->pools, name, out);
}

uint64_t sonde_sink_blocks_ns(const struct sonde_sink *sink)
{
	return sonde_pools_latest_ns(sink->pools);
}

/* The process may have forked in the middle of a drain: leave the mappings alone, their state is unknown. */
void sonde_sink_abandon(struct sonde_sink *sink)
{
	if (sink->file)
		sonde_file_abandon(sink->file);
	sink->file = NULL;
}
