/* graph.h: the graph of a recording with its path, built once and kept with the session.
 *
 * Findings, the path's own sections, what-if and the timeline all need the same graph of the same part of a recording.
 * The first of them builds it; the others share it. The session keeps the graph acquired last, unless it is larger than
 * SONDE_CRITICAL_KEPT_B: then it is freed with its last user, and built again for the next. A session serves one thread
 * at a time (session.h), and so does this module. sonde_session_refresh() frees the graph, so no caller may hold one
 * across that call.
 *
 *     const struct sonde_critical_graph *graph;
 *     int rc = sonde_critical_graph_acquire(&graph, session, options);
 *     … graph->critical, graph->path …
 *     sonde_critical_graph_release(graph);
 */
#ifndef SONDE_ANALYZE_CRITICAL_GRAPH_H
#define SONDE_ANALYZE_CRITICAL_GRAPH_H

#include "analyze/critical/critical.h"

#define SONDE_CRITICAL_KEPT_B ((size_t)256 << 20)

struct sonde_critical_graph {
	struct sonde_critical critical;
	struct sonde_critical_path path; /* no steps if the part has no thread */
};

/* The graph for the time and threads that the options select (NULL = the whole recording). -ENOMEM, -EOVERFLOW with a
 * message; then nothing is kept. */
int sonde_critical_graph_acquire(const struct sonde_critical_graph **out, struct sonde_session *session,
				 const struct sonde_pass_options *options);
void sonde_critical_graph_release(const struct sonde_critical_graph *graph);

/* Number of graphs built so far for the session. */
size_t sonde_critical_graph_builds(struct sonde_session *session);

#endif
