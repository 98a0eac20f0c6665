/* access_check.h: decides which requests are refused: by host name, method, size, origin and token (docs/UI.md,
 * Safety). */
#ifndef SONDE_SERVE_HTTP_ACCESS_CHECK_H
#define SONDE_SERVE_HTTP_ACCESS_CHECK_H

#include "serve/http/guard.h"
#include "serve/http/listen.h"
#include "serve/http/params.h"

struct MHD_Connection;

/* What the decision is based on; borrowed. */
struct sonde_access_check {
	const struct sonde_guard *guard;
	const struct sonde_listen *listen;
};

struct sonde_access_check_request {
	struct MHD_Connection *connection;
	const char *method;
	char *target; /* as received; cut off at its "?" */
};

/* Returns the status with which a request is refused, with a message; 0 = the request is accepted. `out` receives the
 * request's parameters in either case, and must be passed to sonde_params_fini(). */
unsigned sonde_access_check_refuse(const struct sonde_access_check *access,
				   const struct sonde_access_check_request *request, struct sonde_params *out,
				   const char **sentence);

/* Returns the descriptor of a connection, or -1. */
int sonde_access_check_socket(struct MHD_Connection *connection);

#endif
