/* series.c: merges time series: per-process and per-thread series are copied; those of a machine are taken from the
 * input that covers it longest.
 *
 * A machine's counters continue from one recording to the next, so they stay one series. Energy meters do not, because
 * they may have been reset; nor do control groups, which may differ. If there are several machines, each has its own
 * series, "cpu.user@HOST", which no report mistakes for system-wide values. Meters are distinguished by object,
 * "package-0@HOST", so energy adds up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/translate.h"
#include "util/error.h"

static int begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static int is_energy(const struct sonde_series *row)
{
	return !strcmp(row->name, "energy");
}

/* The machine of a system-wide series, and whether its name already has the label. */
static size_t machine_of(const struct sonde_merge_out *out, const struct sonde_merge_input *input,
			 const struct sonde_series *row, int *is_labelled)
{
	const char *at = strrchr(is_energy(row) ? row->object : row->name, '@');
	size_t machine = at ? sonde_merge_machine_labelled(out->inputs, at + 1) : SIZE_MAX;
	*is_labelled = machine != SIZE_MAX;
	return *is_labelled ? machine : out->inputs->part[input->first_part].machine;
}

/* 0 = the series is not copied. */
static int is_taken(const struct sonde_merge_out *out, size_t index, size_t machine, const struct sonde_series *row)
{
	if (!out->inputs->input[index].machine_kept[machine])
		return 0;
	return !begins(row->name, "cgroup.") || out->inputs->machine[machine].longest == index;
}

static uint32_t labelled(struct sonde_merge_out *out, const char *text, const char *label)
{
	struct sonde_buf buf;
	uint32_t id = 0;
	sonde_buf_init(&buf, SONDE_STRING_MAX_B);
	sonde_buf_printf(&buf, "%s@%s", text, label);
	if (!sonde_buf_error(&buf))
		id = sonde_strings_intern(&out->strings, (const char *)buf.data, buf.len_b);
	sonde_buf_fini(&buf);
	if (!id && !out->error)
		out->error = sonde_error(ENOMEM, "out of memory for texts");
	return id;
}

/* Series with equal keys become one. */
static void key_put(struct sonde_merge_out *out, size_t index, uint32_t id, const struct sonde_series *row,
		    size_t machine)
{
	struct sonde_buf *key = &out->series.key;
	sonde_buf_clear(key);
	if (row->process || row->thread || is_energy(row)) {
		sonde_buf_printf(key, "input %zu %u", index, id);
		return;
	}
	sonde_buf_printf(key, "machine %zu %u ", machine, row->kind);
	const char *texts[] = {row->name, row->unit, row->object};
	for (size_t i = 0; i < 3; i++)
		sonde_buf_append(key, texts[i], strlen(texts[i]) + 1);
}

static int add_series(struct sonde_merge_out *out, size_t index, uint32_t id)
{
	struct sonde_merge_input *input = &out->inputs->input[index];
	const struct sonde_series *row = sonde_session_series(input->session, id);
	int is_machine = !row->process && !row->thread, is_labelled = 0, is_new;
	size_t machine = machine_of(out, input, row, &is_labelled);
	if (is_machine && !is_taken(out, index, machine, row))
		return 0;
	key_put(out, index, id, row, machine);
	input->series[id] = sonde_merge_key(&out->series, &is_new);
	if (!input->series[id])
		return sonde_error(ENOMEM, "out of memory for series");
	if (!is_new)
		return 0;
	struct sonde_meta_series record = {.head.type = SONDE_META_SERIES};
	SONDE_SERIES_FIELDS(SONDE_TRANSLATE, )
	const char *label = out->inputs->machine[machine].label;
	if (is_machine && !is_labelled && *label && is_energy(row))
		record.object = labelled(out, row->object, label);
	else if (is_machine && !is_labelled && *label)
		record.name = labelled(out, row->name, label);
	return out->error ? out->error : sonde_writer_meta(out->writer, &record, sizeof record, NULL, 0);
}

int sonde_merge_series(struct sonde_merge_out *out, size_t index)
{
	struct sonde_merge_input *input = &out->inputs->input[index];
	size_t count = sonde_session_series_count(input->session);
	input->series = calloc(count + 1, sizeof *input->series);
	int rc = input->series ? 0 : sonde_error(ENOMEM, "out of memory for series");
	for (uint32_t id = 1; !rc && id <= count; id++)
		rc = add_series(out, index, id);
	return rc;
}
