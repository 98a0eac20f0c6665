/* facts.c: combines what recordings report about themselves: sources, overhead, how they ended.
 *
 * A source that did not run, or not fully, in some recordings becomes limited; its detail says in which and why. Rates
 * are averages over all samples and all sampled time. CPU time stolen by the hypervisor is taken from one recording at
 * any time.
 */
#include <stdlib.h>
#include <string.h>

#include "merge/out.h"

enum { DETAIL_MAX_B = 4096 };

/* --- sources ----------------------------------------------------------------------------------------------------- */

struct fold {
	const char *name;
	size_t rows, missing; /* number of recordings with and without the source */
	size_t differ;        /* number that differ from the first */
	const struct sonde_source_row *first;
	unsigned states; /* 1 << enum sonde_source_state */
	double samples, requested_s, effective_s;
	int same_requested, same_effective;
	struct sonde_buf method, detail;
};

static int is_said(const struct sonde_buf *buf, const char *text)
{
	size_t len = strlen(text);
	return len && buf->len_b >= len && memmem(buf->data, buf->len_b, text, len) != NULL;
}

static void say(struct sonde_buf *buf, const char *text)
{
	if (!*text || is_said(buf, text))
		return;
	if (buf->len_b)
		sonde_buf_text(buf, "; ");
	sonde_buf_text(buf, text);
}

static const char *state_word(const struct sonde_source_row *row)
{
	static const char *const words[] = {[SONDE_SOURCE_LIMITED] = "limited",
					    [SONDE_SOURCE_UNAVAILABLE] = "not recorded",
					    [SONDE_SOURCE_OFF] = "not used"};
	if (!row)
		return "not asked for";
	return row->state < sizeof words / sizeof *words ? words[row->state] : NULL;
}

/* True if two recordings report the same about a source; NULL = the source was not requested. */
static int tell_the_same(const struct sonde_source_row *a, const struct sonde_source_row *b)
{
	if (!a || !b)
		return a == b;
	return a->state == b->state && !strcmp(a->detail, b->detail);
}

/* Appends "b, c and 3 more: limited: why" for all inputs that report the same as the input `index`, if it is the first
 * of them. */
static void say_detail(struct fold *fold, const struct sonde_merge_inputs *inputs, size_t index)
{
	enum { NAMES_MOST = 4 };
	const struct sonde_source_row *row = sonde_session_source_named(inputs->input[index].session, fold->name);
	const char *word = row || fold->missing ? state_word(row) : NULL;
	size_t said = 0, left = 0;
	struct sonde_buf line;
	sonde_buf_init(&line, DETAIL_MAX_B);
	for (size_t i = 0; i < inputs->part_count && word; i++) {
		const struct sonde_merge_part *part = &inputs->part[i];
		if (!tell_the_same(sonde_session_source_named(inputs->input[part->input].session, fold->name), row))
			continue;
		if (part->input < index) { /* already reported */
			sonde_buf_fini(&line);
			return;
		}
		if (said < NAMES_MOST)
			sonde_buf_printf(&line, "%s%s", said++ ? ", " : "", part->name);
		else
			left++;
	}
	if (left)
		sonde_buf_printf(&line, " and %zu more", left);
	int is_told =
	    row && inputs->input[index].part_count > 1 && *row->detail; /* already names the parts, if merged before */
	if (is_told)
		sonde_buf_clear(&line);
	else
		sonde_buf_printf(&line, ": %s%s", word ? word : "", row && *row->detail ? ": " : "");
	sonde_buf_printf(&line, "%s", row ? row->detail : "");
	const char *detail = sonde_buf_string(&line);
	if (word && !line.error)
		say(&fold->detail, detail);
	sonde_buf_fini(&line);
}

static void fold_row(struct fold *fold, const struct sonde_merge_inputs *inputs, size_t index)
{
	const struct sonde_merge_input *input = &inputs->input[index];
	const struct sonde_source_row *row = sonde_session_source_named(input->session, fold->name);
	if (!row) {
		fold->missing += strcmp(fold->name, "blocked") != 0; /* "blocked" is only a fallback for waits */
		return;
	}
	if (!fold->rows++)
		fold->first = row;
	const struct sonde_source_row *first = fold->first;
	fold->differ += row->state != first->state || strcmp(row->detail, first->detail) != 0;
	fold->states |= row->state < 32 ? 1u << row->state : 0;
	fold->same_requested &= !(row->rate_hz < first->rate_hz || row->rate_hz > first->rate_hz);
	fold->same_effective &= !(row->effective_hz < first->effective_hz || row->effective_hz > first->effective_hz);
	double samples = (double)sonde_session_event_count(input->session, SONDE_CHUNK_SAMPLES);
	if (row->rate_hz > 0 && row->effective_hz > 0) {
		fold->samples += samples;
		fold->requested_s += samples / row->rate_hz;
		fold->effective_s += samples / row->effective_hz;
	}
	say(&fold->method, row->method);
}

static uint32_t text_of(struct sonde_merge_out *out, struct sonde_buf *buf)
{
	return buf->len_b ? sonde_strings_intern(&out->strings, (const char *)buf->data, buf->len_b) : 0;
}

static int add_source(struct sonde_merge_out *out, const char *name)
{
	struct fold fold = {.name = name, .same_requested = 1, .same_effective = 1};
	struct sonde_merge_inputs *inputs = out->inputs;
	sonde_buf_init(&fold.method, DETAIL_MAX_B);
	sonde_buf_init(&fold.detail, DETAIL_MAX_B);
	for (size_t i = 0; i < inputs->count; i++)
		fold_row(&fold, inputs, i);
	struct sonde_meta_source record = {.head.type = SONDE_META_SOURCE, .state = fold.first->state};
	unsigned on = 1u << SONDE_SOURCE_ON, off = 1u << SONDE_SOURCE_OFF; /* off: available but not used */
	if (fold.missing || (fold.states != 1u << fold.first->state && fold.states != (on | off)))
		record.state = SONDE_SOURCE_LIMITED;
	else if (fold.states == (on | off))
		record.state = SONDE_SOURCE_ON;
	if (record.state == SONDE_SOURCE_LIMITED && (fold.differ || fold.missing))
		for (size_t i = 0; i < inputs->count; i++)
			say_detail(&fold, inputs, i);
	else if (record.state != SONDE_SOURCE_ON)
		say(&fold.detail, fold.first->detail);
	int has_rate = fold.samples > 0;
	record.rate_hz = fold.same_requested || !has_rate ? fold.first->rate_hz : fold.samples / fold.requested_s;
	record.effective_hz =
	    fold.same_effective || !has_rate ? fold.first->effective_hz : fold.samples / fold.effective_s;
	record.name = sonde_merge_text(out, name);
	record.method = text_of(out, &fold.method);
	record.detail = text_of(out, &fold.detail);
	sonde_buf_fini(&fold.method);
	sonde_buf_fini(&fold.detail);
	return sonde_writer_meta(out->writer, &record, sizeof record, NULL, 0);
}

static int is_in_one_before(const struct sonde_merge_inputs *inputs, size_t index, const char *name)
{
	for (size_t i = 0; i < index; i++)
		if (sonde_session_source_named(inputs->input[i].session, name))
			return 1;
	return 0;
}

static int add_sources(struct sonde_merge_out *out)
{
	int rc = 0;
	for (size_t i = 0; i < out->inputs->count; i++) {
		const struct sonde_session *session = out->inputs->input[i].session;
		for (size_t k = 0; !rc && k < sonde_session_source_count(session); k++) {
			const char *name = sonde_session_source(session, k)->name;
			if (!is_in_one_before(out->inputs, i, name))
				rc = add_source(out, name);
		}
	}
	return rc;
}

/* --- overhead ---------------------------------------------------------------------------------------------------- */

static int is_stolen(const char *what)
{
	return !strcmp(what, "machine.stolen_ns");
}

/* True if system-wide data is taken from this input, for all of its machines. */
static int is_taken(const struct sonde_merge_inputs *inputs, const struct sonde_merge_input *input)
{
	for (size_t i = input->first_part; i < input->first_part + input->part_count; i++)
		if (!input->machine_kept[inputs->part[i].machine])
			return 0;
	return 1;
}

static const struct sonde_cost *cost_named(const struct sonde_session *session, const char *what)
{
	for (size_t i = 0; i < sonde_session_cost_count(session); i++)
		if (!strcmp(sonde_session_cost(session, i)->what, what))
			return sonde_session_cost(session, i);
	return NULL;
}

/* 0 = some of the recordings that count do not have the value. */
static int sum_of(const struct sonde_merge_inputs *inputs, const char *what, uint64_t *out)
{
	int known = 1;
	*out = 0;
	for (size_t i = 0; i < inputs->count; i++) {
		const struct sonde_session *session = inputs->input[i].session;
		if (is_stolen(what) && !is_taken(inputs, &inputs->input[i]))
			continue;
		known &= cost_named(session, what) != NULL;
		for (size_t k = 0; k < sonde_session_cost_count(session); k++)
			if (!strcmp(sonde_session_cost(session, k)->what, what))
				*out += sonde_session_cost(session, k)->value;
	}
	return known;
}

static int add_costs(struct sonde_merge_out *out)
{
	const struct sonde_merge_inputs *inputs = out->inputs;
	int rc = 0;
	for (size_t i = 0; i < inputs->count; i++) {
		const struct sonde_session *session = inputs->input[i].session;
		for (size_t k = 0; !rc && k < sonde_session_cost_count(session); k++) {
			const struct sonde_cost *cost = sonde_session_cost(session, k);
			struct sonde_meta_cost record = {.head.type = SONDE_META_COST};
			int is_before = cost_named(session, cost->what) != cost;
			for (size_t j = 0; j < i && !is_before; j++)
				is_before = cost_named(inputs->input[j].session, cost->what) != NULL;
			if (is_before || (!sum_of(inputs, cost->what, &record.value) && is_stolen(cost->what)))
				continue;
			record.what = sonde_merge_text(out, cost->what);
			rc = sonde_writer_meta(out->writer, &record, sizeof record, NULL, 0);
		}
	}
	return rc;
}

/* --- the end ----------------------------------------------------------------------------------------------------- */

static int add_close(struct sonde_merge_out *out)
{
	struct sonde_meta_close record = {.head.type = SONDE_META_CLOSE};
	int is_unknown = 0;
	for (size_t i = 0; i < out->inputs->part_count; i++) {
		const struct sonde_merge_part *part = &out->inputs->part[i];
		if (!part->closed)
			return 0;
		record.time_ns = part->end_ns > record.time_ns ? part->end_ns : record.time_ns;
		record.status = record.status ? record.status : part->status;
		is_unknown |= part->status == -1;
	}
	record.status = is_unknown ? -1 : record.status;
	return sonde_writer_meta(out->writer, &record, sizeof record, NULL, 0);
}

uint64_t sonde_merge_damaged_b(const struct sonde_merge_input *input)
{
	uint64_t own_b = sonde_reader_damaged_b(input->reader, NULL);
	return sonde_session_damaged_b(input->session) + own_b - input->damaged_at_open_b;
}

int sonde_merge_facts(struct sonde_merge_out *out)
{
	int rc = add_sources(out);
	rc = rc ? rc : add_costs(out);
	rc = rc ? rc : sonde_merge_infos(out);
	rc = rc ? rc : out->error;
	return rc ? rc : add_close(out);
}
