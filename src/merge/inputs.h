/* inputs.h: the recordings to merge: their parts, clocks and machines. Private to this folder. */
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

/* An original recording; an already merged file has several. */
struct sonde_merge_part {
	const char *id;                 /* hex, of the original file */
	const char *name;               /* name for its processes: "rank 3", "a"; "" = none yet */
	const char *path;               /* for messages */
	const char *note;               /* the data that was left out of it; "" = nothing */
	uint64_t start_ns, end_ns;      /* in the clock of its file; after alignment, in the clock of the new file */
	uint64_t shift_ns;              /* total offset added to its own clock so far */
	uint32_t first, last;           /* process ids in its file; after alignment, in the new file */
	int32_t status;                 /* as in CLOSE */
	int closed, is_named;           /* is_named: its process names already have its name as a prefix */
	size_t input, machine;          /* indices */
	struct sonde_merge_info *infos; /* all of its INFO records */
	size_t info_count;
};

/* One boot of a machine. */
struct sonde_merge_machine {
	const char *boot, *host; /* boot "" = unknown: no other recording is of this machine; host: one of its names */
	const char *label;       /* its host if there are several machines, otherwise "" */
	size_t longest;          /* the input that covers it longest */
};

struct sonde_merge_input {
	const char *path;
	struct sonde_session *session;
	struct sonde_reader *reader; /* for chunks that are copied undecoded */
	uint64_t damaged_at_open_b;
	uint64_t shift_ns; /* offset added to its times */
	size_t first_part, part_count;
	/* Offsets added to its ids, and tables from its ids to those of the new file. */
	uint32_t processes, threads, heaps, heap_sites, objects, devices, queues, operations;
	uint32_t *modules, *sites, *nodes, *series;
	uint8_t *machine_kept; /* by machine: system-wide data is taken from this input */
};

struct sonde_merge_inputs {
	struct sonde_merge_input *input;
	size_t count;
	struct sonde_merge_part *part;
	size_t part_count;
	struct sonde_merge_machine *machine;
	size_t machine_count;
	uint64_t clock_moved_ns; /* maximum drift of a wall clock against its machine's clock */
	const char *aligned;     /* alignment method for the report; NULL = all share one clock */
	struct sonde_arena arena;
};

/* Opens all inputs and sorts them independently of the order of `paths`. */
int sonde_merge_inputs_open(struct sonde_merge_inputs *inputs, const char *const *paths, size_t count);
void sonde_merge_inputs_close(struct sonde_merge_inputs *inputs);

/* Refuses inputs whose data would count twice; decides from which input system-wide data of each machine is taken. */
int sonde_merge_inputs_check(struct sonde_merge_inputs *inputs);

/* Aligns all inputs to one clock: sets the offsets, and the times of the parts. */
int sonde_merge_inputs_align(struct sonde_merge_inputs *inputs, const struct sonde_merge_options *options);

/* The value of a part's INFO key; NULL = none. */
const char *sonde_merge_part_info(const struct sonde_merge_part *part, const char *key);

/* Index of the machine with a label; SIZE_MAX = none. */
size_t sonde_merge_machine_labelled(const struct sonde_merge_inputs *inputs, const char *label);

#endif
