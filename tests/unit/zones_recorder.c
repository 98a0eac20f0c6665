/* zones_recorder.c: a recorder that sums up the data that the zones source passes to it (zones_recorder.h). */
#include "zones_recorder.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "fold/hist.h"
#include "source/record/snapshots.h"
#include "source/target/devices.h"
#include "source/heap/events.h"

struct zones_site *zones_find(struct sonde_recorder *recorder, const char *name)
{
	static struct zones_site none;
	for (uint32_t i = 1; i <= recorder->site_count; i++)
		if (!strcmp(recorder->sites[i].name, name))
			return &recorder->sites[i];
	return &none;
}

uint64_t zones_lost(const struct sonde_recorder *recorder, const char *cause)
{
	uint64_t count = 0;
	for (int i = 0; i < LOST_MAX; i++)
		if (!cause || !strcmp(recorder->lost[i].cause, cause))
			count += recorder->lost[i].count;
	return count;
}

uint64_t zones_events(const struct sonde_recorder *recorder, uint32_t type, const struct zones_event **last)
{
	uint64_t count = 0;
	for (uint64_t i = 0; i < recorder->event_count && i < EVENTS_MAX; i++)
		if (recorder->events[i].type == type) {
			count++;
			if (last)
				*last = &recorder->events[i];
		}
	return count;
}

/* --- what the source calls ------------------------------------------------------------------------------- */

const struct sonde_record_options *sonde_recorder_options(const struct sonde_recorder *recorder)
{
	return &recorder->options;
}

uint32_t sonde_recorder_process(struct sonde_recorder *recorder, pid_t pid, uint64_t time_ns)
{
	(void)time_ns;
	for (uint32_t i = 0; i < recorder->process_count; i++)
		if (recorder->processes[i] == pid)
			return i + 1;
	if (recorder->process_count == 1024)
		abort();
	recorder->processes[recorder->process_count] = pid;
	return ++recorder->process_count;
}

uint32_t sonde_recorder_thread(struct sonde_recorder *recorder, pid_t pid, pid_t tid, uint64_t time_ns)
{
	(void)time_ns;
	if (recorder->thread_count + 1 >= THREADS_MAX)
		abort();
	uint32_t id = ++recorder->thread_count;
	recorder->threads[id].pid = pid;
	recorder->threads[id].tid = tid;
	return id;
}

uint32_t sonde_recorder_site(struct sonde_recorder *recorder, const struct sonde_recorder_site *site)
{
	for (uint32_t i = 1; i <= recorder->site_count; i++)
		if (!strcmp(recorder->sites[i].name, site->name) && recorder->sites[i].kind == site->kind)
			return i;
	if (recorder->site_count + 1 >= SITES_MAX)
		abort();
	struct zones_site *made = &recorder->sites[++recorder->site_count];
	snprintf(made->name, sizeof(made->name), "%s", site->name);
	made->kind = site->kind;
	return recorder->site_count;
}

static void one_zone(struct sonde_recorder *recorder, uint32_t thread, uint32_t site, uint64_t time_ns)
{
	uint32_t depth = recorder->threads[thread].depth;
	recorder->zone_events++;
	recorder->backwards += time_ns < recorder->threads[thread].last_ns;
	recorder->threads[thread].last_ns = time_ns;
	recorder->unknown_sites += site > recorder->site_count;
	if (site) {
		recorder->sites[site].begun++;
		if (depth < 256) {
			recorder->threads[thread].open[depth] = site;
			recorder->threads[thread].open_ns[depth] = time_ns;
		}
		recorder->threads[thread].depth++;
	} else if (!depth) {
		recorder->unmatched++;
	} else {
		recorder->threads[thread].depth--;
		if (depth > 256)
			return;
		struct zones_site *ended = &recorder->sites[recorder->threads[thread].open[depth - 1]];
		ended->ended++;
		ended->total_ns += time_ns - recorder->threads[thread].open_ns[depth - 1];
	}
}

void sonde_recorder_zones(struct sonde_recorder *recorder, uint32_t process, uint32_t thread, const uint32_t *sites,
			  const uint64_t *times_ns, size_t count)
{
	if (!process || !thread)
		abort();
	for (size_t i = 0; i < count; i++)
		one_zone(recorder, thread, sites[i], times_ns[i]);
}

/* The last one with these numbers. */
uint32_t sonde_recorder_known(const struct sonde_recorder *recorder, pid_t pid, pid_t tid, uint64_t time_ns)
{
	(void)time_ns;
	uint32_t id = recorder->thread_count;
	while (id && (recorder->threads[id].pid != pid || recorder->threads[id].tid != tid))
		id--;
	return id;
}

void sonde_recorder_thread_end(struct sonde_recorder *recorder, uint32_t thread)
{
	if (!thread || thread > recorder->thread_count)
		abort();
}

static void copy_text(char *out, size_t out_b, const void *text, size_t text_b)
{
	snprintf(out, out_b, "%.*s", (int)(text_b < out_b ? text_b : out_b), (const char *)text);
}

void sonde_recorder_event(struct sonde_recorder *recorder, uint32_t process, uint32_t thread,
			  const struct sonde_event *event)
{
	(void)process;
	struct zones_event *kept = &recorder->events[recorder->event_count++ % EVENTS_MAX];
	*kept = (struct zones_event){event->type, event->site, thread, event->time, 0, ""};
	const struct sonde_event_text *text = (const void *)event;
	const struct sonde_event_value *value = (const void *)event;
	const struct sonde_event_arg *arg = (const void *)event;
	const struct sonde_event_work *work = (const void *)event;
	switch (event->type) {
	case SONDE_EVENT_COUNTER:
	case SONDE_EVENT_COUNT:
	case SONDE_EVENT_GAUGE:
	case SONDE_EVENT_ITERATION:
		kept->value = value->value;
		break;
	case SONDE_EVENT_SPAN_BEGIN:
	case SONDE_EVENT_SPAN_END:
		kept->value = (double)((const struct sonde_event_span *)(const void *)event)->id;
		break;
	case SONDE_EVENT_WORK:
		kept->value = work->flop + 10 * work->bytes + 100 * work->items;
		break;
	case SONDE_EVENT_ARG:
		copy_text(kept->text, sizeof(kept->text), arg + 1, (size_t)arg->key_b + arg->value_b);
		memcpy(&kept->value, &arg->bits, sizeof(kept->value));
		break;
	default:
		copy_text(kept->text, sizeof(kept->text), text + 1, text->len_b);
	}
}

/* As an event. */
int sonde_snapshots_ask(struct sonde_snapshots *snapshots, const struct sonde_snapshot_ask *ask)
{
	struct sonde_recorder *recorder = (struct sonde_recorder *)(void *)snapshots;
	struct zones_event *kept = &recorder->events[recorder->event_count++ % EVENTS_MAX];
	*kept = (struct zones_event){SONDE_EVENT_SNAPSHOT, 0, 0, ask->time_ns, 0, ""};
	copy_text(kept->text, sizeof(kept->text), ask->label, ask->label_b);
	return ask->answer_fd >= 0 ? -ENOSYS : 0;
}

uint32_t sonde_recorder_alive(const struct sonde_recorder *recorder, pid_t pid)
{
	for (uint32_t i = 0; i < recorder->process_count; i++)
		if (recorder->processes[i] == pid)
			return i + 1;
	return 0;
}

/* Pools: no heaps here, only what came. */
int sonde_heap_events_new(struct sonde_heap_events **out, struct sonde_recorder *recorder, pid_t pid)
{
	(void)pid;
	*out = (struct sonde_heap_events *)(void *)recorder;
	return 0;
}

void sonde_heap_events_name(struct sonde_heap_events *events, uint32_t site, const char *name)
{
	struct sonde_recorder *recorder = (struct sonde_recorder *)(void *)events;
	snprintf(recorder->pool_name, sizeof(recorder->pool_name), "%s", name);
	recorder->pool_site = site;
}

void sonde_heap_events_add(struct sonde_heap_events *events, uint64_t serial, uint32_t thread,
			   const struct sonde_event_block *event)
{
	struct sonde_recorder *recorder = (struct sonde_recorder *)(void *)events;
	(void)serial;
	if (recorder->event_count < EVENTS_MAX) {
		struct zones_event *seen = &recorder->events[recorder->event_count];
		seen->type = event->head.type;
		if (event->head.site == recorder->pool_site)
			snprintf(seen->text, sizeof(seen->text), "%s", recorder->pool_name);
		seen->thread = thread;
		seen->time = event->head.time;
		seen->value = (double)event->size_b;
	}
	recorder->event_count++;
}

void sonde_heap_events_thread_end(struct sonde_heap_events *events, uint64_t serial)
{
	(void)events, (void)serial;
}

void sonde_heap_events_run(struct sonde_heap_events *events, uint64_t time_ns)
{
	(void)events, (void)time_ns;
}

int sonde_heap_events_totals(const struct sonde_heap_events *events, const char *name, struct sonde_link_blocks *out)
{
	(void)events, (void)name, (void)out;
	return -ENOENT;
}

void sonde_heap_events_end(struct sonde_heap_events *events)
{
	(void)events;
}

/* None of our targets reports devices. */
int sonde_devices_new(struct sonde_devices **out, struct sonde_recorder *recorder, uint32_t process)
{
	(void)out, (void)recorder, (void)process;
	abort();
}

void sonde_devices_event(struct sonde_devices *devices, uint32_t thread, const struct sonde_event *event)
{
	(void)devices, (void)thread, (void)event;
}

void sonde_devices_end_round(struct sonde_devices *devices)
{
	(void)devices;
}

void sonde_devices_dropped(struct sonde_devices *devices, uint64_t count)
{
	(void)devices;
	(void)count;
}

void sonde_devices_free(struct sonde_devices *devices)
{
	(void)devices;
}

void sonde_recorder_source(struct sonde_recorder *recorder, const char *name, const struct sonde_recorder_state *state)
{
	(void)recorder;
	(void)name;
	(void)state;
}

void sonde_recorder_lost(struct sonde_recorder *recorder, const struct sonde_recorder_loss *loss)
{
	for (int i = 0; i < LOST_MAX; i++) {
		if (*recorder->lost[i].cause && strcmp(recorder->lost[i].cause, loss->cause) != 0)
			continue;
		snprintf(recorder->lost[i].cause, sizeof(recorder->lost[i].cause), "%s", loss->cause);
		recorder->lost[i].count += loss->count;
		return;
	}
	abort();
}

void sonde_recorder_histogram(struct sonde_recorder *recorder, const struct sonde_recorder_histogram *histogram)
{
	uint32_t at = recorder->histogram_count++;
	if (at >= 16)
		abort();
	recorder->histograms[at].site = histogram->site;
	recorder->histograms[at].count = histogram->count;
	recorder->histograms[at].sum = histogram->sum;
	recorder->histograms[at].min = histogram->min;
	recorder->histograms[at].max = histogram->max;
	recorder->histograms[at].p50 =
	    sonde_hist_quantile(histogram->hits, histogram->count, histogram->min, histogram->max, 0.5);
}

/* --- running targets ------------------------------------------------------------------------------------- */

void zones_start(struct zones_run *run, const struct sonde_record_options *options, char **argv)
{
	run->recorder = calloc(1, sizeof(*run->recorder));
	if (!run->recorder)
		abort();
	if (options)
		run->recorder->options = *options;
	struct sonde_snapshots *snapshots = (struct sonde_snapshots *)(void *)run->recorder; /* ours, above */
	if (sonde_channel_open(&run->channel, run->recorder, snapshots))
		abort();
	const struct sonde_source_context context = {run->recorder, run->channel, snapshots};
	run->source = calloc(1, sonde_source_zones.run_b);
	if (!run->source || sonde_source_zones.open(run->source, &context))
		abort();
	run->pid = fork();
	if (run->pid)
		return;
	setenv("SONDE_SOCKET", sonde_channel_name(run->channel), 1);
	unsetenv("SONDE_OUT");
	execv(argv[0], argv);
	_exit(127);
}

void zones_round(struct zones_run *run, int timeout_ms)
{
	int fds[256];
	struct pollfd polls[256];
	size_t count = sonde_channel_poll_fds(run->channel, fds, 256);
	for (size_t i = 0; i < count; i++)
		polls[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	poll(polls, (nfds_t)count, timeout_ms);
	sonde_channel_drain(run->channel, 0);
}

int zones_finish(struct zones_run *run)
{
	int status = -1;
	while (waitpid(run->pid, &status, WNOHANG) == 0)
		zones_round(run, 5);
	sonde_channel_drain(run->channel, 1);
	return status;
}

void zones_free(struct zones_run *run)
{
	sonde_source_zones.stop(run->source);
	free(run->source);
	sonde_channel_close(run->channel);
	free(run->recorder);
}
