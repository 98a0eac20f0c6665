/* meta.h: reads META chunks into the tables of a session. */
#ifndef SONDE_SESSION_META_H
#define SONDE_SESSION_META_H

#include <stddef.h>
#include <stdint.h>

#include "format/meta.h"

struct sonde_rows;
struct sonde_session;

/* Adds all records of a chunk body. Malformed records are counted in run.skipped_records; the only error is -ENOMEM. */
int sonde_meta_load(struct sonde_session *session, const uint8_t *body, size_t body_b);

/* Finds the row of `id`. If it is new, creates it and all rows before it as copies of `blank`. 0, -EBADMSG for an
 * impossible id, or -ENOMEM. */
int sonde_meta_row(void **out, struct sonde_session *session, struct sonde_rows *rows, uint32_t id, const void *blank);

/* Each adds one record (meta_devices.c); errors as above. */
int sonde_meta_add_device(struct sonde_session *session, const struct sonde_meta_device *from);
int sonde_meta_add_queue(struct sonde_session *session, const struct sonde_meta_queue *from);
int sonde_meta_add_operation(struct sonde_session *session, const struct sonde_meta_operation *from);

/* Determines which rows are the same device; call it after the parts are settled. -ENOMEM. */
int sonde_meta_devices_settle(struct sonde_session *session);

#endif
