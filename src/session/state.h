/* state.h: the state of a session; private to this folder. In tables by id, id i is at index i − 1. */
#ifndef SONDE_SESSION_STATE_H
#define SONDE_SESSION_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "session/rows.h"
#include "session/session.h"
#include "session/stack_tables.h"
#include "trace/reader.h"
#include "util/arena.h"

struct sonde_symbols;

struct sonde_session_module {
	struct sonde_module row; /* must be first: every table starts its rows with the public struct */
	uint8_t build_id_b;
	uint8_t build_id[23];
	struct sonde_symbols *symbols; /* opened on first use; NULL before, or if there are none */
	int tried;
};

struct sonde_session_info {
	const char *key, *value;
};

struct sonde_session {
	struct sonde_reader *reader;
	struct sonde_session_options options;
	struct sonde_arena arena; /* texts, locations, histograms */
	uint32_t id_max;          /* largest id possible in a file of this size */
	size_t chunks_done;       /* META and STACKS chunks before this index are loaded */
	size_t histogram_max;

#define SONDE_ROWS(name, rows, ...) struct sonde_rows rows;
#include "session/tables.def"
	struct sonde_rows strings; /* const char *, by id */
	struct sonde_rows infos;   /* struct sonde_session_info */
	struct sonde_rows parts;   /* struct sonde_part, by process; empty if not merged */
	struct sonde_part whole;
	struct sonde_stacks stacks;

	struct sonde_heap_sums heap_sums;   /* cached sums of the last requested range; users NULL = none */
	struct sonde_selection heap_summed; /* the range of heap_sums */

	struct sonde_session_kept kept[SONDE_KEPT_COUNT];
	struct sonde_meta_close close; /* head.type 0: no CLOSE record seen */
	struct sonde_run run;
};

#endif
