/* file.c: writes a recording using only libc (file.h).
 *
 * Memory is mapped, not allocated, so that the program's heap is unaffected. META records collect in a buffer that is
 * written before the next chunk of events, so that definitions always precede references. The headers of all chunks are
 * kept for the index at the end; a file too long for a single index chunk gets none and is read by scanning.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#define XXH_NO_STDLIB
#include <xxhash.h>

#include "base/clock.h"
#include "runtime/file.h"

#define META_B (256u << 10)
#define INDEX_B (SONDE_CHUNK_MAX_RAW_B)

#if defined(__x86_64__)
#define MACHINE 62u /* EM_X86_64 */
#else
#define MACHINE 183u /* EM_AARCH64 */
#endif

struct sonde_file {
	int fd;
	int error;
	uint64_t offset;
	uint64_t seq;
	uint32_t strings;
	uint32_t meta_count;
	uint32_t meta_b;
	uint32_t index_count;
	int index_full;
	struct sonde_index_entry *index;
	char meta[META_B];
};

static void write_all(struct sonde_file *file, struct iovec *parts, int count)
{
	while (count && !file->error) {
		ssize_t wrote = writev(file->fd, parts, count);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0) {
			file->error = wrote < 0 ? -errno : -ENOSPC;
			return;
		}
		file->offset += (uint64_t)wrote;
		while (count && (size_t)wrote >= parts->iov_len) {
			wrote -= (ssize_t)parts->iov_len;
			parts++;
			count--;
		}
		if (count) {
			parts->iov_base = (char *)parts->iov_base + wrote;
			parts->iov_len -= (size_t)wrote;
		}
	}
}

static int write_head(struct sonde_file *file)
{
	struct sonde_file_head head = {
	    .major = SONDE_FILE_MAJOR,
	    .minor = SONDE_FILE_MINOR,
	    .head_b = sizeof(head),
	    .start_mono_ns = sonde_clock_now_ns(),
	    .start_real_ns = sonde_clock_read_ns(CLOCK_REALTIME),
	    .arch = MACHINE,
	};
	memcpy(head.magic, SONDE_FILE_MAGIC, sizeof(head.magic));
	if (getrandom(head.id, sizeof(head.id), GRND_NONBLOCK) != sizeof(head.id))
		head.id[0] = head.start_real_ns ^ (uint64_t)getpid() << 40;
	head.check = XXH3_64bits(&head, sizeof(head));
	struct iovec part = {&head, sizeof(head)};
	write_all(file, &part, 1);
	return file->error;
}

static void *map(size_t size_b)
{
	void *memory = mmap(NULL, size_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static void file_free(struct sonde_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	if (file->index)
		munmap(file->index, INDEX_B);
	munmap(file, sizeof(*file));
}

int sonde_file_open(struct sonde_file **out, const char *path)
{
	struct sonde_file *file = map(sizeof(*file));
	if (!file)
		return -ENOMEM;
	file->index = map(INDEX_B);
	file->fd = file->index ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
	int code = !file->index ? -ENOMEM : file->fd < 0 ? -errno : write_head(file);
	if (code) {
		if (file->fd >= 0)
			unlink(path);
		file_free(file);
		return code;
	}
	int high = (int)syscall(SYS_fcntl, file->fd, F_DUPFD_CLOEXEC, 200); /* raw: musl does not have fcntl64 */
	if (high >= 0) {
		close(file->fd);
		file->fd = high;
	}
	*out = file;
	return 0;
}

static uint64_t chunk_check(const struct sonde_chunk_head *head, const struct sonde_file_chunk *chunk)
{
	XXH3_state_t state;
	XXH3_64bits_reset(&state);
	XXH3_64bits_update(&state, head, sizeof(*head));
	if (chunk->summary_b)
		XXH3_64bits_update(&state, chunk->summary, chunk->summary_b);
	if (chunk->body_b)
		XXH3_64bits_update(&state, chunk->body, chunk->body_b);
	return XXH3_64bits_digest(&state);
}

static void index_add(struct sonde_file *file, const struct sonde_chunk_head *head)
{
	file->index_full |= (file->index_count + 1) * sizeof(*file->index) > INDEX_B;
	if (!file->index_full)
		file->index[file->index_count++] = (struct sonde_index_entry){file->offset, *head};
}

static void write_chunk(struct sonde_file *file, const struct sonde_file_chunk *chunk)
{
	struct sonde_chunk_head head = {
	    .magic = SONDE_CHUNK_MAGIC,
	    .type = chunk->type,
	    .version = 1,
	    .process = chunk->thread || chunk->type == SONDE_CHUNK_HEAP,
	    .thread = chunk->thread,
	    .seq = file->seq++,
	    .time_min_ns = chunk->time_min_ns,
	    .time_max_ns = chunk->time_max_ns,
	    .count = chunk->count,
	    .summary_b = chunk->summary_b,
	    .raw_b = chunk->body_b,
	    .stored_b = chunk->body_b,
	};
	head.check = chunk_check(&head, chunk);
	if (chunk->type != SONDE_CHUNK_INDEX)
		index_add(file, &head);
	struct iovec parts[3] = {{&head, sizeof(head)},
				 {(void *)(uintptr_t)chunk->summary, chunk->summary_b},
				 {(void *)(uintptr_t)chunk->body, chunk->body_b}};
	write_all(file, parts, 3);
}

static void meta_flush(struct sonde_file *file)
{
	if (!file->meta_count)
		return;
	struct sonde_file_chunk chunk = {.type = SONDE_CHUNK_META, .count = file->meta_count};
	chunk.body = file->meta;
	chunk.body_b = file->meta_b;
	write_chunk(file, &chunk);
	file->meta_count = 0;
	file->meta_b = 0;
}

void sonde_file_chunk(struct sonde_file *file, const struct sonde_file_chunk *chunk)
{
	meta_flush(file);
	write_chunk(file, chunk);
}

void sonde_file_meta(struct sonde_file *file, void *record, size_t record_b, const void *more, size_t more_b)
{
	struct sonde_meta_head *head = record;
	size_t padded_b = (record_b + more_b + 7) & ~(size_t)7;
	if (padded_b > META_B)
		return;
	if (file->meta_b + padded_b > META_B)
		meta_flush(file);
	head->size_b = (uint32_t)(record_b + more_b);
	char *to = file->meta + file->meta_b;
	memset(to, 0, padded_b);
	memcpy(to, record, record_b);
	if (more_b)
		memcpy(to + record_b, more, more_b);
	file->meta_b += (uint32_t)padded_b;
	file->meta_count++;
}

uint32_t sonde_file_string(struct sonde_file *file, const char *text, size_t text_b)
{
	if (!text_b)
		return 0;
	struct sonde_meta_string record = {.head.type = SONDE_META_STRING, .id = ++file->strings};
	record.len_b = (uint32_t)text_b;
	sonde_file_meta(file, &record, sizeof(record), text, text_b);
	return record.id;
}

void sonde_file_info(struct sonde_file *file, const char *key, const char *value)
{
	struct sonde_meta_info record = {.head.type = SONDE_META_INFO};
	record.key = sonde_file_string(file, key, strlen(key));
	record.value = sonde_file_string(file, value, strlen(value));
	sonde_file_meta(file, &record, sizeof(record), NULL, 0);
}

int sonde_file_close(struct sonde_file *file)
{
	meta_flush(file);
	struct sonde_file_tail tail = {.index_offset = file->offset};
	memcpy(tail.magic, SONDE_TAIL_MAGIC, sizeof(tail.magic));
	struct sonde_file_chunk index = {.type = SONDE_CHUNK_INDEX, .count = file->index_count, .body = file->index};
	index.body_b = (uint32_t)(file->index_count * sizeof(*file->index));
	if (!file->index_full) {
		struct iovec part = {&tail, sizeof(tail)};
		write_chunk(file, &index);
		write_all(file, &part, 1);
	}
	int rc = file->error;
	file_free(file);
	return rc;
}

void sonde_file_abandon(struct sonde_file *file)
{
	file_free(file);
}
