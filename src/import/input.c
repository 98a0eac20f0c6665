/* input.c: reads with pread, and with zlib's inflate if the file starts as gzip does (input.h). */
#include "import/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "util/error.h"

enum { STORED_B = 256 << 10, WINDOW_B = 1 << 20, WINDOW_GZIP = 15 + 16 };
/* Input that unpacks to more than both BOMB_B and BOMB_FACTOR times the file's size is rejected as a compression bomb.
 * Real traces and profiles shrink to a tenth, rarely to a fiftieth; bombs shrink to a thousandth. */
enum { BOMB_B = 256 << 20, BOMB_FACTOR = 200 };

struct sonde_input {
	int fd;
	char *name;
	uint64_t size_b, changed_ns;
	uint64_t at; /* offset of the next stored byte to read */
	uint64_t unpacked_b;
	int is_gz, is_cut, is_over;
	z_stream stream;
	int stream_open;
	uint8_t *stored; /* STORED_B */
	uint8_t *window; /* buffer of sonde_input_at(): WINDOW_B bytes of the file from window_at on */
	uint64_t window_at;
	size_t window_b;
};

const char *sonde_input_name(const struct sonde_input *input)
{
	return input->name;
}

uint64_t sonde_input_size_b(const struct sonde_input *input)
{
	return input->size_b;
}

uint64_t sonde_input_changed_ns(const struct sonde_input *input)
{
	return input->changed_ns;
}

int sonde_input_is_gz(const struct sonde_input *input)
{
	return input->is_gz;
}

int sonde_input_is_cut(const struct sonde_input *input)
{
	return input->is_cut;
}

int sonde_input_scratch(const char *folder)
{
	const char *temporary = getenv("TMPDIR");
	const char *places[] = {folder, temporary && *temporary ? temporary : "/tmp"};
	int code = ENOENT;
	for (size_t i = 0; i < 2; i++) {
		if (!places[i])
			continue;
		int fd = open(places[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (fd >= 0)
			return fd;
		char *path;
		if (asprintf(&path, "%s/.sonde-import-XXXXXX", places[i]) < 0)
			return sonde_error(ENOMEM, "out of memory");
		fd = mkostemp(path, O_CLOEXEC);
		code = errno;
		if (fd >= 0)
			unlink(path);
		free(path);
		if (fd >= 0)
			return fd;
	}
	return sonde_error(code, "%s: cannot create a temporary file there: %s", folder ? folder : "/tmp",
			   strerror(code));
}

static ssize_t whole_write(int fd, const uint8_t *from, size_t size_b, const char *folder)
{
	for (size_t done_b = 0; done_b < size_b;) {
		ssize_t wrote_b = write(fd, from + done_b, size_b - done_b);
		if (wrote_b < 0 && errno != EINTR)
			return sonde_error(errno, "cannot write a temporary file in %s: %s",
					   folder ? folder : "$TMPDIR or /tmp", strerror(errno));
		done_b += wrote_b > 0 ? (size_t)wrote_b : 0;
	}
	return 0;
}

/* Copies a pipe into a file. */
static int copy(struct sonde_input *input, const char *folder)
{
	int fd = sonde_input_scratch(folder);
	if (fd < 0)
		return fd;
	uint8_t *bytes = malloc(WINDOW_B);
	int rc = bytes ? 0 : sonde_error(ENOMEM, "out of memory");
	while (!rc) {
		ssize_t got_b = read(input->fd, bytes, WINDOW_B);
		if (got_b < 0 && errno == EINTR)
			continue;
		if (got_b < 0)
			rc = sonde_error(errno, "%s: %s", input->name, strerror(errno));
		if (got_b <= 0)
			break;
		rc = (int)whole_write(fd, bytes, (size_t)got_b, folder);
	}
	free(bytes);
	close(input->fd);
	input->fd = fd;
	return rc;
}

static int stat_fill(struct sonde_input *input, const char *folder)
{
	struct stat status;
	if (fstat(input->fd, &status))
		return sonde_error(errno, "%s: %s", input->name, strerror(errno));
	if (S_ISDIR(status.st_mode))
		return sonde_error(EISDIR, "%s is a folder, not a file", input->name);
	if (S_ISBLK(status.st_mode) || (S_ISCHR(status.st_mode) && !isatty(input->fd))) /* /dev/zero is infinite */
		return sonde_error(ENODEV, "%s is a device, not a file", input->name);
	if (!S_ISREG(status.st_mode)) {
		int rc = copy(input, folder);
		if (rc || fstat(input->fd, &status))
			return rc ? rc : sonde_error(errno, "%s: %s", input->name, strerror(errno));
	}
	input->size_b = (uint64_t)status.st_size;
	input->changed_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
	if (!input->size_b)
		return sonde_error(EBADMSG, "%s: the file is empty", input->name);
	return 0;
}

int sonde_input_open(struct sonde_input **out, const char *path, const char *folder)
{
	struct sonde_input *input = calloc(1, sizeof *input);
	int is_standard = !strcmp(path, "-");
	if (!input)
		return sonde_error(ENOMEM, "out of memory");
	input->name = strdup(is_standard ? "standard input" : path);
	input->fd = is_standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	input->stored = malloc(STORED_B);
	int rc = input->name && input->stored ? 0 : sonde_error(ENOMEM, "out of memory");
	if (!rc && input->fd < 0)
		rc = sonde_error(errno, "%s: %s", input->name, strerror(errno));
	rc = rc ? rc : stat_fill(input, folder);
	uint8_t magic[2] = {0};
	if (!rc)
		input->is_gz = sonde_input_at(input, 0, magic, 2) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
	rc = rc ? rc : sonde_input_rewind(input);
	if (rc)
		sonde_input_close(input);
	else
		*out = input;
	return rc;
}

void sonde_input_close(struct sonde_input *input)
{
	if (!input)
		return;
	if (input->stream_open)
		inflateEnd(&input->stream);
	if (input->fd >= 0)
		close(input->fd);
	free(input->stored);
	free(input->window);
	free(input->name);
	free(input);
}

int sonde_input_rewind(struct sonde_input *input)
{
	input->at = input->unpacked_b = 0;
	input->is_cut = input->is_over = 0;
	if (!input->is_gz)
		return 0;
	if (input->stream_open)
		inflateEnd(&input->stream);
	memset(&input->stream, 0, sizeof input->stream);
	input->stream_open = inflateInit2(&input->stream, WINDOW_GZIP) == Z_OK;
	return input->stream_open ? 0 : sonde_error(ENOMEM, "zlib failed to start");
}

static ssize_t stored_read(struct sonde_input *input, void *to, size_t size_b)
{
	ssize_t got_b;
	do
		got_b = pread(input->fd, to, size_b, (off_t)input->at);
	while (got_b < 0 && errno == EINTR);
	if (got_b < 0)
		return sonde_error(errno, "%s: %s", input->name, strerror(errno));
	input->at += (uint64_t)got_b;
	return got_b;
}

/* Reads more compressed bytes; 0 = end of file. */
static ssize_t refill(struct sonde_input *input)
{
	ssize_t got_b = stored_read(input, input->stored, STORED_B);
	if (got_b >= 0) {
		input->stream.next_in = input->stored;
		input->stream.avail_in = (unsigned)got_b;
	}
	return got_b;
}

/* Continues with the next gzip stream if one follows the end of the last; concatenated gzip files are valid. */
static int next_member(struct sonde_input *input)
{
	if (!input->stream.avail_in) {
		ssize_t got_b = refill(input);
		if (got_b < 0)
			return (int)got_b;
	}
	if (!input->stream.avail_in || *input->stream.next_in != 0x1f) { /* the end, or padding */
		input->is_over = 1;
		return 0;
	}
	return inflateReset(&input->stream) == Z_OK ? 0 : sonde_error(EBADMSG, "zlib failed");
}

static ssize_t inflate_read(struct sonde_input *input, void *to, size_t size_b)
{
	input->stream.next_out = to;
	input->stream.avail_out = (unsigned)size_b;
	while (input->stream.avail_out && !input->is_over) {
		if (!input->stream.avail_in) {
			ssize_t got_b = refill(input);
			if (got_b < 0)
				return got_b;
			if (!got_b) {
				input->is_cut = input->is_over = 1;
				break;
			}
		}
		int rc = inflate(&input->stream, Z_NO_FLUSH);
		if (rc == Z_STREAM_END) {
			int error = next_member(input);
			if (error)
				return error;
		} else if (rc != Z_OK && rc != Z_BUF_ERROR) {
			return sonde_error(EBADMSG, "%s: the compressed bytes before byte %llu are damaged (%s)",
					   input->name, (unsigned long long)input->at,
					   input->stream.msg ? input->stream.msg : "zlib");
		}
	}
	size_t got_b = size_b - input->stream.avail_out;
	input->unpacked_b += got_b;
	if (input->unpacked_b > BOMB_B && input->unpacked_b / BOMB_FACTOR > input->size_b)
		return sonde_error(EFBIG,
				   "%s looks like a compression bomb: its %llu kB unpack to more than %d MB; if you "
				   "trust it, unpack it yourself (gzip -d) and import the result",
				   input->name, (unsigned long long)(input->size_b + 999) / 1000, BOMB_B / 1000000);
	return (ssize_t)got_b;
}

ssize_t sonde_input_read(struct sonde_input *input, void *to, size_t size_b)
{
	if (size_b > WINDOW_B)
		size_b = WINDOW_B;
	return input->is_gz ? inflate_read(input, to, size_b) : stored_read(input, to, size_b);
}

ssize_t sonde_input_at(struct sonde_input *input, uint64_t offset, void *to, size_t size_b)
{
	if (offset >= input->size_b)
		return 0;
	if (size_b > input->size_b - offset)
		size_b = (size_t)(input->size_b - offset);
	if (!input->window && !(input->window = malloc(WINDOW_B)))
		return sonde_error(ENOMEM, "out of memory");
	int inside = offset >= input->window_at && offset + size_b <= input->window_at + input->window_b;
	if (!inside && size_b <= WINDOW_B) {
		ssize_t got_b = pread(input->fd, input->window, WINDOW_B, (off_t)offset);
		if (got_b < 0)
			return sonde_error(errno, "%s: %s", input->name, strerror(errno));
		input->window_at = offset;
		input->window_b = (size_t)got_b;
		size_b = size_b < (size_t)got_b ? size_b : (size_t)got_b;
		inside = 1;
	}
	if (!inside)
		return pread(input->fd, to, size_b, (off_t)offset);
	memcpy(to, input->window + (offset - input->window_at), size_b);
	return (ssize_t)size_b;
}
