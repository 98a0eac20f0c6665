/* channel_sockets.c: the two sockets through which processes reach the recorder (target/channel.h).
 *
 * An abstract name needs no file, but belongs to a network namespace. For processes that have left ours (unshare -n, a
 * container's network) there is a second socket, bound to a path: a path leads to an inode, which belongs to no network
 * namespace. The path is in the first of SONDE_LINK_DIRECTORIES where we may create files (/tmp may be private). Most
 * containers see the same /tmp. In the others, a process that may read our descriptors (our user, in the same user and
 * pid namespace) finds the inode under /proc/PID/fd. For that purpose, the name of the sockets ends in .PID.DESCRIPTOR.
 * So one environment variable is enough for all three ways: abstract name, path and inode (sonde_link_address()).
 * Anybody may connect to either socket: the peer's credentials decide who is admitted (target/channel.c).
 *
 * The path is removed at the end. A recorder that was killed leaves its path behind; the next one of the same user
 * removes it.
 */
#include <dirent.h>
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
#include <time.h>
#include <unistd.h>

#include "format/link.h"
#include "source/target/channel_state.h"
#include "util/error.h"

#define QUEUE 1024
#define PREFIX "sonde-"
#define LEFT_S 60

static const char *const directories[] = SONDE_LINK_DIRECTORIES;
#define DIRECTORIES (sizeof(directories) / sizeof(*directories))

static int socket_new(void)
{
	return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* True if the socket was left behind by a recorder of our user that has ended. It must be a minute old, since a
 * starting recorder binds before it listens. */
static int is_left(const struct sockaddr_un *address)
{
	struct stat status;
	if (lstat(address->sun_path, &status) || !S_ISSOCK(status.st_mode) || status.st_uid != geteuid() ||
	    status.st_mtime + LEFT_S > time(NULL))
		return 0;
	int fd = socket_new();
	int refused =
	    fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) && errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	return refused;
}

static void remove_left(const char *path)
{
	DIR *directory = opendir(path);
	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		struct sockaddr_un address = {.sun_family = AF_UNIX};
		size_t room_b = sizeof(address.sun_path), size_b = strlen(path) + strlen(entry->d_name);
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0 || size_b >= room_b)
			continue;
		strcat(strcpy(address.sun_path, path), entry->d_name);
		if (is_left(&address))
			unlink(address.sun_path);
	}
	if (directory)
		closedir(directory);
}

/* Reserves a descriptor number, which will later refer to the second socket's inode (O_PATH). It must be reserved now
 * because the socket's path will end in it, and that path must exist before it can be opened. */
static int name_both(struct sonde_channel *channel)
{
	uint32_t random[3];
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return sonde_error(EIO, "no random numbers for the name of the socket");
	channel->place_fd = open("/", O_PATH | O_CLOEXEC);
	int used =
	    snprintf(channel->name, sizeof(channel->name), PREFIX "%08x%08x%08x", random[0], random[1], random[2]);
	if (channel->place_fd >= 0)
		snprintf(channel->name + used, sizeof(channel->name) - (size_t)used, ".%d.%d", (int)getpid(),
			 channel->place_fd);
	return 0;
}

/* Binds the second socket in the first possible directory; on success, its path is in channel->path. */
static int bind_second(struct sonde_channel *channel)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	mode_t before = umask(0); /* the socket's own mode applies; bind() follows no link */
	int is_bound = 0;
	for (size_t i = 0; i < DIRECTORIES && !is_bound; i++) {
		snprintf(channel->path, sizeof(channel->path), "%s%s", directories[i], channel->name);
		memcpy(address.sun_path, channel->path, sizeof(address.sun_path));
		is_bound = !bind(channel->second_fd, (struct sockaddr *)&address, sizeof(address));
	}
	umask(before);
	return is_bound;
}

/* Opens the second socket. If that fails, there is only the first one. */
static void open_second(struct sonde_channel *channel)
{
	channel->second_fd = socket_new();
	int is_bound = channel->second_fd >= 0 && !fchmod(channel->second_fd, 0666) && bind_second(channel), place = -1;
	if (is_bound && !listen(channel->second_fd, QUEUE))
		place = open(channel->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (place >= 0 && channel->place_fd >= 0 && dup3(place, channel->place_fd, O_CLOEXEC) >= 0) {
		close(place);
		return;
	}
	if (is_bound)
		unlink(channel->path);
	*channel->path = '\0';
	const int fds[] = {place, channel->second_fd};
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	channel->second_fd = -1;
}

static int open_first(struct sonde_channel *channel)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t name_b = strlen(channel->name);
	memcpy(address.sun_path + 1, channel->name, name_b);
	channel->listen_fd = socket_new();
	socklen_t address_b = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + name_b);
	if (channel->listen_fd < 0 || bind(channel->listen_fd, (struct sockaddr *)&address, address_b) ||
	    listen(channel->listen_fd, QUEUE))
		return sonde_error(errno, "cannot listen for programs to connect: %s", strerror(errno));
	return 0;
}

int sonde_channel_sockets_open(struct sonde_channel *channel)
{
	int code = name_both(channel);
	if (!code) {
		for (size_t i = 0; i < DIRECTORIES; i++)
			remove_left(directories[i]);
		open_second(channel);
		code = open_first(channel);
	}
	if (code)
		sonde_channel_sockets_close(channel);
	return code;
}

void sonde_channel_sockets_close(struct sonde_channel *channel)
{
	const int fds[] = {channel->listen_fd, channel->second_fd, channel->place_fd};
	if (*channel->path)
		unlink(channel->path);
	*channel->path = '\0';
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	channel->listen_fd = channel->second_fd = channel->place_fd = -1;
}
