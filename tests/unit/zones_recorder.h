/* zones_recorder.h: a recorder that sums up what the zones source passes to it, and runs target programs against it. */
#ifndef SONDE_TESTS_ZONES_RECORDER_H
#define SONDE_TESTS_ZONES_RECORDER_H

#include <stdint.h>
#include <sys/types.h>

#include "source/record/recorder.h"
#include "source/source.h"
#include "source/target/channel.h"

#define SITES_MAX 8192
#define THREADS_MAX 16384
#define LOST_MAX 16
#define EVENTS_MAX 4096

struct zones_site {
	char name[96];
	uint32_t kind;
	uint64_t begun, ended;
	uint64_t total_ns;
};

struct zones_event {
	uint32_t type, site, thread;
	uint64_t time;
	double value;
	char text[128]; /* text, or key=value */
};

struct sonde_recorder {
	struct sonde_record_options options;
	struct zones_site sites[SITES_MAX];
	uint32_t site_count;
	struct {
		pid_t pid, tid;
		uint32_t open[256];
		uint64_t open_ns[256];
		uint32_t depth;
		uint64_t last_ns;
	} threads[THREADS_MAX];
	uint32_t thread_count;
	uint64_t zone_events, unmatched, backwards, unknown_sites;
	struct zones_event events[EVENTS_MAX];
	uint64_t event_count;
	uint32_t pool_site; /* the pool named last */
	char pool_name[96];
	struct {
		char cause[96];
		uint64_t count;
	} lost[LOST_MAX];
	struct {
		uint32_t site;
		uint64_t count, sum, min, max;
		uint64_t p50;
	} histograms[16];
	uint32_t histogram_count;
	pid_t processes[1024];
	uint32_t process_count;
};

struct zones_site *zones_find(struct sonde_recorder *recorder, const char *name);
uint64_t zones_lost(const struct sonde_recorder *recorder, const char *cause);
/* Whole events of a type, and the last of them; NULL = none. */
uint64_t zones_events(const struct sonde_recorder *recorder, uint32_t type, const struct zones_event **last);

/* Starts TARGET with arguments under a channel and a zones source. */
struct zones_run {
	struct sonde_recorder *recorder;
	struct sonde_channel *channel;
	struct sonde_source_run *source;
	pid_t pid;
};

void zones_start(struct zones_run *run, const struct sonde_record_options *options, char **argv);
/* Drains once, after waiting at most timeout_ms for the channel's descriptors. */
void zones_round(struct zones_run *run, int timeout_ms);
/* Drains until the target has ended, and then for good; its wait status. */
int zones_finish(struct zones_run *run);
void zones_free(struct zones_run *run);

#endif
