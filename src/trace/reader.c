/* reader.c: a recording as a list of chunks.
 *
 * The list comes from the file's index if it has an intact one. Every entry must then start where the previous one
 * ends; a writer produces such indexes, and the check keeps the cost of a forged index within what the file could hold.
 * In all other cases scan.c finds the chunks. Each read verifies head and checksum again, since an index is only a
 * claim and the file may change.
 *
 * Bodies of a hostile file can expand ten-thousandfold, and most readers keep some data per row. So the total
 * decompressed size is limited to a multiple of the file's size that real rows stay far below; chunks beyond the limit
 * count as damaged. HEAP chunks are exempt: allocations in a loop really do compress a thousandfold, and readers
 * aggregate them chunk by chunk.
 */
#include "trace/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "trace/check.h"
#include "trace/codec.h"
#include "trace/scan.h"
#include "util/array.h"
#include "util/error.h"

#define HEAD_MAX_B 4096
#define UNPACKED_SPARE_B ((uint64_t)32 << 20)
#define UNPACKED_FACTOR 256

enum chunk_state { CHUNK_GOOD = 0, CHUNK_BAD = 1, CHUNK_REFUSED = 2 };

struct sonde_reader {
	int fd;
	char *path;
	struct sonde_file_head head;
	struct sonde_index_entry *entries;
	size_t count;
	size_t cap, bad_cap;
	struct sonde_scan scan;
	int closed;
	uint64_t unpacked_b; /* decompressed size of all bodies listed so far, except HEAP */
	struct sonde_unpacker *unpacker;
	/* Chunks found bad when read, by any reading thread; statistics, so relaxed. */
	_Atomic uint64_t bad_b;
	_Atomic uint64_t bad_at; /* the first in the file; UINT64_MAX = none */
	_Atomic uint8_t *bad;    /* per entry: enum chunk_state; those that are not good are counted already */
};

static int read_at(struct sonde_reader *reader, struct iovec *pieces, int count, uint64_t at)
{
	while (count > 0) {
		ssize_t got = preadv(reader->fd, pieces, count, (off_t)at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return sonde_error(errno, "%s: byte %llu cannot be read: %s", reader->path,
					   (unsigned long long)at, strerror(errno));
		if (got == 0)
			return sonde_error(EBADMSG, "%s: cut off at byte %llu", reader->path, (unsigned long long)at);
		at += (uint64_t)got;
		while (count > 0 && (size_t)got >= pieces->iov_len) {
			got -= (ssize_t)pieces->iov_len;
			pieces++;
			count--;
		}
		if (count > 0) {
			pieces->iov_base = (char *)pieces->iov_base + got;
			pieces->iov_len -= (size_t)got;
		}
	}
	return 0;
}

static void count_bad(struct sonde_reader *reader, size_t i, enum chunk_state why)
{
	const struct sonde_index_entry *entry = &reader->entries[i];
	if (atomic_exchange_explicit(&reader->bad[i], why, memory_order_relaxed))
		return;
	atomic_fetch_add_explicit(&reader->bad_b, sonde_check_chunk_b(&entry->head), memory_order_relaxed);
	uint64_t first = atomic_load_explicit(&reader->bad_at, memory_order_relaxed);
	while (entry->offset < first &&
	       !atomic_compare_exchange_weak_explicit(&reader->bad_at, &first, entry->offset, memory_order_relaxed,
						      memory_order_relaxed))
		continue;
}

static int add_entry(struct sonde_reader *reader, const struct sonde_index_entry *entry)
{
	if (SONDE_ARRAY_RESERVE(reader->entries, reader->cap, reader->count + 1) ||
	    SONDE_ARRAY_RESERVE(reader->bad, reader->bad_cap, reader->count + 1))
		return sonde_error(ENOMEM, "%s: out of memory for %zu chunks", reader->path, reader->count + 1);
	atomic_init(&reader->bad[reader->count], 0);
	reader->entries[reader->count++] = *entry;
	if (entry->head.type == SONDE_CHUNK_HEAP || entry->head.codec == SONDE_CODEC_RAW)
		return 0;
	if (reader->unpacked_b + entry->head.raw_b > UNPACKED_SPARE_B + UNPACKED_FACTOR * reader->scan.file_b)
		count_bad(reader, reader->count - 1, CHUNK_REFUSED);
	else
		reader->unpacked_b += entry->head.raw_b;
	return 0;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static int open_file(struct sonde_reader *reader, int fd, const char *path, uint64_t *file_b)
{
	/* Non-blocking: `path` may be a FIFO without a writer. */
	reader->fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat stat;
	if (reader->fd < 0 || fstat(reader->fd, &stat) < 0)
		return sonde_error(errno, "%s: %s", path, strerror(errno));
	if (S_ISDIR(stat.st_mode))
		return sonde_error(EISDIR, "%s: a folder, not a recording", path);
	if (!S_ISREG(stat.st_mode))
		return sonde_error(EINVAL, "%s: not a regular file; a recording is read from one", path);
	*file_b = (uint64_t)stat.st_size;
	return 0;
}

static int read_head(struct sonde_reader *reader, uint64_t file_b)
{
	uint8_t bytes[HEAD_MAX_B];
	struct sonde_file_head *head = &reader->head;
	const char *path = reader->path;
	size_t have_b = file_b < sizeof bytes ? (size_t)file_b : sizeof bytes;
	struct iovec piece = {bytes, have_b};
	if (!file_b)
		return sonde_error(EBADMSG, "%s: not a sonde recording (the file is empty)", path);
	int rc = read_at(reader, &piece, 1, 0);
	if (rc)
		return rc;
	size_t magic_b = have_b < sizeof head->magic ? have_b : sizeof head->magic;
	if (memcmp(bytes, SONDE_FILE_MAGIC, magic_b) != 0)
		return sonde_error(EBADMSG, "%s: not a sonde recording (magic at byte 0)", path);
	if (have_b < sizeof *head)
		return sonde_error(EBADMSG, "%s: cut off at byte %zu, within the file header of %zu bytes", path,
				   have_b, sizeof *head);
	memcpy(head, bytes, sizeof *head);
	if (head->major != SONDE_FILE_MAJOR)
		return sonde_error(EPROTONOSUPPORT,
				   "%s: format version %u.%u (at byte 8); this sonde reads version %u: use a newer one",
				   path, head->major, head->minor, SONDE_FILE_MAJOR);
	if (head->head_b < sizeof *head || head->head_b > have_b)
		return sonde_error(EBADMSG, "%s: damaged: a file header of %u bytes (at byte 12)", path, head->head_b);
	if (sonde_check_head(bytes, head->head_b) != head->check)
		return sonde_error(EBADMSG, "%s: damaged: the file header's checksum does not match (at byte 56)",
				   path);
	return 0;
}

/* Appends one INDEX chunk's entries. They must be contiguous with the previous ones and end where the index begins. */
static int add_index(struct sonde_reader *reader, const struct sonde_chunk_data *data, uint64_t *at, uint64_t end)
{
	for (size_t i = 0; i < data->head->count; i++) {
		struct sonde_index_entry entry;
		memcpy(&entry, data->body + i * sizeof entry, sizeof entry);
		if (entry.offset != *at || !sonde_check_plausible(&entry.head, *at, end))
			return -EBADMSG;
		int rc = add_entry(reader, &entry);
		if (rc)
			return rc;
		*at += sonde_check_chunk_b(&entry.head);
	}
	return 0;
}

static int read_chunk(struct sonde_reader *reader, const struct sonde_index_entry *entry, struct sonde_chunk_data *data,
		      int with_body);

/* Reads the head of an INDEX chunk and rejects one that lists more chunks than the file could hold. */
static int read_index_head(struct sonde_reader *reader, struct sonde_index_entry *entry, uint64_t end, uint64_t file_b)
{
	struct sonde_chunk_head *head = &entry->head;
	struct iovec piece = {head, sizeof *head};
	if (end - entry->offset < sizeof *head)
		return -EBADMSG;
	int rc = read_at(reader, &piece, 1, entry->offset);
	if (rc)
		return rc;
	if (!sonde_check_plausible(head, entry->offset, end) || head->type != SONDE_CHUNK_INDEX ||
	    head->version > SONDE_CHUNK_VERSION || reader->count + head->count > file_b / sizeof *head ||
	    (uint64_t)head->count * sizeof *entry != head->raw_b)
		return -EBADMSG;
	return 0;
}

/* Returns 1 if the index was present and intact, 0 if the file must be scanned, or a negative errno. */
static int read_index(struct sonde_reader *reader, uint64_t file_b)
{
	struct sonde_file_tail tail;
	uint64_t at = reader->head.head_b;
	if (file_b < at + sizeof(struct sonde_chunk_head) + sizeof tail)
		return 0;
	uint64_t end = file_b - sizeof tail;
	struct iovec piece = {&tail, sizeof tail};
	int rc = read_at(reader, &piece, 1, end);
	if (rc)
		return rc;
	if (memcmp(tail.magic, SONDE_TAIL_MAGIC, sizeof tail.magic) != 0 || tail.index_offset < at ||
	    tail.index_offset >= end)
		return 0;
	struct sonde_chunk_data data = {0};
	sonde_buf_init(&data.buf, SONDE_READER_BUF_MAX_B);
	reader->scan.file_b = file_b;
	uint64_t index_at = tail.index_offset;
	while (!rc && index_at < end) {
		struct sonde_index_entry entry = {.offset = index_at};
		rc = read_index_head(reader, &entry, end, file_b);
		if (!rc)
			rc = read_chunk(reader, &entry, &data, 1);
		if (!rc)
			rc = add_index(reader, &data, &at, tail.index_offset);
		index_at += sonde_check_chunk_b(&entry.head);
	}
	sonde_buf_fini(&data.buf);
	if (!rc && at == tail.index_offset)
		return 1;
	reader->count = 0;
	reader->unpacked_b = 0;
	atomic_init(&reader->bad_b, 0);
	atomic_init(&reader->bad_at, UINT64_MAX);
	return rc == -ENOMEM || rc == -EIO ? rc : 0;
}

static int scan_on(struct sonde_reader *reader, uint64_t file_b)
{
	struct sonde_index_entry entry;
	size_t before = reader->count;
	sonde_scan_begin(&reader->scan, file_b);
	int found;
	while ((found = sonde_scan_next(&reader->scan, &entry)) > 0) {
		int rc = add_entry(reader, &entry);
		if (rc)
			return rc;
	}
	if (found < 0)
		return found;
	reader->closed = reader->scan.closed;
	return (int)(reader->count - before);
}

int sonde_reader_open(struct sonde_reader **out, const char *path)
{
	return sonde_reader_open_fd(out, -1, path);
}

int sonde_reader_open_fd(struct sonde_reader **out, int fd, const char *path)
{
	struct sonde_reader *reader = calloc(1, sizeof *reader);
	if (!reader)
		return sonde_error(ENOMEM, "%s: out of memory", path);
	reader->fd = -1;
	atomic_init(&reader->bad_at, UINT64_MAX);
	reader->path = strdup(path);
	reader->unpacker = sonde_unpacker_new();
	uint64_t file_b = 0;
	int rc = reader->path && reader->unpacker ? 0 : sonde_error(ENOMEM, "%s: out of memory", path);
	if (!rc)
		rc = open_file(reader, fd, path, &file_b);
	if (!rc)
		rc = read_head(reader, file_b);
	if (!rc) {
		sonde_scan_init(&reader->scan, reader->fd, reader->head.head_b);
		int indexed = read_index(reader, file_b);
		if (indexed > 0) {
			reader->closed = reader->scan.closed = 1;
			reader->scan.at = reader->scan.file_b = file_b;
		}
		rc = indexed < 0 ? indexed : indexed ? 0 : scan_on(reader, file_b);
	}
	if (rc < 0) {
		sonde_reader_close(reader);
		return rc;
	}
	*out = reader;
	return 0;
}

void sonde_reader_close(struct sonde_reader *reader)
{
	if (!reader)
		return;
	sonde_scan_fini(&reader->scan);
	sonde_unpacker_free(reader->unpacker);
	if (reader->fd >= 0)
		close(reader->fd);
	free(reader->entries);
	free((void *)reader->bad);
	free(reader->path);
	free(reader);
}

int sonde_reader_refresh(struct sonde_reader *reader)
{
	struct stat stat;
	if (fstat(reader->fd, &stat) < 0)
		return sonde_error(errno, "%s: %s", reader->path, strerror(errno));
	uint64_t file_b = (uint64_t)stat.st_size;
	if (file_b < reader->scan.at)
		return sonde_error(ESTALE, "%s: cut to %llu bytes while it was open", reader->path,
				   (unsigned long long)file_b);
	return file_b == reader->scan.file_b ? 0 : scan_on(reader, file_b);
}

/* --- accessors ---------------------------------------------------------------------------------------------------- */

const struct sonde_file_head *sonde_reader_head(const struct sonde_reader *reader)
{
	return &reader->head;
}

const char *sonde_reader_path(const struct sonde_reader *reader)
{
	return reader->path;
}

int sonde_reader_is_closed(const struct sonde_reader *reader)
{
	return reader->closed;
}

uint64_t sonde_reader_size_b(const struct sonde_reader *reader)
{
	return reader->scan.file_b;
}

uint64_t sonde_reader_damaged_b(const struct sonde_reader *reader, uint64_t *offset)
{
	const struct sonde_scan *scan = &reader->scan;
	uint64_t bad_at = atomic_load_explicit(&reader->bad_at, memory_order_relaxed);
	uint64_t tail_b = scan->file_b - scan->at;
	uint64_t first = scan->damaged_b ? scan->damaged_at : scan->at;
	if (offset)
		*offset = bad_at < first ? bad_at : first;
	return scan->damaged_b + tail_b + atomic_load_explicit(&reader->bad_b, memory_order_relaxed);
}

size_t sonde_reader_count(const struct sonde_reader *reader)
{
	return reader->count;
}

const struct sonde_index_entry *sonde_reader_entry(const struct sonde_reader *reader, size_t i)
{
	return i < reader->count ? &reader->entries[i] : NULL;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static size_t aligned(size_t size_b)
{
	return (size_b + 15) & ~(size_t)15;
}

static int damaged(const struct sonde_reader *reader, const struct sonde_index_entry *entry, const char *what)
{
	return sonde_error(EBADMSG, "%s: the chunk at byte %llu is damaged: %s", reader->path,
			   (unsigned long long)entry->offset, what);
}

/* The buffer holds head and summary, the stored body, and the decompressed one, each aligned to 16. */
static int read_chunk(struct sonde_reader *reader, const struct sonde_index_entry *entry, struct sonde_chunk_data *data,
		      int with_body)
{
	const struct sonde_chunk_head *head = &entry->head;
	size_t front_b = sizeof *head + head->summary_b;
	size_t stored_at = aligned(front_b);
	size_t raw_at = aligned(stored_at + head->stored_b);
	int packed = head->codec != SONDE_CODEC_RAW;
	sonde_buf_clear(&data->buf);
	uint8_t *bytes = sonde_buf_extend(&data->buf, raw_at + (packed && with_body ? head->raw_b : 0) + 1);
	if (!bytes)
		return sonde_buf_error(&data->buf);
	struct iovec pieces[] = {{bytes, front_b}, {bytes + stored_at, head->stored_b}};
	int rc = read_at(reader, pieces, 2, entry->offset);
	if (rc)
		return rc;
	if (memcmp(bytes, head, sizeof *head) != 0)
		return damaged(reader, entry, "its header is not the one in the index");
	if (sonde_check_chunk(head, bytes + sizeof *head, bytes + stored_at) != head->check)
		return damaged(reader, entry, "its checksum does not match");
	if (with_body && head->codec > SONDE_CODEC_ZSTD)
		return sonde_error(EPROTONOSUPPORT, "%s: the chunk at byte %llu has the unknown codec %u", reader->path,
				   (unsigned long long)entry->offset, head->codec);
	if (with_body && packed &&
	    sonde_unpacker_unpack(reader->unpacker, bytes + raw_at, head->raw_b, bytes + stored_at, head->stored_b))
		return damaged(reader, entry, "its body does not decompress");
	data->head = (const struct sonde_chunk_head *)(const void *)bytes;
	data->summary = bytes + sizeof *head;
	data->body = with_body ? bytes + (packed ? raw_at : stored_at) : NULL;
	return 0;
}

static int read_entry(struct sonde_reader *reader, size_t i, struct sonde_chunk_data *data, int with_body)
{
	if (i >= reader->count)
		return sonde_error(ERANGE, "%s: has %zu chunks, but chunk %zu was asked for", reader->path,
				   reader->count, i);
	if (atomic_load_explicit(&reader->bad[i], memory_order_relaxed) == CHUNK_REFUSED)
		return damaged(reader, &reader->entries[i], "unpacked, the file exceeds the limit for its size");
	int rc = read_chunk(reader, &reader->entries[i], data, with_body);
	if (rc == -EBADMSG)
		count_bad(reader, i, CHUNK_BAD);
	return rc;
}

int sonde_reader_read(struct sonde_reader *reader, size_t i, struct sonde_chunk_data *data)
{
	return read_entry(reader, i, data, 1);
}

int sonde_reader_summary(struct sonde_reader *reader, size_t i, struct sonde_chunk_data *data)
{
	return read_entry(reader, i, data, 0);
}
