/* fake_recorder.c: a recorder that keeps in memory all data that sources pass to it, for tests of sources. */
#include "fake_recorder.h"

#include <stdlib.h>
#include <string.h>

/* Room for one row more. */
static void *grow(void *rows, size_t count, size_t more, size_t *cap, size_t size_b)
{
	if (count + more <= *cap)
		return rows;
	*cap = (count + more) * 2;
	void *grown = realloc(rows, *cap * size_b);
	if (!grown)
		abort();
	return grown;
}

static void at_time(struct sonde_recorder *recorder, uint64_t time_ns)
{
	recorder->out_of_order += time_ns < recorder->last_ns;
	recorder->last_ns = time_ns;
}

void fake_recorder_fini(struct sonde_recorder *recorder)
{
	free(recorder->frames);
	free(recorder->stacks);
	free(recorder->samples);
	free(recorder->tasks);
}

const struct sonde_record_options *sonde_recorder_options(const struct sonde_recorder *recorder)
{
	return &recorder->options;
}

void sonde_recorder_tells(struct sonde_recorder *recorder)
{
	(void)recorder;
}

uint32_t sonde_recorder_known(const struct sonde_recorder *recorder, pid_t pid, pid_t tid, uint64_t time_ns)
{
	(void)pid, (void)time_ns;
	for (size_t i = recorder->task_count; i-- > 0;)
		if (recorder->tasks[i].tid == tid && !recorder->tasks[i].ended)
			return (uint32_t)i + 1;
	return 0;
}

uint32_t sonde_recorder_alive(const struct sonde_recorder *recorder, pid_t pid)
{
	return sonde_recorder_known(recorder, pid, pid, 0);
}

uint32_t sonde_recorder_thread(struct sonde_recorder *recorder, pid_t pid, pid_t tid, uint64_t time_ns)
{
	uint32_t known = sonde_recorder_known(recorder, pid, tid, time_ns);
	if (known)
		return known;
	recorder->tasks = grow(recorder->tasks, recorder->task_count, 1, &recorder->task_cap, sizeof *recorder->tasks);
	recorder->tasks[recorder->task_count] = (struct fake_task){.pid = pid, .tid = tid};
	return (uint32_t)++recorder->task_count;
}

uint32_t sonde_recorder_process(struct sonde_recorder *recorder, pid_t pid, uint64_t time_ns)
{
	return sonde_recorder_thread(recorder, pid, pid, time_ns);
}

void sonde_recorder_fork(struct sonde_recorder *recorder, pid_t parent, pid_t pid, pid_t tid, uint64_t time_ns)
{
	(void)parent;
	at_time(recorder, time_ns);
	recorder->forks++;
	sonde_recorder_thread(recorder, pid, tid, time_ns);
}

void sonde_recorder_comm(struct sonde_recorder *recorder, pid_t pid, pid_t tid, const char *name, int exec,
			 uint64_t time_ns)
{
	at_time(recorder, time_ns);
	struct fake_task *task = &recorder->tasks[sonde_recorder_thread(recorder, pid, tid, time_ns) - 1];
	task->execs += exec;
	strncpy(task->name, name, sizeof task->name - 1);
}

void sonde_recorder_exit(struct sonde_recorder *recorder, pid_t pid, pid_t tid, uint64_t cpu_ns, uint64_t time_ns)
{
	at_time(recorder, time_ns);
	struct fake_task *task = &recorder->tasks[sonde_recorder_thread(recorder, pid, tid, time_ns) - 1];
	task->cpu_ns = cpu_ns;
	task->ended = 1;
}

uint32_t sonde_recorder_module(struct sonde_recorder *recorder, const struct sonde_stack_module_key *key)
{
	if (recorder->module_count == sizeof recorder->modules / sizeof *recorder->modules)
		return 0;
	struct fake_module *module = &recorder->modules[recorder->module_count++];
	strncpy(module->path, key->path, sizeof module->path - 1);
	module->flags = key->flags;
	module->build_id_b = key->build_id_b;
	return (uint32_t)recorder->module_count;
}

uint64_t sonde_recorder_place(struct sonde_recorder *recorder, uint32_t module,
			      const struct sonde_trie_location *locations, size_t count)
{
	(void)module;
	struct fake_place *place = &recorder->places[recorder->place_count++ % FAKE_PLACES];
	*place = (struct fake_place){.count = count};
	for (size_t i = 0; i < count && i < FAKE_PLACE_DEPTH; i++) {
		strncpy(place->functions[i], locations[i].function, sizeof place->functions[i] - 1);
		place->lines[i] = locations[i].line;
	}
	return recorder->place_count * 16;
}

uint32_t sonde_recorder_stack(struct sonde_recorder *recorder, const struct sonde_trie_frame *frames, size_t count)
{
	if (!count)
		return 0;
	recorder->frames = grow(recorder->frames, recorder->frame_count, count, &recorder->frame_cap, sizeof *frames);
	recorder->stacks =
	    grow(recorder->stacks, recorder->stack_count, 1, &recorder->stack_cap, sizeof *recorder->stacks);
	memcpy(recorder->frames + recorder->frame_count, frames, count * sizeof *frames);
	recorder->stacks[recorder->stack_count] = (struct fake_stack){recorder->frame_count, count};
	recorder->frame_count += count;
	return (uint32_t)++recorder->stack_count;
}

/* Stacks here have no nodes: only what begins at the root is kept. */
int sonde_recorder_stack_below(struct sonde_recorder *recorder, uint32_t node, const struct sonde_trie_frame *frames,
			       size_t count, uint32_t *nodes)
{
	memset(nodes, 0, count * sizeof *nodes);
	if (count && !node)
		nodes[0] = sonde_recorder_stack(recorder, frames, count);
	return 0;
}

void sonde_recorder_sample(struct sonde_recorder *recorder, uint64_t time_ns, uint32_t thread, uint32_t stack,
			   uint64_t weight_ns, uint8_t status)
{
	at_time(recorder, time_ns);
	recorder->samples =
	    grow(recorder->samples, recorder->sample_count, 1, &recorder->sample_cap, sizeof *recorder->samples);
	recorder->samples[recorder->sample_count++] = (struct fake_sample){time_ns, weight_ns, thread, stack, status};
	recorder->by_status[sonde_sample_status(status)]++;
	recorder->kernel_samples += (status & SONDE_SAMPLE_KERNEL) != 0;
}

void sonde_recorder_switch(struct sonde_recorder *recorder, const struct sonde_recorder_switch *event)
{
	at_time(recorder, event->time_ns);
	recorder->switches++;
}

void sonde_recorder_source(struct sonde_recorder *recorder, const char *name, const struct sonde_recorder_state *state)
{
	(void)name;
	recorder->state = *state;
	if (state->detail)
		strncpy(recorder->detail, state->detail, sizeof recorder->detail - 1);
}

void sonde_recorder_lost(struct sonde_recorder *recorder, const struct sonde_recorder_loss *loss)
{
	recorder->lost += loss->count;
	strncpy(recorder->lost_cause, loss->cause, sizeof recorder->lost_cause - 1);
}
