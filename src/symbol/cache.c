/* cache.c: finds and trusts the cache directory, reads and replaces its files. */
#include "symbol/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define BUILD_ID_MIN_B 8

/* Homes may be writable by the user's own group, what we made ourselves may not. */
static int is_ours(int fd, mode_t type, mode_t forbidden)
{
	struct stat facts;
	return !fstat(fd, &facts) && (facts.st_mode & S_IFMT) == type && facts.st_uid == geteuid() &&
	       !(facts.st_mode & forbidden);
}

static int keep_ours(int fd, mode_t type, mode_t forbidden)
{
	if (fd >= 0 && is_ours(fd, type, forbidden))
		return fd;
	if (fd >= 0)
		close(fd);
	return -ENOENT;
}

/* Opens a directory inside an own one, making it where it is missing; takes `parent`. */
static int open_inside(int parent, const char *name, mode_t forbidden)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
	parent = keep_ours(parent, S_IFDIR, S_IWOTH);
	if (parent < 0)
		return parent;
	int fd = openat(parent, name, flags);
	if (fd < 0 && errno == ENOENT && !mkdirat(parent, name, 0700))
		fd = openat(parent, name, flags);
	close(parent);
	return keep_ours(fd, S_IFDIR, forbidden);
}

static int open_directory(void)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	const char *cache = secure_getenv("XDG_CACHE_HOME");
	if (cache && *cache == '/') {
		if (mkdir(cache, 0700) && errno != EEXIST)
			return -ENOENT;
		return open_inside(open(cache, flags), "sonde", S_IWGRP | S_IWOTH);
	}
	const char *home = secure_getenv("HOME");
	if (!home || *home != '/')
		return -ENOENT;
	return open_inside(open_inside(open(home, flags), ".cache", S_IWOTH), "sonde", S_IWGRP | S_IWOTH);
}

static int name_file(char *out, size_t out_b, const struct sonde_cache_key *key)
{
	if (key->build_id_b < BUILD_ID_MIN_B || key->build_id_b * 2 + strlen(key->kind) + 2 > out_b)
		return -ENOENT;
	for (size_t i = 0; i < key->build_id_b; i++)
		snprintf(out + 2 * i, 3, "%02x", key->build_id[i]);
	snprintf(out + 2 * key->build_id_b, out_b - 2 * key->build_id_b, ".%s", key->kind);
	return 0;
}

int sonde_cache_read(const struct sonde_cache_key *key)
{
	char name[NAME_MAX + 1];
	if (name_file(name, sizeof name, key))
		return -ENOENT;
	int directory = open_directory();
	if (directory < 0)
		return -ENOENT;
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	close(directory);
	return keep_ours(fd, S_IFREG, S_IWGRP | S_IWOTH);
}

static int write_all(int fd, const void *data, size_t size_b)
{
	for (size_t done = 0; done < size_b;) {
		ssize_t put = write(fd, (const char *)data + done, size_b - done);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put ? -errno : -EIO;
		done += (size_t)put;
	}
	return 0;
}

int sonde_cache_write(const struct sonde_cache_key *key, const void *head, size_t head_b, const void *body,
		      size_t body_b)
{
	char name[NAME_MAX + 1], part[64];
	if (name_file(name, sizeof name, key))
		return -ENOENT;
	int directory = open_directory();
	if (directory < 0)
		return -ENOENT;
	snprintf(part, sizeof part, ".part-%d-%llx", (int)getpid(), (unsigned long long)sonde_clock_now_ns());
	int fd = openat(directory, part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int error = fd < 0 ? -errno : write_all(fd, head, head_b);
	if (!error)
		error = write_all(fd, body, body_b);
	if (fd >= 0 && close(fd) && !error)
		error = -errno;
	if (!error && renameat(directory, part, directory, name))
		error = -errno;
	if (error && fd >= 0)
		unlinkat(directory, part, 0);
	close(directory);
	return error;
}
