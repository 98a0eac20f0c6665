/* perf_tasks.c: processes and threads, from comm, fork and exit records (perf_replay.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "import/perf_replay.h"
#include "util/array.h"
#include "util/error.h"

enum { PROCESSES_MAX = 1 << 22 };

int sonde_perf_grow(struct sonde_perf_replay *replay, void *rows, uint32_t count, size_t *cap, size_t row_b)
{
	if (!sonde_array_reserve(rows, cap, count + 1, row_b))
		return 0;
	sonde_perf_keep(replay, sonde_error(ENOMEM, "out of memory for processes and mappings"));
	return -ENOMEM;
}

static const char *string_of(const struct sonde_perf_replay *replay, uint32_t id)
{
	return id ? replay->job->out.strings.rows[id - 1].text : "";
}

static struct sonde_perf_process *process_new(struct sonde_perf_replay *replay, uint32_t pid, uint32_t parent,
					      uint64_t time_ns)
{
	if (replay->process_count == PROCESSES_MAX ||
	    sonde_perf_grow(replay, &replay->processes, replay->process_count, &replay->process_cap,
			    sizeof *replay->processes)) {
		sonde_perf_keep(replay, sonde_error(EFBIG, "%s is too big: more than %d processes",
						    sonde_input_name(replay->job->input), PROCESSES_MAX));
		return NULL;
	}
	char name[32];
	snprintf(name, sizeof name, pid == SONDE_PERF_NO_PID ? "(not known)" : "%u", pid);
	struct sonde_perf_process *process = &replay->processes[replay->process_count++];
	*process = (struct sonde_perf_process){.pid = pid == SONDE_PERF_NO_PID ? 0 : pid,
					       .parent = parent,
					       .name = sonde_out_text(&replay->job->out, name)};
	process->start_ns = sonde_perf_time_of(replay, time_ns);
	process->id =
	    sonde_out_process(&replay->job->out, process->pid, parent, name, sonde_perf_time_of(replay, time_ns));
	sonde_perf_keep(replay, sonde_map_set(&replay->alive, sonde_hash_mix(pid), replay->process_count));
	return process;
}

struct sonde_perf_process *sonde_perf_process_of(struct sonde_perf_replay *replay, uint32_t pid, uint64_t time_ns)
{
	uint32_t at = sonde_map_find(&replay->alive, sonde_hash_mix(pid), NULL, NULL);
	return at ? &replay->processes[at - 1] : process_new(replay, pid, 0, time_ns);
}

static uint32_t thread_new(struct sonde_perf_replay *replay, struct sonde_perf_process *process, uint32_t tid,
			   const char *name, uint64_t time_ns)
{
	if (sonde_perf_grow(replay, &replay->threads, replay->thread_count, &replay->thread_cap,
			    sizeof *replay->threads))
		return 0;
	replay->threads[replay->thread_count++] =
	    (struct sonde_perf_thread){process->id, tid, sonde_perf_time_of(replay, time_ns)};
	uint32_t id = sonde_out_thread(&replay->job->out, process->id, tid == SONDE_PERF_NO_PID ? 0 : tid, name,
				       sonde_perf_time_of(replay, time_ns));
	sonde_perf_keep(replay, sonde_map_set(&replay->alive_threads, sonde_hash_pair(tid, process->id), id));
	return id;
}

uint32_t sonde_perf_thread_of(struct sonde_perf_replay *replay, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	struct sonde_perf_process *process = sonde_perf_process_of(replay, pid, time_ns);
	if (!process)
		return 0;
	uint32_t id = sonde_map_find(&replay->alive_threads, sonde_hash_pair(tid, process->id), NULL, NULL);
	return id ? id : thread_new(replay, process, tid, string_of(replay, process->name), time_ns);
}

void sonde_perf_comm_take(struct sonde_perf_replay *replay, const uint8_t *record, size_t size_b, uint64_t time_ns)
{
	struct perf_event_header head;
	char name[64];
	if (size_b < 17)
		return;
	memcpy(&head, record, sizeof head);
	uint32_t pid = sonde_perf_u32(record, 8), tid = sonde_perf_u32(record, 12);
	size_t len_b = strnlen((const char *)record + 16, size_b - 16);
	snprintf(name, sizeof name, "%.*s", (int)(len_b < 60 ? len_b : 60), (const char *)record + 16);
	uint32_t id = sonde_perf_thread_of(replay, pid, tid, time_ns);
	struct sonde_perf_process *process = sonde_perf_process_of(replay, pid, time_ns);
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

void sonde_perf_fork_take(struct sonde_perf_replay *replay, const uint8_t *record, size_t size_b, uint64_t time_ns)
{
	if (size_b < 32)
		return;
	uint32_t pid = sonde_perf_u32(record, 8), parent_pid = sonde_perf_u32(record, 12),
		 tid = sonde_perf_u32(record, 16);
	time_ns = time_ns ? time_ns : sonde_perf_u64(record, 24);
	if (pid == parent_pid) {
		struct sonde_perf_process *process = sonde_perf_process_of(replay, pid, time_ns);
		if (process && !sonde_map_find(&replay->alive_threads, sonde_hash_pair(tid, process->id), NULL, NULL))
			thread_new(replay, process, tid, string_of(replay, process->name), time_ns);
		return;
	}
	/* for processes that already existed, perf also reports a fork from their current parent */
	struct sonde_perf_process *parent = sonde_perf_process_of(replay, parent_pid, time_ns);
	uint32_t parent_id = parent ? parent->id : 0;
	if (!parent)
		return;
	struct sonde_perf_process *process = process_new(replay, pid, parent_id, time_ns);
	if (!process)
		return;
	parent = &replay->processes[parent_id - 1];
	process->name = parent->name;
	sonde_out_process_again(&replay->job->out, process->id, pid, parent_id, string_of(replay, parent->name),
				sonde_perf_time_of(replay, time_ns));
	uint64_t size = parent->maps.count * sizeof *parent->maps.rows;
	if (replay->maps_b + size > SONDE_PERF_REPLAY_MAPS_MAX_B)
		replay->maps_lost += parent->maps.count;
	else
		sonde_perf_keep(replay, sonde_perf_maps_copy(&process->maps, &parent->maps));
	replay->maps_b += process->maps.cap * sizeof *process->maps.rows;
	thread_new(replay, process, tid, string_of(replay, process->name), time_ns);
}

void sonde_perf_exit_take(struct sonde_perf_replay *replay, const uint8_t *record, size_t size_b, uint64_t time_ns)
{
	if (size_b < 32)
		return;
	uint32_t pid = sonde_perf_u32(record, 8), tid = sonde_perf_u32(record, 16);
	uint32_t at = sonde_map_find(&replay->alive, sonde_hash_mix(pid), NULL, NULL);
	if (!at)
		return;
	struct sonde_perf_process *process = &replay->processes[at - 1];
	uint32_t id = sonde_map_find(&replay->alive_threads, sonde_hash_pair(tid, process->id), NULL, NULL);
	if (id)
		sonde_out_thread_end(&replay->job->out, id, sonde_perf_time_of(replay, time_ns));
	if (pid == tid)
		sonde_out_process_end(&replay->job->out, process->id, sonde_perf_time_of(replay, time_ns));
}
