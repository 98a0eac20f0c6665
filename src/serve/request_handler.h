/* request_handler.h: handles requests: refuses some, selects the answer for the others, and has the worker compute it.
 *
 * A connection is suspended while its answer is computed, so that the page itself and cached answers never wait for a
 * long report. While the connection is suspended, the request belongs to the worker; otherwise it belongs to
 * libmicrohttpd's thread.
 */
#ifndef SONDE_SERVE_REQUEST_HANDLER_H
#define SONDE_SERVE_REQUEST_HANDLER_H

#include <microhttpd.h>
#include <stdatomic.h>
#include <stddef.h>

#include "serve/answer/cache.h"
#include "serve/http/access_check.h"
#include "serve/growth.h"
#include "serve/http/header_timeouts.h"
#include "serve/original.h"
#include "serve/http/page.h"
#include "serve/worker.h"
#include "session/session.h"

/* The context for answering requests; set up by the server, which owns it. */
struct sonde_request_handler {
	struct sonde_session *runs[2]; /* a, and b or NULL; used by the worker only */
	struct sonde_access_check access;
	struct sonde_page page;
	struct sonde_cache cache; /* used by libmicrohttpd's thread only */
	struct sonde_worker *worker;
	struct sonde_growth growth;
	_Atomic size_t sent_b;              /* size of all existing answers */
	struct sonde_original originals[2]; /* of the runs; constant while serving */
	struct sonde_header_timeouts *timeouts;
};

/* Callbacks for MHD_start_daemon(), with a request handler as context: the handler, MHD_OPTION_URI_LOG_CALLBACK,
 * MHD_OPTION_NOTIFY_COMPLETED, and MHD_OPTION_NOTIFY_CONNECTION. */
enum MHD_Result sonde_request_handler_handle(void *context, struct MHD_Connection *connection, const char *url,
					     const char *method, const char *version, const char *data, size_t *data_b,
					     void **mine);
void *sonde_request_handler_begin(void *context, const char *target, struct MHD_Connection *connection);
void sonde_request_handler_end(void *context, struct MHD_Connection *connection, void **mine,
			       enum MHD_RequestTerminationCode why);
void sonde_request_handler_connection(void *context, struct MHD_Connection *connection, void **mine,
				      enum MHD_ConnectionNotificationCode what);

#endif
