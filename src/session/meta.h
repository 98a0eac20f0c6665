/* meta.h: META chunks into the tables of a session. */
#ifndef SONDE_SESSION_META_H
#define SONDE_SESSION_META_H

#include <stddef.h>
#include <stdint.h>

#include "format/meta.h"

struct sonde_rows;
struct sonde_session;

/* Adds all records of a body. What cannot be understood is counted in run.skipped_records; only -ENOMEM fails. */
int sonde_meta_load(struct sonde_session *session, const uint8_t *body, size_t body_b);

/* The row of `id`, made (with all before it, copies of `blank`) when it is new: 0, -EBADMSG for an id that cannot be,
 * or -ENOMEM. */
int sonde_meta_row(void **out, struct sonde_session *session, struct sonde_rows *rows, uint32_t id, const void *blank);

/* One record each (meta_devices.c), with the same errors. */
int sonde_meta_add_device(struct sonde_session *session, const struct sonde_meta_device *from);
int sonde_meta_add_queue(struct sonde_session *session, const struct sonde_meta_queue *from);
int sonde_meta_add_operation(struct sonde_session *session, const struct sonde_meta_operation *from);

/* Which rows are of the same device, after parts are settled. -ENOMEM. */
int sonde_meta_devices_settle(struct sonde_session *session);

#endif
