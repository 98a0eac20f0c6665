/* pprof.c: imports google/pprof's profile.proto, gzipped or not: Go, gperftools, async-profiler, py-spy and many
 * others.
 *
 * One of the profile's values becomes samples with a weight in ns (pprof.h describes which). A stack that stands for n
 * samples becomes n samples of equal weight, so that sample counts are right. The profile has no sample times, so
 * samples follow one another. Locations keep module, address, functions, files and lines; locations without an address,
 * or with the address of another location, get an address in a module made for names. Field numbers: profile.proto of
 * github.com/google/pprof.
 */
#include "import/pprof.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "import/elf.h"
#include "import/text.h"
#include "util/array.h"
#include "util/error.h"

enum { DEPTH_MAX = 16384, LINES_MAX = 64, NAME_MAX_B = 4096, THREADS_MAX = 65536 };
enum { START_NS = 1000000000 };
#define NAMELESS UINT64_C(0x100000000) /* first address for locations that have none; above the addresses of names */
#define TOTAL_MAX (UINT64_C(1) << 62)

struct thread {
	uint64_t pid, tid;
	uint32_t process_name, thread_name; /* strings of the recording */
	uint32_t id;
};

struct samples {
	struct sonde_pprof *pprof;
	struct sonde_import_job *job;
	struct sonde_trie_frame *frames; /* DEPTH_MAX */
	uint64_t *ids;
	struct sonde_import_elves elves;
	struct sonde_map thread_map;
	struct thread *threads;
	uint32_t thread_count, merged_threads;
	size_t thread_cap;
	uint64_t total_ns, rows, counts, negative, deep, lost_labels, whole_ns, missing;
	int count_failed;
};

/* --- locations ---------------------------------------------------------------------------------------------------- */

/* Writes the strings of a function, once. */
static void function_write(struct samples *samples, struct sonde_pprof_function *function)
{
	struct sonde_pprof *pprof = samples->pprof;
	char text[NAME_MAX_B];
	if (function->is_written)
		return;
	function->is_written = 1;
	if (!*sonde_pprof_text(pprof, function->name, text, sizeof text))
		sonde_pprof_text(pprof, function->system_name, text, sizeof text);
	function->name_text = sonde_out_text(&samples->job->out, text);
	function->file_text =
	    sonde_out_text(&samples->job->out, sonde_pprof_text(pprof, function->file, text, sizeof text));
}

/* Reads the lines of a location, innermost first; returns their number. */
static uint32_t places_read(struct samples *samples, const struct sonde_pprof_location *location,
			    struct sonde_meta_location *places)
{
	struct sonde_proto in = sonde_proto_of(location->bytes, location->size_b);
	uint32_t count = 0;
	while (sonde_proto_next(&in) && count < LINES_MAX) {
		if (in.field != 4 || !in.is_bytes)
			continue;
		struct sonde_proto line = sonde_proto_of(in.bytes, in.bytes_b);
		uint64_t id = 0, number = 0;
		while (sonde_proto_next(&line))
			if (!line.is_bytes && line.field <= 2)
				*(line.field == 1 ? &id : &number) = line.number;
		struct sonde_pprof_function *function =
		    sonde_pprof_find(&samples->pprof->functions, sizeof *function, id);
		samples->missing += id && !function;
		struct sonde_meta_location place = {.line = number <= UINT32_MAX ? (uint32_t)number : 0};
		if (function) {
			function_write(samples, function);
			place.function = function->name_text;
			place.file = function->file_text;
			place.start_line = function->line <= UINT32_MAX ? (uint32_t)function->line : 0;
		}
		places[count++] = place;
	}
	return count;
}

static size_t hex_read(const char *text, uint8_t *out, size_t max_b)
{
	size_t size_b = 0;
	for (; text[0] && text[1] && size_b < max_b; text += 2) {
		char digits[3] = {text[0], text[1], 0}, *end;
		out[size_b++] = (uint8_t)strtoul(digits, &end, 16);
		if (*end)
			return 0;
	}
	return *text ? 0 : size_b;
}

static uint32_t module_of(struct samples *samples, struct sonde_pprof_mapping *mapping)
{
	char path[NAME_MAX_B], text[64];
	uint8_t build_id[SONDE_BUILD_ID_MAX_B];
	if (mapping->module)
		return mapping->module;
	sonde_pprof_text(samples->pprof, mapping->file, path, sizeof path);
	size_t build_id_b =
	    hex_read(sonde_pprof_text(samples->pprof, mapping->build_id, text, sizeof text), build_id, sizeof build_id);
	uint32_t flags = strstr(path, "[kernel") || strstr(path, "vmlinux") ? SONDE_MODULE_KERNEL
			 : *path == '/'                                     ? 0
									    : SONDE_MODULE_SPECIAL;
	mapping->module = sonde_out_module(&samples->job->out, *path ? path : "[unknown]", flags, build_id, build_id_b);
	return mapping->module;
}

/* Returns the address in the module's file. In profiles from `sonde export`, addresses already are addresses in the
 * file. */
static uint64_t address_of(struct samples *samples, const struct sonde_pprof_mapping *mapping, uint64_t address)
{
	char path[NAME_MAX_B], text[64];
	uint8_t build_id[SONDE_BUILD_ID_MAX_B];
	if (!mapping->start || address < mapping->start)
		return address;
	sonde_pprof_text(samples->pprof, mapping->file, path, sizeof path);
	size_t build_id_b =
	    hex_read(sonde_pprof_text(samples->pprof, mapping->build_id, text, sizeof text), build_id, sizeof build_id);
	return sonde_import_elf_address(&samples->elves, path, build_id, build_id_b,
					address - mapping->start + mapping->offset);
}

static struct sonde_trie_frame frame_of(struct samples *samples, struct sonde_pprof_location *location)
{
	struct sonde_out *out = &samples->job->out;
	struct sonde_pprof_mapping *mapping =
	    sonde_pprof_find(&samples->pprof->mappings, sizeof *mapping, location->mapping);
	struct sonde_meta_location places[LINES_MAX];
	struct sonde_trie_frame frame = {0};
	uint32_t index = (uint32_t)(location - (struct sonde_pprof_location *)samples->pprof->locations.rows) + 1;
	if (mapping && location->address) {
		frame.module = module_of(samples, mapping);
		frame.address = address_of(samples, mapping, location->address);
		uint64_t hash = sonde_hash_pair(frame.address, frame.module);
		if (sonde_map_find(&samples->pprof->places, hash, NULL, NULL))
			frame.module = 0;
		else
			samples->count_failed |= sonde_map_set(&samples->pprof->places, hash, index);
	}
	uint32_t count = places_read(samples, location, places);
	if (!frame.module) {
		sonde_out_name(out, "[unknown]", NULL, 0); /* creates the module */
		frame = (struct sonde_trie_frame){.module = out->names_module, .address = NAMELESS + index};
	}
	if (count)
		sonde_out_symbol(out, frame.module, frame.address, places, count);
	return frame;
}

static size_t stack_read(struct samples *samples, size_t count)
{
	size_t used = 0;
	for (size_t i = 0; i < count; i++) {
		struct sonde_pprof_location *location =
		    sonde_pprof_find(&samples->pprof->locations, sizeof *location, samples->ids[i]);
		samples->missing += samples->ids[i] && !location;
		if (!location)
			continue;
		if (!location->frame.module)
			location->frame = frame_of(samples, location);
		samples->frames[used++] = location->frame;
	}
	return used;
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

static void label_take(struct samples *samples, const struct sonde_proto *field, struct thread *thread)
{
	char key[64], text[256];
	uint64_t n[3] = {0};
	struct sonde_proto in = sonde_proto_of(field->bytes, field->bytes_b);
	while (sonde_proto_next(&in))
		if (!in.is_bytes && in.field <= 3)
			n[in.field - 1] = in.number;
	sonde_pprof_text(samples->pprof, n[0], key, sizeof key);
	uint32_t value =
	    n[1] ? sonde_out_text(&samples->job->out, sonde_pprof_text(samples->pprof, n[1], text, sizeof text)) : 0;
	if (!n[2] && n[1])
		n[2] = strtoull(text, NULL, 10);
	if (!strcmp(key, "pid") || !strcmp(key, "process_id") || !strcmp(key, "process id"))
		thread->pid = n[2];
	else if (!strcmp(key, "tid") || !strcmp(key, "thread_id") || !strcmp(key, "thread id"))
		thread->tid = n[2];
	else if (!strcmp(key, "process") || !strcmp(key, "process_name") || !strcmp(key, "process name"))
		thread->process_name = value;
	else if (!strcmp(key, "thread") || !strcmp(key, "thread_name") || !strcmp(key, "thread name"))
		thread->thread_name = value;
	else
		samples->lost_labels++;
}

struct thread_probe {
	const struct thread *rows, *wanted;
};

static int same_thread(const void *context, uint32_t value)
{
	const struct thread_probe *probe = context;
	const struct thread *row = &probe->rows[value - 1], *wanted = probe->wanted;
	return row->pid == wanted->pid && row->process_name == wanted->process_name && row->tid == wanted->tid &&
	       row->thread_name == wanted->thread_name;
}

static const char *string_of(const struct sonde_out *out, uint32_t id)
{
	return id ? out->strings.rows[id - 1].text : "";
}

/* Returns the process that an earlier thread with the same pid and process name has, or a new one. */
static uint32_t process_of(struct samples *samples, const struct thread *wanted, const char *fallback)
{
	struct sonde_out *out = &samples->job->out;
	uint64_t hash = ~sonde_hash_pair(wanted->pid, wanted->process_name);
	uint32_t process = sonde_map_find(&samples->thread_map, hash, NULL, NULL);
	if (process)
		return process;
	const char *name = string_of(out, wanted->process_name);
	process = sonde_out_process(out, (uint32_t)wanted->pid, 0, *name ? name : fallback, START_NS);
	samples->count_failed |= sonde_map_set(&samples->thread_map, hash, process);
	return process;
}

static uint32_t thread_of(struct samples *samples, struct thread wanted)
{
	struct thread_probe probe = {samples->threads, &wanted};
	uint64_t hash = sonde_hash_pair(sonde_hash_pair(wanted.pid, wanted.tid),
					(uint64_t)wanted.process_name << 32 | wanted.thread_name);
	uint32_t at = sonde_map_find(&samples->thread_map, hash, same_thread, &probe);
	if (at)
		return samples->threads[at - 1].id;
	if (samples->thread_count == THREADS_MAX) {
		samples->merged_threads++;
		return samples->threads[0].id;
	}
	if (SONDE_ARRAY_RESERVE(samples->threads, samples->thread_cap, samples->thread_count + 1)) {
		samples->count_failed = 1;
		return 0;
	}
	const char *name = sonde_input_name(samples->job->input), *slash = strrchr(name, '/');
	name = slash ? slash + 1 : name;
	uint32_t process = process_of(samples, &wanted, name);
	const char *own = string_of(&samples->job->out, wanted.thread_name);
	wanted.id = sonde_out_thread(&samples->job->out, process, (uint32_t)wanted.tid, *own ? own : name, START_NS);
	samples->threads[samples->thread_count++] = wanted;
	samples->count_failed |= sonde_map_add(&samples->thread_map, hash, samples->thread_count);
	return wanted.id;
}

/* --- samples ------------------------------------------------------------------------------------------------------ */

struct sample {
	size_t depth;
	uint64_t weight_ns, count;
	struct thread thread;
};

/* Reads a sample. Returns 1 if there is a sample to write, 0 if not, or an error. */
static int sample_read(struct samples *samples, const struct sonde_proto *field, struct sample *out)
{
	const struct sonde_pprof *pprof = samples->pprof;
	struct sonde_proto in = sonde_proto_of(field->bytes, field->bytes_b);
	uint64_t values[SONDE_PPROF_TYPES_MAX] = {0};
	size_t value_count = 0;
	*out = (struct sample){0};
	while (sonde_proto_next(&in)) {
		if (in.field == 1)
			out->depth = sonde_proto_numbers(&in, samples->ids, out->depth, DEPTH_MAX);
		else if (in.field == 2)
			value_count = sonde_proto_numbers(&in, values, value_count, SONDE_PPROF_TYPES_MAX);
		else if (in.field == 3 && in.is_bytes)
			label_take(samples, &in, &out->thread);
	}
	int64_t value = (int64_t)values[pprof->value], count = pprof->count >= 0 ? (int64_t)values[pprof->count] : -1;
	if (in.broken)
		return sonde_error(EBADMSG, "%s: a damaged sample", sonde_input_name(samples->job->input));
	if (value < 0) {
		samples->negative++;
		return 0;
	}
	double weight = (double)value * pprof->scale_ns;
	if (weight >= (double)(TOTAL_MAX - samples->total_ns))
		return sonde_error(EFBIG, "%s: its values add up to more than fits into a recording",
				   sonde_input_name(samples->job->input));
	out->weight_ns = pprof->scale_ns > 1 ? (uint64_t)(weight + 0.5) : (uint64_t)value;
	if (count < 0)
		count = pprof->each ? (int64_t)((uint64_t)value / pprof->each) : 1;
	out->count = count > 0 ? (uint64_t)count : out->weight_ns > 0;
	return out->weight_ns || out->count;
}

static uint64_t time_of(const struct samples *samples)
{
	uint64_t duration_ns = samples->pprof->duration_ns, at_ns = samples->total_ns;
	if (duration_ns && samples->whole_ns)
		at_ns = (uint64_t)((unsigned __int128)at_ns * duration_ns / samples->whole_ns);
	return START_NS + at_ns;
}

static void sample_write(struct samples *samples, const struct sample *sample)
{
	size_t depth = sample->depth < DEPTH_MAX ? sample->depth : DEPTH_MAX;
	uint8_t status = sample->depth > DEPTH_MAX ? SONDE_STACK_DEEP : SONDE_STACK_COMPLETE;
	samples->deep += sample->depth > DEPTH_MAX;
	depth = stack_read(samples, depth);
	uint32_t node = sonde_trie_intern(&samples->job->out.trie, samples->frames, depth);
	uint32_t thread = thread_of(samples, sample->thread);
	uint64_t rows = samples->rows + sample->count <= SONDE_OUT_ROWS_MAX ? sample->count : 1;
	uint64_t each_ns = sample->weight_ns / rows, remainder_ns = sample->weight_ns % rows;
	for (uint64_t i = 0; i < rows; i++) {
		uint64_t weight_ns = each_ns + (i < remainder_ns);
		sonde_out_sample(samples->job, time_of(samples), thread, node, weight_ns, status);
		samples->total_ns += weight_ns;
	}
	samples->rows += rows;
	samples->counts += sample->count;
}

static int samples_take(struct samples *samples, int only_sum)
{
	struct sonde_proto in = sonde_proto_of(samples->pprof->bytes, samples->pprof->size_b);
	struct sample sample;
	int rc = 0;
	while (rc >= 0 && !samples->job->out.error && sonde_proto_next(&in)) {
		if (in.field != 2 || !in.is_bytes)
			continue;
		rc = sample_read(samples, &in, &sample);
		if (rc > 0 && only_sum)
			samples->total_ns += sample.weight_ns;
		else if (rc > 0)
			sample_write(samples, &sample);
	}
	if (only_sum) {
		samples->whole_ns = samples->total_ns;
		samples->total_ns = samples->negative = samples->lost_labels = 0;
	}
	if (samples->count_failed)
		return sonde_error(ENOMEM, "out of memory for a profile");
	if (rc >= 0 && samples->missing)
		return sonde_error(EBADMSG, "%s: damaged or cut off: %llu calls of its samples are missing",
				   sonde_input_name(samples->job->input), (unsigned long long)samples->missing);
	return rc < 0 ? rc : samples->job->out.error;
}

static void facts_write(struct samples *samples)
{
	struct sonde_import_job *job = samples->job;
	const struct sonde_pprof *pprof = samples->pprof;
	char detail[256], name[256];
	double rate_hz =
	    samples->counts && samples->whole_ns ? (double)samples->counts * 1e9 / (double)samples->whole_ns : 0;
	snprintf(detail, sizeof detail, "weighted by its %s",
		 sonde_pprof_type_name(pprof, (size_t)pprof->value, name, sizeof name));
	sonde_out_source(&job->out, "cpu", "imported from pprof", detail, rate_hz);
	sonde_out_info(&job->out, "import.untimed", "1");
	sonde_out_note(job, "a profile has no sample times: samples are laid out one after the other");
	if (samples->rows < samples->counts)
		sonde_out_note(job, "%llu samples of the profile were merged: their time is right, their number is not",
			       (unsigned long long)samples->counts);
	if (samples->negative)
		sonde_out_note(job, "left out: %llu negative samples (from a difference of profiles)",
			       (unsigned long long)samples->negative);
	if (samples->deep)
		sonde_out_note(job, "%llu stacks are more than %d deep: their outermost functions are left out",
			       (unsigned long long)samples->deep, DEPTH_MAX);
	if (samples->lost_labels)
		sonde_out_note(job, "sample labels that name no process or thread are left out");
	if (samples->merged_threads)
		sonde_out_note(job, "threads beyond the first %d are counted with the first thread", THREADS_MAX);
}

static int write_all(struct sonde_pprof *pprof, struct samples *samples)
{
	struct sonde_import_job *job = pprof->job;
	if (pprof->duration_ns > TOTAL_MAX || pprof->time_ns > INT64_MAX)
		return sonde_error(EBADMSG, "%s: impossible duration or time", sonde_input_name(job->input));
	samples->frames = malloc(DEPTH_MAX * sizeof *samples->frames);
	samples->ids = malloc(DEPTH_MAX * sizeof *samples->ids);
	if (!samples->frames || !samples->ids)
		return sonde_error(ENOMEM, "out of memory");
	int rc = sonde_pprof_choose(pprof);
	uint64_t real_ns = pprof->time_ns ? pprof->time_ns : sonde_input_changed_ns(job->input);
	rc = rc ? rc : sonde_out_begin(job, START_NS, real_ns, 0);
	rc = rc ? rc : samples_take(samples, 1);
	rc = rc ? rc : samples_take(samples, 0);
	if (rc)
		return rc;
	facts_write(samples);
	return sonde_out_end(job, START_NS + (pprof->duration_ns ? pprof->duration_ns : samples->whole_ns));
}

static int run(struct sonde_import_job *job)
{
	struct sonde_pprof pprof = {.job = job};
	struct samples samples = {.pprof = &pprof, .job = job};
	int rc = sonde_pprof_read(&pprof);
	if (!rc && !pprof.type_count)
		rc = sonde_error(EBADMSG, "%s is not a pprof profile: it has no value types",
				 sonde_input_name(job->input));
	rc = rc ? rc : write_all(&pprof, &samples);
	sonde_import_elves_fini(&samples.elves);
	sonde_map_fini(&samples.thread_map);
	free(samples.threads);
	free(samples.frames);
	free(samples.ids);
	sonde_pprof_fini(&pprof);
	return rc;
}

/* There is no magic number, so this checks the fields of a profile and their wire types; the first field is a value
 * type in most profiles. */
static int matches(const uint8_t *bytes, size_t size_b, int gz)
{
	struct sonde_proto in = sonde_proto_of(bytes, size_b);
	size_t known = 0;
	if (size_b < 4 || sonde_text_is(bytes, size_b < 4096 ? size_b : 4096))
		return 0;
	while (known < 16 && sonde_proto_next(&in)) {
		int is_message = (in.field <= 6 || in.field == 11) && in.is_bytes;
		int is_number = in.field >= 7 && in.field <= 14 && in.field != 11;
		if (!is_message && !is_number)
			return 0;
		known++;
	}
	return known ? known > 1 && gz ? 2 : 1 : 0;
}

const struct sonde_import_format sonde_import_format_pprof = {
    .name = "pprof",
    .title = "a pprof profile",
    .matches = matches,
    .run = run,
};
