/* out.h: the merged recording while it is written; private to this folder. */
#ifndef SONDE_MERGE_OUT_H
#define SONDE_MERGE_OUT_H

#include <stdint.h>
#include <string.h>

#include "merge/inputs.h"
#include "trace/strings.h"
#include "trace/trie.h"
#include "trace/encode.h"
#include "trace/writer.h"
#include "util/buf.h"
#include "util/map.h"

/* Interns keys: equal keys share an id. */
struct sonde_merge_keys {
	struct sonde_map map;
	struct sonde_arena arena;
	struct sonde_string_row *rows; /* index: id − 1 */
	uint32_t count;
	size_t cap;
	struct sonde_buf key; /* the key to look up */
};

/* A symbol of an address, and the input that it is from. */
struct sonde_merge_symbol {
	uint32_t module;
	uint32_t input; /* index + 1 */
	uint64_t address;
	int rank;
};

struct sonde_merge_out {
	struct sonde_merge_inputs *inputs;
	struct sonde_writer *writer;
	struct sonde_strings strings;
	struct sonde_trie trie; /* only its nodes are used */
	struct sonde_merge_keys modules, sites, series;
	uint32_t *site_user; /* by site id − 1: last input that used it, + 1 */
	size_t site_user_cap;
	struct sonde_map symbol_map;
	struct sonde_merge_symbol *symbols;
	uint32_t symbol_count;
	size_t symbol_cap;
	uint64_t skipped_chunks, skipped_records; /* unknown or malformed */
	int error;                                /* the first error of functions that return none */
};

/* The string's id; "" and NULL are 0. */
uint32_t sonde_merge_text(struct sonde_merge_out *out, const char *text);

/* Times of 0 are unknown and stay 0. */
static inline uint64_t sonde_merge_time(const struct sonde_merge_input *input, uint64_t time_ns)
{
	return time_ns ? time_ns + input->shift_ns : 0;
}

static inline uint32_t sonde_merge_id(uint32_t id, size_t count, uint32_t base)
{
	return id && id <= count ? id + base : 0;
}

static inline uint32_t sonde_merge_process(const struct sonde_merge_input *input, uint32_t id)
{
	return sonde_merge_id(id, sonde_session_process_count(input->session), input->processes);
}

static inline uint32_t sonde_merge_thread(const struct sonde_merge_input *input, uint32_t id)
{
	return sonde_merge_id(id, sonde_session_thread_count(input->session), input->threads);
}

static inline uint32_t sonde_merge_heap_site(const struct sonde_merge_input *input, uint32_t id)
{
	return sonde_merge_id(id, sonde_session_heap_site_count(input->session), input->heap_sites);
}

static inline uint32_t sonde_merge_node(const struct sonde_merge_input *input, uint32_t id)
{
	return id <= sonde_session_node_count(input->session) ? input->nodes[id] : 0;
}

static inline uint32_t sonde_merge_site(const struct sonde_merge_input *input, uint32_t id)
{
	return id <= sonde_session_site_count(input->session) ? input->sites[id] : 0;
}

/* translate.c: encodes row `i` of a batch with declared columns, with times and ids of the merged recording. 1: the
 * chunk is full. */
int sonde_merge_row(struct sonde_encoder *into, const struct sonde_merge_input *input, const struct sonde_batch *batch,
		    size_t i);
/* Writes all rows of such a batch as one chunk. 0, or an error of the writer. */
int sonde_merge_batch(struct sonde_merge_out *out, const struct sonde_merge_input *input,
		      const struct sonde_batch *batch);

/* Each writes its kind of data and returns 0 or a negative errno with a message. */
int sonde_merge_modules(struct sonde_merge_out *out, size_t input); /* also symbols and stack nodes */
int sonde_merge_tables(struct sonde_merge_out *out, size_t input);  /* processes, threads, and their records */
int sonde_merge_series(struct sonde_merge_out *out, size_t input);
int sonde_merge_rows(struct sonde_merge_out *out);   /* samples, switches, series: merged row by row, by time */
int sonde_merge_chunks(struct sonde_merge_out *out); /* zones, events, heaps, waits: chunk by chunk */
int sonde_merge_facts(struct sonde_merge_out *out);  /* sources, overhead, the CLOSE record; must come last */
int sonde_merge_infos(struct sonde_merge_out *out);

/* Unreadable bytes of an input. */
uint64_t sonde_merge_damaged_b(const struct sonde_merge_input *input);

/* The id of the key in keys->key; *is_new: it was assigned now. 0 = out of memory. */
uint32_t sonde_merge_key(struct sonde_merge_keys *keys, int *is_new);

#endif
