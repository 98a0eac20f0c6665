/* chrome_profile.c: CPU profiles of V8 in trace events ("Profile", "ProfileChunk"), also written by `sonde export`: a
 * call tree that grows with every chunk, and samples with time deltas (chrome.h). */
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "import/chrome.h"
#include "util/error.h"

enum { FRAMES_MAX = 1 << 24 };

/* Finds the profile of an event, or creates it. The profile belongs to the thread of its first event, because V8 sends
 * the chunks from another thread. */
static struct sonde_chrome_profile *profile_of(struct sonde_chrome *chrome, const struct sonde_chrome_event *event)
{
	uint64_t hash = sonde_hash_pair(event->pid, event->id);
	uint32_t at = sonde_map_find(&chrome->profile_map, hash, NULL, NULL);
	if (at)
		return &chrome->profiles[at - 1];
	uint32_t thread = sonde_chrome_thread(chrome, event->pid, event->tid);
	if (thread == UINT32_MAX || sonde_chrome_grow(chrome, &chrome->profiles, chrome->profile_count,
						      &chrome->profile_cap, sizeof *chrome->profiles))
		return NULL;
	chrome->profiles[chrome->profile_count++] =
	    (struct sonde_chrome_profile){event->pid, thread, event->has_start ? event->start_ns : event->time_ns};
	sonde_chrome_keep(chrome, sonde_map_add(&chrome->profile_map, hash, chrome->profile_count));
	return &chrome->profiles[chrome->profile_count - 1];
}

static uint64_t node_hash(const struct sonde_chrome *chrome, const struct sonde_chrome_profile *profile, uint64_t id)
{
	return sonde_hash_pair((uint64_t)(profile - chrome->profiles) + 1, id);
}

static void node_add(struct sonde_chrome *chrome, const struct sonde_chrome_profile *profile,
		     const struct sonde_chrome_node *node)
{
	uint32_t parent = sonde_map_find(&chrome->frame_map, node_hash(chrome, profile, node->parent), NULL, NULL);
	if (chrome->frame_count >= FRAMES_MAX) {
		sonde_chrome_keep(chrome, sonde_error(EFBIG, "%s is too big: its profiles have more than %d calls",
						      sonde_input_name(chrome->job->input), FRAMES_MAX));
		return;
	}
	if (sonde_chrome_grow(chrome, &chrome->frames, chrome->frame_count, &chrome->frame_cap, sizeof *chrome->frames))
		return;
	chrome->frames[chrome->frame_count++] =
	    (struct sonde_chrome_frame){node->name, node->file, node->line, node->parent ? parent : 0, 0};
	sonde_chrome_keep(chrome,
			  sonde_map_set(&chrome->frame_map, node_hash(chrome, profile, node->id), chrome->frame_count));
}

static int is_within(int64_t ns, int64_t most_ns)
{
	return ns >= -most_ns && ns <= most_ns;
}

static int is_idle(const struct sonde_chrome *chrome, const struct sonde_chrome_frame *frame)
{
	return !strcmp(sonde_chrome_text(chrome, frame->name), "(idle)");
}

/* A V8 sample represents the time until the next one, whether or not the thread runs; samples exported by sonde have
 * their CPU time as a weight. */
static void sample_add(struct sonde_chrome *chrome, const struct sonde_chrome_event *event,
		       struct sonde_chrome_profile *profile, uint32_t i)
{
	int64_t delta_ns = i < event->deltas.count ? (int64_t)event->deltas.values[i] : 0;
	int64_t next_ns = i + 1 < event->deltas.count ? (int64_t)event->deltas.values[i + 1] : 0;
	if (!is_within(delta_ns, SONDE_CHROME_DUR_MAX_NS) || !is_within(profile->time_ns, SONDE_CHROME_TIME_MAX_NS)) {
		chrome->counts.timeless++;
		return;
	}
	profile->time_ns += delta_ns;
	uint32_t frame =
	    sonde_map_find(&chrome->frame_map, node_hash(chrome, profile, event->samples.values[i]), NULL, NULL);
	int is_ours = event->weights.count == event->samples.count;
	uint64_t weight_ns = is_ours ? event->weights.values[i] : next_ns > 0 ? (uint64_t)next_ns : 0;
	if (!is_ours && frame && is_idle(chrome, &chrome->frames[frame - 1])) {
		chrome->counts.idle++;
		return;
	}
	if (weight_ns > (uint64_t)SONDE_CHROME_DUR_MAX_NS) {
		chrome->counts.timeless++;
		return;
	}
	chrome->counts.samples += !is_ours;
	struct sonde_chrome_row row = {.time_ns = profile->time_ns,
				       .value = weight_ns,
				       .args = profile->thread,
				       .thread = SONDE_CHROME_SAMPLES,
				       .name = frame,
				       .kind = SONDE_CHROME_SAMPLE};
	sonde_chrome_row(chrome, &row, profile->thread);
}

void sonde_chrome_profile_take(struct sonde_chrome *chrome, const struct sonde_chrome_event *event)
{
	struct sonde_chrome_profile *profile = profile_of(chrome, event);
	if (!profile)
		return;
	if (event->has_start)
		profile->time_ns = event->start_ns;
	for (uint32_t i = 0; i < event->node_count && !chrome->error; i++)
		node_add(chrome, profile, &event->nodes[i]);
	for (uint32_t i = 0; i < event->samples.count && !chrome->error; i++)
		sample_add(chrome, event, profile, i);
}
