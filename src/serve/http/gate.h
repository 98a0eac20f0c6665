/* gate.h: which requests are refused: by name, method, size, origin and token (docs/UI.md, Safety). */
#ifndef SONDE_SERVE_HTTP_GATE_H
#define SONDE_SERVE_HTTP_GATE_H

#include "serve/http/guard.h"
#include "serve/http/listen.h"
#include "serve/http/params.h"

struct MHD_Connection;

/* What it is decided by; borrowed. */
struct sonde_gate {
	const struct sonde_guard *guard;
	const struct sonde_listen *listen;
};

struct sonde_gate_request {
	struct MHD_Connection *connection;
	const char *method;
	char *target; /* as it came; cut off at its "?" */
};

/* The status with which a request is refused, and the sentence; 0 = it is not. Its parameters are in `out` in either
 * case, to be given to sonde_params_fini(). */
unsigned sonde_gate_refuse(const struct sonde_gate *gate, const struct sonde_gate_request *request,
			   struct sonde_params *out, const char **sentence);

/* The descriptor of a connection, or -1. */
int sonde_gate_socket(struct MHD_Connection *connection);

#endif
