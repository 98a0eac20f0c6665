/* recorder_state.h: the state of a recording in progress, shared by the record/recorder*.c files. */
#ifndef SONDE_SOURCE_RECORD_RECORDER_STATE_H
#define SONDE_SOURCE_RECORD_RECORDER_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "source/record/points.h"
#include "source/record/recorder.h"
#include "source/record/streams.h"
#include "trace/strings.h"
#include "source/record/tasks.h"
#include "trace/trie.h"
#include "source/record/trigger.h"
#include "trace/encode.h"
#include "util/map.h"

#define SONDE_RECORDER_PLACE_B 16 /* spacing of artificial addresses: address − 1 never belongs to another place */

struct sonde_recorder {
	struct sonde_writer *writer;
	struct sonde_record_options options;
	struct sonde_strings strings;
	struct sonde_tasks tasks;
	struct sonde_trie stacks;
	struct sonde_streams streams;
	struct sonde_encoder samples, switches, activities, calls;
	struct sonde_points points;
	struct sonde_meta_lost *lost;
	size_t lost_count;
	struct sonde_meta_site *sites; /* by id − 1, for interning */
	uint32_t site_count;
	size_t site_cap;
	struct sonde_map site_map;
	struct sonde_map heap_map; /* heap site ids by a hash of all their fields */
	uint32_t heaps, heap_sites, objects, series;
	uint32_t devices, queues, operations;
	uint64_t places;
	uint32_t snapshot_count;
	struct sonde_trigger trigger; /* used if options.when is set */
	uint64_t sample_count;
	int is_told; /* the start and end of processes and threads is reported (sonde_recorder_tells()) */
	unsigned saves;
	int error;
};

static inline void sonde_recorder_keep_error(struct sonde_recorder *recorder, int rc)
{
	if (rc && !recorder->error)
		recorder->error = rc;
}

#endif
