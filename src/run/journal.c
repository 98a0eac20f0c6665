/* journal.c: appends under a lock and reads complete lines only (journal.h).
 *
 * Each line ends with its checksum, which exposes incomplete lines and disk damage. A writer that is killed leaves an
 * unterminated line, which the next writer terminates before it appends; a writer that runs out of space removes the
 * part that it has written. Rejected: one file per entry plus a rename, because concurrent writers would pick the same
 * number; a database, because it cannot be read with grep.
 */
#include "run/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "util/error.h"

#define SUFFIX ".jsonl"
#define CHECK ",\"xxh3\":\""
enum { NAME_MAX_B = 200, CHECK_B = sizeof CHECK - 1 + 16 + 2 }; /* …0123456789abcdef"} */

/* --- location ---------------------------------------------------------------------------------------------------- */

/* Refuses files and folders that other users can write to or own: they may contain foreign commands. */
static int check_owner(const char *path, int *exists)
{
	struct stat info;
	*exists = !stat(path, &info);
	if (!*exists)
		return errno == ENOENT ? 0 : sonde_error(errno, "%s: %s", path, strerror(errno));
	if ((info.st_uid != geteuid() && info.st_uid != 0) || (info.st_mode & (S_IWGRP | S_IWOTH)))
		return sonde_error(EPERM,
				   "%s: others can write there, and sonde runs commands from the journal: chmod go-w "
				   "if it is yours, or use --journal FOLDER",
				   path);
	return 0;
}

/* Searches upwards for the nearest folder that has `entry`; returns its length in `path`, 0 = none. */
static size_t find_upwards(const char *path, const char *entry)
{
	char candidate[PATH_MAX + 64];
	for (size_t len = strlen(path); len; len--) {
		if (path[len] && path[len] != '/')
			continue;
		snprintf(candidate, sizeof candidate, "%.*s/%s", (int)len, path, entry);
		if (!access(candidate, F_OK))
			return len;
	}
	return 0;
}

int sonde_journal_init(struct sonde_journal *out, const char *folder)
{
	char here[PATH_MAX];
	int exists;
	*out = (struct sonde_journal){0};
	if (folder && strlen(folder) >= sizeof out->folder)
		return sonde_error(ENAMETOOLONG, "%s: %s", folder, strerror(ENAMETOOLONG));
	if (folder) {
		strcpy(out->folder, folder);
		return check_owner(out->folder, &exists);
	}
	if (!getcwd(here, sizeof here - sizeof SONDE_JOURNAL_FOLDER - 1))
		return sonde_error(errno, "the working directory: %s", strerror(errno));
	size_t len = find_upwards(here, SONDE_JOURNAL_FOLDER);
	len = len ? len : find_upwards(here, ".git");
	here[len ? len : strlen(here)] = '\0';
	snprintf(out->folder, sizeof out->folder, "%s/%s", strcmp(here, "/") ? here : "", SONDE_JOURNAL_FOLDER);
	return check_owner(out->folder, &exists);
}

int sonde_journal_name(struct sonde_journal *journal, const char *name)
{
	size_t len = strlen(name);
	int is_odd = !len || len > NAME_MAX_B || *name == '.' || *name == '-';
	for (const char *at = name; *at; at++)
		is_odd |= *at == '/' || (unsigned char)*at < 0x20 || *at == 0x7f;
	if (is_odd)
		return sonde_error(EINVAL,
				   "'%.40s' cannot name an experiment: it becomes a file name, without '/' and control "
				   "characters, not starting with '.' or '-', at most %d bytes",
				   name, NAME_MAX_B);
	snprintf(journal->path, sizeof journal->path, "%s/%s" SUFFIX, journal->folder, name);
	int exists;
	return check_owner(journal->path, &exists);
}

/* --- appending --------------------------------------------------------------------------------------------------- */

/* Makes new entries of a folder survive a power failure. 0 or a negative errno, without a message. */
static int sync_folder(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0; /* the folder is writable but not readable */
	int code = fsync(fd) && errno != EINVAL && errno != EROFS ? -errno : 0;
	close(fd);
	return code;
}

/* Also creates a .gitignore that hides the folder's contents. */
int sonde_journal_folder(const struct sonde_journal *journal)
{
	const char *folder = journal->folder;
	static const char all[] = "*\n";
	char path[PATH_MAX + 64];
	int is_old = mkdir(folder, 0700) != 0;
	if (is_old && errno != EEXIST)
		return sonde_error(errno, "%s: %s", folder, strerror(errno));
	snprintf(path, sizeof path, "%s/..", folder);
	int code = is_old ? 0 : sync_folder(path);
	if (code)
		return sonde_error(-code, "%s: %s", folder, strerror(-code));
	snprintf(path, sizeof path, "%s/.gitignore", folder);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return 0;
	int is_short = write(fd, all, sizeof all - 1) != sizeof all - 1;
	if (is_short)
		unlink(path);
	close(fd);
	return 0;
}

int sonde_journal_check(const struct sonde_journal *journal)
{
	int code = sonde_journal_folder(journal);
	if (code)
		return code;
	int fd = open(journal->path, O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK);
	int cause = fd < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	if (cause == ENOENT) /* an empty name would be a nameless experiment */
		return access(journal->folder, W_OK | X_OK)
			   ? sonde_error(errno, "%s: %s", journal->folder, strerror(errno))
			   : 0;
	return cause ? sonde_error(cause, "%s: %s", journal->path, strerror(cause)) : 0;
}

static int write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t put = write(fd, data, len);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put ? -errno : -EIO;
		data += put;
		len -= (size_t)put;
	}
	return 0;
}

/* Terminates an incomplete last line first, so that it does not spoil this one. */
static int append_locked(int fd, const char *folder, const char *line, size_t len)
{
	struct stat info;
	char last = '\n';
	if (fstat(fd, &info) || (info.st_size && pread(fd, &last, 1, info.st_size - 1) != 1))
		return -errno;
	int code = last == '\n' ? 0 : write_all(fd, "\n", 1);
	code = code ? code : write_all(fd, line, len);
	if (!code && fsync(fd) && errno != EINVAL && errno != EROFS) /* not a regular file, or read-only */
		code = -errno;
	if (!code && !info.st_size) /* the file may be new */
		code = sync_folder(folder);
	if (code && ftruncate(fd, info.st_size))
		return code; /* the partial line fails its checksum */
	return code;
}

int sonde_journal_append(const struct sonde_journal *journal, const char *json)
{
	char *line;
	size_t body = strlen(json);
	body -= body && json[body - 1] == '\n';
	body -= body && json[body - 1] == '}';
	int len =
	    asprintf(&line, "%.*s" CHECK "%016" PRIx64 "\"}\n", (int)body, json, (uint64_t)XXH3_64bits(json, body));
	if (len < 0)
		return sonde_error(ENOMEM, "out of memory for an entry");
	int code = sonde_journal_folder(journal);
	int fd = code ? -1 : open(journal->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (!code && fd < 0)
		code = sonde_error(errno, "%s: %s", journal->path, strerror(errno));
	while (!code && flock(fd, LOCK_EX))
		if (errno != EINTR)
			code = sonde_error(errno, "%s: lock: %s", journal->path, strerror(errno));
	if (!code) {
		code = append_locked(fd, journal->folder, line, (size_t)len);
		if (code)
			sonde_error(-code, "%s: %s: the entry was not added to the journal", journal->path,
				    strerror(-code));
	}
	if (fd >= 0)
		close(fd);
	free(line);
	return code;
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

static int is_whole(const char *line, size_t len)
{
	char check[24];
	if (len < CHECK_B || memcmp(line + len - CHECK_B, CHECK, sizeof CHECK - 1) != 0)
		return 0;
	snprintf(check, sizeof check, "%016" PRIx64 "\"}", (uint64_t)XXH3_64bits(line, len - CHECK_B));
	return !memcmp(line + len - 18, check, 18);
}

/* Opens regular files only: others may have no end, and opening a FIFO without a writer blocks. NULL with a message and
 * errno. */
static FILE *open_regular(const char *path)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK),
	    is_regular = fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode);
	FILE *file = is_regular ? fdopen(fd, "r") : NULL;
	if (file)
		return file;
	if (fd >= 0 && !is_regular)
		errno = EBADMSG;
	int cause = errno;
	sonde_error(cause, "%s: %s", path,
		    cause == EBADMSG ? "not a regular file, as a journal must be" : strerror(cause));
	if (fd >= 0)
		close(fd);
	errno = cause;
	return NULL;
}

int sonde_journal_read(const struct sonde_journal *journal, int (*take)(void *context, const char *line, size_t len),
		       void *context, size_t *damaged)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;
	int code = 0;
	*damaged = 0;
	FILE *file = open_regular(journal->path);
	if (!file)
		return -errno;
	while (!code && (errno = 0, len = getline(&line, &cap, file)) > 0) {
		len -= line[len - 1] == '\n';
		line[len] = '\0';
		if (is_whole(line, (size_t)len))
			code = take(context, line, (size_t)len);
		else
			*damaged += len > 0;
	}
	if (!code && errno)
		code = sonde_error(errno, "%s: %s", journal->path, strerror(errno));
	free(line);
	fclose(file);
	return code;
}

/* --- names ------------------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int name_add(struct sonde_journal_names *names, int folder, const char *file)
{
	struct stat status;
	size_t len = strlen(file), suffix = sizeof SUFFIX - 1;
	if (*file == '.' || len <= suffix || strcmp(file + len - suffix, SUFFIX) != 0 ||
	    fstatat(folder, file, &status, 0) || !S_ISREG(status.st_mode))
		return 0;
	char **grown = reallocarray(names->name, names->count + 1, sizeof *grown);
	if (!grown)
		return -ENOMEM;
	names->name = grown;
	grown[names->count] = strndup(file, len - suffix);
	if (!grown[names->count])
		return -ENOMEM;
	names->count++;
	return 0;
}

int sonde_journal_names(struct sonde_journal_names *out, const struct sonde_journal *journal)
{
	*out = (struct sonde_journal_names){0};
	DIR *folder = opendir(journal->folder);
	if (!folder)
		return errno == ENOENT ? 0 : sonde_error(errno, "%s: %s", journal->folder, strerror(errno));
	int code = 0;
	for (struct dirent *entry; !code && (entry = readdir(folder));)
		code = name_add(out, dirfd(folder), entry->d_name);
	closedir(folder);
	if (code) {
		sonde_journal_names_free(out);
		return sonde_error(-code, "out of memory for names");
	}
	if (out->count)
		qsort(out->name, out->count, sizeof *out->name, compare);
	return 0;
}

void sonde_journal_names_free(struct sonde_journal_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->name[i]);
	free(names->name);
	*names = (struct sonde_journal_names){0};
}
