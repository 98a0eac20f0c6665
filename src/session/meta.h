/* meta.h: META chunks into the tables of a session. */
#ifndef SONDE_SESSION_META_H
#define SONDE_SESSION_META_H

#include <stddef.h>
#include <stdint.h>

struct sonde_session;

/* Adds all records of a body. What cannot be understood is counted in run.skipped_records; only -ENOMEM fails. */
int sonde_meta_load(struct sonde_session *session, const uint8_t *body, size_t body_b);

#endif
