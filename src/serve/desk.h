/* desk.h: requests: what is refused, which answer each gets, and who computes it.
 *
 * A connection whose answer is computed is suspended meanwhile, so the page itself and what is cached never wait for a
 * long report. A request belongs to the thread of libmicrohttpd, but while its connection is suspended to the worker.
 */
#ifndef SONDE_SERVE_DESK_H
#define SONDE_SERVE_DESK_H

#include <microhttpd.h>
#include <stdatomic.h>
#include <stddef.h>

#include "serve/answer/cache.h"
#include "serve/http/gate.h"
#include "serve/growth.h"
#include "serve/http/heads.h"
#include "serve/original.h"
#include "serve/http/page.h"
#include "serve/worker.h"
#include "session/session.h"

/* What all requests are answered with; the server's, which sets it up. */
struct sonde_desk {
	struct sonde_session *runs[2]; /* a, and b or NULL; the worker's */
	struct sonde_gate gate;
	struct sonde_page page;
	struct sonde_cache cache; /* libmicrohttpd's thread's */
	struct sonde_worker *worker;
	struct sonde_growth growth;
	_Atomic size_t sent_b;              /* of answers that exist */
	struct sonde_original originals[2]; /* of runs; not changed while it serves */
	struct sonde_heads *heads;
};

/* For MHD_start_daemon(), with a desk as context: the handler, MHD_OPTION_URI_LOG_CALLBACK,
 * MHD_OPTION_NOTIFY_COMPLETED, and MHD_OPTION_NOTIFY_CONNECTION. */
enum MHD_Result sonde_desk_handle(void *context, struct MHD_Connection *connection, const char *url, const char *method,
				  const char *version, const char *data, size_t *data_b, void **mine);
void *sonde_desk_request_new(void *context, const char *target, struct MHD_Connection *connection);
void sonde_desk_request_end(void *context, struct MHD_Connection *connection, void **mine,
			    enum MHD_RequestTerminationCode why);
void sonde_desk_connection(void *context, struct MHD_Connection *connection, void **mine,
			   enum MHD_ConnectionNotificationCode what);

#endif
