/* pass.h: shared by the sections about allocations: the selected part of the recording, its sums, and the notes for
 * their figures.
 *
 * --from and --to select a time. Allocations and frees within it count, the peak is the maximum of live memory within
 * it, and live memory is counted at its end. Peak and live memory include blocks allocated before it. --thread selects
 * blocks that those threads allocated, whichever thread freed them.
 *
 * There are several kinds of heaps: malloc's, mappings that the program creates itself, and pools that it reports.
 * Pools lie inside the memory of other heaps, so kinds are never added up. Each process contributes its own peak.
 */
#ifndef SONDE_ANALYZE_HEAP_PASS_H
#define SONDE_ANALYZE_HEAP_PASS_H

#include "analyze/pass.h"
#include "analyze/window.h"

struct sonde_heap_pass {
	struct sonde_session *session;
	struct sonde_pass_options options;
	struct sonde_window window;
	struct sonde_selection range;
	struct sonde_heap_sums sums; /* valid after sonde_heap_pass_read() */
	int unread;                  /* some chunks could not be read */
};

/* `begin` and `end` for a pass whose state is a struct sonde_heap_pass. */
int sonde_heap_pass_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options);
void sonde_heap_pass_end(void *state);

/* Returns 0 if the sums are ready; 1 if there is nothing to show (a requested section then gives the reason); or a
 * negative errno. */
int sonde_heap_pass_read(struct sonde_heap_pass *pass, struct sonde_report *report, const char *id, const char *title);

/* The largest mean distance between samples; 0 = every block was recorded. */
uint64_t sonde_heap_pass_mean_b(const struct sonde_heap_pass *pass);

/* True if blocks of the same kind of heap as `like` were sampled; pools and mappings never are. */
int sonde_heap_is_sampled(const struct sonde_heap_pass *pass, const struct sonde_heap *like);

/* Notes how the heap was recorded, what was selected, how several processes are added up, and what is missing. */
void sonde_heap_pass_notes(const struct sonde_heap_pass *pass, struct sonde_report *report,
			   struct sonde_section *section);

/* True if both heaps are of one kind, or pools of one name, and may be added up. */
int sonde_heap_alike(const struct sonde_heap *a, const struct sonde_heap *b);
/* A copy of a table's columns, allocated in the report: marks estimates if blocks were sampled, and shows "heap" if
 * there are several kinds. */
const struct sonde_column *sonde_heap_columns(const struct sonde_heap_pass *pass, struct sonde_report *report,
					      const struct sonde_column *columns, size_t count);
/* "malloc", "mappings", or a pool's name. Static, or owned by the session. */
const char *sonde_heap_kind_text(const struct sonde_heap *heap);
/* "cc1 (1234)", "cc1 (1234): mappings". Allocated in the report; NULL if out of memory. */
const char *sonde_heap_text(const struct sonde_heap_pass *pass, struct sonde_report *report, uint32_t heap);

/* Sum of the peaks of all heaps that are sonde_heap_alike() to `like`. */
uint64_t sonde_heap_peak_of(const struct sonde_heap_pass *pass, const struct sonde_heap *like);

/* The number of heaps with live or allocated blocks in the selected part, and the one with the highest peak. */
size_t sonde_heap_used(const struct sonde_heap_pass *pass, uint32_t *highest);

/* A row's "heap" cell; absent if all heaps used are malloc's. */
struct sonde_cell sonde_heap_kind_cell(const struct sonde_heap_pass *pass, const struct sonde_heap *heap);

/* An estimate with its 95 % interval if blocks were sampled, else an exact number. */
struct sonde_cell sonde_heap_cell(const struct sonde_heap_pass *pass, uint64_t value_b, double variance);

/* Seconds from the start of the recording. */
static inline double sonde_heap_second(const struct sonde_heap_pass *pass, uint64_t time_ns)
{
	uint64_t start_ns = sonde_session_run(pass->session)->start_ns;
	return time_ns > start_ns ? (double)(time_ns - start_ns) / 1e9 : 0;
}

#endif
