/* out.h: the recording that an import makes: ids, rows and notes.
 *
 * A file head tells when the recording began, so what is needed for that is read before sonde_out_begin(). Errors stick
 * (disk, memory) and come out of sonde_out_end(); functions that give ids return 0 then. One thread.
 */
#ifndef SONDE_IMPORT_OUT_H
#define SONDE_IMPORT_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "fold/nodes.h"
#include "fold/pair.h"
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

#define SONDE_OUT_DEPTH_MAX 1024u    /* zones of a thread open at once */
#define SONDE_OUT_ROWS_MAX 2000000u /* samples that counts of a file are written as */

/* The zones of one thread that are not written yet. */
struct sonde_out_zones {
	struct sonde_columns columns;
	struct sonde_pair pair;
	struct sonde_pair_frame frames[SONDE_OUT_DEPTH_MAX], open[SONDE_OUT_DEPTH_MAX];
	uint32_t open_count, thread, process;
	uint64_t last_ns, unmatched;
	struct sonde_zone_stat *stats; /* by site */
	uint32_t *ended, ended_count, stats_cap;
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
	uint32_t names_module;      /* of sonde_out_name(); 0 = none yet */
	struct sonde_map names;
	struct sonde_out_name_row {
		uint32_t function, file, line;
	} * name_rows;
	uint32_t name_count, name_cap;
	int error;
};

/* What an import works with. */
struct sonde_import_job {
	const struct sonde_import_options *options;
	struct sonde_input *input;
	struct sonde_import_result *result;
	struct sonde_out out;
	int begun;
};

/* Writes the head: when it began (0: 1 s, so that no time is 0) and by which wall clock; the ELF machine or 0. */
int sonde_out_begin(struct sonde_import_job *job, uint64_t start_ns, uint64_t real_ns, uint32_t machine);
/* Writes what is left, the notes and the end. */
int sonde_out_end(struct sonde_import_job *job, uint64_t end_ns);
void sonde_out_fini(struct sonde_import_job *job);

/* A sentence for the report's head and for whoever runs the import. At any time. */
void sonde_out_note(struct sonde_import_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What was counted, and what a note says of it behind the number. */
struct sonde_out_count {
	uint64_t count;
	const char *what;
};
/* A note for each count that is not 0. */
void sonde_out_note_counts(struct sonde_import_job *job, const struct sonde_out_count *counts, size_t count);

uint32_t sonde_out_text(struct sonde_out *out, const char *text); /* NULL and "" → 0 */
void sonde_out_info(struct sonde_out *out, const char *key, const char *value);
void sonde_out_source(struct sonde_out *out, const char *name, const char *method, const char *detail, double rate_hz);
void sonde_out_lost(struct sonde_import_job *job, const char *source, const char *cause, uint64_t count);

uint32_t sonde_out_process(struct sonde_out *out, uint32_t pid, uint32_t parent, const char *name, uint64_t start_ns);
/* Says a process's or thread's name or beginning again. */
void sonde_out_process_again(struct sonde_out *out, uint32_t id, uint32_t pid, uint32_t parent, const char *name,
			     uint64_t start_ns);
void sonde_out_process_end(struct sonde_out *out, uint32_t process, uint64_t time_ns);
uint32_t sonde_out_thread(struct sonde_out *out, uint32_t process, uint32_t tid, const char *name, uint64_t start_ns);
void sonde_out_thread_again(struct sonde_out *out, uint32_t id, uint32_t process, uint32_t tid, const char *name,
			    uint64_t start_ns);
void sonde_out_thread_end(struct sonde_out *out, uint32_t thread, uint64_t time_ns);
uint32_t sonde_out_site(struct sonde_out *out, uint32_t kind, const char *name, const char *unit);

/* Frames that have names and no addresses: each (function, file, line) gets one in a module of its own. */
struct sonde_trie_frame sonde_out_name(struct sonde_out *out, const char *function, const char *file, uint32_t line);
void sonde_out_symbol(struct sonde_out *out, uint32_t module, uint64_t address,
		      const struct sonde_meta_location *places, uint32_t count);
uint32_t sonde_out_module(struct sonde_out *out, const char *path, uint32_t flags, const uint8_t *build_id,
			  size_t build_id_b);

/* Rows; times of samples never fall, those of a thread's zones neither (falling ones are held up). */
void sonde_out_sample(struct sonde_import_job *job, uint64_t time_ns, uint32_t thread, uint32_t stack,
		      uint64_t weight_ns, uint8_t status);
/* Begins a zone, or ends the innermost one (site 0). All of a thread before those of another. 0: left out, too deep. */
int sonde_out_zone(struct sonde_import_job *job, uint32_t process, uint32_t thread, uint32_t site, uint64_t time_ns);
/* `event` whole, its words and payload filled in. */
void sonde_out_event(struct sonde_import_job *job, uint32_t process, uint32_t thread, const struct sonde_event *event);

#endif
