/* listen.h: the socket that browsers connect to. */
#ifndef SONDE_SERVE_HTTP_LISTEN_H
#define SONDE_SERVE_HTTP_LISTEN_H

enum { SONDE_LISTEN_TRIES = 100 }; /* number of ports that are tried, starting with the requested one */

struct sonde_listen {
	const char *host; /* address or host name */
	unsigned port;    /* 0: any free port */
	int is_fixed;     /* try only this port */
	/* Results. */
	int fd;
	int is_loopback; /* only this machine can connect */
	int is_any;      /* bound to all addresses of this machine */
	char shown[64];  /* the address as browsers write it; for the wildcard address, this machine's own */
};

/* Opens the socket. 0, or a negative errno with a message: -EADDRINUSE if the port is taken, -EACCES if it is not
 * permitted, -EINVAL if there is no such address. */
int sonde_listen_open(struct sonde_listen *listen);

/* True if a host is a numeric address, not a name. */
int sonde_listen_is_number(const char *host);

/* Writes the numeric local address of a connection, as a browser would write it, without a port. 0 or a negative
 * errno. */
int sonde_listen_local(int fd, char *out, unsigned out_b);

#endif
