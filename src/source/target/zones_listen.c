/* zones_listen.c: where programs reach the recorder: two sockets (target/zones.h).
 *
 * An abstract name needs no file, but belongs to a network namespace. For who has left ours (unshare -n, a container's
 * network) there is a second socket, bound to a path: that is found by its inode, which belongs to none. The path is
 * the first of SONDE_LINK_DIRECTORIES where we may make files (not every /tmp is everybody's) and the first one's name,
 * for containers, which mostly see the same /tmp; where they do not, /proc/PID/fd leads whoever may look at our
 * descriptors to the inode: our user, in the same user and pid namespace.
 * The name ends in .PID.DESCRIPTOR for that, so that one variable names all (sonde_link_address()). Anybody may connect
 * to either: who is heard, the credentials of the other side say (target/zones.c).
 *
 * The path is removed at the end. What recorders have left that were killed the next one of their user removes.
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
#include "source/target/zones_state.h"
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

/* Whether it is a socket of a recorder of ours that has ended. A minute: one that begins binds first, then listens. */
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

/* The descriptor of the inode has its number before the path is known, which ends in it. */
static int name_both(struct sonde_source_run *run)
{
	uint32_t random[3];
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return sonde_error(EIO, "no random numbers for the name of the socket");
	run->place_fd = open("/", O_PATH | O_CLOEXEC);
	int used = snprintf(run->name, sizeof(run->name), PREFIX "%08x%08x%08x", random[0], random[1], random[2]);
	if (run->place_fd >= 0)
		snprintf(run->name + used, sizeof(run->name) - (size_t)used, ".%d.%d", (int)getpid(), run->place_fd);
	return 0;
}

/* Its path is in run->path then. */
static int bind_second(struct sonde_source_run *run)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	mode_t before = umask(0); /* the socket's own mode decides; nothing is followed by its name */
	int is_bound = 0;
	for (size_t i = 0; i < DIRECTORIES && !is_bound; i++) {
		snprintf(run->path, sizeof(run->path), "%s%s", directories[i], run->name);
		memcpy(address.sun_path, run->path, sizeof(address.sun_path));
		is_bound = !bind(run->second_fd, (struct sockaddr *)&address, sizeof(address));
	}
	umask(before);
	return is_bound;
}

/* Where it cannot be there is only the first. */
static void open_second(struct sonde_source_run *run)
{
	run->second_fd = socket_new();
	int is_bound = run->second_fd >= 0 && !fchmod(run->second_fd, 0666) && bind_second(run), place = -1;
	if (is_bound && !listen(run->second_fd, QUEUE))
		place = open(run->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (place >= 0 && run->place_fd >= 0 && dup3(place, run->place_fd, O_CLOEXEC) >= 0) {
		close(place);
		return;
	}
	if (is_bound)
		unlink(run->path);
	*run->path = '\0';
	const int fds[] = {place, run->second_fd};
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	run->second_fd = -1;
}

static int open_first(struct sonde_source_run *run)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
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
	int code = name_both(run);
	if (code)
		return code;
	for (size_t i = 0; i < DIRECTORIES; i++)
		remove_left(directories[i]);
	open_second(run);
	return open_first(run);
}

void sonde_zones_listen_close(struct sonde_source_run *run)
{
	const int fds[] = {run->listen_fd, run->second_fd, run->place_fd};
	if (*run->path)
		unlink(run->path);
	*run->path = '\0';
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}
