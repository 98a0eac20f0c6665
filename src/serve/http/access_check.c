/* access_check.c: refuses requests before anything is looked up or computed (http/access_check.h). */
#include "serve/http/access_check.h"

#include <errno.h>
#include <microhttpd.h>
#include <string.h>
#include <strings.h>

#include "util/error.h"

enum { HEAD_MAX_B = 8192 }; /* maximum size of a request's head */

/* The parts of a request that access control uses. */
struct caller {
	const struct sonde_access_check *access;
	struct MHD_Connection *connection;
	char *target;
	struct sonde_params *params;
};

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

struct hosts {
	const char *value;
	int count;
};

static enum MHD_Result count_host(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct hosts *hosts = context;
	(void)kind;
	if (strcasecmp(name, "Host") == 0) {
		hosts->count++;
		hosts->value = value;
	}
	return MHD_YES;
}

static int has_our_name(const struct caller *caller)
{
	const struct sonde_access_check *access = caller->access;
	struct hosts hosts = {0};
	char local[64] = "";
	MHD_get_connection_values(caller->connection, MHD_HEADER_KIND, count_host, &hosts);
	if (hosts.count != 1 || !hosts.value)
		return 0;
	if (access->listen->is_any)
		sonde_listen_local(sonde_access_check_socket(caller->connection), local, sizeof local);
	return sonde_guard_knows(access->guard, hosts.value, *local ? local : NULL);
}

static int has_body(struct MHD_Connection *connection)
{
	const char *length = header(connection, "Content-Length");
	return header(connection, "Transfer-Encoding") || (length && strcmp(length, "0") != 0);
}

static int is_too_long(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	return info && info->header_size > HEAD_MAX_B;
}

static int is_let_in(const struct caller *caller)
{
	const struct sonde_guard *guard = caller->access->guard;
	const char *cookie = MHD_lookup_connection_value(caller->connection, MHD_COOKIE_KIND, guard->cookie);
	return sonde_guard_admits(guard, cookie) ||
	       sonde_guard_admits(guard, sonde_params_get(caller->params, "token"));
}

/* Checks the path and parses the parameters. -EINVAL with a message. */
static int take_target(const struct caller *caller)
{
	char *query = strchr(caller->target, '?');
	if (*caller->target != '/')
		return sonde_error(EINVAL, "a request path starts with a slash");
	if (query)
		*query++ = '\0';
	return sonde_params_parse(caller->params, query ? query : "");
}

/* True if `origin` is "http://HOST", where HOST is the Host header that was accepted. */
static int is_own_origin(const struct caller *caller, const char *origin)
{
	static const char scheme[] = "http://";
	const char *host = header(caller->connection, "Host");
	return strncmp(origin, scheme, strlen(scheme)) == 0 && strcasecmp(origin + strlen(scheme), host) == 0;
}

/* True if another site's page sent the request. Such a page cannot read the answers, but it must not make us compute
 * them either. Current browsers send Sec-Fetch-Site with each request, older ones only Origin. */
static int is_from_elsewhere(const struct caller *caller)
{
	const char *site = header(caller->connection, "Sec-Fetch-Site");
	const char *origin = header(caller->connection, "Origin");
	if (strncmp(caller->target, "/api/", strlen("/api/")) != 0)
		return 0;
	if (origin && !is_own_origin(caller, origin))
		return 1;
	return site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
}

static unsigned refuse(const struct caller *caller, const char *method, const char **sentence)
{
	*sentence = "wrong host name: open the page under the name it was served at, with the same port";
	if (!has_our_name(caller))
		return MHD_HTTP_FORBIDDEN;
	*sentence = "only GET is supported";
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0)
		return MHD_HTTP_METHOD_NOT_ALLOWED;
	*sentence = "a request has no body here";
	if (has_body(caller->connection))
		return MHD_HTTP_CONTENT_TOO_LARGE;
	*sentence = "a request has at most 8 KB";
	if (is_too_long(caller->connection))
		return MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE;
	int rc = take_target(caller);
	*sentence = "only the page that sonde serves may ask, not another site";
	if (is_from_elsewhere(caller))
		return MHD_HTTP_FORBIDDEN;
	*sentence = "open the address that sonde view printed, with its token";
	if (!is_let_in(caller))
		return MHD_HTTP_UNAUTHORIZED;
	*sentence = sonde_error_text();
	return rc ? MHD_HTTP_BAD_REQUEST : 0;
}

int sonde_access_check_socket(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	return info ? info->connect_fd : -1;
}

unsigned sonde_access_check_refuse(const struct sonde_access_check *access,
				   const struct sonde_access_check_request *request, struct sonde_params *out,
				   const char **sentence)
{
	const struct caller caller = {access, request->connection, request->target, out};
	return refuse(&caller, request->method, sentence);
}
