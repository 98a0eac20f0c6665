/* pprof_tables.c: parses a profile.proto into tables that point into its bytes (pprof.h). Strings and functions may
 * follow the samples that use them, so the whole uncompressed profile is in memory; the caller limits memory. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "import/pprof.h"
#include "util/array.h"
#include "util/error.h"

enum field {
	SAMPLE_TYPE = 1,
	SAMPLE = 2,
	MAPPING = 3,
	LOCATION = 4,
	FUNCTION = 5,
	STRING = 6,
	TIME_NANOS = 9,
	DURATION_NANOS = 10,
	PERIOD_TYPE = 11,
	PERIOD = 12,
	DEFAULT_TYPE = 14,
};

static int grow(void **rows, size_t count, size_t *cap, size_t row_b)
{
	return sonde_array_reserve(rows, cap, count + 1, row_b) ? sonde_error(ENOMEM, "out of memory for a profile")
								: 0;
}

/* Adds a row, which starts with its id. */
static int row_add(struct sonde_pprof_rows *rows, const void *row, size_t row_b)
{
	uint64_t id;
	int rc = rows->count < UINT32_MAX ? grow(&rows->rows, rows->count, &rows->cap, row_b)
					  : sonde_error(EFBIG, "a profile of more than 4 billion rows");
	if (rc)
		return rc;
	memcpy(&id, row, sizeof id);
	memcpy((char *)rows->rows + rows->count++ * row_b, row, row_b);
	return sonde_map_set(&rows->map, sonde_hash_mix(id), (uint32_t)rows->count)
		   ? sonde_error(ENOMEM, "out of memory for a profile")
		   : 0;
}

void *sonde_pprof_find(const struct sonde_pprof_rows *rows, size_t row_b, uint64_t id)
{
	uint32_t at = id ? sonde_map_find(&rows->map, sonde_hash_mix(id), NULL, NULL) : 0;
	return at ? (char *)rows->rows + (at - 1) * row_b : NULL;
}

const char *sonde_pprof_text(const struct sonde_pprof *pprof, uint64_t index, char *out, size_t max_b)
{
	size_t len_b = 0;
	if (index < pprof->text_count) {
		const struct sonde_pprof_text *text = &pprof->texts[index];
		len_b = text->size_b < max_b - 1 ? text->size_b : max_b - 1;
		const uint8_t *zero = len_b ? memchr(text->bytes, 0, len_b) : NULL;
		len_b = zero ? (size_t)(zero - text->bytes) : len_b;
		if (len_b)
			memcpy(out, text->bytes, len_b);
	}
	out[len_b] = 0;
	return out;
}

const char *sonde_pprof_type_name(const struct sonde_pprof *pprof, size_t i, char *out, size_t max_b)
{
	char type[128], unit[64];
	snprintf(out, max_b, "%s (%s)", sonde_pprof_text(pprof, pprof->types[i].type, type, sizeof type),
		 sonde_pprof_text(pprof, pprof->types[i].unit, unit, sizeof unit));
	return out;
}

static struct sonde_pprof_type type_of(const struct sonde_proto *field, int *broken)
{
	struct sonde_pprof_type type = {0};
	struct sonde_proto in = sonde_proto_of(field->bytes, field->bytes_b);
	while (sonde_proto_next(&in))
		if (in.field == 1 || in.field == 2)
			*(in.field == 1 ? &type.type : &type.unit) = in.number;
	*broken |= in.broken;
	return type;
}

/* Reads the numbers of a message's fields 1 … count into `out`. */
static void numbers_of(const struct sonde_proto *field, uint64_t *out, uint32_t count, int *broken)
{
	struct sonde_proto in = sonde_proto_of(field->bytes, field->bytes_b);
	while (sonde_proto_next(&in))
		if (!in.is_bytes && in.field <= count)
			out[in.field - 1] = in.number;
	*broken |= in.broken;
}

static int row_take(struct sonde_pprof *pprof, const struct sonde_proto *field, int *broken)
{
	uint64_t n[6] = {0};
	if (field->field == MAPPING) {
		numbers_of(field, n, 6, broken);
		struct sonde_pprof_mapping row = {n[0], n[1], n[2], n[3], n[4], n[5], 0};
		return row_add(&pprof->mappings, &row, sizeof row);
	}
	if (field->field == FUNCTION) {
		numbers_of(field, n, 5, broken);
		struct sonde_pprof_function row = {n[0], n[1], n[2], n[3], n[4], 0, 0, 0};
		return row_add(&pprof->functions, &row, sizeof row);
	}
	numbers_of(field, n, 3, broken);
	struct sonde_pprof_location row = {n[0], n[1], n[2], field->bytes, field->bytes_b, {0}};
	return row_add(&pprof->locations, &row, sizeof row);
}

static int field_take(struct sonde_pprof *pprof, const struct sonde_proto *field, int *broken)
{
	switch (field->field) {
	case SAMPLE_TYPE:
		if (pprof->type_count < SONDE_PPROF_TYPES_MAX)
			pprof->types[pprof->type_count++] = type_of(field, broken);
		return 0;
	case PERIOD_TYPE:
		pprof->period_type = type_of(field, broken);
		return 0;
	case STRING:
		if (grow((void **)&pprof->texts, pprof->text_count, &pprof->text_cap, sizeof *pprof->texts))
			return -ENOMEM;
		pprof->texts[pprof->text_count++] = (struct sonde_pprof_text){field->bytes, field->bytes_b};
		return 0;
	case SAMPLE:
		pprof->samples++;
		return 0;
	default:
		return row_take(pprof, field, broken);
	}
}

static int fields_take(struct sonde_pprof *pprof)
{
	struct sonde_proto in = sonde_proto_of(pprof->bytes, pprof->size_b);
	int broken = 0, rc = 0;
	while (!rc && sonde_proto_next(&in)) {
		uint64_t *number = in.field == TIME_NANOS       ? &pprof->time_ns
				   : in.field == DURATION_NANOS ? &pprof->duration_ns
				   : in.field == PERIOD         ? &pprof->period
				   : in.field == DEFAULT_TYPE   ? &pprof->default_type
								: NULL;
		int is_message = in.field <= STRING || in.field == PERIOD_TYPE;
		broken |= is_message && !in.is_bytes;
		if (number && !in.is_bytes)
			*number = in.number;
		else if (is_message && in.is_bytes)
			rc = field_take(pprof, &in, &broken);
	}
	if (!rc && (broken || in.broken))
		return sonde_error(EBADMSG, "%s: damaged or cut off, in byte %zu of %zu uncompressed ones",
				   sonde_input_name(pprof->job->input),
				   (size_t)((in.at ? in.at : in.end) - pprof->bytes), pprof->size_b);
	return rc;
}

static int bytes_read(struct sonde_pprof *pprof)
{
	size_t cap_b = 0;
	ssize_t got_b = 1;
	while (got_b > 0 && !SONDE_ARRAY_RESERVE(pprof->bytes, cap_b, pprof->size_b + (1 << 20))) {
		got_b = sonde_input_read(pprof->job->input, pprof->bytes + pprof->size_b, cap_b - pprof->size_b);
		pprof->size_b += got_b > 0 ? (size_t)got_b : 0;
	}
	if (got_b > 0)
		return sonde_error(ENOMEM, "out of memory for a profile");
	if (!got_b && sonde_input_is_cut(pprof->job->input))
		return sonde_error(EBADMSG, "%s: the compressed file is cut off", sonde_input_name(pprof->job->input));
	return (int)got_b;
}

static uint64_t greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Returns the largest string index that the tables use. If it exceeds the number of strings, the profile is truncated:
 * strings come last in most profiles. */
static uint64_t text_last(const struct sonde_pprof *pprof)
{
	const struct sonde_pprof_mapping *mappings = pprof->mappings.rows;
	const struct sonde_pprof_function *functions = pprof->functions.rows;
	uint64_t last = 0;
	for (size_t i = 0; i < pprof->type_count; i++)
		last = greater(last, greater(pprof->types[i].type, pprof->types[i].unit));
	for (size_t i = 0; i < pprof->mappings.count; i++)
		last = greater(last, greater(mappings[i].file, mappings[i].build_id));
	for (size_t i = 0; i < pprof->functions.count; i++)
		last = greater(last, greater(functions[i].name, functions[i].file));
	return last;
}

int sonde_pprof_read(struct sonde_pprof *pprof)
{
	int rc = bytes_read(pprof);
	rc = rc ? rc : fields_take(pprof);
	if (rc)
		return rc;
	uint64_t last = text_last(pprof);
	if (last && last >= pprof->text_count)
		return sonde_error(EBADMSG, "%s: damaged or cut off: it refers to text %llu, but has %zu",
				   sonde_input_name(pprof->job->input), (unsigned long long)last, pprof->text_count);
	return 0;
}

void sonde_pprof_fini(struct sonde_pprof *pprof)
{
	struct sonde_pprof_rows *rows[] = {&pprof->mappings, &pprof->functions, &pprof->locations};
	for (size_t i = 0; i < 3; i++) {
		free(rows[i]->rows);
		sonde_map_fini(&rows[i]->map);
	}
	sonde_map_fini(&pprof->places);
	free(pprof->texts);
	free(pprof->bytes);
}

/* --- choice of the value ------------------------------------------------------------------------------------------ */

static double unit_ns(const char *unit)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"nanoseconds", 1},    {"nanosecond", 1}, {"ns", 1},
		     {"microseconds", 1e3}, {"us", 1e3},       {"milliseconds", 1e6},
		     {"ms", 1e6},           {"seconds", 1e9},  {"s", 1e9}};
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (!strcmp(units[i].unit, unit))
			return units[i].ns;
	return 0;
}

static int64_t type_find(const struct sonde_pprof *pprof, const char *name)
{
	char type[128];
	for (size_t i = 0; i < pprof->type_count; i++)
		if (!strcmp(sonde_pprof_text(pprof, pprof->types[i].type, type, sizeof type), name))
			return (int64_t)i;
	return -1;
}

static int cannot_choose(const struct sonde_pprof *pprof, const char *why)
{
	char all[1024] = "", one[256];
	for (size_t i = 0; i < pprof->type_count && strlen(all) + sizeof one < sizeof all; i++) {
		if (!*sonde_pprof_text(pprof, pprof->types[i].type, one, sizeof one))
			continue;
		strcat(all, *all ? ", " : "");
		strcat(all, sonde_pprof_type_name(pprof, i, one, sizeof one));
	}
	return sonde_error(EINVAL, "%s %s; it has %s", sonde_input_name(pprof->job->input), why,
			   *all ? strcat(all, "; choose one with --type") : "no named value types");
}

/* Determines the weight of a unit, and adds a note if it is not CPU time. */
static void weigh(struct sonde_pprof *pprof)
{
	char unit[64], type[128];
	const struct sonde_pprof_type *value = &pprof->types[pprof->value];
	sonde_pprof_text(pprof, value->unit, unit, sizeof unit);
	sonde_pprof_text(pprof, value->type, type, sizeof type);
	pprof->scale_ns = unit_ns(unit);
	if (pprof->scale_ns > 0 && strcmp(type, "cpu"))
		sonde_out_note(pprof->job, "CPU time here is the profile's %s", type);
	if (pprof->scale_ns > 0)
		return;
	double period_ns = unit_ns(sonde_pprof_text(pprof, pprof->period_type.unit, unit, sizeof unit));
	sonde_pprof_text(pprof, value->unit, unit, sizeof unit);
	if (!strcmp(type, "samples") && period_ns > 0 && pprof->period) {
		pprof->scale_ns = period_ns * (double)pprof->period;
		sonde_out_note(pprof->job, "CPU time is estimated: samples × the profile's period of %.6g ms",
			       pprof->scale_ns / 1e6);
		return;
	}
	int bytes = !strcmp(unit, "bytes");
	pprof->scale_ns = bytes ? 1 : 1e6;
	sonde_out_note(pprof->job,
		       "the profile's %s are not times: 1 %s = 1 %s by convention, wherever a report shows CPU time",
		       type, bytes ? "B" : "count", bytes ? "ns" : "ms");
}

/* Sets the value that corresponds to one sample to the profile's period, but only if value and period both are times.
 * In Go's lock profiles, the period is a number of waits; in Go's heap profiles, it is bytes between samples, and
 * values are already scaled up. */
static void period_weigh(struct sonde_pprof *pprof)
{
	char unit[64];
	double value_ns = unit_ns(sonde_pprof_text(pprof, pprof->types[pprof->value].unit, unit, sizeof unit));
	double period_ns = unit_ns(sonde_pprof_text(pprof, pprof->period_type.unit, unit, sizeof unit));
	double each = value_ns > 0 ? (double)pprof->period * period_ns / value_ns : 0;
	pprof->each = each < 1e18 ? (uint64_t)(each + 0.5) : 0;
}

int sonde_pprof_choose(struct sonde_pprof *pprof)
{
	const char *requested = pprof->job->options->type;
	char unit[64], one[256];
	pprof->count = type_find(pprof, "samples");
	pprof->value = requested ? type_find(pprof, requested) : type_find(pprof, "cpu");
	if (requested && pprof->value < 0)
		return cannot_choose(pprof, "has no such values");
	for (size_t i = 0; pprof->value < 0 && i < pprof->type_count; i++)
		if (unit_ns(sonde_pprof_text(pprof, pprof->types[i].unit, unit, sizeof unit)) > 0)
			pprof->value = (int64_t)i;
	if (pprof->value < 0)
		pprof->value = pprof->count;
	if (pprof->value < 0)
		return cannot_choose(pprof, "has no values of time");
	for (size_t i = 0; i < pprof->type_count; i++)
		if ((int64_t)i != pprof->value && (int64_t)i != pprof->count)
			sonde_out_note(pprof->job, "left out of the profile: %s; choose one with sonde import --type",
				       sonde_pprof_type_name(pprof, i, one, sizeof one));
	weigh(pprof);
	period_weigh(pprof);
	return 0;
}
