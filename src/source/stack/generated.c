/* generated.c: finds the runtime of a process, and searches again after it has mapped something new. */
#include "source/stack/generated.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/stack/beam.h"
#include "source/stack/hotspot.h"
#include "source/stack/image.h"
#include "source/stack/process_memory.h"

struct sonde_generated {
	struct sonde_recorder *recorder;
	struct sonde_live_memory *live;
	struct sonde_places *java; /* created with the first Java VM */
	int has_warned;
};

struct sonde_generated *sonde_generated_new(struct sonde_recorder *recorder, struct sonde_live_memory *live)
{
	struct sonde_generated *generated = calloc(1, sizeof *generated);
	if (generated) {
		generated->recorder = recorder;
		generated->live = live;
	}
	return generated;
}

void sonde_generated_free(struct sonde_generated *generated)
{
	if (!generated)
		return;
	sonde_places_free(generated->java);
	free(generated);
}

/* The address at which the ELF header of a mapping's file is mapped. It follows from where the mapping lies in the
 * file, since files are mapped in one piece. */
static uint64_t header_of(const struct sonde_mapping *mapping)
{
	const struct sonde_image *image = mapping->image;
	uint64_t bias = mapping->start - sonde_image_address(image, mapping, mapping->start);
	for (size_t i = 0; i < image->segment_count; i++)
		if (!image->segments[i].offset)
			return bias + image->segments[i].address;
	return mapping->start - mapping->offset;
}

static void warn(struct sonde_generated *generated, pid_t pid, const char *problem)
{
	const struct sonde_record_options *options = sonde_recorder_options(generated->recorder);
	char text[256];
	if (generated->has_warned || !options->warn)
		return;
	generated->has_warned = 1;
	snprintf(text, sizeof text, "stacks end in the Java code of process %d: %s", (int)pid, problem);
	options->warn(options, text);
}

static void open_java(struct sonde_generated *generated, struct sonde_space *space, const struct sonde_mapping *mapping)
{
	if (!generated->java)
		generated->java = sonde_places_new(generated->recorder, "[java]");
	if (generated->java)
		space->hotspot = sonde_hotspot_new(generated->live, space->pid, header_of(mapping), generated->java);
	const char *problem = space->hotspot ? sonde_hotspot_problem(space->hotspot) : NULL;
	if (problem)
		warn(generated, space->pid, problem);
}

static void open_erlang(struct sonde_generated *generated, struct sonde_space *space,
			const struct sonde_mapping *mapping)
{
	space->beam_exit = sonde_beam_open(generated->live, space->pid, header_of(mapping));
}

/* The runtimes, each recognised by a prefix of a mapped file's name. */
static const struct {
	const char *start;
	void (*open)(struct sonde_generated *generated, struct sonde_space *space, const struct sonde_mapping *mapping);
} runtimes[] = {
    {"/libjvm.so", open_java},
    {"/beam.", open_erlang},
};

static void find_runtime(struct sonde_generated *generated, struct sonde_space *space)
{
	for (size_t i = 0; i < sonde_maps_count(space->maps); i++) {
		const struct sonde_mapping *mapping = sonde_maps_at(space->maps, i);
		const char *name = strrchr(mapping->image->path, '/');
		for (size_t j = 0; name && j < sizeof runtimes / sizeof *runtimes; j++)
			if (!strncmp(name, runtimes[j].start, strlen(runtimes[j].start)) &&
			    mapping->image->kind == SONDE_IMAGE_FILE) {
				runtimes[j].open(generated, space, mapping);
				return;
			}
	}
}

int sonde_generated_step(struct sonde_generated *generated, struct sonde_space *space,
			 struct sonde_generated_frame *frame)
{
	uint64_t generation = sonde_maps_generation(space->maps);
	if (!space->hotspot && !space->beam_exit && space->runtime_generation != generation) {
		space->runtime_generation = generation;
		find_runtime(generated, space);
	}
	return space->hotspot     ? sonde_hotspot_step(space->hotspot, frame)
	       : space->beam_exit ? sonde_beam_step(generated->live, space, frame)
				  : 0;
}

#define BLOB_LEAST_B (256u << 10) /* V8's builtins are 1.5 MB in one piece */

struct target {
	struct sonde_live_memory *live;
	pid_t pid;
};

static int read_target(void *context, uint64_t address, void *out, size_t size_b)
{
	const struct target *target = context;
	return sonde_live_memory_read(target->live, target->pid, address, out, size_b);
}

/* True if a file exports V8's symbols. Checked once. */
static int has_v8(const struct sonde_generated *generated, const struct sonde_space *space,
		  const struct sonde_mapping *mapping)
{
	struct sonde_image *image = mapping->image;
	if (!image->has_v8) {
		struct target target = {generated->live, space->pid};
		const struct sonde_process_memory memory = {read_target, &target};
		image->has_v8 = sonde_process_memory_symbol(&memory, header_of(mapping),
							    "_ZNK2v88internal7Isolate18embedded_blob_codeEv")
				    ? 1
				    : -1;
	}
	return image->has_v8 > 0;
}

int sonde_generated_is_v8(const struct sonde_generated *generated, const struct sonde_space *space, uint64_t pc)
{
	const struct sonde_mapping *mapping = sonde_maps_find(space->maps, pc);
	if (!mapping || mapping->image->kind != SONDE_IMAGE_FILE)
		return 0;
	const struct sonde_unwind_table *table = &mapping->image->table;
	const struct sonde_unwind_row *row =
	    sonde_unwind_table_find(table, sonde_image_address(mapping->image, mapping, pc));
	return row && row->kind == SONDE_UNWIND_NONE && row + 1 < table->rows + table->count &&
	       row[1].address - row->address >= BLOB_LEAST_B && has_v8(generated, space, mapping);
}
