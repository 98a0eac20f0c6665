/* snapshots.h: snapshots of a recording by number or label. */
#ifndef SONDE_ANALYZE_HEAP_SNAPSHOTS_H
#define SONDE_ANALYZE_HEAP_SNAPSHOTS_H

#include <stddef.h>

#include "session/session.h"

/* Which two "A,B" names: numbers from 1, or labels, which may hold commas; a label that several have is its that the
 * command's own process has. -EINVAL or -ENOENT, with a sentence that says which there are. */
int sonde_snapshots_find(const struct sonde_session *session, const char *text, size_t *from, size_t *to);

#endif
