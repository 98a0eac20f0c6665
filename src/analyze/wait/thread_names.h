/* thread_names.h: many threads summed up by name: "worker-*" for worker-1 … worker-200. */
#ifndef SONDE_ANALYZE_WAIT_THREAD_NAMES_H
#define SONDE_ANALYZE_WAIT_THREAD_NAMES_H

#include "analyze/cpu/samples.h"
#include "analyze/wait/thread_facts.h"

/* Adds the section `thread-names`, unless it would have as many rows as threads. `weights`: by thread id. */
int sonde_thread_names_add(const struct sonde_thread_facts *facts, const struct sonde_weight *weights, size_t limit,
			   struct sonde_report *report);

#endif
