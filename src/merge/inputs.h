/* inputs.h: the recordings that are merged: their parts, their clocks, their machines. For the files of this folder. */
#ifndef SONDE_MERGE_INPUTS_H
#define SONDE_MERGE_INPUTS_H

#include <stddef.h>
#include <stdint.h>

#include "merge/merge.h"
#include "session/session.h"
#include "trace/reader.h"
#include "util/arena.h"

struct sonde_merge_info {
	const char *key, *value;
};

/* A recording as it was made; of a file that was merged before there are several. */
struct sonde_merge_part {
	const char *id;                 /* hex, of the file it was first in */
	const char *name;               /* of its processes: "rank 3", "a"; "" = none yet */
	const char *path;               /* for messages */
	const char *note;               /* what was left out; "" = nothing */
	uint64_t start_ns, end_ns;      /* in the clock of its file, later of the new one */
	uint64_t shift_ns;              /* what was added to its own clock so far */
	uint32_t first, last;           /* process ids, in its file, later in the new one */
	int32_t status;                 /* as in CLOSE */
	int closed, is_named;           /* is_named: its processes' names have its name */
	size_t input, machine;          /* indices */
	struct sonde_merge_info *infos; /* all that was said of it */
	size_t info_count;
};

/* A boot of a machine. */
struct sonde_merge_machine {
	const char *boot, *host; /* boot "" = not known: nothing else is of this machine; host: a name that it has */
	const char *label;       /* its host, where there are several; else "" */
	size_t longest;          /* the input that tells of it for the longest time */
};

struct sonde_merge_input {
	const char *path;
	struct sonde_session *session;
	struct sonde_reader *reader; /* for chunks that cursors do not hand out as they lie there */
	uint64_t damaged_at_open_b;
	uint64_t shift_ns; /* what is added to its times */
	size_t first_part, part_count;
	/* What is added to its ids, and ids of the new file by its own. */
	uint32_t processes, threads, heaps, heap_sites, objects, devices, queues, operations;
	uint32_t *modules, *sites, *nodes, *series;
	uint8_t *machine_kept; /* by machine: what it tells of it is taken */
};

struct sonde_merge_inputs {
	struct sonde_merge_input *input;
	size_t count;
	struct sonde_merge_part *part;
	size_t part_count;
	struct sonde_merge_machine *machine;
	size_t machine_count;
	uint64_t clock_moved_ns; /* the most that a wall clock moved against its machine's own */
	const char *aligned;     /* how, for the report; NULL = one clock */
	struct sonde_arena arena;
};

/* Opens all and puts them in an order of their own, whatever order they were named in. */
int sonde_merge_inputs_open(struct sonde_merge_inputs *inputs, const char *const *paths, size_t count);
void sonde_merge_inputs_close(struct sonde_merge_inputs *inputs);

/* Refuses what would count twice; says whose word on each machine is taken. */
int sonde_merge_inputs_check(struct sonde_merge_inputs *inputs);

/* Lays all on one clock: shifts, and times of parts. */
int sonde_merge_inputs_align(struct sonde_merge_inputs *inputs, const struct sonde_merge_options *options);

/* The value of an INFO key of a part; NULL = it has none. */
const char *sonde_merge_part_info(const struct sonde_merge_part *part, const char *key);

/* The machine of a label, from 0; SIZE_MAX: none. */
size_t sonde_merge_machine_labelled(const struct sonde_merge_inputs *inputs, const char *label);

#endif
