/* digest.c: hashes files and copies them (digest.h). */
#include "run/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "util/error.h"

enum { PART_B = 1 << 16 };

static int failed(const char *path)
{
	return sonde_error(errno, "%s: %s", path, strerror(errno));
}

static int open_regular(const char *path, struct stat *info)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return failed(path);
	if (!fstat(fd, info) && S_ISREG(info->st_mode))
		return fd;
	close(fd);
	return sonde_error(EINVAL, "%s: not a regular file", path);
}

int sonde_digest_file(struct sonde_digest *out, const char *path)
{
	struct stat info;
	unsigned char part[PART_B];
	XXH3_state_t *state = XXH3_createState();
	int fd = state ? open_regular(path, &info) : sonde_error(ENOMEM, "out of memory for a hash");
	int code = fd < 0 ? fd : 0;
	struct sonde_digest digest = {0};
	if (!code)
		XXH3_64bits_reset(state);
	for (ssize_t got = 1; !code && got;) {
		got = read(fd, part, sizeof part);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			code = failed(path);
		else
			XXH3_64bits_update(state, part, (size_t)got);
		digest.size_b += got > 0 ? (uint64_t)got : 0;
	}
	if (!code) {
		digest.hash = XXH3_64bits_digest(state);
		*out = digest;
	}
	if (fd >= 0)
		close(fd);
	XXH3_freeState(state);
	return code;
}

static int is_program(const char *path)
{
	struct stat info;
	return !stat(path, &info) && S_ISREG(info.st_mode) && !access(path, X_OK);
}

int sonde_digest_program(char *out, size_t out_b, const char *word)
{
	if (strchr(word, '/')) {
		snprintf(out, out_b, "%s", word);
		return is_program(out) ? 0 : -ENOENT;
	}
	const char *path = getenv("PATH");
	path = path ? path : "/usr/local/bin:/usr/bin:/bin";
	for (const char *at = path; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
		int len = (int)strcspn(at, ":");
		snprintf(out, out_b, "%.*s%s%s", len, at, len ? "/" : "./", word);
		if (is_program(out))
			return 0;
	}
	return -ENOENT;
}

static int copy_all(int from, int to)
{
	char part[PART_B];
	ssize_t got;
	while ((got = read(from, part, sizeof part)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		for (ssize_t at = 0; at < got;) {
			ssize_t put = write(to, part + at, (size_t)(got - at));
			if (put <= 0 && errno != EINTR)
				return put ? -errno : -EIO;
			at += put > 0 ? put : 0;
		}
	}
	return fsync(to) ? -errno : 0;
}

int sonde_digest_copy(const char *from, const char *to)
{
	char path[PATH_MAX];
	struct stat info;
	int in = open_regular(from, &info);
	if (in < 0)
		return in;
	if ((size_t)snprintf(path, sizeof path, "%s.XXXXXX", to) >= sizeof path) {
		close(in);
		return sonde_error(ENAMETOOLONG, "%s: %s", to, strerror(ENAMETOOLONG));
	}
	int out = mkostemp(path, O_CLOEXEC), code = out < 0 ? -errno : 0;
	code = code ? code : copy_all(in, out);
	if (!code && (fchmod(out, info.st_mode & 0755) || rename(path, to)))
		code = -errno;
	if (code)
		sonde_error(-code, "%s: %s", to, strerror(-code));
	if (code && out >= 0)
		unlink(path);
	if (out >= 0)
		close(out);
	close(in);
	return code;
}
