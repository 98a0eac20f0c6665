/* thread_entries.h: which function each thread began with: threads that began with different ones do different things.
 */
#ifndef SONDE_ANALYZE_CPU_THREAD_ENTRIES_H
#define SONDE_ANALYZE_CPU_THREAD_ENTRIES_H

#include <stdint.h>

#include "session/session.h"

/* By thread id, sonde_session_thread_count() + 1 rows, freed by the caller: the outermost function of most of its
 * sampled stacks that reach the root, but for those of the C and C++ libraries, which begin every thread; 0 = not
 * known. Chunks that cannot be read are left out. 0 or -ENOMEM. */
int sonde_thread_entries(struct sonde_session *session, uint32_t **out_functions);

#endif
