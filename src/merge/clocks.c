/* clocks.c: aligns recordings to one clock by adding an offset to their times.
 *
 * CLOCK_MONOTONIC counts from a machine's boot, so recordings of one boot need no alignment. Others are aligned so that
 * their wall clocks agree at their starts; the difference between the wall clocks is unknown, and the report says so.
 * Offsets are never negative: the new file uses the clock with the longest uptime, so no time falls below zero.
 */
#include "merge/inputs.h"

#include <errno.h>
#include <string.h>

#include "util/error.h"

static int64_t wall_of(const struct sonde_merge_input *input)
{
	const struct sonde_file_head *head = sonde_session_head(input->session);
	return (int64_t)(head->start_real_ns - head->start_mono_ns);
}

/* The difference between the offsets of an input and of `other`, if both share a clock. */
static int know_one(const struct sonde_merge_inputs *inputs, const struct sonde_merge_input *input,
		    const struct sonde_merge_input *other, int64_t *out)
{
	for (size_t i = input->first_part; i < input->first_part + input->part_count; i++)
		for (size_t k = other->first_part; k < other->first_part + other->part_count; k++) {
			const struct sonde_merge_part *a = &inputs->part[i], *b = &inputs->part[k];
			if (a->machine != b->machine)
				continue;
			*out = (int64_t)(b->shift_ns - a->shift_ns);
			return 1;
		}
	return 0;
}

/* Aligns the inputs in order: each with the first earlier one that shares its clock; if there is none, by the wall
 * clock. */
static void by_clocks(struct sonde_merge_inputs *inputs)
{
	size_t by_wall = 0;
	for (size_t i = 1; i < inputs->count; i++) {
		struct sonde_merge_input *input = &inputs->input[i];
		int64_t wall_ns = wall_of(input) - wall_of(&inputs->input[0]), beyond_ns;
		size_t k = 0;
		while (k < i && !know_one(inputs, input, &inputs->input[k], &beyond_ns))
			k++;
		if (k == i) {
			input->shift_ns = (uint64_t)wall_ns;
			by_wall++;
			continue;
		}
		input->shift_ns = inputs->input[k].shift_ns + (uint64_t)beyond_ns;
		int64_t other_ns = wall_of(&inputs->input[k]) - wall_of(&inputs->input[0]);
		int64_t moved_ns = wall_ns - other_ns - beyond_ns;
		uint64_t size_ns = (uint64_t)(moved_ns < 0 ? -moved_ns : moved_ns);
		if (size_ns > inputs->clock_moved_ns)
			inputs->clock_moved_ns = size_ns;
	}
	if (by_wall)
		inputs->aligned = "wall clock";
}

/* Finds the first zone of a name in a recording. */
static int zone_start(const struct sonde_merge_input *input, const char *name, uint64_t *out)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int rc = sonde_cursor_open(&cursor, input->session, 1u << SONDE_CHUNK_ZONES);
	if (rc < 0)
		return rc;
	*out = UINT64_MAX;
	while ((rc = sonde_cursor_next(cursor, &batch)) != 0 && rc != -ENOMEM)
		for (size_t i = 0; rc > 0 && i < batch->count; i++) {
			const struct sonde_site *site = sonde_session_site(input->session, batch->zones.site[i]);
			if (site && batch->zones.start_ns[i] < *out && !strcmp(site->name, name))
				*out = batch->zones.start_ns[i];
		}
	sonde_cursor_close(cursor);
	if (rc == 0 && *out == UINT64_MAX)
		rc = sonde_error(EINVAL, "%s: it has no zone %s to align by; try --align=real", input->path, name);
	return rc;
}

/* Aligns one point in time of each recording: its start or the zone. */
static int by_moments(struct sonde_merge_inputs *inputs, const char *zone)
{
	for (size_t i = 0; i < inputs->count; i++) {
		struct sonde_merge_input *input = &inputs->input[i];
		uint64_t moment_ns = sonde_session_run(input->session)->start_ns;
		int rc = zone ? zone_start(input, zone, &moment_ns) : 0;
		if (rc)
			return rc;
		input->shift_ns = 0 - moment_ns;
	}
	inputs->aligned = zone ? sonde_arena_printf(&inputs->arena, "zone %s", zone) : "start";
	return inputs->aligned ? 0 : sonde_error(ENOMEM, "out of memory");
}

/* Keeps the alignment method of files that were already merged. */
static void keep_aligned(struct sonde_merge_inputs *inputs)
{
	for (size_t i = 0; !inputs->aligned && i < inputs->count; i++)
		inputs->aligned = sonde_session_info(inputs->input[i].session, "merged.aligned");
}

int sonde_merge_inputs_align(struct sonde_merge_inputs *inputs, const struct sonde_merge_options *options)
{
	int rc = 0;
	if (options->align == SONDE_MERGE_CLOCKS || inputs->count < 2)
		by_clocks(inputs);
	else
		rc = by_moments(inputs, options->align == SONDE_MERGE_ZONES ? options->zone : NULL);
	if (rc)
		return rc;
	keep_aligned(inputs);
	int64_t least_ns = INT64_MAX;
	for (size_t i = 0; i < inputs->count; i++)
		if ((int64_t)inputs->input[i].shift_ns < least_ns)
			least_ns = (int64_t)inputs->input[i].shift_ns;
	for (size_t i = 0; i < inputs->count; i++)
		inputs->input[i].shift_ns -= (uint64_t)least_ns;
	for (size_t i = 0; i < inputs->part_count; i++) {
		struct sonde_merge_part *part = &inputs->part[i];
		const struct sonde_merge_input *input = &inputs->input[part->input];
		part->start_ns += input->shift_ns;
		part->end_ns += input->shift_ns;
		part->shift_ns += input->shift_ns;
		part->first += input->processes;
		part->last += input->processes;
	}
	return 0;
}
