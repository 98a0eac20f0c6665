/* thread_entries.h: finds the entry function of each thread: threads with different entry functions have different
 * jobs. */
#ifndef SONDE_ANALYZE_CPU_THREAD_ENTRIES_H
#define SONDE_ANALYZE_CPU_THREAD_ENTRIES_H

#include <stdint.h>

#include "session/session.h"

/* By thread id, sonde_session_thread_count() + 1 rows, freed by the caller: the outermost function of most of the
 * thread's complete sampled stacks, skipping functions of the C and C++ libraries that start every thread; 0 = unknown.
 * Unreadable chunks are skipped. 0 or -ENOMEM. */
int sonde_thread_entries(struct sonde_session *session, uint32_t **out_functions);

#endif
