/* thread_entries.h: finds the entry function of each thread: threads with different entry functions have different
 * jobs. */
#ifndef SONDE_ANALYZE_CPU_THREAD_ENTRIES_H
#define SONDE_ANALYZE_CPU_THREAD_ENTRIES_H

#include <stdint.h>

#include "session/session.h"

/* Returns sonde_session_thread_count() + 1 rows, by thread id, which the caller frees. A row is the function that is
 * outermost in most of the thread's complete sampled stacks, not counting functions of the C and C++ libraries that
 * start every thread; 0 = unknown. Unreadable chunks are skipped. 0 or -ENOMEM. */
int sonde_thread_entries(struct sonde_session *session, uint32_t **out_functions);

#endif
