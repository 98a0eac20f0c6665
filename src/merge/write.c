/* write.c: writes the merged recording: names first, then events, then facts about the whole (merge.h).
 *
 * Modules, stacks and strings are interned again, as by a recorder; ids of processes, threads, heaps and objects follow
 * those of the previous recordings. Events are read once, one chunk of each recording at a time, so memory is that of
 * the tables. Rejected: a session over several files, because every reader and every figure would have to distinguish
 * the files.
 */
#include "merge/merge.h"

#include <stdlib.h>

#include "merge/out.h"

enum { KEY_MAX_B = 1 << 18 };

static void fini(struct sonde_merge_out *out)
{
	struct sonde_merge_keys *keys[] = {&out->modules, &out->sites, &out->series};
	for (size_t i = 0; i < 3; i++) {
		sonde_map_fini(&keys[i]->map);
		sonde_arena_fini(&keys[i]->arena);
		sonde_buf_fini(&keys[i]->key);
		free(keys[i]->rows);
	}
	sonde_map_fini(&out->symbol_map);
	free(out->symbols);
	free(out->site_user);
	sonde_trie_fini(&out->trie);
	sonde_strings_fini(&out->strings);
}

/* The start of the first recording, in the new clock and in wall-clock time. */
static struct sonde_file_head head_of(const struct sonde_merge_inputs *inputs)
{
	struct sonde_file_head head = *sonde_session_head(inputs->input[0].session);
	for (size_t i = 0; i < inputs->count; i++) {
		const struct sonde_file_head *other = sonde_session_head(inputs->input[i].session);
		uint64_t start_ns = other->start_mono_ns + inputs->input[i].shift_ns;
		if (i && start_ns >= head.start_mono_ns)
			continue;
		head = *other;
		head.start_mono_ns = start_ns;
	}
	return head;
}

static int write_all(struct sonde_merge_out *out)
{
	size_t count = out->inputs->count;
	int rc = 0;
	for (size_t i = 0; !rc && i < count; i++)
		rc = sonde_merge_modules(out, i);
	rc = rc ? rc : out->error;
	rc = rc ? rc : sonde_trie_flush(&out->trie);
	for (size_t i = 0; !rc && i < count; i++)
		rc = sonde_merge_tables(out, i);
	for (size_t i = 0; !rc && i < count; i++)
		rc = sonde_merge_series(out, i);
	rc = rc ? rc : sonde_merge_rows(out);
	rc = rc ? rc : sonde_merge_chunks(out);
	return rc ? rc : sonde_merge_facts(out);
}

static int write_file(struct sonde_merge_inputs *inputs, const struct sonde_merge_options *options)
{
	struct sonde_file_head head = head_of(inputs);
	struct sonde_writer_options how = {.fd = options->fd, .begun = &head};
	struct sonde_merge_out out = {.inputs = inputs};
	int rc = sonde_writer_open(&out.writer, options->name, &how);
	if (rc)
		return rc;
	sonde_strings_init(&out.strings, out.writer);
	sonde_trie_init(&out.trie, out.writer, &out.strings);
	struct sonde_merge_keys *keys[] = {&out.modules, &out.sites, &out.series};
	for (size_t i = 0; i < 3; i++)
		sonde_buf_init(&keys[i]->key, KEY_MAX_B);
	rc = write_all(&out);
	if (rc)
		sonde_writer_discard(out.writer);
	else
		rc = sonde_writer_close(out.writer);
	fini(&out);
	return rc;
}

static void tell(struct sonde_merge_result *out, const struct sonde_merge_inputs *inputs)
{
	uint64_t from_ns = UINT64_MAX, to_ns = 0;
	*out =
	    (struct sonde_merge_result){.parts = inputs->part_count, .machines = inputs->machine_count, .is_whole = 1};
	for (size_t i = 0; i < inputs->part_count; i++) {
		const struct sonde_merge_part *part = &inputs->part[i];
		from_ns = part->start_ns < from_ns ? part->start_ns : from_ns;
		to_ns = part->end_ns > to_ns ? part->end_ns : to_ns;
		out->is_whole &= part->closed;
	}
	for (size_t i = 0; i < inputs->count; i++)
		out->damaged_b += sonde_merge_damaged_b(&inputs->input[i]);
	out->wall_ns = to_ns > from_ns ? to_ns - from_ns : 0;
}

int sonde_merge(struct sonde_merge_result *out, const char *const *paths, size_t count,
		const struct sonde_merge_options *options)
{
	struct sonde_merge_inputs inputs;
	int rc = sonde_merge_inputs_open(&inputs, paths, count);
	rc = rc ? rc : sonde_merge_inputs_check(&inputs);
	rc = rc ? rc : sonde_merge_inputs_align(&inputs, options);
	rc = rc ? rc : write_file(&inputs, options);
	if (!rc)
		tell(out, &inputs);
	sonde_merge_inputs_close(&inputs);
	return rc;
}
