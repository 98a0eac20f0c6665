/* listen.h: the socket that browsers connect to. */
#ifndef SONDE_SERVE_HTTP_LISTEN_H
#define SONDE_SERVE_HTTP_LISTEN_H

enum { SONDE_LISTEN_TRIES = 100 }; /* ports from the wanted one on */

struct sonde_listen {
	const char *host; /* an address or a name */
	unsigned port;    /* 0: any that is free */
	int is_fixed;     /* this port or none */
	/* What it came to. */
	int fd;
	int is_loopback; /* only this machine can connect */
	int is_any;      /* all addresses of this machine */
	char shown[64];  /* the address as a browser writes it; of all addresses this machine's own */
};

/* 0, or a negative errno with a sentence: -EADDRINUSE where the port is taken, -EACCES where it is not for us, -EINVAL
 * where there is no such address. */
int sonde_listen_open(struct sonde_listen *listen);

/* Whether a host is an address, and no name. */
int sonde_listen_is_number(const char *host);

/* The numeric address that a connection came to, as a browser would write it without a port. 0 or a negative errno. */
int sonde_listen_local(int fd, char *out, unsigned out_b);

#endif
