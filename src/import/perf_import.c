/* perf_import.c: imports perf.data, as written by perf record to a file or a pipe.
 *
 * Records are handled in time order: mappings, forks, execs and exits, and samples, whose addresses are converted to
 * addresses in the modules' files, as in a recorder. One event provides CPU time: cpu-clock or task-clock, whose
 * periods are in ns. If there is neither, the first event is used and its time is estimated, which a note states.
 * Symbols are looked up when the recording is read, except those of the kernel, which are valid only for the kernel now
 * running.
 */
#include "import/perf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "import/perf_replay.h"
#include "util/error.h"

enum { DEPTH_MAX = 4096 };
#define WEIGHT_MAX (UINT64_C(1) << 50) /* weight of a sample: 13 days */

/* --- samples ------------------------------------------------------------------------------------------------------ */

/* Reads a call chain, which lists the innermost address first, with a marker at each change of context. The address
 * after a marker is the instruction pointer of the context; all others are return addresses. */
static size_t chain_read(struct sonde_perf_replay *replay, const struct sonde_perf_sample *sample, size_t *user_count)
{
	size_t count = 0, user = 0;
	int in_kernel = (sample->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL, first = 1;
	for (uint64_t i = 0; i < sample->chain_count && count < DEPTH_MAX; i++) {
		uint64_t address = sonde_perf_u64(sample->chain, i * 8);
		if (address >= (uint64_t)PERF_CONTEXT_MAX) {
			in_kernel = address == (uint64_t)PERF_CONTEXT_KERNEL;
			first = 1;
			continue;
		}
		if (!address) /* the chain of frame pointers ends here */
			continue;
		unsigned back = !first;
		user += !in_kernel;
		replay->frames[count++] = in_kernel ? sonde_perf_kernel_frame(replay, address - back)
						    : sonde_perf_user_frame(replay, sample->pid, address, back);
		first = 0;
	}
	replay->deep += count == DEPTH_MAX;
	*user_count = user;
	return count;
}

/* True if the sample is of a kernel thread, which has no user code. */
static int is_kernel_task(struct sonde_perf_replay *replay, const struct sonde_perf_sample *sample)
{
	const struct sonde_perf_process *process = sonde_perf_process_of(replay, sample->pid, sample->time_ns);
	return process && !process->maps.count;
}

static size_t frames_read(struct sonde_perf_replay *replay, const struct sonde_perf_sample *sample, uint8_t *status)
{
	int in_kernel = (sample->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	size_t user = 0, count = sample->has_chain ? chain_read(replay, sample, &user) : 0;
	*status = count == DEPTH_MAX                            ? SONDE_STACK_DEEP
		  : user < 2 && !is_kernel_task(replay, sample) ? SONDE_STACK_NO_TABLE
								: SONDE_STACK_FRAME_POINTER;
	replay->stacks += (uint64_t)sample->has_stack;
	replay->chainless += !sample->has_chain;
	if (!count && sample->ip)
		replay->frames[count++] = in_kernel ? sonde_perf_kernel_frame(replay, sample->ip)
						    : sonde_perf_user_frame(replay, sample->pid, sample->ip, 0);
	*status |= in_kernel ? SONDE_SAMPLE_KERNEL : 0;
	return count;
}

static uint64_t weight_of(struct sonde_perf_replay *replay, const struct sonde_perf_sample *sample)
{
	double weight = replay->estimate > 0 ? (double)sample->period * replay->estimate : (double)replay->each_ns;
	if (weight >= (double)WEIGHT_MAX) {
		replay->clamped++;
		return 0;
	}
	return (uint64_t)(weight + 0.5);
}

static void sample_take(struct sonde_perf_replay *replay, const uint8_t *record, size_t size_b)
{
	struct sonde_perf_sample sample;
	uint8_t status;
	if (sonde_perf_sample_read(replay->perf, record, size_b, &sample))
		return;
	if (!replay->perf->attrs[sample.attr].weighed) {
		replay->other++;
		return;
	}
	if (!sample.tid && !sample.pid) {
		replay->idle++;
		return;
	}
	uint32_t thread = sonde_perf_thread_of(replay, sample.pid, sample.tid, sample.time_ns);
	size_t count = frames_read(replay, &sample, &status);
	uint32_t node = sonde_trie_intern(&replay->job->out.trie, replay->frames, count);
	sonde_out_sample(replay->job, sonde_perf_time_of(replay, sample.time_ns), thread, node,
			 weight_of(replay, &sample), status);
}

static void lost_take(struct sonde_perf_replay *replay, const uint8_t *record, size_t size_b)
{
	struct perf_event_header head;
	memcpy(&head, record, sizeof head);
	size_t at = head.type == PERF_RECORD_LOST ? 16 : 8;
	uint64_t count = size_b >= at + 8 ? sonde_perf_u64(record, at) : 0;
	if (count < UINT64_MAX - replay->lost)
		replay->lost += count;
}

static int records_take(struct sonde_perf_replay *replay)
{
	struct sonde_perf *perf = replay->perf;
	uint8_t *record = malloc(SONDE_PERF_RECORD_MAX_B);
	sonde_perf_keep(replay, record ? 0 : sonde_error(ENOMEM, "out of memory"));
	for (size_t i = 0; i < perf->count && !replay->error && !replay->job->out.error; i++) {
		int got_b = sonde_perf_record(perf, perf->index[i].offset, record);
		if (got_b < 0)
			continue;
		size_t size_b = (size_t)got_b;
		uint64_t time_ns = perf->index[i].time_ns ? perf->index[i].time_ns : perf->first_ns;
		struct perf_event_header head;
		memcpy(&head, record, sizeof head);
		if (head.type == PERF_RECORD_SAMPLE)
			sample_take(replay, record, size_b);
		else if (head.type == PERF_RECORD_MMAP || head.type == PERF_RECORD_MMAP2)
			sonde_perf_map_take(replay, record, size_b, time_ns);
		else if (head.type == PERF_RECORD_COMM)
			sonde_perf_comm_take(replay, record, size_b, time_ns);
		else if (head.type == PERF_RECORD_FORK)
			sonde_perf_fork_take(replay, record, size_b, time_ns);
		else if (head.type == PERF_RECORD_EXIT)
			sonde_perf_exit_take(replay, record, size_b, time_ns);
		else
			lost_take(replay, record, size_b);
	}
	free(record);
	return replay->error ? replay->error : replay->job->out.error;
}

/* --- choice of the event ------------------------------------------------------------------------------------------ */

static int is_clock(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE &&
	       (attr->config == PERF_COUNT_SW_CPU_CLOCK || attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

static const char *event_name(const struct perf_event_attr *attr, char out[64])
{
	static const char *const software[] = {"cpu-clock",      "task-clock",   "page-faults", "context-switches",
					       "cpu-migrations", "minor-faults", "major-faults"};
	static const char *const hardware[] = {"cycles",   "instructions",  "cache-references", "cache-misses",
					       "branches", "branch-misses", "bus-cycles"};
	if (attr->type == PERF_TYPE_SOFTWARE && attr->config < sizeof software / sizeof *software)
		snprintf(out, 64, "%s", software[attr->config]);
	else if (attr->type == PERF_TYPE_HARDWARE && attr->config < sizeof hardware / sizeof *hardware)
		snprintf(out, 64, "%s", hardware[attr->config]);
	else
		snprintf(out, 64, "event %u:0x%llx", attr->type, (unsigned long long)attr->config);
	return out;
}

static uint32_t attr_choose(const struct sonde_perf *perf)
{
	for (int rank = 0; rank < 3; rank++)
		for (uint32_t i = 0; i < perf->attr_count; i++) {
			const struct perf_event_attr *attr = &perf->attrs[i].attr;
			int cycles = attr->type == PERF_TYPE_HARDWARE && attr->config == PERF_COUNT_HW_CPU_CYCLES;
			if (perf->attrs[i].samples && (rank == 0 ? is_clock(attr) : rank == 1 ? cycles : 1))
				return i;
		}
	return 0;
}

/* Chooses the event, and the weight of its samples: the period if it is in ns. Otherwise the total time is the number
 * of samples divided by the requested rate, and each sample gets a share in proportion to its period. */
static void event_choose(struct sonde_perf_replay *replay)
{
	struct sonde_perf *perf = replay->perf;
	uint32_t chosen = attr_choose(perf);
	struct sonde_perf_attr *attr = &perf->attrs[chosen];
	char name[64], method[128], detail[256] = "";
	double rate_hz = 0;
	attr->weighed = 1;
	event_name(&attr->attr, name);
	if (is_clock(&attr->attr)) {
		int given = attr->period_sum > 0;
		replay->estimate = given ? 1 : 0;
		replay->each_ns =
		    attr->attr.freq && attr->attr.sample_freq ? 1000000000 / attr->attr.sample_freq : 1000000;
		rate_hz =
		    given ? 1e9 * (double)attr->samples / (double)attr->period_sum : 1e9 / (double)replay->each_ns;
	} else if (attr->attr.freq && attr->attr.sample_freq) {
		rate_hz = (double)attr->attr.sample_freq;
		replay->each_ns = (uint64_t)(1e9 / rate_hz);
		if (attr->period_sum)
			replay->estimate = (double)attr->samples / rate_hz * 1e9 / (double)attr->period_sum;
		snprintf(detail, sizeof detail, "time is estimated: samples of %s ÷ the requested %.0f/s", name,
			 rate_hz);
	} else {
		rate_hz = 1000;
		replay->each_ns = 1000000;
		snprintf(detail, sizeof detail, "1 sample of %s = 1 ms by convention: the file has no times", name);
	}
	if (*detail)
		sonde_out_note(replay->job, "CPU time %s", *detail == 't' ? detail + 5 : "is not in the file");
	if (*detail && *detail != 't')
		sonde_out_note(replay->job, "%s", detail);
	snprintf(method, sizeof method, "imported from perf.data (%s)", name);
	sonde_out_source(&replay->job->out, "cpu", method, detail, rate_hz);
	for (uint32_t i = 0; i < perf->attr_count; i++)
		if (i != chosen && perf->attrs[i].samples)
			sonde_out_note(replay->job, "%llu samples of %s left out",
				       (unsigned long long)perf->attrs[i].samples,
				       event_name(&perf->attrs[i].attr, name));
}

/* --- all data ----------------------------------------------------------------------------------------------------- */

static void notes(struct sonde_perf_replay *replay)
{
	const struct sonde_perf *perf = replay->perf;
	const struct sonde_out_count counts[] = {
	    {replay->stacks, "stack copies (perf record --call-graph dwarf) are not unwound: user code has no callers"},
	    {replay->chainless, "samples have no call chain (use perf record -g)"},
	    {replay->idle, "samples of idle CPUs left out"},
	    {perf->switches, "context switches left out"},
	    {perf->compressed, "compressed parts left out (convert with perf inject)"},
	    {perf->unknown, "invalid samples left out"},
	    {replay->unmapped, "addresses outside all mappings"},
	    {replay->maps_lost, "mappings left out: there are too many"},
	    {replay->clamped, "samples with impossible periods: not counted"},
	    {replay->deep, "stacks cut at 4096 calls"},
	    {replay->elves.guessed,
	     "programs and libraries are missing here or have changed: their addresses have no names"},
	};
	if (perf->is_cut)
		sonde_out_note(replay->job, "the file is cut off, or perf was killed: all complete records were "
					    "imported");
	sonde_out_note_counts(replay->job, counts, sizeof counts / sizeof *counts);
}

static uint64_t real_of(const struct sonde_perf *perf)
{
	uint64_t span_ns = perf->last_ns - perf->first_ns, changed_ns = sonde_input_changed_ns(perf->job->input);
	if (perf->clock_wall_ns && perf->clock_wall_ns < INT64_MAX && perf->clock_own_ns < INT64_MAX &&
	    perf->first_ns < INT64_MAX)
		return perf->clock_wall_ns + perf->first_ns - perf->clock_own_ns;
	return changed_ns > span_ns ? changed_ns - span_ns : changed_ns;
}

static void fini(struct sonde_perf_replay *replay)
{
	for (uint32_t i = 0; i < replay->process_count; i++)
		sonde_perf_maps_fini(&replay->processes[i].maps);
	sonde_perf_maps_fini(&replay->kernel);
	sonde_map_fini(&replay->alive);
	sonde_map_fini(&replay->alive_threads);
	sonde_map_fini(&replay->image_map);
	sonde_map_fini(&replay->kernel_seen);
	sonde_import_elves_fini(&replay->elves);
	free(replay->kernel_addresses);
	free(replay->processes);
	free(replay->threads);
	free(replay->images);
	free(replay->frames);
}

static int write_all(struct sonde_perf *perf, struct sonde_perf_replay *replay)
{
	struct sonde_import_job *job = perf->job;
	if (perf->last_ns - perf->first_ns > UINT64_C(1) << 60)
		return sonde_error(EBADMSG, "%s: its times are more than 36 years apart", sonde_input_name(job->input));
	replay->frames = malloc(DEPTH_MAX * sizeof *replay->frames);
	if (!replay->frames)
		return sonde_error(ENOMEM, "out of memory");
	int rc = sonde_out_begin(job, SONDE_PERF_START_NS, real_of(perf), perf->machine);
	if (rc)
		return rc;
	sonde_out_info(&job->out, "host.boot_id", "not known"); /* prevents symbol look-ups in this machine's kernel */
	event_choose(replay);
	rc = records_take(replay);
	if (rc)
		return rc;
	sonde_perf_kernel_name(replay);
	sonde_out_lost(job, "cpu", "lost by perf: its buffers were full", replay->lost);
	notes(replay);
	return sonde_out_end(job, sonde_perf_time_of(replay, perf->last_ns));
}

static int run(struct sonde_import_job *job)
{
	struct sonde_perf perf = {.job = job};
	struct sonde_perf_replay replay = {.perf = &perf, .job = job};
	int rc = sonde_input_is_gz(job->input)
		     ? sonde_error(EBADMSG, "%s is compressed: unpack it first (gunzip)", sonde_input_name(job->input))
		     : sonde_perf_open(&perf);
	rc = rc ? rc : write_all(&perf, &replay);
	fini(&replay);
	sonde_perf_fini(&perf);
	return rc;
}

static int matches(const uint8_t *bytes, size_t size_b, int gz)
{
	(void)gz;
	return size_b >= 8 && !memcmp(bytes, "PERFILE2", 8) ? 3 : 0;
}

const struct sonde_import_format sonde_import_format_perf = {
    .name = "perf",
    .title = "perf.data",
    .matches = matches,
    .run = run,
};
