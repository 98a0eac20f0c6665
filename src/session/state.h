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
	struct sonde_module row; /* must be first: every table by id starts its rows with the public struct */
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

	struct sonde_rows strings;    /* const char *, by id */
	struct sonde_rows processes;  /* struct sonde_process, by id */
	struct sonde_rows threads;    /* struct sonde_thread, by id */
	struct sonde_rows modules;    /* struct sonde_session_module, by id */
	struct sonde_rows sites;      /* struct sonde_site, by id */
	struct sonde_rows infos;      /* struct sonde_session_info */
	struct sonde_rows sources;    /* struct sonde_source_row */
	struct sonde_rows lost;       /* struct sonde_lost */
	struct sonde_rows costs;      /* struct sonde_cost */
	struct sonde_rows histograms; /* struct sonde_histogram */
	struct sonde_rows heaps;      /* struct sonde_heap, by id */
	struct sonde_rows snapshots;  /* struct sonde_snapshot */
	struct sonde_rows heap_sites; /* struct sonde_heap_site, by id */
	struct sonde_rows series;     /* struct sonde_series, by id */
	struct sonde_rows objects;    /* struct sonde_object, by id */
	struct sonde_rows devices;    /* struct sonde_device, by id */
	struct sonde_rows queues;     /* struct sonde_queue, by id */
	struct sonde_rows operations; /* struct sonde_operation, by id */
	struct sonde_rows heap_rests; /* struct sonde_heap_remainder */
	struct sonde_rows parts;      /* struct sonde_part, by process; empty if not merged */
	struct sonde_part whole;
	struct sonde_stacks stacks;

	struct sonde_heap_sums heap_sums;   /* cached sums of the last requested range; users NULL = none */
	struct sonde_selection heap_summed; /* the range of heap_sums */

	struct sonde_session_kept kept[SONDE_KEPT_COUNT];
	struct sonde_meta_close close; /* head.type 0: no CLOSE record seen */
	struct sonde_run run;
};

#endif
