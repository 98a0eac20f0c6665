/* samples.c: CPU samples as PerfSample packets, with stacks, frames, modules and names in the sequence's tables. A
 * PerfSample has no weight, so each thread also has a counter: the CPU time that its samples represent, including CPU
 * time that was measured without samples.
 *
 * A stack is (trie node, leaf), its frames outermost first; inlined functions are separate frames at one address.
 * Modules have no address ranges, because the addresses of frames are relative to the module's file. A frame without a
 * module gets the module "", because readers require one. The CPU of a sample is unknown, so its field is left out.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "export/perfetto/perfetto.h"
#include "export/proto.h"
#include "export/stacks.h"
#include "util/error.h"

enum { PACKET_TIME = 8, PACKET_SAMPLE = 66 };
enum { SAMPLE_PID = 2, SAMPLE_TID = 3, SAMPLE_STACK = 4, SAMPLE_MODE = 5, MODE_KERNEL = 1, MODE_USER = 2 };
enum {
	TABLE_FUNCTIONS = 5,
	TABLE_FRAMES = 6,
	TABLE_STACKS = 7,
	TABLE_BUILD_IDS = 16,
	TABLE_PATHS = 17,
	TABLE_MODULES = 19
};
enum { ENTRY_ID = 1, FRAME_FUNCTION = 2, FRAME_MODULE = 3, FRAME_ADDRESS = 4, STACK_FRAMES = 2 };
enum { MODULE_BUILD_ID = 2, MODULE_PATH = 7 };

struct samples {
	struct sonde_perfetto *perfetto;
	struct sonde_map stacks, frames; /* (node, leaf), (index, function) → number */
	uint32_t stack_count, frame_count;
	unsigned char *functions, *modules; /* by id: 1 = already defined */
	uint64_t *sum_ns;                   /* by thread id */
	struct sonde_stack_lines lines;
};

static void define_text(struct sonde_perfetto *perfetto, uint32_t table, uint64_t number, const char *text)
{
	sonde_proto_uint(&perfetto->entry, ENTRY_ID, number);
	sonde_proto_text(&perfetto->entry, 2, sonde_perfetto_clean(perfetto, text));
	sonde_perfetto_define(perfetto, table);
}

/* Returns the number of a module's table entry: id + 1; 1 if the frame has no module. */
static uint64_t module_number(struct samples *samples, uint32_t id)
{
	struct sonde_perfetto *perfetto = samples->perfetto;
	const struct sonde_module *module = sonde_session_module(perfetto->session, id);
	uint64_t number = module ? (uint64_t)id + 1 : 1;
	if (samples->modules[number - 1])
		return number;
	samples->modules[number - 1] = 1;
	define_text(perfetto, TABLE_PATHS, number, module ? module->path : "");
	if (module && *module->build_id)
		define_text(perfetto, TABLE_BUILD_IDS, number, module->build_id);
	sonde_proto_uint(&perfetto->entry, ENTRY_ID, number);
	if (module && *module->build_id)
		sonde_proto_uint(&perfetto->entry, MODULE_BUILD_ID, number);
	sonde_proto_uint(&perfetto->entry, MODULE_PATH, number);
	sonde_perfetto_define(perfetto, TABLE_MODULES);
	return number;
}

static uint32_t frame_number(struct samples *samples, const struct sonde_stack_line *line)
{
	struct sonde_perfetto *perfetto = samples->perfetto;
	const struct sonde_frame *frame = sonde_session_frame(perfetto->session, line->frame);
	uint64_t hash = sonde_hash_pair(line->frame, line->function);
	uint32_t number = sonde_map_find(&samples->frames, hash, NULL, NULL);
	if (number)
		return number;
	if (!samples->functions[line->function])
		define_text(perfetto, TABLE_FUNCTIONS, line->function,
			    sonde_stack_function_name(perfetto->session, line->function));
	samples->functions[line->function] = 1;
	uint64_t module = module_number(samples, frame ? frame->module : 0);
	number = ++samples->frame_count;
	sonde_proto_uint(&perfetto->entry, ENTRY_ID, number);
	sonde_proto_uint(&perfetto->entry, FRAME_FUNCTION, line->function);
	sonde_proto_uint(&perfetto->entry, FRAME_MODULE, module);
	sonde_proto_uint(&perfetto->entry, FRAME_ADDRESS, frame ? frame->address : 0);
	sonde_perfetto_define(perfetto, TABLE_FRAMES);
	if (sonde_map_add(&samples->frames, hash, number))
		perfetto->error = sonde_error(ENOMEM, "out of memory for %u frames", number);
	return number;
}

static uint32_t stack_number(struct samples *samples, uint32_t node, uint32_t leaf)
{
	struct sonde_perfetto *perfetto = samples->perfetto;
	uint64_t hash = sonde_hash_pair(node, leaf);
	uint32_t number = sonde_map_find(&samples->stacks, hash, NULL, NULL);
	if (number)
		return number;
	int rc = sonde_stack_expand(&samples->lines, perfetto->session, node, leaf);
	number = ++samples->stack_count;
	struct sonde_buf entry;
	sonde_buf_init(&entry, perfetto->entry.max_b);
	sonde_proto_uint(&entry, ENTRY_ID, number);
	for (size_t i = samples->lines.count; i > 0 && !rc; i--)
		sonde_proto_uint(&entry, STACK_FRAMES, frame_number(samples, &samples->lines.at[i - 1]));
	sonde_buf_append(&perfetto->entry, entry.data, entry.len_b);
	rc = rc ? rc : sonde_buf_error(&entry);
	sonde_buf_fini(&entry);
	sonde_perfetto_define(perfetto, TABLE_STACKS);
	if (!rc && sonde_map_add(&samples->stacks, hash, number))
		rc = sonde_error(ENOMEM, "out of memory for %u stacks", number);
	perfetto->error = perfetto->error ? perfetto->error : rc;
	return number;
}

static void put_sample(struct samples *samples, const struct sonde_batch *batch, size_t i)
{
	struct sonde_perfetto *perfetto = samples->perfetto;
	const struct sonde_thread *thread = sonde_session_thread(perfetto->session, batch->samples.thread[i]);
	const struct sonde_process *process = sonde_session_process(perfetto->session, thread ? thread->process : 0);
	int in_kernel = sonde_export_stacks_in_kernel(perfetto->session, batch, i);
	uint32_t leaf = in_kernel ? SONDE_STACK_LEAF_KERNEL : SONDE_STACK_LEAF_NONE;
	uint32_t stack = stack_number(samples, batch->samples.stack[i], leaf);
	sonde_proto_uint(&perfetto->packet, PACKET_TIME, batch->samples.time_ns[i]);
	sonde_proto_uint(&perfetto->event, SAMPLE_PID, process ? process->pid : 0);
	sonde_proto_uint(&perfetto->event, SAMPLE_TID, thread ? thread->tid : 0);
	sonde_proto_uint(&perfetto->event, SAMPLE_STACK, stack);
	sonde_proto_uint(&perfetto->event, SAMPLE_MODE,
			 batch->samples.status[i] & SONDE_SAMPLE_KERNEL ? MODE_KERNEL : MODE_USER);
	sonde_proto_message(&perfetto->packet, PACKET_SAMPLE, &perfetto->event);
	sonde_perfetto_put(perfetto, NULL);
}

static void put_sum(struct samples *samples, const struct sonde_batch *batch, size_t i)
{
	struct sonde_perfetto *perfetto = samples->perfetto;
	uint32_t id = batch->samples.thread[i];
	uint64_t track = sonde_perfetto_counter(perfetto, SONDE_PERFETTO_SAMPLED, id, 0,
						sonde_perfetto_thread(perfetto, id), "sampled CPU time", "ns");
	samples->sum_ns[id] += batch->samples.weight_ns[i];
	sonde_perfetto_point_int(perfetto, track, batch->samples.time_ns[i], (int64_t)samples->sum_ns[id]);
}

static int put_batch(void *context, const struct sonde_batch *batch)
{
	struct samples *samples = context;
	struct sonde_perfetto *perfetto = samples->perfetto;
	for (size_t i = 0; i < batch->count && !perfetto->error; i++) {
		if (batch->samples.thread[i] >= perfetto->thread_count ||
		    !sonde_selection_takes(&perfetto->options->selection, batch->samples.time_ns[i],
					   batch->samples.thread[i]))
			continue;
		if (sonde_sample_counts(batch->samples.status[i])) /* other rows are CPU time without a sample */
			put_sample(samples, batch, i);
		put_sum(samples, batch, i);
	}
	return perfetto->error;
}

int sonde_perfetto_samples(struct sonde_perfetto *perfetto)
{
	struct samples samples = {.perfetto = perfetto};
	samples.functions = calloc(sonde_stack_id_end(perfetto->session), 1);
	samples.modules = calloc(sonde_session_module_count(perfetto->session) + 1, 1);
	samples.sum_ns = calloc(perfetto->thread_count, sizeof *samples.sum_ns);
	int rc = samples.functions && samples.modules && samples.sum_ns
		     ? sonde_session_batches(perfetto->session, 1u << SONDE_CHUNK_SAMPLES, put_batch, &samples)
		     : sonde_error(ENOMEM, "out of memory for %zu threads", perfetto->thread_count);
	sonde_stack_lines_fini(&samples.lines);
	sonde_map_fini(&samples.stacks);
	sonde_map_fini(&samples.frames);
	free(samples.functions);
	free(samples.modules);
	free(samples.sum_ns);
	return rc;
}
