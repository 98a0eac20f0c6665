/* state.h: what a session holds, for the files of this folder. Rows by id have id i at index i − 1. */
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
	struct sonde_module row; /* first: rows by id start with it */
	uint8_t build_id_b;
	uint8_t build_id[23];
	struct sonde_symbols *symbols; /* opened when first needed; NULL before, or when there are none */
	int tried;
};

struct sonde_session_info {
	const char *key, *value;
};

struct sonde_session {
	struct sonde_reader *reader;
	struct sonde_session_options options;
	struct sonde_arena arena; /* texts, locations, histograms */
	uint32_t id_max;          /* no id can be larger in a file of this size */
	size_t chunks_done;       /* META and STACKS chunks before this one are in the tables */
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
	struct sonde_rows heap_rests; /* struct sonde_heap_rest */
	struct sonde_rows parts;      /* struct sonde_part, by process; empty where nothing was merged */
	struct sonde_part whole;
	struct sonde_stacks stacks;

	struct sonde_heap_sums heap_sums;   /* of the range that was asked for last; users NULL = none */
	struct sonde_selection heap_summed; /* that range */

	struct sonde_session_kept kept[SONDE_KEPT_COUNT];
	struct sonde_meta_close close; /* head.type 0: not seen */
	struct sonde_run run;
};

#endif
