/* pprof.c: google/pprof's profile.proto, gzipped: samples/count and cpu/nanoseconds for every thread and stack; for the
 * heap, the values of Go's heap profiles: allocated and in use, in objects and space. "In use" is the selected weight:
 * live at the peak or at a given time, or unreachable; by default, live at exit. For waiting, the values are those of
 * Go's block profiles: contentions and delay; for I/O, calls instead of contentions.
 *
 * Messages are encoded one at a time and go straight into the compressor. Locations are frames (index + 1) and
 * functions are functions, under the session's own ids; only those that samples refer to are written. Strings are
 * numbered at their first use, so the string table comes last. A mapping is a module: addresses are those of the
 * module's file, not of a process, so every mapping starts at 0. The profile contains all symbols, so that readers need
 * not look them up. Texts are cleaned (clean.h), because they must be UTF-8. Field numbers: profile.proto of
 * github.com/google/pprof.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/clean.h"
#include "export/format.h"
#include "export/gzip.h"
#include "export/intern.h"
#include "export/origin.h"
#include "export/proto.h"
#include "export/stacks.h"
#include "util/error.h"

enum { MESSAGE_MAX_B = 64 << 20 };

enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};

struct value_type {
	const char *type, *unit;
};

static const struct value_type cpu_types[] = {{"samples", "count"}, {"cpu", "nanoseconds"}, {NULL, NULL}};
static const struct value_type heap_types[] = {{"alloc_objects", "count"},
					       {"alloc_space", "bytes"},
					       {"inuse_objects", "count"},
					       {"inuse_space", "bytes"},
					       {NULL, NULL}};
static const struct value_type temporary_types[] = {
    {"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"temporary_objects", "count"}, {NULL, NULL}};

static const struct value_type wait_types[] = {{"contentions", "count"}, {"delay", "nanoseconds"}, {NULL, NULL}};
static const struct value_type io_types[] = {{"calls", "count"}, {"delay", "nanoseconds"}, {NULL, NULL}};

/* The values of a profile, and which one readers show by default. */
static const struct {
	const struct value_type *types;
	const char *first;
	enum sonde_weigh_by in_use;
} profiles[SONDE_WEIGH_COUNT] = {
    [SONDE_WEIGH_CPU] = {cpu_types, "cpu", SONDE_WEIGH_CPU},
    [SONDE_WEIGH_ALLOCATED] = {heap_types, "alloc_space", SONDE_WEIGH_LEFT},
    [SONDE_WEIGH_ALLOCATIONS] = {heap_types, "alloc_objects", SONDE_WEIGH_LEFT},
    [SONDE_WEIGH_PEAK] = {heap_types, "inuse_space", SONDE_WEIGH_PEAK},
    [SONDE_WEIGH_LIVE] = {heap_types, "inuse_space", SONDE_WEIGH_LIVE},
    [SONDE_WEIGH_LEFT] = {heap_types, "inuse_space", SONDE_WEIGH_LEFT},
    [SONDE_WEIGH_UNREACHABLE] = {heap_types, "inuse_space", SONDE_WEIGH_UNREACHABLE},
    [SONDE_WEIGH_TEMPORARY] = {temporary_types, "temporary_objects", SONDE_WEIGH_TEMPORARY},
    [SONDE_WEIGH_WAITING] = {wait_types, "delay", SONDE_WEIGH_WAITING},
    [SONDE_WEIGH_LOCKS] = {wait_types, "delay", SONDE_WEIGH_LOCKS},
    [SONDE_WEIGH_IO] = {io_types, "delay", SONDE_WEIGH_IO},
};

struct state {
	struct sonde_session *session;
	struct sonde_weigh weigh;
	struct sonde_gzip *gzip;
	struct sonde_intern strings;
	struct sonde_buf message, inner, packed, scratch;
	struct sonde_stack_lines stack;
	unsigned char *frames;    /* 1 = used, by frame index; then [kernel], then a missing stack */
	unsigned char *functions; /* 1 = used, by id */
	int error;
};

/* Cleans a string and returns its number. */
static uint64_t text(struct state *state, const char *raw)
{
	return sonde_intern(&state->strings, sonde_clean_text(&state->scratch, raw), &state->error);
}

static void put_scratch(struct state *state)
{
	if (!state->error)
		state->error = sonde_buf_error(&state->scratch);
	if (!state->error)
		state->error = sonde_gzip_write(state->gzip, state->scratch.data, state->scratch.len_b);
}

/* Writes state->message as a field of the profile. */
static void put(struct state *state, enum profile_field field)
{
	sonde_buf_clear(&state->scratch);
	sonde_proto_message(&state->scratch, field, &state->message);
	put_scratch(state);
}

static void put_number(struct state *state, enum profile_field field, uint64_t value)
{
	sonde_buf_clear(&state->scratch);
	sonde_proto_uint(&state->scratch, field, value);
	put_scratch(state);
}

static void put_type(struct state *state, enum profile_field field, const char *type, const char *unit)
{
	uint64_t type_number = text(state, type), unit_number = text(state, unit);
	sonde_proto_uint(&state->message, 1, type_number);
	sonde_proto_uint(&state->message, 2, unit_number);
	put(state, field);
}

static void add_label(struct state *state, const char *key, const char *value, uint64_t number)
{
	uint64_t key_number = text(state, key), value_number = value ? text(state, value) : 0;
	sonde_proto_uint(&state->inner, 1, key_number);
	if (value)
		sonde_proto_uint(&state->inner, 2, value_number);
	else
		sonde_proto_uint(&state->inner, 3, number);
	sonde_proto_message(&state->message, 3, &state->inner);
}

static void add_thread(struct state *state, uint32_t id)
{
	const struct sonde_thread *thread = sonde_session_thread(state->session, id);
	const struct sonde_process *process = thread ? sonde_session_process(state->session, thread->process) : NULL;
	if (!thread)
		return;
	add_label(state, "thread", thread->name, 0);
	add_label(state, "tid", NULL, thread->tid);
	if (!process)
		return;
	add_label(state, "process", process->name, 0);
	add_label(state, "pid", NULL, process->pid);
}

static void pack_values(struct state *state, const struct sonde_stack *sample)
{
	if (sonde_weigh_of(&state->weigh) == SONDE_WEIGH_OF_HEAP) {
		sonde_buf_varint(&state->packed, sample->begins);
		sonde_buf_varint(&state->packed, sample->begun_b);
	}
	sonde_buf_varint(&state->packed, sample->count);
	if (profiles[state->weigh.by].types != temporary_types)
		sonde_buf_varint(&state->packed, sample->weight);
}

static void put_sample(struct state *state, const struct sonde_stack *sample)
{
	int rc = sonde_stack_expand(&state->stack, state->session, sample->node, sample->leaf);
	if (rc) {
		state->error = rc;
		return;
	}
	for (size_t i = 0; i < state->stack.count; i++) {
		const struct sonde_stack_line *line = &state->stack.at[i];
		state->functions[line->function] = 1;
		state->frames[line->frame] = 1;
		if (!line->inlined)
			sonde_buf_varint(&state->packed, (uint64_t)line->frame + 1);
	}
	sonde_proto_message(&state->message, 1, &state->packed);
	pack_values(state, sample);
	sonde_proto_message(&state->message, 2, &state->packed);
	add_thread(state, sample->thread);
	put(state, PROFILE_SAMPLE);
}

static void add_line(struct state *state, uint32_t function, uint32_t line)
{
	sonde_proto_uint(&state->inner, 1, function);
	sonde_proto_uint(&state->inner, 2, line);
	sonde_proto_message(&state->message, 4, &state->inner);
}

static void put_location(struct state *state, uint32_t index)
{
	const struct sonde_frame *frame = sonde_session_frame(state->session, index);
	sonde_proto_uint(&state->message, 1, (uint64_t)index + 1);
	if (!frame) {
		add_line(state, sonde_stack_frame_function(state->session, index), 0);
		put(state, PROFILE_LOCATION);
		return;
	}
	if (sonde_session_module(state->session, frame->module))
		sonde_proto_uint(&state->message, 2, frame->module);
	sonde_proto_uint(&state->message, 3, frame->address);
	for (uint32_t i = 0; i < frame->location_count; i++) {
		const struct sonde_location *location = &frame->locations[i];
		int known = sonde_session_function(state->session, location->function) != NULL;
		add_line(state, known ? location->function : sonde_stack_unknown_id(state->session), location->line);
	}
	put(state, PROFILE_LOCATION);
}

static void put_function(struct state *state, uint32_t id)
{
	const struct sonde_function *function = sonde_session_function(state->session, id);
	uint64_t name = text(state, sonde_stack_function_name(state->session, id));
	uint64_t file = function ? text(state, function->file) : 0;
	sonde_proto_uint(&state->message, 1, id);
	sonde_proto_uint(&state->message, 2, name);
	sonde_proto_uint(&state->message, 3, name);
	sonde_proto_uint(&state->message, 4, file);
	sonde_proto_uint(&state->message, 5, function ? function->line : 0);
	put(state, PROFILE_FUNCTION);
}

static void put_mapping(struct state *state, uint32_t id)
{
	enum { ID = 1, LIMIT = 3, FILE_NAME = 5, BUILD_ID = 6, HAS_FUNCTIONS = 7, HAS_INLINE_FRAMES = 10 };
	const struct sonde_module *module = sonde_session_module(state->session, id);
	uint64_t path = text(state, module->path), build_id = text(state, module->build_id);
	sonde_proto_uint(&state->message, ID, id);
	sonde_proto_uint(&state->message, LIMIT, UINT64_MAX);
	sonde_proto_uint(&state->message, FILE_NAME, path);
	sonde_proto_uint(&state->message, BUILD_ID, build_id);
	for (uint32_t field = HAS_FUNCTIONS; field <= HAS_INLINE_FRAMES; field++)
		sonde_proto_uint(&state->message, field, 1);
	put(state, PROFILE_MAPPING);
}

static void put_strings(struct state *state)
{
	put(state, PROFILE_STRING_TABLE); /* number 0: the empty text */
	for (size_t i = 0; i < state->strings.count; i++) {
		sonde_buf_clear(&state->scratch);
		sonde_proto_text(&state->scratch, PROFILE_STRING_TABLE, state->strings.texts[i]);
		if (!state->error)
			state->error = sonde_buf_error(&state->scratch);
		if (!state->error)
			state->error = sonde_gzip_write(state->gzip, state->scratch.data, state->scratch.len_b);
	}
}

/* The CPU sampling rate; 0 = unknown. */
static double sample_rate(const struct sonde_session *session)
{
	for (size_t i = 0; i < sonde_session_source_count(session); i++) {
		const struct sonde_source_row *source = sonde_session_source(session, i);
		if (source->rate_hz > 0)
			return source->effective_hz > 0 ? source->effective_hz : source->rate_hz;
	}
	return 0;
}

static void put_comment(struct state *state, const char *comment)
{
	put_number(state, PROFILE_COMMENT, text(state, comment));
}

/* Writes the period. For the heap it is, as in Go, the mean number of bytes between samples; 1 = every block, or every
 * wait, was recorded. */
static void put_period(struct state *state, const struct sonde_stacks *stacks)
{
	double rate_hz = sample_rate(state->session);
	char value[256];
	if (sonde_weigh_of(&state->weigh) == SONDE_WEIGH_OF_SAMPLES) {
		put_type(state, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
		put_number(state, PROFILE_PERIOD, rate_hz > 0 ? (uint64_t)(1e9 / rate_hz) : 0);
		return;
	}
	if (sonde_weigh_of(&state->weigh) == SONDE_WEIGH_OF_WAITS) {
		const struct value_type *calls = profiles[state->weigh.by].types;
		put_type(state, PROFILE_PERIOD_TYPE, calls->type, calls->unit);
		put_number(state, PROFILE_PERIOD, 1);
		sonde_weigh_say(&state->weigh, state->session, value, sizeof value);
		put_comment(state, value);
		return;
	}
	put_type(state, PROFILE_PERIOD_TYPE, "space", "bytes");
	put_number(state, PROFILE_PERIOD, stacks->mean_b ? stacks->mean_b : 1);
	struct sonde_weigh in_use = state->weigh;
	in_use.by = profiles[in_use.by].in_use;
	snprintf(value, sizeof value, "%s: ", in_use.by == SONDE_WEIGH_TEMPORARY ? "temporary_objects" : "inuse");
	sonde_weigh_say(&in_use, state->session, value + strlen(value), sizeof value - strlen(value));
	put_comment(state, value);
}

/* Writes the origin of an imported recording and what it lacks, one comment per sentence. */
static void put_origin(struct state *state)
{
	struct sonde_origin origin = {0};
	char missing[256], line[320];
	for (const char *args; (args = sonde_origin_next(&origin, state->session));)
		put_comment(state, args);
	if (!sonde_origin_missing(state->session, missing, sizeof missing))
		return;
	snprintf(line, sizeof line, "the recording is incomplete: %s", missing);
	put_comment(state, line);
}

static void put_head(struct state *state, const struct sonde_stacks *stacks)
{
	const struct sonde_run *run = sonde_session_run(state->session);
	const struct sonde_file_head *head = sonde_session_head(state->session);
	for (const struct value_type *type = profiles[state->weigh.by].types; type->type; type++)
		put_type(state, PROFILE_SAMPLE_TYPE, type->type, type->unit);
	put_number(state, PROFILE_DEFAULT_SAMPLE_TYPE, text(state, profiles[state->weigh.by].first));
	put_period(state, stacks);
	put_number(state, PROFILE_TIME_NANOS, head->start_real_ns);
	put_number(state, PROFILE_DURATION_NANOS, run->wall_ns);
	const char *command = sonde_session_info(state->session, "run.command");
	if (command)
		put_comment(state, command);
	put_origin(state);
}

static void put_all(struct state *state, const struct sonde_stacks *stacks)
{
	put_head(state, stacks);
	for (size_t i = 0; i < stacks->count && !state->error; i++)
		put_sample(state, &stacks->rows[i]);
	for (uint32_t i = 1; i <= sonde_session_module_count(state->session) && !state->error; i++)
		put_mapping(state, i);
	for (uint32_t i = 0; i < sonde_stack_frame_end(state->session) && !state->error; i++)
		if (state->frames[i])
			put_location(state, i);
	for (uint32_t i = 1; i < sonde_stack_id_end(state->session) && !state->error; i++)
		if (state->functions[i])
			put_function(state, i);
	put_strings(state);
}

static int state_init(struct state *state, struct sonde_session *session, FILE *out)
{
	*state = (struct state){.session = session};
	sonde_buf_init(&state->message, MESSAGE_MAX_B);
	sonde_buf_init(&state->inner, MESSAGE_MAX_B);
	sonde_buf_init(&state->packed, MESSAGE_MAX_B);
	sonde_buf_init(&state->scratch, MESSAGE_MAX_B);
	state->frames = calloc(sonde_stack_frame_end(session), 1);
	state->functions = calloc(sonde_stack_id_end(session), 1);
	if (!state->frames || !state->functions)
		return sonde_error(ENOMEM, "out of memory for a profile");
	return sonde_gzip_open(&state->gzip, out);
}

static void state_fini(struct state *state)
{
	sonde_intern_fini(&state->strings);
	sonde_buf_fini(&state->message);
	sonde_buf_fini(&state->inner);
	sonde_buf_fini(&state->packed);
	sonde_buf_fini(&state->scratch);
	sonde_stack_lines_fini(&state->stack);
	free(state->frames);
	free(state->functions);
}

static int export(struct sonde_session *session, const struct sonde_format_options *options, FILE *out)
{
	struct sonde_format_options in_use = *options;
	struct sonde_stacks stacks;
	in_use.weigh.by = profiles[options->weigh.by].in_use;
	int rc = sonde_export_stacks_fold(&stacks, session, &in_use);
	if (rc)
		return rc;
	struct state state;
	rc = state_init(&state, session, out);
	state.weigh = options->weigh;
	if (!rc && sonde_weigh_of(&options->weigh) == SONDE_WEIGH_OF_HEAP)
		rc = sonde_export_stacks_begun(&stacks, session, options);
	if (!rc) {
		put_all(&state, &stacks);
		rc = state.error;
	}
	int close_error = sonde_gzip_close(state.gzip);
	state_fini(&state);
	sonde_export_stacks_fini(&stacks);
	return rc ? rc : close_error;
}

const struct sonde_format sonde_format_pprof = {
    .name = "pprof",
    .extension = ".pb.gz",
    .title = "CPU, heap or waiting profile, for pprof",
    .binary = 1,
    .weighs = 1,
    .export = export,
};
