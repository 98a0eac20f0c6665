/* listen.c: opens the listening socket: bound to one address, at the requested port or the next free one. */
#include "serve/http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/error.h"

enum { WAITING = 256 }; /* backlog of the listening socket */

union address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
	struct sockaddr_storage storage;
};

static int find(const char *host, union address *out, socklen_t *out_b)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	struct addrinfo *found;
	int rc = getaddrinfo(host, NULL, &hints, &found);
	if (rc)
		return sonde_error(EINVAL, "no address '%s': %s", host,
				   rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
	memcpy(out, found->ai_addr, found->ai_addrlen);
	*out_b = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

static void classify(struct sonde_listen *listen, const union address *address)
{
	if (address->any.sa_family == AF_INET6) {
		listen->is_loopback = IN6_IS_ADDR_LOOPBACK(&address->six.sin6_addr);
		listen->is_any = IN6_IS_ADDR_UNSPECIFIED(&address->six.sin6_addr);
	} else {
		uint32_t number = ntohl(address->four.sin_addr.s_addr);
		listen->is_loopback = number >> 24 == 127;
		listen->is_any = number == INADDR_ANY;
	}
}

/* Returns a descriptor, or a negative errno. */
static int bind_to(union address *address, socklen_t address_b, unsigned port)
{
	int one = 1, fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (address->any.sa_family == AF_INET6)
		address->six.sin6_port = htons((uint16_t)port);
	else
		address->four.sin_port = htons((uint16_t)port);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, &address->any, address_b) == 0 && listen(fd, WAITING) == 0)
		return fd;
	int code = errno;
	close(fd);
	return -code;
}

static unsigned port_of(int fd)
{
	union address address = {0};
	socklen_t address_b = sizeof address;
	if (getsockname(fd, &address.any, &address_b))
		return 0;
	return ntohs(address.any.sa_family == AF_INET6 ? address.six.sin6_port : address.four.sin_port);
}

static int refuse(const struct sonde_listen *listen, int code)
{
	if (code == EADDRINUSE && listen->is_fixed)
		return sonde_error(code, "port %u of %s is taken; name another one, or leave --port out", listen->port,
				   listen->host);
	if (code == EADDRINUSE)
		return sonde_error(code, "ports %u to %u of %s are taken; name another one with --port", listen->port,
				   listen->port + SONDE_LISTEN_TRIES - 1, listen->host);
	if (code == EACCES)
		return sonde_error(code, "port %u needs root; use 1024 or higher", listen->port);
	return sonde_error(code, "port %u of %s: %s", listen->port, listen->host, strerror(code));
}

/* 0, or -1 if it does not fit. */
static int write_number(const union address *address, char *out, unsigned out_b)
{
	const void *number = &address->four.sin_addr;
	int family = address->any.sa_family;
	if (family == AF_INET6) {
		number = &address->six.sin6_addr;
		if (IN6_IS_ADDR_V4MAPPED(&address->six.sin6_addr)) {
			number = address->six.sin6_addr.s6_addr + 12;
			family = AF_INET;
		}
	}
	return inet_ntop(family, number, out, out_b) ? 0 : -1;
}

int sonde_listen_open(struct sonde_listen *listen)
{
	union address address = {0};
	socklen_t address_b = 0;
	int fd = -EADDRINUSE, rc = find(listen->host, &address, &address_b);
	if (rc)
		return rc;
	classify(listen, &address);
	if (listen->is_any) /* show another address, since a browser cannot open the wildcard address */
		snprintf(listen->shown, sizeof listen->shown, "%s",
			 address.any.sa_family == AF_INET6 ? "::1" : "127.0.0.1");
	else if (write_number(&address, listen->shown, sizeof listen->shown))
		return sonde_error(EINVAL, "no address '%s'", listen->host);
	unsigned tries = listen->is_fixed ? 1 : SONDE_LISTEN_TRIES;
	for (unsigned i = 0; i < tries && fd == -EADDRINUSE && listen->port + i <= UINT16_MAX; i++)
		fd = bind_to(&address, address_b, listen->port + i);
	if (fd < 0)
		return refuse(listen, -fd);
	listen->fd = fd;
	listen->port = port_of(fd);
	return 0;
}

int sonde_listen_local(int fd, char *out, unsigned out_b)
{
	union address address = {0};
	socklen_t address_b = sizeof address;
	if (getsockname(fd, &address.any, &address_b))
		return sonde_error(errno, "no address of a connection: %s", strerror(errno));
	return write_number(&address, out, out_b) ? sonde_error(errno, "not an address") : 0;
}

int sonde_listen_is_number(const char *host)
{
	union address address;
	return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1;
}
