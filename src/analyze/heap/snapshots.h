/* snapshots.h: finds snapshots of a recording by number or label. */
#ifndef SONDE_ANALYZE_HEAP_SNAPSHOTS_H
#define SONDE_ANALYZE_HEAP_SNAPSHOTS_H

#include <stddef.h>

#include "session/session.h"

/* The two snapshots in "A,B": numbers from 1, or labels, which may contain commas. If snapshots of several processes
 * have the label, the one of the command itself is meant. -EINVAL or -ENOENT, with a message that lists the
 * snapshots. */
int sonde_snapshots_find(const struct sonde_session *session, const char *text, size_t *from, size_t *to);

#endif
