/* out.h: the recording that an import writes: ids, rows and notes.
 *
 * An import must know the start time before it calls sonde_out_begin(), because the file head contains it. Errors
 * (disk, memory) are sticky and returned by sonde_out_end(); functions that return ids then return 0. One thread.
 */
#ifndef SONDE_IMPORT_OUT_H
#define SONDE_IMPORT_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "fold/zones_chunk.h"
#include "format/event.h"
#include "format/record.h"
#include "import/import.h"
#include "import/input.h"
#include "trace/strings.h"
#include "trace/trie.h"
#include "trace/columns_write.h"
#include "trace/encode.h"
#include "trace/writer.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/map.h"

#define SONDE_OUT_DEPTH_MAX 1024u   /* open zones of a thread */
#define SONDE_OUT_ROWS_MAX 2000000u /* samples written for the counts of a file */

/* The unwritten zones of one thread. */
struct sonde_out_zones {
	struct sonde_zones_chunk chunk;
	struct sonde_columns columns;
	struct sonde_pair pair;
	struct sonde_pair_frame frames[SONDE_OUT_DEPTH_MAX], open[SONDE_OUT_DEPTH_MAX];
	uint32_t thread, process;
	struct sonde_zone_stat *stats; /* by site */
	uint32_t *ended, ended_count;
	size_t stats_cap, ended_cap;
	struct sonde_nodes nodes;
	uint8_t *node_bytes;
};

struct sonde_out {
	struct sonde_writer *writer;
	struct sonde_strings strings;
	struct sonde_trie trie;
	struct sonde_arena arena;
	uint32_t processes, threads, sites;
	struct sonde_encoder samples;
	struct sonde_out_zones *zones;
	struct sonde_buf events;
	uint32_t event_count, event_thread, event_process;
	uint64_t event_min_ns, event_max_ns;
	uint64_t start_ns, last_ns; /* of all events */
	uint32_t names_module;      /* for sonde_out_name(); 0 = not yet created */
	struct sonde_map names;
	struct sonde_out_name_row {
		uint32_t function, file, line;
	} * name_rows;
	uint32_t name_count;
	size_t name_cap;
	int error;
};

/* State of an import. */
struct sonde_import_job {
	const struct sonde_import_options *options;
	struct sonde_input *input;
	struct sonde_import_result *result;
	struct sonde_out out;
	int begun;
};

/* Writes the file head: the start (0 becomes 1 s, since times must not be 0), its wall-clock time, and the ELF machine
 * or 0. */
int sonde_out_begin(struct sonde_import_job *job, uint64_t start_ns, uint64_t real_ns, uint32_t machine);
/* Writes all buffered rows, the notes and the end. */
int sonde_out_end(struct sonde_import_job *job, uint64_t end_ns);
void sonde_out_fini(struct sonde_import_job *job);

/* Adds a note for the start of reports and for the user of the import. May be called at any time. */
void sonde_out_note(struct sonde_import_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A counter, and the text that follows its value in the note. */
struct sonde_out_count {
	uint64_t count;
	const char *what;
};
/* Adds a note for each nonzero counter. */
void sonde_out_note_counts(struct sonde_import_job *job, const struct sonde_out_count *counts, size_t count);

uint32_t sonde_out_text(struct sonde_out *out, const char *text); /* NULL and "" → 0 */
void sonde_out_info(struct sonde_out *out, const char *key, const char *value);
void sonde_out_source(struct sonde_out *out, const char *name, const char *method, const char *detail, double rate_hz);
void sonde_out_lost(struct sonde_import_job *job, const char *source, const char *cause, uint64_t count);

uint32_t sonde_out_process(struct sonde_out *out, uint32_t pid, uint32_t parent, const char *name, uint64_t start_ns);
/* Records a changed name or start time of a process or thread. */
void sonde_out_process_again(struct sonde_out *out, uint32_t id, uint32_t pid, uint32_t parent, const char *name,
			     uint64_t start_ns);
void sonde_out_process_end(struct sonde_out *out, uint32_t process, uint64_t time_ns);
uint32_t sonde_out_thread(struct sonde_out *out, uint32_t process, uint32_t tid, const char *name, uint64_t start_ns);
void sonde_out_thread_again(struct sonde_out *out, uint32_t id, uint32_t process, uint32_t tid, const char *name,
			    uint64_t start_ns);
void sonde_out_thread_end(struct sonde_out *out, uint32_t thread, uint64_t time_ns);
uint32_t sonde_out_site(struct sonde_out *out, uint32_t kind, const char *name, const char *unit);

/* Returns a frame for code whose name is known, but not its address: each (function, file, line) gets an address in a
 * module made for names. */
struct sonde_trie_frame sonde_out_name(struct sonde_out *out, const char *function, const char *file, uint32_t line);
void sonde_out_symbol(struct sonde_out *out, uint32_t module, uint64_t address,
		      const struct sonde_meta_location *places, uint32_t count);
uint32_t sonde_out_module(struct sonde_out *out, const char *path, uint32_t flags, const uint8_t *build_id,
			  size_t build_id_b);

/* These functions add rows. The times of samples, and of the zones of a thread, must not decrease; a time that is below
 * the previous one is raised to it. */
void sonde_out_sample(struct sonde_import_job *job, uint64_t time_ns, uint32_t thread, uint32_t stack,
		      uint64_t weight_ns, uint8_t status);
/* Begins a zone, or ends the innermost one (site 0). All zones of one thread must be added before those of the next.
 * Returns 0 if the zone was dropped because it is nested too deeply. */
int sonde_out_zone(struct sonde_import_job *job, uint32_t process, uint32_t thread, uint32_t site, uint64_t time_ns);
/* Adds an event, which must be complete, including its size in words and its payload. */
void sonde_out_event(struct sonde_import_job *job, uint32_t process, uint32_t thread, const struct sonde_event *event);

#endif
