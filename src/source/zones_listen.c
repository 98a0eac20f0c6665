/* zones_listen.c: where programs reach the recorder: two sockets (zones.h).
 *
 * An abstract name needs no file, but belongs to a network namespace. For who has left ours (unshare -n, a container's
 * network) there is a second socket, bound to a path: that is found by its inode, which belongs to none. Nobody sees
 * the path: it is in a directory of our own, and both are removed again at once. A descriptor of the inode stays, and
 * /proc/PID/fd leads whoever may look at our descriptors there: our user, in the same user and pid namespace. The
 * first socket's name ends in .PID.DESCRIPTOR (sonde_link_second()), so that one variable names both.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "source/zones_state.h"
#include "util/error.h"

#define QUEUE 1024

static int socket_new(void)
{
	return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Listens at a path that is gone afterwards; a descriptor of its inode, or −1. */
static int listen_in(int fd, const char *directory)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char made[sizeof(address.sun_path) - 2];
	int made_b = snprintf(made, sizeof(made), "%s/sonde-XXXXXX", directory);
	if (made_b >= (int)sizeof(made) || !mkdtemp(made))
		return -1;
	memcpy(address.sun_path, made, (size_t)made_b);
	memcpy(address.sun_path + made_b, "/s", sizeof("/s"));
	int place = -1;
	if (!bind(fd, (struct sockaddr *)&address, sizeof(address)) && !listen(fd, QUEUE))
		place = open(address.sun_path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	unlink(address.sun_path);
	rmdir(made);
	return place;
}

/* Where it cannot be there is only the first. */
static void open_second(struct sonde_source_run *run)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	run->second_fd = socket_new();
	if (run->second_fd >= 0 && runtime && *runtime == '/')
		run->place_fd = listen_in(run->second_fd, runtime);
	if (run->second_fd >= 0 && run->place_fd < 0)
		run->place_fd = listen_in(run->second_fd, "/tmp");
	if (run->second_fd < 0 || run->place_fd >= 0)
		return;
	close(run->second_fd);
	run->second_fd = -1;
}

static int open_first(struct sonde_source_run *run)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	uint32_t random[3];
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return sonde_error(EIO, "no random numbers for the name of the socket");
	int used = snprintf(run->name, sizeof(run->name), "sonde-%08x%08x%08x", random[0], random[1], random[2]);
	if (run->place_fd >= 0)
		snprintf(run->name + used, sizeof(run->name) - (size_t)used, ".%d.%d", (int)getpid(), run->place_fd);
	size_t name_b = strlen(run->name);
	memcpy(address.sun_path + 1, run->name, name_b);
	run->listen_fd = socket_new();
	socklen_t address_b = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + name_b);
	if (run->listen_fd < 0 || bind(run->listen_fd, (struct sockaddr *)&address, address_b) ||
	    listen(run->listen_fd, QUEUE))
		return sonde_error(errno, "cannot listen for programs to connect: %s", strerror(errno));
	return 0;
}

int sonde_zones_listen_open(struct sonde_source_run *run)
{
	run->listen_fd = run->second_fd = run->place_fd = -1;
	open_second(run);
	return open_first(run);
}

void sonde_zones_listen_close(struct sonde_source_run *run)
{
	const int fds[] = {run->listen_fd, run->second_fd, run->place_fd};
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}
