/* clash.c: finds data that two recordings have in common. It is counted once, or the merge is refused: nothing is
 * counted twice.
 *
 * The same recording given twice is recognised by its id. Two processes are the same if they have the same pid on the
 * same boot of the same host, overlap in time, and started within a second of each other (recorders take start times
 * from different clocks). System-wide data of a machine is taken from recordings that do not overlap in time, longest
 * first.
 */
#include "merge/inputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

#define SAME_START_NS 1000000000u

/* --- recordings -------------------------------------------------------------------------------------------------- */

static int compare_ids(const void *left, const void *right)
{
	const struct sonde_merge_part *a = *(const struct sonde_merge_part *const *)left;
	const struct sonde_merge_part *b = *(const struct sonde_merge_part *const *)right;
	return strcmp(a->id, b->id);
}

static int check_recordings(const struct sonde_merge_inputs *inputs)
{
	const struct sonde_merge_part **sorted = calloc(inputs->part_count + 1, sizeof *sorted);
	int rc = sorted ? 0 : sonde_error(ENOMEM, "out of memory for %zu recordings", inputs->part_count);
	for (size_t i = 0; !rc && i < inputs->part_count; i++)
		sorted[i] = &inputs->part[i];
	if (!rc)
		qsort(sorted, inputs->part_count, sizeof *sorted, compare_ids);
	for (size_t i = 1; !rc && i < inputs->part_count; i++)
		if (!strcmp(sorted[i - 1]->id, sorted[i]->id))
			rc = sonde_error(EEXIST,
					 "%s and %s hold the same recording, which would count twice: leave one out",
					 sorted[i - 1]->path, sorted[i]->path);
	free(sorted);
	return rc;
}

/* Refuses to merge flight recordings with others. A flight recording is incomplete on purpose, and a file can state
 * that only for all of its parts. */
static int check_kept(const struct sonde_merge_inputs *inputs)
{
	const struct sonde_merge_part *kept = NULL, *whole = NULL;
	for (size_t i = 0; i < inputs->part_count; i++) {
		const struct sonde_merge_part *part = &inputs->part[i];
		if (sonde_merge_part_info(part, "option.keep_ns"))
			kept = part;
		else
			whole = part;
	}
	if (!kept || !whole)
		return 0;
	return sonde_error(EINVAL,
			   "%s is a flight recording, which holds only the end of its run, and %s is not: merge "
			   "recordings of one kind",
			   kept->path, whole->path);
}

/* --- processes --------------------------------------------------------------------------------------------------- */

/* When a process was observed, in its machine's own clock. */
struct life {
	size_t machine, part;
	uint32_t pid;
	int64_t start_ns, from_ns, to_ns;
	const char *name, *host; /* containers of one boot have their own pids, and host names */
};

static int compare_lives(const void *left, const void *right)
{
	const struct life *a = left, *b = right;
	if (a->machine != b->machine)
		return a->machine < b->machine ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

static size_t add_lives(const struct sonde_merge_inputs *inputs, size_t index, struct life *lives)
{
	const struct sonde_merge_part *part = &inputs->part[index];
	const struct sonde_session *session = inputs->input[part->input].session;
	const char *host = sonde_merge_part_info(part, "host.name");
	size_t count = 0;
	for (uint32_t id = part->first; id <= part->last; id++) {
		const struct sonde_process *process = sonde_session_process(session, id);
		if (!process || !process->pid)
			continue;
		uint64_t from_ns = process->start_ns > part->start_ns ? process->start_ns : part->start_ns;
		uint64_t to_ns = process->end_ns && process->end_ns < part->end_ns ? process->end_ns : part->end_ns;
		lives[count++] = (struct life){.machine = part->machine,
					       .part = index,
					       .pid = process->pid,
					       .start_ns = (int64_t)(process->start_ns - part->shift_ns),
					       .from_ns = (int64_t)(from_ns - part->shift_ns),
					       .to_ns = (int64_t)(to_ns - part->shift_ns),
					       .name = process->name,
					       .host = host ? host : ""};
	}
	return count;
}

static int is_same(const struct life *a, const struct life *b)
{
	int64_t apart_ns = a->start_ns > b->start_ns ? a->start_ns - b->start_ns : b->start_ns - a->start_ns;
	return a->machine == b->machine && a->pid == b->pid && a->part != b->part && a->from_ns < b->to_ns &&
	       b->from_ns < a->to_ns && apart_ns < SAME_START_NS && !strcmp(a->host, b->host);
}

static int check_processes(const struct sonde_merge_inputs *inputs)
{
	size_t most = 0, count = 0;
	for (size_t i = 0; i < inputs->part_count; i++)
		most += inputs->part[i].last >= inputs->part[i].first ? inputs->part[i].last - inputs->part[i].first + 1
								      : 0;
	struct life *lives = calloc(most + 1, sizeof *lives);
	int rc = lives ? 0 : sonde_error(ENOMEM, "out of memory for %zu processes", most);
	for (size_t i = 0; !rc && i < inputs->part_count; i++)
		count += add_lives(inputs, i, lives + count);
	if (!rc)
		qsort(lives, count, sizeof *lives, compare_lives);
	for (size_t i = 0; !rc && i < count; i++)
		for (size_t k = i + 1; !rc && k < count && lives[k].machine == lives[i].machine &&
				       lives[k].pid == lives[i].pid && lives[k].from_ns < lives[i].to_ns;
		     k++)
			if (is_same(&lives[i], &lives[k]))
				rc = sonde_error(EEXIST,
						 "%s and %s both recorded process %u (%s) at the same time, so it "
						 "would count twice: leave one out",
						 inputs->part[lives[i].part].path, inputs->part[lives[k].part].path,
						 lives[i].pid, lives[i].name);
	free(lives);
	return rc;
}

/* --- system-wide data -------------------------------------------------------------------------------------------- */

/* The interval in which an input has data of a machine, in that machine's clock. */
struct cover {
	size_t input;
	int64_t from_ns, to_ns;
	int has;
};

static struct cover cover_of(const struct sonde_merge_inputs *inputs, size_t index, size_t machine)
{
	const struct sonde_merge_input *input = &inputs->input[index];
	struct cover cover = {.input = index};
	for (size_t i = input->first_part; i < input->first_part + input->part_count; i++) {
		const struct sonde_merge_part *part = &inputs->part[i];
		if (part->machine != machine)
			continue;
		int64_t from_ns = (int64_t)(part->start_ns - part->shift_ns);
		int64_t to_ns = (int64_t)(part->end_ns - part->shift_ns);
		cover.from_ns = !cover.has || from_ns < cover.from_ns ? from_ns : cover.from_ns;
		cover.to_ns = !cover.has || to_ns > cover.to_ns ? to_ns : cover.to_ns;
		cover.has = 1;
	}
	return cover;
}

static int compare_covers(const void *left, const void *right)
{
	const struct cover *a = left, *b = right;
	int64_t a_ns = a->to_ns - a->from_ns, b_ns = b->to_ns - b->from_ns;
	if (a_ns != b_ns)
		return a_ns > b_ns ? -1 : 1;
	return (a->input > b->input) - (a->input < b->input);
}

static int tells_of_machine(const struct sonde_session *session)
{
	for (uint32_t id = 1; id <= sonde_session_series_count(session); id++) {
		const struct sonde_series *series = sonde_session_series(session, id);
		if (!series->process && !series->thread)
			return 1;
	}
	return 0;
}

/* Notes in all parts of an input on a machine that system-wide data is taken from another input. */
static int note_left_out(struct sonde_merge_inputs *inputs, size_t index, size_t machine, size_t taken)
{
	struct sonde_merge_input *input = &inputs->input[index];
	for (size_t i = input->first_part; i < input->first_part + input->part_count; i++) {
		struct sonde_merge_part *part = &inputs->part[i];
		if (part->machine != machine || *part->note)
			continue;
		const char *other = inputs->part[inputs->input[taken].first_part].name;
		part->note = sonde_arena_printf(
		    &inputs->arena, "its system readings are left out: those of %s cover the same time and more",
		    other);
		if (!part->note)
			return sonde_error(ENOMEM, "out of memory for a note");
	}
	return 0;
}

static int choose(struct sonde_merge_inputs *inputs, size_t machine, struct cover *covers)
{
	size_t count = 0;
	int rc = 0;
	for (size_t i = 0; i < inputs->count; i++) {
		covers[count] = cover_of(inputs, i, machine);
		count += covers[count].has != 0;
	}
	qsort(covers, count, sizeof *covers, compare_covers);
	inputs->machine[machine].longest = count ? covers[0].input : 0;
	for (size_t i = 0; !rc && i < count; i++) {
		size_t taken = SIZE_MAX;
		for (size_t k = 0; k < i; k++)
			if (inputs->input[covers[k].input].machine_kept[machine] &&
			    covers[k].from_ns < covers[i].to_ns && covers[i].from_ns < covers[k].to_ns)
				taken = covers[k].input;
		inputs->input[covers[i].input].machine_kept[machine] = taken == SIZE_MAX;
		if (taken != SIZE_MAX && tells_of_machine(inputs->input[covers[i].input].session))
			rc = note_left_out(inputs, covers[i].input, machine, taken);
	}
	return rc;
}

static int choose_all(struct sonde_merge_inputs *inputs)
{
	struct cover *covers = calloc(inputs->count + 1, sizeof *covers);
	int rc = covers ? 0 : sonde_error(ENOMEM, "out of memory for %zu recordings", inputs->count);
	for (size_t i = 0; !rc && i < inputs->count; i++) {
		inputs->input[i].machine_kept = calloc(inputs->machine_count + 1, 1);
		if (!inputs->input[i].machine_kept)
			rc = sonde_error(ENOMEM, "out of memory for %zu machines", inputs->machine_count);
	}
	for (size_t machine = 0; !rc && machine < inputs->machine_count; machine++)
		rc = choose(inputs, machine, covers);
	free(covers);
	return rc;
}

int sonde_merge_inputs_check(struct sonde_merge_inputs *inputs)
{
	int rc = check_recordings(inputs);
	rc = rc ? rc : check_kept(inputs);
	rc = rc ? rc : check_processes(inputs);
	return rc ? rc : choose_all(inputs);
}
