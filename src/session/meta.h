/* meta.h: reads META chunks into the tables of a session. */
#ifndef SONDE_SESSION_META_H
#define SONDE_SESSION_META_H

#include <stddef.h>
#include <stdint.h>

#include "format/meta.h"

struct sonde_session;

/* Adds all records of a chunk body. Malformed records are counted in run.skipped_records; the only error is -ENOMEM. */
int sonde_meta_load(struct sonde_session *session, const uint8_t *body, size_t body_b);

/* Determines which rows are the same device; call it after the parts are settled. -ENOMEM. */
int sonde_meta_devices_settle(struct sonde_session *session);

#endif
