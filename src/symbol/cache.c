/* cache.c: finds and validates the cache directory; reads, replaces and prunes its files. */
#include "symbol/cache.h"

#include <dirent.h>
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
#define CACHE_MAX_B ((uint64_t)512 << 20)
#define PRUNE_FROM_B 65536 /* the cache's size is checked only when a file of at least this size is written */
#define PRUNED_AT_ONCE 8

/* True if a file or directory is the user's own, and others do not have the `forbidden` permissions. A home directory
 * may be writable by the user's own group; directories and files that we created may not. */
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

/* Opens a directory inside one of our own, creating it if missing; closes `parent`. */
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
		int fd = open(cache, flags);
		if (fd < 0 && errno == ENOENT && !mkdir(cache, 0700))
			fd = open(cache, flags);
		return open_inside(fd, "sonde", S_IWGRP | S_IWOTH);
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

/* True for names that the cache writes: other files in the directory are not touched. */
static int is_cache_file(const char *name)
{
	static const char *const kinds[] = {".symbols", ".names", ".ranges", ".kernel", ".unwind"};
	const char *dot = strrchr(name, '.');
	for (size_t i = 0; dot && i < sizeof kinds / sizeof *kinds; i++) {
		if (!strcmp(dot, kinds[i]))
			return 1;
	}
	return 0;
}

struct oldest {
	char name[NAME_MAX + 1];
	struct timespec written;
	uint64_t all_b;
};

/* Finds the oldest file and the total size. */
static void survey(DIR *files, struct oldest *out)
{
	struct stat facts;
	*out = (struct oldest){0};
	rewinddir(files);
	for (struct dirent *file; (file = readdir(files));) {
		if (!is_cache_file(file->d_name) || fstatat(dirfd(files), file->d_name, &facts, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(facts.st_mode))
			continue;
		out->all_b += (uint64_t)facts.st_size;
		if (*out->name &&
		    (facts.st_mtim.tv_sec > out->written.tv_sec ||
		     (facts.st_mtim.tv_sec == out->written.tv_sec && facts.st_mtim.tv_nsec >= out->written.tv_nsec)))
			continue;
		out->written = facts.st_mtim;
		snprintf(out->name, sizeof out->name, "%s", file->d_name);
	}
}

/* Removes the oldest files while the cache exceeds CACHE_MAX_B, at most a few per write. */
static void prune(int directory)
{
	int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *files = copy < 0 ? NULL : fdopendir(copy);
	if (!files) {
		if (copy >= 0)
			close(copy);
		return;
	}
	struct oldest oldest;
	for (int removed = 0; removed < PRUNED_AT_ONCE; removed++) {
		survey(files, &oldest);
		if (oldest.all_b <= CACHE_MAX_B || unlinkat(directory, oldest.name, 0))
			break;
	}
	closedir(files);
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
	int rc = fd < 0 ? -errno : write_all(fd, head, head_b);
	if (!rc)
		rc = write_all(fd, body, body_b);
	if (fd >= 0 && close(fd) && !rc)
		rc = -errno;
	if (!rc && renameat(directory, part, directory, name))
		rc = -errno;
	if (rc && fd >= 0)
		unlinkat(directory, part, 0);
	if (!rc && body_b > PRUNE_FROM_B)
		prune(directory);
	close(directory);
	return rc;
}
