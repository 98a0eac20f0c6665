/* inputs.c: opens recordings and determines their parts and the machine of each part.
 *
 * Inputs are sorted by start time (wall clock), so the order on the command line does not matter. An already merged
 * file contributes its parts, each with its own INFO records (session/parts.c describes the format), so recordings can
 * be merged step by step.
 */
#include "merge/inputs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

static int no_memory(void)
{
	return sonde_error(ENOMEM, "out of memory for the recordings");
}

const char *sonde_merge_part_info(const struct sonde_merge_part *part, const char *key)
{
	for (size_t i = part->info_count; i > 0; i--)
		if (!strcmp(part->infos[i - 1].key, key))
			return part->infos[i - 1].value;
	return NULL;
}

/* --- parts ------------------------------------------------------------------------------------------------------- */

static int is_merged_key(const char *key)
{
	return !strncmp(key, "merged.", 7);
}

/* Takes a fact of the merge: its key has no dot, unlike the keys of the recording. */
static void take_fact(struct sonde_merge_part *part, const char *what, const char *value)
{
	uint64_t number = strtoull(value, NULL, 10);
	const struct {
		const char *what;
		uint64_t *to;
	} numbers[] = {{"start_ns", &part->start_ns}, {"end_ns", &part->end_ns}, {"shift_ns", &part->shift_ns}};
	const struct {
		const char *what;
		const char **to;
	} texts[] = {{"id", &part->id}, {"name", &part->name}, {"note", &part->note}};
	for (size_t i = 0; i < 3; i++) {
		if (!strcmp(what, numbers[i].what))
			*numbers[i].to = number;
		if (!strcmp(what, texts[i].what))
			*texts[i].to = value;
	}
	if (!strcmp(what, "first_process"))
		part->first = (uint32_t)number;
	else if (!strcmp(what, "last_process"))
		part->last = (uint32_t)number;
	else if (!strcmp(what, "status"))
		part->status = (int32_t)strtol(value, NULL, 10);
	else if (!strcmp(what, "closed"))
		part->closed = number != 0;
}

/* True if some part of a merged file has its own value for a key, so that the plain key does not apply to all parts. */
static int is_told_apart(const struct sonde_session *session, const char *key)
{
	for (size_t i = 0; i < sonde_session_info_count(session); i++) {
		const char *other, *value, *what;
		sonde_session_info_at(session, i, &other, &value);
		if (sonde_part_key(other, &what) && !strcmp(what, key))
			return 1;
	}
	return 0;
}

static void add_info(struct sonde_merge_part *part, const char *key, const char *value)
{
	part->infos[part->info_count++] = (struct sonde_merge_info){key, value};
}

/* Allocates space for the INFO records that read_infos() will find for each part. */
static int make_capacity(struct sonde_merge_inputs *inputs, const struct sonde_session *session,
			 struct sonde_merge_part *parts, size_t count)
{
	size_t plain = 0;
	for (size_t i = 0; i < sonde_session_info_count(session); i++) {
		const char *key, *value, *what;
		sonde_session_info_at(session, i, &key, &value);
		size_t number = sonde_part_key(key, &what);
		if (number && number <= count)
			parts[number - 1].info_count++;
		plain += !number;
	}
	for (size_t i = 0; i < count; i++) {
		size_t room_b = (parts[i].info_count + plain + 1) * sizeof *parts[i].infos;
		parts[i].infos = sonde_arena_alloc(&inputs->arena, room_b);
		parts[i].info_count = 0;
		if (!parts[i].infos)
			return no_memory();
	}
	return 0;
}

static void read_infos(const struct sonde_session *session, struct sonde_merge_part *parts, size_t count)
{
	for (size_t i = 0; i < sonde_session_info_count(session); i++) {
		const char *key, *value, *what;
		sonde_session_info_at(session, i, &key, &value);
		size_t number = sonde_part_key(key, &what);
		if (number && number <= count && strchr(what, '.'))
			add_info(&parts[number - 1], what, value);
		else if (number && number <= count)
			take_fact(&parts[number - 1], what, value);
		if (number || is_merged_key(key) || (count > 1 && is_told_apart(session, key)))
			continue;
		for (size_t k = 0; k < count; k++)
			add_info(&parts[k], key, value);
	}
}

static const char *id_of(struct sonde_merge_inputs *inputs, const struct sonde_session *session)
{
	const struct sonde_file_head *head = sonde_session_head(session);
	return sonde_arena_printf(&inputs->arena, "%016" PRIx64 "%016" PRIx64, head->id[0], head->id[1]);
}

static size_t count_of(const struct sonde_session *session)
{
	const char *text = sonde_session_info(session, "merged.count");
	size_t count = text ? strtoul(text, NULL, 10) : 1;
	return count >= 1 && count <= sonde_session_info_count(session) ? count : 1;
}

static int add_parts(struct sonde_merge_inputs *inputs, size_t index)
{
	struct sonde_merge_input *input = &inputs->input[index];
	const struct sonde_run *run = sonde_session_run(input->session);
	size_t count = count_of(input->session);
	struct sonde_merge_part *grown = realloc(inputs->part, (inputs->part_count + count) * sizeof *grown);
	if (!grown)
		return no_memory();
	inputs->part = grown;
	input->first_part = inputs->part_count;
	input->part_count = count;
	struct sonde_merge_part *parts = grown + inputs->part_count;
	for (size_t i = 0; i < count; i++) {
		parts[i] = (struct sonde_merge_part){
		    .id = id_of(inputs, input->session),
		    .name = "",
		    .path = input->path,
		    .note = "",
		    .start_ns = run->start_ns,
		    .end_ns = run->end_ns,
		    .first = 1,
		    .last = (uint32_t)sonde_session_process_count(input->session),
		    .status = run->status,
		    .closed = run->closed,
		    .is_named = count > 1,
		    .input = index,
		};
		if (!parts[i].id)
			return no_memory();
	}
	inputs->part_count += count;
	if (make_capacity(inputs, input->session, parts, count))
		return -ENOMEM;
	read_infos(input->session, parts, count);
	uint32_t processes = (uint32_t)sonde_session_process_count(input->session);
	for (size_t i = 0; i < count; i++) {
		parts[i].first = parts[i].first ? parts[i].first : 1;
		parts[i].last = parts[i].last < processes ? parts[i].last : processes;
	}
	return 0;
}

/* --- machines ---------------------------------------------------------------------------------------------------- */

static const char *text_or(const char *text, const char *other)
{
	return text ? text : other;
}

/* A boot identifies a machine whatever its host name: containers on it have their own names but share its clock. */
static size_t machine_of(struct sonde_merge_inputs *inputs, const struct sonde_merge_part *part)
{
	const char *boot = text_or(sonde_merge_part_info(part, "host.boot_id"), "");
	const char *host = text_or(sonde_merge_part_info(part, "host.name"), "");
	for (size_t i = 0; *boot && i < inputs->machine_count; i++)
		if (!strcmp(inputs->machine[i].boot, boot))
			return i;
	inputs->machine[inputs->machine_count] = (struct sonde_merge_machine){.boot = boot, .host = host, .label = ""};
	return inputs->machine_count++;
}

/* Labels machines by host name, with a number if a host was rebooted. A merged file keeps its labels. */
static int label_machines(struct sonde_merge_inputs *inputs)
{
	for (size_t i = 0; i < inputs->part_count && inputs->machine_count > 1; i++) {
		const struct sonde_merge_part *part = &inputs->part[i];
		const struct sonde_session *session = inputs->input[part->input].session;
		size_t number = i - inputs->input[part->input].first_part + 1;
		char key[48];
		snprintf(key, sizeof key, "merged.%zu.machine", number);
		const char *before = sonde_session_info(session, key);
		struct sonde_merge_machine *machine = &inputs->machine[part->machine];
		if (before && *before && !*machine->label && sonde_merge_machine_labelled(inputs, before) == SIZE_MAX)
			machine->label = before;
	}
	for (size_t i = 0; i < inputs->machine_count && inputs->machine_count > 1; i++) {
		struct sonde_merge_machine *machine = &inputs->machine[i];
		if (*machine->label)
			continue;
		const char *host = *machine->host ? machine->host : "host";
		const char *label = host;
		for (unsigned k = 2; label && sonde_merge_machine_labelled(inputs, label) != SIZE_MAX; k++)
			label = sonde_arena_printf(&inputs->arena, "%s-%u", host, k);
		if (!label)
			return no_memory();
		machine->label = label;
	}
	return 0;
}

size_t sonde_merge_machine_labelled(const struct sonde_merge_inputs *inputs, const char *label)
{
	for (size_t i = 0; i < inputs->machine_count; i++)
		if (!strcmp(inputs->machine[i].label, label))
			return i;
	return SIZE_MAX;
}

/* --- names ------------------------------------------------------------------------------------------------------- */

static const char *rank_of(const struct sonde_merge_part *part)
{
	static const char *const keys[] = {"env.OMPI_COMM_WORLD_RANK", "env.PMIX_RANK", "env.PMI_RANK",
					   "env.SLURM_PROCID"};
	const char *rank = NULL;
	for (size_t i = 0; !rank && i < sizeof keys / sizeof *keys; i++)
		rank = sonde_merge_part_info(part, keys[i]);
	return rank;
}

/* The last components of the path, from `slashes` slashes back, without .sonde. */
static const char *stem_of(struct sonde_merge_inputs *inputs, const char *path, unsigned slashes)
{
	const char *at = path + strlen(path), *end = at;
	for (; at > path; at--)
		if (at[-1] == '/' && !slashes--)
			break;
	if (end - at > 6 && !strcmp(end - 6, ".sonde"))
		end -= 6;
	return sonde_arena_strndup(&inputs->arena, at, (size_t)(end - at));
}

/* Prefers the shortest name; if it is not unique, a longer one is used. */
static const char *name_of(struct sonde_merge_inputs *inputs, const struct sonde_merge_part *part, unsigned level)
{
	const char *rank = rank_of(part), *path = stem_of(inputs, part->path, level > 0);
	const char *short_path = stem_of(inputs, part->path, 0);
	const char *label = inputs->machine[part->machine].label, *name = NULL;
	if (!path || !short_path)
		return NULL;
	if (!rank)
		name = path;
	else if (!level)
		name = sonde_arena_printf(&inputs->arena, "rank %s", rank);
	else
		name = sonde_arena_printf(&inputs->arena, "rank %s of %s", rank, level > 1 ? path : short_path);
	if (name && *label)
		name = sonde_arena_printf(&inputs->arena, "%s on %s", name, label);
	if (name && level > 2)
		name = sonde_arena_printf(&inputs->arena, "%s #%zu", name, (size_t)(part - inputs->part) + 1);
	return name;
}

static int has_name_of_other(const struct sonde_merge_inputs *inputs, size_t which)
{
	for (size_t i = 0; i < inputs->part_count; i++)
		if (i != which && !strcmp(inputs->part[i].name, inputs->part[which].name))
			return 1;
	return 0;
}

static int name_parts(struct sonde_merge_inputs *inputs)
{
	enum { LEVELS = 4 };
	uint8_t *again = calloc(inputs->part_count + 1, 1);
	int rc = again ? 0 : no_memory();
	for (unsigned level = 0; !rc && level < LEVELS; level++) {
		for (size_t i = 0; i < inputs->part_count; i++)
			again[i] = !inputs->part[i].is_named && (!level || has_name_of_other(inputs, i));
		for (size_t i = 0; !rc && i < inputs->part_count; i++) {
			const char *name = again[i] ? name_of(inputs, &inputs->part[i], level) : inputs->part[i].name;
			rc = name ? 0 : no_memory();
			inputs->part[i].name = name ? name : "";
		}
	}
	free(again);
	return rc;
}

/* --- opening ----------------------------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
	const struct sonde_file_head *a = sonde_session_head(((const struct sonde_merge_input *)left)->session);
	const struct sonde_file_head *b = sonde_session_head(((const struct sonde_merge_input *)right)->session);
	if (a->start_real_ns != b->start_real_ns)
		return a->start_real_ns < b->start_real_ns ? -1 : 1;
	return memcmp(a->id, b->id, sizeof a->id);
}

/* Assigns id ranges: the ids of an input follow those of the one before. */
static int give_bases(struct sonde_merge_inputs *inputs)
{
	enum { KINDS = 8 };
	uint64_t sum[KINDS] = {0};
	for (size_t i = 0; i < inputs->count; i++) {
		struct sonde_merge_input *input = &inputs->input[i];
		const struct sonde_session *session = input->session;
		const struct {
			uint32_t *base;
			size_t count;
		} kinds[KINDS] = {
		    {&input->processes, sonde_session_process_count(session)},
		    {&input->threads, sonde_session_thread_count(session)},
		    {&input->heaps, sonde_session_heap_count(session)},
		    {&input->heap_sites, sonde_session_heap_site_count(session)},
		    {&input->objects, sonde_session_object_count(session)},
		    {&input->devices, sonde_session_device_count(session)},
		    {&input->queues, sonde_session_queue_count(session)},
		    {&input->operations, sonde_session_operation_count(session)},
		};
		for (size_t k = 0; k < KINDS; k++) {
			*kinds[k].base = (uint32_t)sum[k];
			sum[k] += kinds[k].count;
			if (sum[k] > UINT32_MAX / 2)
				return sonde_error(E2BIG, "%s: with it there are more than %u ids of a kind",
						   input->path, UINT32_MAX / 2);
		}
	}
	return 0;
}

static int find_machines(struct sonde_merge_inputs *inputs)
{
	inputs->machine = calloc(inputs->part_count + 1, sizeof *inputs->machine);
	if (!inputs->machine)
		return no_memory();
	for (size_t i = 0; i < inputs->part_count; i++)
		inputs->part[i].machine = machine_of(inputs, &inputs->part[i]);
	return label_machines(inputs);
}

int sonde_merge_inputs_open(struct sonde_merge_inputs *inputs, const char *const *paths, size_t count)
{
	static const struct sonde_session_options as_recorded = {.no_symbols = 1};
	*inputs = (struct sonde_merge_inputs){.input = calloc(count + 1, sizeof *inputs->input)};
	int rc = inputs->input ? 0 : no_memory();
	for (size_t i = 0; !rc && i < count; i++) {
		struct sonde_merge_input *input = &inputs->input[i];
		input->path = paths[i];
		rc = sonde_session_open(&input->session, paths[i], &as_recorded);
		rc = rc ? rc : sonde_reader_open(&input->reader, paths[i]);
		if (!rc)
			input->damaged_at_open_b = sonde_reader_damaged_b(input->reader, NULL);
		inputs->count = i + 1;
	}
	if (rc)
		return rc;
	qsort(inputs->input, inputs->count, sizeof *inputs->input, compare);
	for (size_t i = 0; !rc && i < inputs->count; i++)
		rc = add_parts(inputs, i);
	rc = rc ? rc : give_bases(inputs);
	rc = rc ? rc : find_machines(inputs);
	return rc || inputs->part_count < 2 ? rc : name_parts(inputs);
}

void sonde_merge_inputs_close(struct sonde_merge_inputs *inputs)
{
	for (size_t i = 0; i < inputs->count; i++) {
		struct sonde_merge_input *input = &inputs->input[i];
		sonde_session_close(input->session);
		sonde_reader_close(input->reader);
		free(input->modules);
		free(input->sites);
		free(input->nodes);
		free(input->series);
		free(input->machine_kept);
	}
	free(inputs->input);
	free(inputs->part);
	free(inputs->machine);
	sonde_arena_fini(&inputs->arena);
}
