/* writer.c: appends chunks to a file, each with one write.
 *
 * A chunk is compressed, numbered, checksummed, and appended with a single pwritev at a known offset. If that fails or
 * is incomplete, the file is truncated to the previous chunk and the error sticks, so the file always consists of
 * complete chunks. META records are buffered and written before anything that may refer to them. In flight recorder
 * mode, event chunks go to keep.c instead, and META need only be written before a dump, which saves a tiny chunk per
 * kept chunk.
 *
 * A file to be overwritten stays until recording has begun: the new file grows next to it under another name and is
 * then renamed. Truncating the old file would leave nothing readable if the recorder died at that point.
 */
#include "trace/writer.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "trace/check.h"
#include "trace/codec.h"
#include "trace/keep.h"
#include "util/buf.h"
#include "util/error.h"

#define META_FULL_B ((size_t)64 << 10) /* most bytes lost to one damaged byte */
#define INDEX_MAX_B ((size_t)1 << 30)  /* a larger index is not written; the file is then scanned */
#define INDEX_CHUNK_ENTRIES (SONDE_CHUNK_MAX_RAW_B / sizeof(struct sonde_index_entry))
#define DEFAULT_KEEP_B ((size_t)64 << 20)

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#elif defined(__i386__)
#define MACHINE EM_386
#else
#define MACHINE EM_NONE
#endif

struct sonde_writer {
	int fd;
	int is_given;  /* the descriptor was passed in: there is no name of ours to remove */
	int error;     /* sticky */
	int failed;    /* the first error, moved here from `error` by sonde_writer_last_words(); 0 = none */
	char why[512]; /* message of the first error */
	char *path;
	char *target; /* path of the file to replace, without symlinks, if `beside` is not NULL */
	char *beside; /* name of the new file until it replaces `target` */
	int no_compression;
	uint64_t start_ns; /* as in the file head */
	uint64_t size_b;   /* on disk, always complete chunks */
	uint64_t seq;
	struct sonde_buf meta;
	uint32_t meta_count;
	struct sonde_buf index; /* struct sonde_index_entry of every chunk so far */
	struct sonde_buf packed;
	struct sonde_packer *packer;
	struct sonde_keep keep; /* max_ns 0: streaming */
};

static int fail(struct sonde_writer *writer, int code, const char *what)
{
	int rc = sonde_error(code, "%s: %s at byte %llu: %s", writer->path, what, (unsigned long long)writer->size_b,
			     strerror(code));
	if (!writer->error && !writer->failed)
		snprintf(writer->why, sizeof writer->why, "%s", sonde_error_text());
	if (!writer->error)
		writer->error = rc;
	return rc;
}

/* Appends all `count` pieces, or nothing. */
static int append(struct sonde_writer *writer, struct iovec *pieces, int count)
{
	uint64_t at = writer->size_b;
	while (count > 0) {
		ssize_t done = pwritev(writer->fd, pieces, count, (off_t)at);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			int code = done ? errno : ENOSPC;
			if (at > writer->size_b && ftruncate(writer->fd, (off_t)writer->size_b) < 0)
				return fail(writer, code, "cannot be written, and ends in half a chunk,");
			return fail(writer, code, "cannot be written");
		}
		at += (uint64_t)done;
		while (count > 0 && (size_t)done >= pieces->iov_len) {
			done -= (ssize_t)pieces->iov_len;
			pieces++;
			count--;
		}
		if (count > 0) {
			pieces->iov_base = (char *)pieces->iov_base + done;
			pieces->iov_len -= (size_t)done;
		}
	}
	writer->size_b = at;
	return 0;
}

/* Numbers, checksums and appends a chunk, and adds it to the index. */
static int put(struct sonde_writer *writer, const struct sonde_chunk_head *unnumbered, const void *summary,
	       const void *stored)
{
	struct sonde_index_entry entry = {.offset = writer->size_b, .head = *unnumbered};
	entry.head.seq = writer->seq;
	entry.head.check = sonde_check_chunk(&entry.head, summary, stored);
	struct iovec pieces[] = {
	    {&entry.head, sizeof entry.head},
	    {(void *)summary, entry.head.summary_b},
	    {(void *)stored, entry.head.stored_b},
	};
	int rc = append(writer, pieces, 3);
	if (rc)
		return rc;
	writer->seq++;
	sonde_buf_append(&writer->index, &entry, sizeof entry);
	return 0;
}

/* Builds the head of a caller's chunk and its body in stored form, which is valid until the next call. */
static struct sonde_chunk_head pack(struct sonde_writer *writer, const struct sonde_chunk *chunk, const void **stored)
{
	struct sonde_chunk_head head = {
	    .magic = SONDE_CHUNK_MAGIC,
	    .type = chunk->type,
	    .version = chunk->version ? chunk->version : SONDE_CHUNK_VERSION,
	    .codec = SONDE_CODEC_RAW,
	    .process = chunk->process,
	    .thread = chunk->thread,
	    .time_min_ns = chunk->time_min_ns,
	    .time_max_ns = chunk->time_max_ns,
	    .count = chunk->count,
	    .summary_b = chunk->summary_b,
	    .raw_b = chunk->body_b,
	    .stored_b = chunk->body_b,
	};
	*stored = chunk->body;
	int is_noise = sonde_chunk_row(chunk->type).noise;
	if (!writer->no_compression &&
	    sonde_packer_pack(writer->packer, &writer->packed, chunk->body, chunk->body_b, is_noise)) {
		head.codec = SONDE_CODEC_ZSTD;
		head.stored_b = (uint32_t)writer->packed.len_b;
		*stored = writer->packed.data;
	}
	return head;
}

static int write_out(struct sonde_writer *writer, const struct sonde_chunk *chunk)
{
	const void *stored;
	struct sonde_chunk_head head = pack(writer, chunk, &stored);
	return put(writer, &head, chunk->summary, stored);
}

/* Removes the last chunk from the file; true if there was one. */
static int drop_last(struct sonde_writer *writer)
{
	size_t count = writer->index.len_b / sizeof(struct sonde_index_entry);
	if (!count || sonde_buf_error(&writer->index))
		return 0;
	const struct sonde_index_entry *entry = (const struct sonde_index_entry *)(const void *)writer->index.data;
	if (ftruncate(writer->fd, (off_t)entry[count - 1].offset))
		return 0;
	writer->size_b = entry[count - 1].offset;
	writer->seq--;
	writer->index.len_b -= sizeof *entry;
	return 1;
}

static int flush_meta(struct sonde_writer *writer)
{
	if (!writer->meta_count)
		return 0;
	struct sonde_chunk chunk = {
	    .type = SONDE_CHUNK_META,
	    .count = writer->meta_count,
	    .body = writer->meta.data,
	    .body_b = (uint32_t)writer->meta.len_b,
	};
	int rc = write_out(writer, &chunk);
	while (rc && writer->failed && drop_last(writer))
		rc = write_out(writer, &chunk);
	if (!rc)
		writer->error = 0;
	sonde_buf_clear(&writer->meta);
	writer->meta_count = 0;
	return rc;
}

static int write_head(struct sonde_writer *writer, const struct sonde_file_head *begun)
{
	struct sonde_file_head head = {
	    .magic = SONDE_FILE_MAGIC,
	    .major = SONDE_FILE_MAJOR,
	    .minor = SONDE_FILE_MINOR,
	    .head_b = sizeof head,
	    .start_mono_ns = sonde_clock_now_ns(),
	    .start_real_ns = sonde_clock_read_ns(CLOCK_REALTIME),
	    .arch = MACHINE,
	};
	if (getrandom(head.id, sizeof head.id, GRND_NONBLOCK) != sizeof head.id) {
		head.id[0] = head.start_real_ns; /* early boot: still unique among the recordings of this machine */
		head.id[1] = head.start_mono_ns ^ ((uint64_t)getpid() << 40);
	}
	if (begun) {
		head.start_mono_ns = begun->start_mono_ns;
		head.start_real_ns = begun->start_real_ns;
		head.arch = begun->arch;
	}
	head.check = sonde_check_head(&head, sizeof head);
	writer->start_ns = head.start_mono_ns;
	struct iovec piece = {&head, sizeof head};
	return append(writer, &piece, 1);
}

static int cannot_create(const char *path)
{
	return sonde_error(errno, "%s: cannot be created: %s", path, strerror(errno));
}

/* Creates a file under another name, to be renamed to the file that `path` resolves to, which we must be allowed to
 * write. */
static int create_beside(struct sonde_writer *writer, const char *path)
{
	int old = open(path, O_WRONLY | O_CLOEXEC);
	if (old < 0)
		return cannot_create(path);
	close(old);
	writer->target = realpath(path, NULL);
	if (!writer->target || asprintf(&writer->beside, "%s.XXXXXX", writer->target) < 0) {
		writer->beside = NULL;
		return cannot_create(path);
	}
	int fd = mkostemp(writer->beside, O_CLOEXEC);
	if (fd >= 0)
		return fd;
	int rc =
	    sonde_error(errno, "%s: the new file cannot be created next to the old one: %s", path, strerror(errno));
	free(writer->beside);
	writer->beside = NULL;
	return rc;
}

static int create(struct sonde_writer *writer, const char *path, int overwrite)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_EXCL, 0600);
	if (fd >= 0)
		return fd;
	if (errno != EEXIST)
		return cannot_create(path);
	if (!overwrite)
		return sonde_error(EEXIST, "%s: already exists and is not overwritten without --force", path);
	struct stat status;
	if (!stat(path, &status) && S_ISREG(status.st_mode))
		return create_beside(writer, path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600); /* a device, a pipe, or the target of a dangling link */
	return fd < 0 ? cannot_create(path) : fd;
}

/* Avoids the numbers of the standard streams, which may be closed. */
static int copy_of(int fd, const char *path)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return copy < 0 ? cannot_create(path) : copy;
}

static void release(struct sonde_writer *writer)
{
	sonde_keep_clear(&writer->keep);
	sonde_packer_free(writer->packer);
	sonde_buf_fini(&writer->packed);
	sonde_buf_fini(&writer->index);
	sonde_buf_fini(&writer->meta);
	if (writer->fd >= 0)
		close(writer->fd);
	free(writer->beside);
	free(writer->target);
	free(writer->path);
	free(writer);
}

int sonde_writer_open(struct sonde_writer **out, const char *path, const struct sonde_writer_options *options)
{
	static const struct sonde_writer_options defaults;
	if (!options)
		options = &defaults;
	struct sonde_writer *writer = calloc(1, sizeof *writer);
	if (!writer)
		return sonde_error(ENOMEM, "%s: out of memory", path);
	writer->fd = -1;
	writer->no_compression = options->no_compression;
	writer->keep.max_ns = options->keep_ns;
	writer->keep.max_b = options->max_keep_b ? options->max_keep_b : DEFAULT_KEEP_B;
	sonde_buf_init(&writer->meta, SONDE_CHUNK_MAX_RAW_B);
	sonde_buf_init(&writer->index, INDEX_MAX_B);
	sonde_buf_init(&writer->packed, SONDE_CHUNK_MAX_RAW_B);
	writer->path = strdup(path);
	writer->packer = sonde_packer_new();
	int rc = writer->path && writer->packer ? 0 : sonde_error(ENOMEM, "%s: out of memory", path);
	if (!rc) {
		writer->is_given = options->fd > 0;
		writer->fd = writer->is_given ? copy_of(options->fd, path) : create(writer, path, options->overwrite);
		rc = writer->fd < 0 ? writer->fd : write_head(writer, options->begun);
	}
	if (rc) {
		sonde_writer_discard(writer);
		return rc;
	}
	*out = writer;
	return 0;
}

void sonde_writer_discard(struct sonde_writer *writer)
{
	struct stat stat;
	if (writer->fd >= 0 && !writer->is_given && fstat(writer->fd, &stat) == 0 &&
	    S_ISREG(stat.st_mode)) /* never a device */
		unlink(writer->beside ? writer->beside : writer->path);
	release(writer);
}

int sonde_writer_chunk(struct sonde_writer *writer, const struct sonde_chunk *chunk)
{
	if (writer->error || writer->failed)
		return sonde_writer_error(writer);
	if (!chunk->type || chunk->type == SONDE_CHUNK_INDEX)
		return sonde_error(EINVAL, "%s: a chunk of type %u is not a caller's to write", writer->path,
				   chunk->type);
	if (chunk->body_b > SONDE_CHUNK_MAX_RAW_B || chunk->summary_b > SONDE_CHUNK_MAX_SUMMARY_B)
		return sonde_error(E2BIG, "%s: a chunk of %u + %u bytes is too large", writer->path, chunk->summary_b,
				   chunk->body_b);
	if (writer->keep.max_ns && sonde_chunk_row(chunk->type).held) {
		const void *stored;
		struct sonde_chunk_head head = pack(writer, chunk, &stored);
		int rc = sonde_keep_push(&writer->keep, &head, chunk->summary, stored);
		return rc ? fail(writer, -rc, "a chunk cannot be kept") : 0;
	}
	int rc = flush_meta(writer);
	return rc ? rc : write_out(writer, chunk);
}

int sonde_writer_meta(struct sonde_writer *writer, const void *record, size_t record_b, const void *more, size_t more_b)
{
	if (writer->error)
		return sonde_writer_error(writer);
	if (record_b < sizeof(struct sonde_meta_head))
		return sonde_error(EINVAL, "%s: a record of %zu bytes has no header", writer->path, record_b);
	if (record_b > SONDE_CHUNK_MAX_RAW_B - 8 || more_b > SONDE_CHUNK_MAX_RAW_B - 8 - record_b)
		return sonde_error(E2BIG, "%s: a record of %zu bytes is too large", writer->path, more_b);
	size_t size_b = record_b + more_b;
	size_t padded_b = (size_b + 7) & ~(size_t)7;
	if (writer->meta.len_b && writer->meta.len_b + padded_b > META_FULL_B) {
		int rc = flush_meta(writer);
		if (rc)
			return rc;
	}
	uint8_t *at = sonde_buf_extend(&writer->meta, padded_b);
	if (!at)
		return fail(writer, -sonde_buf_error(&writer->meta), "a record cannot be buffered");
	struct sonde_meta_head head;
	memcpy(&head, record, sizeof head);
	head.size_b = (uint32_t)size_b;
	memcpy(at, record, record_b);
	memcpy(at, &head, sizeof head);
	if (more_b)
		memcpy(at + record_b, more, more_b);
	memset(at + size_b, 0, padded_b - size_b);
	writer->meta_count++;
	return 0;
}

int sonde_writer_flush(struct sonde_writer *writer)
{
	return writer->error ? sonde_writer_error(writer) : flush_meta(writer);
}

int sonde_writer_keep_dump(struct sonde_writer *writer)
{
	int rc = sonde_writer_flush(writer);
	struct sonde_keep_chunk *chunk;
	while (!rc && (chunk = sonde_keep_take(&writer->keep))) {
		rc = put(writer, &chunk->head, chunk->bytes, chunk->bytes + chunk->head.summary_b);
		free(chunk);
	}
	return rc;
}

uint64_t sonde_writer_start_ns(const struct sonde_writer *writer)
{
	return writer->start_ns;
}

uint64_t sonde_writer_size_b(const struct sonde_writer *writer)
{
	return writer->size_b;
}

int sonde_writer_error(const struct sonde_writer *writer)
{
	int rc = writer->failed ? writer->failed : writer->error;
	return rc ? sonde_error(-rc, "%s", writer->why) : 0;
}

void sonde_writer_last_words(struct sonde_writer *writer)
{
	if (!writer->error)
		return;
	writer->failed = writer->error;
	writer->error = 0;
	sonde_buf_clear(&writer->meta);
	writer->meta_count = 0;
}

/* Writes as many index chunks as needed, then the tail, which holds the offset of the first one. */
static int write_index(struct sonde_writer *writer)
{
	if (sonde_buf_error(&writer->index))
		return 0;
	size_t left = writer->index.len_b / sizeof(struct sonde_index_entry);
	const struct sonde_index_entry *entry = (const struct sonde_index_entry *)(const void *)writer->index.data;
	struct sonde_file_tail tail = {.index_offset = writer->size_b, .magic = SONDE_TAIL_MAGIC};
	/* stops put() from adding entries for the index itself: `entry` must not move */
	writer->index.error = ECANCELED;
	do {
		size_t count = left < INDEX_CHUNK_ENTRIES ? left : INDEX_CHUNK_ENTRIES;
		struct sonde_chunk chunk = {
		    .type = SONDE_CHUNK_INDEX,
		    .count = (uint32_t)count,
		    .body = entry,
		    .body_b = (uint32_t)(count * sizeof *entry),
		};
		int rc = write_out(writer, &chunk);
		if (rc)
			return rc;
		left -= count;
		entry = left ? entry + count : entry; /* NULL if no chunk was written */
	} while (left);
	struct iovec piece = {&tail, sizeof tail};
	return append(writer, &piece, 1);
}

int sonde_writer_commit(struct sonde_writer *writer)
{
	if (!writer->beside)
		return 0;
	if (rename(writer->beside, writer->target))
		return sonde_error(errno, "%s: cannot be replaced: %s; the recording is %s", writer->path,
				   strerror(errno), writer->beside);
	free(writer->beside);
	writer->beside = NULL;
	return 0;
}

int sonde_writer_close(struct sonde_writer *writer)
{
	int rc = sonde_writer_flush(writer);
	if (!rc && !writer->failed)
		rc = write_index(writer);
	if (close(writer->fd) < 0 && !rc)
		rc = fail(writer, errno, "cannot be closed");
	writer->fd = -1;
	int uncommitted = sonde_writer_commit(writer);
	rc = rc ? rc : uncommitted;
	if (writer->error || writer->failed)
		rc = sonde_writer_error(writer);
	release(writer);
	return rc;
}
