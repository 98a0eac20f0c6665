/* original.c: checks with stat(2), per query, that a recording's file has not changed since it was opened (original.h).
 * A change is not detected if it keeps the file's size and happens within the same clock tick of the file system. */
#include "serve/original.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/error.h"

int sonde_original_init(struct sonde_original *out, const char *path, int grows)
{
	struct stat file;
	*out = (struct sonde_original){.grows = grows};
	if (stat(path, &file))
		return 0;
	out->path = strdup(path);
	if (!out->path)
		return sonde_error(ENOMEM, "%s: out of memory", path);
	out->device = file.st_dev;
	out->inode = file.st_ino;
	out->written = file.st_mtim;
	out->size_b = (uint64_t)file.st_size;
	return 0;
}

void sonde_original_fini(struct sonde_original *original)
{
	free(original->path);
	*original = (struct sonde_original){0};
}

static int has_changed(const struct sonde_original *original, const struct stat *file)
{
	return (uint64_t)file->st_size != original->size_b || file->st_mtim.tv_sec != original->written.tv_sec ||
	       file->st_mtim.tv_nsec != original->written.tv_nsec;
}

int sonde_original_check(const struct sonde_original *original, uint64_t read_b)
{
	static const char what_to_do[] = "stop this server, and open the new file with `sonde view`";
	uint64_t least_b = original->grows ? read_b : original->size_b;
	struct stat file;
	if (!original->path || stat(original->path, &file))
		return 0;
	if (file.st_dev != original->device || file.st_ino != original->inode)
		return sonde_error(EIO, "%s: another file has replaced it since it was opened: %s", original->path,
				   what_to_do);
	if ((uint64_t)file.st_size < least_b)
		return sonde_error(EIO, "%s: it was cut from %llu to %llu bytes while it was open: %s", original->path,
				   (unsigned long long)least_b, (unsigned long long)file.st_size, what_to_do);
	if (!original->grows && has_changed(original, &file))
		return sonde_error(EIO, "%s: it was rewritten while it was open: %s", original->path, what_to_do);
	return 0;
}
