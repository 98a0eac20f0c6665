/* pass.h: what the sections over allocations share: the part of the recording that is asked for, its sums, and the
 * sentences that belong to all their figures.
 *
 * --from and --to: what was allocated and freed in that time; its peak is the most that was alive at any moment of it,
 * and what is left is what was alive at its end, both with blocks from before. --thread: blocks that those threads
 * allocated, whoever freed them.
 *
 * Heaps are of kinds: malloc's, mappings that the program makes itself, and pools that it tells of. Pools lie inside
 * the others, so kinds are never added up. Each process is taken at its own peak.
 */
#ifndef SONDE_ANALYZE_HEAP_PASS_H
#define SONDE_ANALYZE_HEAP_PASS_H

#include "analyze/pass.h"
#include "analyze/window.h"

struct sonde_heap_pass {
	struct sonde_session *session;
	struct sonde_pass_options options;
	struct sonde_window window;
	struct sonde_heap_range range;
	struct sonde_heap_sums sums; /* after sonde_heap_pass_read() */
	int unread;                  /* some chunks could not be read */
};

/* `begin` and `end` of a pass whose state is a struct sonde_heap_pass. */
int sonde_heap_pass_begin(void **state, struct sonde_session *session, const struct sonde_pass_options *options);
void sonde_heap_pass_end(void *state);

/* 1 when there is nothing to show: then a section that was asked for says why. A negative errno, or 0: sums are read.
 */
int sonde_heap_pass_read(struct sonde_heap_pass *pass, struct sonde_report *report, const char *id, const char *title);

/* The largest mean between samples; 0 = every block was recorded. */
uint64_t sonde_heap_pass_mean_b(const struct sonde_heap_pass *pass);

/* Whether blocks of heaps like this one were sampled; pools and mappings never are. */
int sonde_heap_is_sampled(const struct sonde_heap_pass *pass, const struct sonde_heap *like);

/* How it was recorded, what was selected, how several processes are added up, what is missing. */
int sonde_heap_pass_notes(const struct sonde_heap_pass *pass, struct sonde_report *report,
			  struct sonde_section *section);

/* Whether heaps are of one kind, or pools of one name, and may be added up. */
int sonde_heap_alike(const struct sonde_heap *a, const struct sonde_heap *b);
/* Whether any used are not malloc's, so that rows must say whose they are. */
int sonde_heap_pass_kinds(const struct sonde_heap_pass *pass);
/* A copy of a table's columns, in the report: estimates say so where blocks were sampled, and "heap" is shown where
 * there are several kinds. NULL without memory. */
const struct sonde_column *sonde_heap_columns(const struct sonde_heap_pass *pass, struct sonde_report *report,
					      const struct sonde_column *columns, size_t count);
/* "malloc", "mappings", a pool's name. Static or the session's. */
const char *sonde_heap_kind_text(const struct sonde_heap *heap);
/* "cc1 (1234)", "cc1 (1234): mappings". Lives in the report; NULL without memory. */
const char *sonde_heap_text(const struct sonde_heap_pass *pass, struct sonde_report *report, uint32_t heap);

/* Peaks of all heaps like this one. */
uint64_t sonde_heap_peak_of(const struct sonde_heap_pass *pass, const struct sonde_heap *like);

/* Heaps in which anything was alive or allocated in the part asked for: their number, and the one with the highest
 * peak. */
size_t sonde_heap_used(const struct sonde_heap_pass *pass, uint32_t *highest);

/* What a row's "heap" says; absent where all are malloc's. */
struct sonde_cell sonde_heap_kind_cell(const struct sonde_heap_pass *pass, const struct sonde_heap *heap);

/* An estimate with its 95 % interval where blocks were sampled, else an exact number. */
struct sonde_cell sonde_heap_cell(const struct sonde_heap_pass *pass, uint64_t value_b, double variance);

/* "12.3 MB", "12.3 MB ± 0.4 MB" with a variance; "12,345". In the report; NULL without memory. */
const char *sonde_heap_size_text(struct sonde_report *report, uint64_t size_b, double variance);
const char *sonde_heap_count_text(struct sonde_report *report, double count);

/* Seconds from the start of the recording. */
static inline double sonde_heap_second(const struct sonde_heap_pass *pass, uint64_t time_ns)
{
	uint64_t start_ns = sonde_session_run(pass->session)->start_ns;
	return time_ns > start_ns ? (double)(time_ns - start_ns) / 1e9 : 0;
}

#endif
