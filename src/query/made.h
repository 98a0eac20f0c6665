/* made.h: makes the rows of computed tables: sums stored in the recording, and rows assembled from events. Unreadable
 * chunks are skipped. Errors: -ENOMEM, -ETIMEDOUT. */
#ifndef SONDE_QUERY_MADE_H
#define SONDE_QUERY_MADE_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/cpu/by_function.h"
#include "query/table.h"
#include "session/session.h"

struct sonde_query_zone_stat {
	uint32_t process, thread;
	struct sonde_zone_stat stat;
};
int sonde_query_make_zone_stats(struct sonde_session *session, struct sonde_query_made *made);

struct sonde_query_function_stat {
	uint32_t function; /* 0 = unnamed kernel code */
	struct sonde_function_weight weight;
};
int sonde_query_make_function_stats(struct sonde_session *session, struct sonde_query_made *made);

struct sonde_query_heap_stat {
	struct sonde_heap_site site;
	uint32_t process, is_estimated;
	uint64_t temporary_plus_1; /* 0 = unknown */
	struct sonde_heap_sum sum;
};
int sonde_query_make_heap_stats(struct sonde_session *session, struct sonde_query_made *made);

struct sonde_query_span {
	uint64_t number, start_ns;
	uint64_t end_ns, dur_plus_1_ns; /* 0 = did not end */
	uint32_t process, site, start_thread, end_thread;
};
int sonde_query_make_spans(struct sonde_session *session, struct sonde_query_made *made);

struct sonde_query_state {
	uint64_t from_ns, to_ns, woken_ns;
	uint32_t thread, cpu, state, by; /* cpu: + 1; state: enum sonde_interval_state */
	uint32_t is_unsure;
};
int sonde_query_make_states(struct sonde_session *session, struct sonde_query_made *made);

struct sonde_query_finding {
	const char *rule, *title, *severity, *limiter, *subject, *evidence;
	uint64_t saves_ns, at_most_ns, bytes; /* 0 = unknown or none */
	const char *within;                   /* "" = unknown */
	double confidence;
};
int sonde_query_make_findings(struct sonde_session *session, struct sonde_query_made *made);

/* Says why findings may be missing: something was left out or could not be checked. */
struct sonde_query_finding_note {
	const char *text;
	uint64_t is_warning;
};
int sonde_query_make_finding_notes(struct sonde_session *session, struct sonde_query_made *made);

struct sonde_query_info {
	const char *key, *value;
};
int sonde_query_make_info(struct sonde_session *session, struct sonde_query_made *made);

#endif
