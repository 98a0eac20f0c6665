/* perf.c: perf.data, as perf record writes it into a file or a pipe.
 *
 * Records are taken in the order of time: who was mapped where, who forked, executed and ended, and samples, whose
 * addresses become those of the modules' files, as a recorder makes them. One event gives the CPU time: cpu-clock or
 * task-clock, whose periods are ns; else the first, and then time is an estimate, which is said. Symbols are looked up
 * by whoever reads the recording, but the kernel's, which are this kernel's alone.
 */
#include "import/perf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "symbol/symbol.h"
#include "util/error.h"

enum { START_NS = 1000000000, DEPTH_MAX = 4096, IMAGES_MAX = 1 << 18, PROCESSES_MAX = 1 << 22 };
#define NO_PID UINT32_MAX
#define MAPS_MAX_B ((uint64_t)1 << 30) /* of all processes */
#define WEIGHT_MAX (UINT64_C(1) << 50) /* of a sample: 13 days */

struct process {
	uint32_t id, pid, parent, name; /* name: a string */
	uint64_t start_ns;
	struct sonde_perf_maps maps;
};

struct replay {
	struct sonde_perf *perf;
	struct sonde_import_job *job;
	struct sonde_import_elves elves;
	struct process *processes; /* id − 1 */
	uint32_t process_count, process_cap;
	struct thread {
		uint32_t process, tid;
		uint64_t start_ns;
	} * threads; /* id − 1 */
	uint32_t thread_count, thread_cap;
	struct sonde_map alive, alive_threads, image_map; /* pid, tid, path → id; value NO_ID: it has ended */
	struct sonde_perf_image **images;
	uint32_t image_count, image_cap;
	struct sonde_perf_maps kernel;
	uint64_t maps_b;
	struct sonde_perf_image *core; /* the kernel itself */
	uint64_t kernel_start;
	uint64_t *kernel_addresses;
	struct sonde_map kernel_seen;
	uint32_t kernel_count, kernel_cap;
	struct sonde_recorder_frame *frames; /* DEPTH_MAX */
	double estimate;                     /* ns a unit of period; 0 = each sample weighs `each_ns` */
	uint64_t each_ns;
	uint64_t other, idle, stacks, chainless, chained, deep, unmapped, maps_lost, broken, clamped, lost;
	int error;
};

static void keep(struct replay *replay, int error)
{
	replay->error = replay->error ? replay->error : error;
}

static uint64_t time_of(const struct replay *replay, uint64_t time_ns)
{
	return START_NS + (time_ns > replay->perf->first_ns ? time_ns - replay->perf->first_ns : 0);
}

static uint32_t u32_at(const uint8_t *record, size_t at)
{
	uint32_t value;
	memcpy(&value, record + at, sizeof value);
	return value;
}

static uint64_t u64_at(const uint8_t *record, size_t at)
{
	uint64_t value;
	memcpy(&value, record + at, sizeof value);
	return value;
}

static int grow(struct replay *replay, void *rows, uint32_t count, uint32_t *cap, size_t row_b)
{
	if (count < *cap)
		return 0;
	uint32_t more = *cap ? *cap * 2 : 64;
	void *grown = realloc(*(void **)rows, more * row_b);
	if (!grown) {
		keep(replay, sonde_error(ENOMEM, "out of memory for processes and mappings"));
		return -ENOMEM;
	}
	*(void **)rows = grown;
	*cap = more;
	return 0;
}

/* --- processes and threads ---------------------------------------------------------------------------------------- */

static const char *string_of(const struct replay *replay, uint32_t id)
{
	return id ? replay->job->out.strings.rows[id - 1].text : "";
}

static struct process *process_new(struct replay *replay, uint32_t pid, uint32_t parent, uint64_t time_ns)
{
	if (replay->process_count == PROCESSES_MAX ||
	    grow(replay, &replay->processes, replay->process_count, &replay->process_cap, sizeof *replay->processes)) {
		keep(replay, sonde_error(EFBIG, "%s is too big: more than %d processes",
					 sonde_input_name(replay->job->input), PROCESSES_MAX));
		return NULL;
	}
	char name[32];
	snprintf(name, sizeof name, pid == NO_PID ? "(not known)" : "%u", pid);
	struct process *process = &replay->processes[replay->process_count++];
	*process = (struct process){
	    .pid = pid == NO_PID ? 0 : pid, .parent = parent, .name = sonde_out_text(&replay->job->out, name)};
	process->start_ns = time_of(replay, time_ns);
	process->id = sonde_out_process(&replay->job->out, process->pid, parent, name, time_of(replay, time_ns));
	keep(replay, sonde_map_set(&replay->alive, sonde_hash_mix(pid), replay->process_count));
	return process;
}

static struct process *process_of(struct replay *replay, uint32_t pid, uint64_t time_ns)
{
	uint32_t at = sonde_map_find(&replay->alive, sonde_hash_mix(pid), NULL, NULL);
	return at ? &replay->processes[at - 1] : process_new(replay, pid, 0, time_ns);
}

static uint32_t thread_new(struct replay *replay, struct process *process, uint32_t tid, const char *name,
			   uint64_t time_ns)
{
	if (grow(replay, &replay->threads, replay->thread_count, &replay->thread_cap, sizeof *replay->threads))
		return 0;
	replay->threads[replay->thread_count++] = (struct thread){process->id, tid, time_of(replay, time_ns)};
	uint32_t id =
	    sonde_out_thread(&replay->job->out, process->id, tid == NO_PID ? 0 : tid, name, time_of(replay, time_ns));
	keep(replay, sonde_map_set(&replay->alive_threads, sonde_hash_pair(tid, process->id), id));
	return id;
}

static uint32_t thread_of(struct replay *replay, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	struct process *process = process_of(replay, pid, time_ns);
	if (!process)
		return 0;
	uint32_t id = sonde_map_find(&replay->alive_threads, sonde_hash_pair(tid, process->id), NULL, NULL);
	return id ? id : thread_new(replay, process, tid, string_of(replay, process->name), time_ns);
}

static void comm_take(struct replay *replay, const uint8_t *record, size_t size_b, uint64_t time_ns)
{
	struct perf_event_header head;
	char name[64];
	if (size_b < 17)
		return;
	memcpy(&head, record, sizeof head);
	uint32_t pid = u32_at(record, 8), tid = u32_at(record, 12);
	size_t len_b = strnlen((const char *)record + 16, size_b - 16);
	snprintf(name, sizeof name, "%.*s", (int)(len_b < 60 ? len_b : 60), (const char *)record + 16);
	uint32_t id = thread_of(replay, pid, tid, time_ns);
	struct process *process = process_of(replay, pid, time_ns);
	if (!id || !process)
		return;
	sonde_out_thread_again(&replay->job->out, id, process->id, tid, name, replay->threads[id - 1].start_ns);
	if (pid != tid)
		return;
	process->name = sonde_out_text(&replay->job->out, name);
	sonde_out_process_again(&replay->job->out, process->id, pid, process->parent, name, process->start_ns);
	if (head.misc & PERF_RECORD_MISC_COMM_EXEC) {
		replay->maps_b -= process->maps.cap * sizeof *process->maps.rows;
		sonde_perf_maps_fini(&process->maps);
	}
}

static void fork_take(struct replay *replay, const uint8_t *record, size_t size_b, uint64_t time_ns)
{
	if (size_b < 32)
		return;
	uint32_t pid = u32_at(record, 8), parent_pid = u32_at(record, 12), tid = u32_at(record, 16);
	time_ns = time_ns ? time_ns : u64_at(record, 24);
	if (pid == parent_pid) {
		struct process *process = process_of(replay, pid, time_ns);
		if (process && !sonde_map_find(&replay->alive_threads, sonde_hash_pair(tid, process->id), NULL, NULL))
			thread_new(replay, process, tid, string_of(replay, process->name), time_ns);
		return;
	}
	/* perf tells of those that were there before by a fork from whoever is their parent, too */
	struct process *parent = process_of(replay, parent_pid, time_ns);
	uint32_t parent_id = parent ? parent->id : 0;
	if (!parent)
		return;
	struct process *process = process_new(replay, pid, parent_id, time_ns);
	if (!process)
		return;
	parent = &replay->processes[parent_id - 1];
	process->name = parent->name;
	sonde_out_process_again(&replay->job->out, process->id, pid, parent_id, string_of(replay, parent->name),
				time_of(replay, time_ns));
	uint64_t size = parent->maps.count * sizeof *parent->maps.rows;
	if (replay->maps_b + size > MAPS_MAX_B)
		replay->maps_lost += parent->maps.count;
	else
		keep(replay, sonde_perf_maps_copy(&process->maps, &parent->maps));
	replay->maps_b += process->maps.cap * sizeof *process->maps.rows;
	thread_new(replay, process, tid, string_of(replay, process->name), time_ns);
}

static void exit_take(struct replay *replay, const uint8_t *record, size_t size_b, uint64_t time_ns)
{
	if (size_b < 32)
		return;
	uint32_t pid = u32_at(record, 8), tid = u32_at(record, 16);
	uint32_t at = sonde_map_find(&replay->alive, sonde_hash_mix(pid), NULL, NULL);
	if (!at)
		return;
	struct process *process = &replay->processes[at - 1];
	uint32_t id = sonde_map_find(&replay->alive_threads, sonde_hash_pair(tid, process->id), NULL, NULL);
	if (id)
		sonde_out_thread_end(&replay->job->out, id, time_of(replay, time_ns));
	if (pid == tid)
		sonde_out_process_end(&replay->job->out, process->id, time_of(replay, time_ns));
}

/* --- mappings ----------------------------------------------------------------------------------------------------- */

static uint32_t flags_of(const char *path, int in_kernel)
{
	if (in_kernel)
		return SONDE_MODULE_KERNEL;
	if (*path == '[')
		return strncmp(path, "[v", 2) ? SONDE_MODULE_ANONYMOUS : SONDE_MODULE_SPECIAL;
	return *path != '/' || !strncmp(path, "//anon", 6) || !strncmp(path, "/memfd:", 7) ||
		       !strncmp(path, "/dev/zero", 9) || !strncmp(path, "/SYSV", 5)
		   ? SONDE_MODULE_ANONYMOUS
		   : 0;
}

struct image_probe {
	const struct replay *replay;
	const char *path;
	const uint8_t *build_id;
	size_t build_id_b;
};

static int same_image(const void *context, uint32_t value)
{
	const struct image_probe *probe = context;
	const struct sonde_perf_image *image = probe->replay->images[value - 1];
	return !strcmp(image->path, probe->path) &&
	       (!probe->build_id_b || (image->build_id_b == probe->build_id_b &&
				       !memcmp(image->build_id, probe->build_id, probe->build_id_b)));
}

struct build_id_probe {
	const struct sonde_perf *perf;
	const char *path;
};

static int same_path(const void *context, uint32_t value)
{
	const struct build_id_probe *probe = context;
	return !strcmp(probe->perf->build_ids[value - 1].path, probe->path);
}

static const struct sonde_perf_build_id *build_id_of(const struct sonde_perf *perf, const char *path)
{
	struct build_id_probe probe = {perf, path};
	uint64_t hash = sonde_hash_bytes(path, strlen(path));
	uint32_t at = sonde_map_find(&perf->build_id_map, hash, same_path, &probe);
	return at ? &perf->build_ids[at - 1] : NULL;
}

static struct sonde_perf_image *image_of(struct replay *replay, const char *path, const uint8_t *build_id,
					 size_t build_id_b, int in_kernel)
{
	struct image_probe probe = {replay, path, build_id, build_id_b};
	uint64_t hash = sonde_hash_bytes(path, strlen(path));
	uint32_t at = sonde_map_find(&replay->image_map, hash, same_image, &probe);
	if (at)
		return replay->images[at - 1];
	if (replay->image_count == IMAGES_MAX ||
	    grow(replay, &replay->images, replay->image_count, &replay->image_cap, sizeof *replay->images))
		return NULL;
	struct sonde_perf_image *image = sonde_arena_alloc(&replay->perf->arena, sizeof *image);
	const struct sonde_perf_build_id *listed = build_id_b ? NULL : build_id_of(replay->perf, path);
	if (!image)
		return NULL;
	*image = (struct sonde_perf_image){.path = sonde_arena_strndup(&replay->perf->arena, path, strlen(path)),
					   .flags = flags_of(path, in_kernel)};
	if (listed)
		build_id = listed->bytes, build_id_b = listed->size_b;
	void *copy = sonde_arena_alloc(&replay->perf->arena, SONDE_BUILD_ID_MAX_B);
	if (!image->path || !copy)
		return NULL;
	image->build_id_b = build_id_b <= SONDE_BUILD_ID_MAX_B ? (uint32_t)build_id_b : 0;
	if (image->build_id_b)
		memcpy(copy, build_id, image->build_id_b);
	image->build_id = copy;
	replay->images[replay->image_count++] = image;
	keep(replay, sonde_map_add(&replay->image_map, hash, replay->image_count));
	return image;
}

static void map_take(struct replay *replay, const uint8_t *record, size_t size_b, uint64_t time_ns)
{
	struct perf_event_header head;
	char path[SONDE_PERF_PATH_MAX_B];
	memcpy(&head, record, sizeof head);
	int is_new = head.type == PERF_RECORD_MMAP2;
	size_t path_at = is_new ? 72 : 40;
	if (size_b <= path_at || (!is_new && head.misc & PERF_RECORD_MISC_MMAP_DATA) ||
	    (is_new && !(u32_at(record, 64) & 4))) /* PROT_EXEC */
		return;
	snprintf(path, sizeof path, "%.*s", (int)strnlen((const char *)record + path_at, size_b - path_at),
		 (const char *)record + path_at);
	uint32_t pid = u32_at(record, 8);
	int has_id = is_new && head.misc & (1u << 14); /* PERF_RECORD_MISC_MMAP_BUILD_ID */
	int in_kernel = pid == NO_PID || (head.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	int is_core = in_kernel && !strncmp(path, "[kernel.kallsyms]", 17);
	struct sonde_perf_map map = {.start = u64_at(record, 16), .offset = u64_at(record, 32)};
	map.end = map.start + u64_at(record, 24);
	if (map.end < map.start)
		map.end = UINT64_MAX;
	if (is_core)
		replay->kernel_start = map.start;
	map.image = image_of(replay, is_core ? "[kernel.kallsyms]" : path, record + 44,
			     has_id && record[40] <= 20 ? record[40] : 0, in_kernel);
	struct process *process = in_kernel ? NULL : process_of(replay, pid, time_ns);
	if (!map.image || (!in_kernel && !process)) {
		replay->maps_lost++;
		return;
	}
	if (is_core)
		replay->core = map.image;
	struct sonde_perf_maps *maps = in_kernel ? &replay->kernel : &process->maps;
	uint32_t before = maps->cap;
	int error = replay->maps_b > MAPS_MAX_B ? -EFBIG : sonde_perf_maps_add(maps, &map);
	replay->maps_b += (maps->cap - before) * sizeof *maps->rows;
	replay->maps_lost += error == -EFBIG;
	keep(replay, error == -EFBIG ? 0 : error);
}

/* --- addresses ---------------------------------------------------------------------------------------------------- */

/* Kernel addresses are kept as they are; those met are named when all have been read. */
static struct sonde_recorder_frame kernel_frame(struct replay *replay, uint64_t address)
{
	struct sonde_out *out = &replay->job->out;
	const struct sonde_perf_image *core = replay->core;
	uint32_t module = sonde_out_module(out, "[kernel]", SONDE_MODULE_KERNEL, core ? core->build_id : NULL,
					   core ? core->build_id_b : 0);
	if (!sonde_map_find(&replay->kernel_seen, sonde_hash_mix(address), NULL, NULL) &&
	    !grow(replay, &replay->kernel_addresses, replay->kernel_count, &replay->kernel_cap,
		  sizeof *replay->kernel_addresses)) {
		replay->kernel_addresses[replay->kernel_count++] = address;
		keep(replay, sonde_map_add(&replay->kernel_seen, sonde_hash_mix(address), replay->kernel_count));
	}
	return (struct sonde_recorder_frame){.module = module, .address = address};
}

/* `back`: 1 of a return address, which may stand behind the last instruction of its function. */
static struct sonde_recorder_frame user_frame(struct replay *replay, uint32_t pid, uint64_t address, unsigned back)
{
	struct process *process = process_of(replay, pid, replay->perf->first_ns);
	const struct sonde_perf_map *map = process ? sonde_perf_maps_find(&process->maps, address - back) : NULL;
	struct sonde_perf_image *image = map ? map->image : NULL;
	struct sonde_stack_module_key key = {.path = "[unknown]", .flags = SONDE_MODULE_ANONYMOUS};
	address -= back;
	key.process = process ? process->id : 0;
	if (!image || image->flags & SONDE_MODULE_ANONYMOUS) {
		replay->unmapped += !image;
		key.path = image ? "[anon]" : "[unknown]";
		return (struct sonde_recorder_frame){sonde_trie_module(&replay->job->out.trie, &key), address};
	}
	if (!image->module)
		image->module =
		    sonde_out_module(&replay->job->out, image->path, image->flags, image->build_id, image->build_id_b);
	uint64_t offset = address - map->start + map->offset;
	if (!(image->flags & SONDE_MODULE_SPECIAL))
		offset =
		    sonde_import_elf_address(&replay->elves, image->path, image->build_id, image->build_id_b, offset);
	return (struct sonde_recorder_frame){image->module, offset};
}

/* --- samples ------------------------------------------------------------------------------------------------------ */

/* A chain is the innermost address first, with marks where another context begins; behind each mark stands the address
 * where it was left, all others are return addresses. */
static size_t chain_read(struct replay *replay, const struct sonde_perf_sample *sample, size_t *user_count)
{
	size_t count = 0, user = 0;
	int in_kernel = (sample->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL, first = 1;
	for (uint64_t i = 0; i < sample->chain_count && count < DEPTH_MAX; i++) {
		uint64_t address = u64_at(sample->chain, i * 8);
		if (address >= (uint64_t)PERF_CONTEXT_MAX) {
			in_kernel = address == (uint64_t)PERF_CONTEXT_KERNEL;
			first = 1;
			continue;
		}
		if (!address) /* where frame pointers end */
			continue;
		unsigned back = !first;
		user += !in_kernel;
		replay->frames[count++] =
		    in_kernel ? kernel_frame(replay, address - back) : user_frame(replay, sample->pid, address, back);
		first = 0;
	}
	replay->deep += count == DEPTH_MAX;
	*user_count = user;
	return count;
}

/* A thread of the kernel's own has no user code. */
static int is_kernel_task(struct replay *replay, const struct sonde_perf_sample *sample)
{
	const struct process *process = process_of(replay, sample->pid, sample->time_ns);
	return process && !process->maps.count;
}

static size_t frames_read(struct replay *replay, const struct sonde_perf_sample *sample, uint8_t *status)
{
	int in_kernel = (sample->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	size_t user = 0, count = sample->has_chain ? chain_read(replay, sample, &user) : 0;
	*status = count == DEPTH_MAX                            ? SONDE_STACK_DEEP
		  : user < 2 && !is_kernel_task(replay, sample) ? SONDE_STACK_NO_TABLE
								: SONDE_STACK_FRAME_POINTER;
	replay->stacks += (uint64_t)sample->has_stack;
	replay->chainless += !sample->has_chain;
	replay->chained += user > 1;
	if (!count && sample->ip)
		replay->frames[count++] =
		    in_kernel ? kernel_frame(replay, sample->ip) : user_frame(replay, sample->pid, sample->ip, 0);
	*status |= in_kernel ? SONDE_SAMPLE_KERNEL : 0;
	return count;
}

static uint64_t weight_of(struct replay *replay, const struct sonde_perf_sample *sample)
{
	double weight = replay->estimate > 0 ? (double)sample->period * replay->estimate : (double)replay->each_ns;
	if (weight >= (double)WEIGHT_MAX) {
		replay->clamped++;
		return 0;
	}
	return (uint64_t)(weight + 0.5);
}

static void sample_take(struct replay *replay, const uint8_t *record, size_t size_b)
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
	uint32_t thread = thread_of(replay, sample.pid, sample.tid, sample.time_ns);
	size_t count = frames_read(replay, &sample, &status);
	uint32_t node = sonde_trie_intern(&replay->job->out.trie, replay->frames, count);
	sonde_out_sample(replay->job, time_of(replay, sample.time_ns), thread, node, weight_of(replay, &sample),
			 status);
}

static void lost_take(struct replay *replay, const uint8_t *record, size_t size_b)
{
	struct perf_event_header head;
	memcpy(&head, record, sizeof head);
	size_t at = head.type == PERF_RECORD_LOST ? 16 : 8;
	uint64_t count = size_b >= at + 8 ? u64_at(record, at) : 0;
	if (count < UINT64_MAX - replay->lost)
		replay->lost += count;
}

static int records_take(struct replay *replay)
{
	struct sonde_perf *perf = replay->perf;
	uint8_t *record = malloc(SONDE_PERF_RECORD_MAX_B);
	keep(replay, record ? 0 : sonde_error(ENOMEM, "out of memory"));
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
			map_take(replay, record, size_b, time_ns);
		else if (head.type == PERF_RECORD_COMM)
			comm_take(replay, record, size_b, time_ns);
		else if (head.type == PERF_RECORD_FORK)
			fork_take(replay, record, size_b, time_ns);
		else if (head.type == PERF_RECORD_EXIT)
			exit_take(replay, record, size_b, time_ns);
		else
			lost_take(replay, record, size_b);
	}
	free(record);
	return replay->error ? replay->error : replay->job->out.error;
}

/* --- which event -------------------------------------------------------------------------------------------------- */

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

/* What a sample weighs: ns where the event counts them; else of all samples' time, their number over the rate asked
 * for, the part that is its period's of all periods. */
static void event_choose(struct replay *replay)
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
		snprintf(detail, sizeof detail, "time is an estimate: samples of %s ÷ the %.0f/s asked for", name,
			 rate_hz);
	} else {
		rate_hz = 1000;
		replay->each_ns = 1000000;
		snprintf(detail, sizeof detail, "1 sample of %s = 1 ms by convention: nothing in the file tells time",
			 name);
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

/* --- the kernel's symbols ----------------------------------------------------------------------------------------- */

static int by_address(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return a < b ? -1 : a > b;
}

/* Whether the file is of the kernel that runs here, at the same place: its symbol _text lies where perf saw it begin.
 */
static int is_this_kernel(const struct replay *replay)
{
	uint8_t notes[4096], id[SONDE_BUILD_ID_MAX_B];
	FILE *file = fopen("/sys/kernel/notes", "re");
	size_t notes_b = file ? fread(notes, 1, sizeof notes, file) : 0;
	if (file)
		fclose(file);
	size_t id_b = sonde_elf_note_build_id(notes, notes_b, id);
	if (!replay->core || !id_b || replay->core->build_id_b != id_b || memcmp(replay->core->build_id, id, id_b))
		return 0;
	char line[256];
	unsigned long long address = 0, start = 0;
	char type, name[128];
	file = fopen("/proc/kallsyms", "re");
	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "%llx %c %127s", &address, &type, name) == 3 &&
		    (!strcmp(name, "_stext") || !strcmp(name, "_text"))) {
			start = address;
			if (start == replay->kernel_start)
				break;
		}
	if (file)
		fclose(file);
	return start && start == replay->kernel_start;
}

static void kernel_name(struct replay *replay)
{
	struct sonde_symbols *symbols = NULL;
	struct sonde_symbol_result *results = calloc(replay->kernel_count + 1, sizeof *results);
	struct sonde_out *out = &replay->job->out;
	if (!replay->kernel_count || !results) {
		free(results);
		return;
	}
	if (!is_this_kernel(replay) || sonde_symbols_kernel(&symbols)) {
		sonde_out_note(replay->job,
			       "%u addresses in the kernel have no names: they are of another kernel or boot, "
			       "or this one hides its symbols",
			       replay->kernel_count);
		free(results);
		return;
	}
	uint32_t module = kernel_frame(replay, replay->kernel_addresses[0]).module;
	qsort(replay->kernel_addresses, replay->kernel_count, sizeof *replay->kernel_addresses, by_address);
	if (!sonde_symbols_resolve(symbols, replay->kernel_addresses, replay->kernel_count, results))
		for (uint32_t i = 0; i < replay->kernel_count; i++) {
			if (!results[i].count)
				continue;
			const struct sonde_symbol_location *from = &results[i].locations[results[i].count - 1];
			struct sonde_meta_location place = {.function = sonde_out_text(out, from->function),
							    .start = from->start};
			sonde_out_symbol(out, module, replay->kernel_addresses[i], &place, 1);
		}
	sonde_symbols_close(symbols);
	free(results);
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

static void note_count(struct replay *replay, uint64_t count, const char *what)
{
	if (count)
		sonde_out_note(replay->job, "%llu %s", (unsigned long long)count, what);
}

static void notes(struct replay *replay)
{
	const struct sonde_perf *perf = replay->perf;
	if (perf->is_cut)
		sonde_out_note(replay->job, "the file is cut off, or perf was killed: what is whole was taken");
	note_count(replay, replay->stacks,
		   "samples have copies of stacks (perf record --call-graph dwarf), which are not "
		   "unwound here: their user code has no callers; sonde record unwinds");
	note_count(replay, replay->chainless, "samples have no call chain (perf record -g takes them)");
	note_count(replay, replay->idle, "samples of idle CPUs left out");
	note_count(replay, perf->switches, "context switches left out");
	note_count(replay, perf->compressed, "compressed parts left out (perf inject writes them anew)");
	note_count(replay, perf->unknown, "samples that make no sense left out");
	note_count(replay, replay->unmapped, "addresses in no mapping");
	note_count(replay, replay->maps_lost, "mappings left out: there are too many");
	note_count(replay, replay->clamped, "samples with periods that cannot be: they weigh nothing");
	note_count(replay, replay->deep, "stacks cut at 4096 calls");
	note_count(replay, replay->elves.guessed,
		   "programs and libraries are not here, or are others by now: their addresses "
		   "are offsets in their files, and have no names");
}

static uint64_t real_of(const struct sonde_perf *perf)
{
	uint64_t span_ns = perf->last_ns - perf->first_ns, changed_ns = sonde_input_changed_ns(perf->job->input);
	if (perf->clock_wall_ns && perf->clock_wall_ns < INT64_MAX && perf->clock_own_ns < INT64_MAX &&
	    perf->first_ns < INT64_MAX)
		return perf->clock_wall_ns + perf->first_ns - perf->clock_own_ns;
	return changed_ns > span_ns ? changed_ns - span_ns : changed_ns;
}

static void fini(struct replay *replay)
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

static int write_all(struct sonde_perf *perf, struct replay *replay)
{
	struct sonde_import_job *job = perf->job;
	if (perf->last_ns - perf->first_ns > UINT64_C(1) << 60)
		return sonde_error(EBADMSG, "%s: its times are more than 36 years apart", sonde_input_name(job->input));
	replay->frames = malloc(DEPTH_MAX * sizeof *replay->frames);
	if (!replay->frames)
		return sonde_error(ENOMEM, "out of memory");
	int error = sonde_out_begin(job, START_NS, real_of(perf), perf->machine);
	if (error)
		return error;
	sonde_out_info(&job->out, "host.boot_id", "not known"); /* nobody takes this machine's symbols for that one's */
	event_choose(replay);
	error = records_take(replay);
	if (error)
		return error;
	kernel_name(replay);
	sonde_out_lost(job, "cpu", "lost by perf: its buffers were full", replay->lost);
	notes(replay);
	return sonde_out_end(job, time_of(replay, perf->last_ns));
}

static int run(struct sonde_import_job *job)
{
	struct sonde_perf perf = {.job = job};
	struct replay replay = {.perf = &perf, .job = job};
	int error = sonde_input_is_gz(job->input) ? sonde_error(EBADMSG, "%s is compressed: unpack it first (gunzip)",
								sonde_input_name(job->input))
						  : sonde_perf_open(&perf);
	error = error ? error : write_all(&perf, &replay);
	fini(&replay);
	sonde_perf_fini(&perf);
	return error;
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
