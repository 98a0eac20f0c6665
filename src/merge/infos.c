/* infos.c: merges INFO records: values common to all parts are kept, others are stored with the number of their part.
 *
 * "KEY" applies to the new recording as a whole: it is the value of all parts, or the result of a rule below. A key
 * without a rule whose values differ is stored for each part, as "merged.N.KEY". Thus, no report mistakes the value of
 * one machine for the value of all machines, and a file can be merged again (inputs.c reads the keys back).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/out.h"

enum { VALUE_MAX_B = 60000 };

static int put_info(struct sonde_merge_out *out, const char *key, const char *value)
{
	struct sonde_meta_info record = {.head.type = SONDE_META_INFO};
	record.key = sonde_merge_text(out, key);
	record.value = sonde_merge_text(out, value);
	return out->error ? out->error : sonde_writer_meta(out->writer, &record, sizeof record, NULL, 0);
}

static int put_number(struct sonde_merge_out *out, const char *key, uint64_t value)
{
	char text[32];
	snprintf(text, sizeof text, "%" PRIu64, value);
	return put_info(out, key, text);
}

/* --- rules ------------------------------------------------------------------------------------------------------- */

/* The largest value: for requested intervals, and for flags. */
static void most(const struct sonde_merge_inputs *inputs, const char *key, struct sonde_buf *value)
{
	const char *largest = NULL;
	for (size_t i = 0; i < inputs->part_count; i++) {
		const char *text = sonde_merge_part_info(&inputs->part[i], key);
		if (text && (!largest || strtod(text, NULL) > strtod(largest, NULL)))
			largest = text;
	}
	sonde_buf_text(value, largest ? largest : "");
}

/* True if the value is also that of a part before `index`. */
static int is_repeated(const struct sonde_merge_inputs *inputs, const char *key, size_t index)
{
	const char *text = sonde_merge_part_info(&inputs->part[index], key);
	for (size_t i = 0; i < index; i++) {
		const char *other = sonde_merge_part_info(&inputs->part[i], key);
		if (other && !strcmp(other, text))
			return 1;
	}
	return 0;
}

static void join(const struct sonde_merge_inputs *inputs, const char *key, struct sonde_buf *value, const char *between)
{
	enum { MOST = 8 };
	size_t printed = 0, left = 0;
	for (size_t i = 0; i < inputs->part_count; i++) {
		const char *text = sonde_merge_part_info(&inputs->part[i], key);
		if (!text || is_repeated(inputs, key, i))
			continue;
		if (*between == ';' && printed >= MOST) {
			left++;
			continue;
		}
		if (printed++)
			sonde_buf_text(value, between);
		sonde_buf_text(value, text);
	}
	if (left)
		sonde_buf_printf(value, "; and %zu more", left);
}

static void commands(const struct sonde_merge_inputs *inputs, const char *key, struct sonde_buf *value)
{
	join(inputs, key, value, "; ");
}

static void lines(const struct sonde_merge_inputs *inputs, const char *key, struct sonde_buf *value)
{
	join(inputs, key, value, "\n");
}

/* CPUs that the recordings of a machine could use: the value on which they agree. If recordings overlap in time, all
 * CPUs, since they might use different ones. */
static double cpus_of(const struct sonde_merge_inputs *inputs, size_t machine, const char *key)
{
	double all = 0, may = 0;
	int agree = 1, overlap = 0;
	const struct sonde_merge_part *before = NULL;
	for (size_t i = 0; i < inputs->part_count; i++) {
		const struct sonde_merge_part *part = &inputs->part[i];
		if (part->machine != machine)
			continue;
		const char *has = sonde_merge_part_info(part, "host.cpus"), *text = sonde_merge_part_info(part, key);
		if (!has)
			return 0;
		all = strtod(has, NULL);
		double value = text ? strtod(text, NULL) : all;
		agree &= !before || !(value < may || value > may);
		overlap |= before && part->start_ns < before->end_ns && before->start_ns < part->end_ns;
		may = value;
		if (!before || part->end_ns > before->end_ns)
			before = part;
	}
	return agree && !overlap ? may : all;
}

/* The sum over all machines. */
static void cpus(const struct sonde_merge_inputs *inputs, const char *key, struct sonde_buf *value)
{
	double sum = 0;
	for (size_t machine = 0; machine < inputs->machine_count; machine++) {
		double count = cpus_of(inputs, machine, key);
		if (!(count > 0))
			return;
		sum += count;
	}
	sonde_buf_printf(value, "%.6g", sum);
}

static const struct {
	const char *key;
	void (*combine)(const struct sonde_merge_inputs *inputs, const char *key, struct sonde_buf *value);
} rules[] = {
    {"host.cpus", cpus},          {"run.cpus", cpus},         {"run.command", commands},
    {"heap.suppressions", lines}, {"run.attached_pid", most}, {"run.processes_missed", most},
    {"run.held_rss_b", most},     {"option.keep_ns", most},   {"option.interval_ns", most},
    {"option.memory_ns", most},
};

/* A power model of one machine is meaningless for several. */
static int is_of_one_machine(const char *key)
{
	return !strncmp(key, "energy.model", 12);
}

static int is_roof(const char *key)
{
	return !strncmp(key, "roof.", 5);
}

static int has_rule(const char *key, size_t *rule)
{
	for (*rule = 0; *rule < sizeof rules / sizeof *rules; ++*rule)
		if (!strcmp(rules[*rule].key, key))
			return 1;
	return 0;
}

/* --- keys -------------------------------------------------------------------------------------------------------- */

/* The value common to all parts; NULL = they differ, or some have none. */
static const char *common(const struct sonde_merge_inputs *inputs, const char *key)
{
	const char *value = sonde_merge_part_info(&inputs->part[0], key);
	for (size_t i = 1; value && i < inputs->part_count; i++) {
		const char *other = sonde_merge_part_info(&inputs->part[i], key);
		value = other && !strcmp(other, value) ? value : NULL;
	}
	return value;
}

static int add_of_each(struct sonde_merge_out *out, const char *key)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < out->inputs->part_count; i++) {
		char longer[512];
		const char *value = sonde_merge_part_info(&out->inputs->part[i], key);
		snprintf(longer, sizeof longer, "merged.%zu.%s", i + 1, key);
		if (value)
			rc = put_info(out, longer, value);
	}
	return rc;
}

/* Measured ceilings are merged only as a set: values common to some parts would not describe any machine. */
static int has_one_roof(const struct sonde_merge_inputs *inputs)
{
	size_t count = 0;
	for (size_t i = 0; i < inputs->part_count; i++) {
		const struct sonde_merge_part *part = &inputs->part[i];
		size_t keys = 0;
		for (size_t k = 0; k < part->info_count; k++) {
			if (!is_roof(part->infos[k].key))
				continue;
			keys++;
			if (!i && !common(inputs, part->infos[k].key))
				return 0;
		}
		if (i && keys != count)
			return 0;
		count = keys;
	}
	return inputs->machine_count <= 1;
}

static int add_key(struct sonde_merge_out *out, const char *key, int one_roof)
{
	const struct sonde_merge_inputs *inputs = out->inputs;
	const char *same = common(inputs, key);
	size_t rule;
	if (inputs->part_count == 1)
		return put_info(out, key, same);
	if (is_roof(key) && !one_roof)
		return add_of_each(out, key);
	if (is_of_one_machine(key) && (inputs->machine_count > 1 || !same))
		return add_of_each(out, key);
	if (!has_rule(key, &rule))
		return same ? put_info(out, key, same) : add_of_each(out, key);
	struct sonde_buf value;
	sonde_buf_init(&value, VALUE_MAX_B);
	rules[rule].combine(inputs, key, &value);
	const char *text = sonde_buf_string(&value);
	int rc = *text ? put_info(out, key, text) : 0;
	if (!rc && (!same || strcmp(same, text) != 0))
		rc = add_of_each(out, key);
	sonde_buf_fini(&value);
	return rc;
}

/* True if an earlier part, or an earlier INFO record of this part, has the key: each key is handled once. */
static int is_done(const struct sonde_merge_inputs *inputs, size_t index, size_t info)
{
	const char *key = inputs->part[index].infos[info].key;
	for (size_t i = 0; i < index; i++)
		if (sonde_merge_part_info(&inputs->part[i], key))
			return 1;
	for (size_t i = 0; i < info; i++)
		if (!strcmp(inputs->part[index].infos[i].key, key))
			return 1;
	return 0;
}

/* --- parts ------------------------------------------------------------------------------------------------------- */

static int add_part(struct sonde_merge_out *out, size_t index)
{
	const struct sonde_merge_part *part = &out->inputs->part[index];
	const char *label = out->inputs->machine[part->machine].label;
	char status[16], key[64];
	snprintf(status, sizeof status, "%d", part->status);
	const struct {
		const char *what, *text;
		uint64_t number;
	} facts[] = {
	    {"id", part->id, 0},
	    {"name", part->name, 0},
	    {"start_ns", NULL, part->start_ns},
	    {"end_ns", NULL, part->end_ns},
	    {"shift_ns", NULL, part->shift_ns},
	    {"first_process", NULL, part->first},
	    {"last_process", NULL, part->last},
	    {"status", status, 0},
	    {"closed", NULL, (uint64_t)part->closed},
	    {"machine", label, 0},
	    {"note", part->note, 0},
	};
	int rc = 0;
	for (size_t i = 0; !rc && i < sizeof facts / sizeof *facts; i++) {
		snprintf(key, sizeof key, "merged.%zu.%s", index + 1, facts[i].what);
		if (!facts[i].text)
			rc = put_number(out, key, facts[i].number);
		else if (*facts[i].text)
			rc = put_info(out, key, facts[i].text);
	}
	return rc;
}

static int add_damage(struct sonde_merge_out *out)
{
	uint64_t damaged_b = 0, chunks = out->skipped_chunks, records = 0;
	for (size_t i = 0; i < out->inputs->count; i++) {
		const struct sonde_session *session = out->inputs->input[i].session;
		const char *before = sonde_session_info(session, "merged.skipped_chunks");
		damaged_b += sonde_merge_damaged_b(&out->inputs->input[i]);
		chunks += sonde_session_run(session)->skipped_chunks + (before ? strtoull(before, NULL, 10) : 0);
		records += sonde_session_run(session)->skipped_records;
	}
	int rc = damaged_b ? put_number(out, "merged.damaged_b", damaged_b) : 0;
	if (!rc && chunks + records)
		rc = put_number(out, "merged.skipped_chunks", chunks + records);
	return rc;
}

int sonde_merge_infos(struct sonde_merge_out *out)
{
	const struct sonde_merge_inputs *inputs = out->inputs;
	int rc = put_number(out, "merged.count", inputs->part_count), one_roof = has_one_roof(inputs);
	for (size_t i = 0; !rc && i < inputs->part_count; i++)
		for (size_t k = 0; !rc && k < inputs->part[i].info_count; k++)
			if (!is_done(inputs, i, k))
				rc = add_key(out, inputs->part[i].infos[k].key, one_roof);
	for (size_t i = 0; !rc && i < inputs->part_count; i++)
		rc = add_part(out, i);
	if (!rc && inputs->aligned)
		rc = put_info(out, "merged.aligned", inputs->aligned);
	if (!rc && inputs->clock_moved_ns)
		rc = put_number(out, "merged.clock_moved_ns", inputs->clock_moved_ns);
	return rc ? rc : add_damage(out);
}
