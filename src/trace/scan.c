/* scan.c: walks from chunk to chunk; after damage, searches for the next magic number whose chunk has a valid checksum.
 *
 * Every chunk is verified by streaming before it is accepted, so the sizes claimed by a head cost no memory. A chunk
 * found after damage must also have a sequence number that fits the gap, since a body may contain the bytes of another
 * recording. A hostile file can consist of nothing but heads that each claim 16 MB. So bytes read for rejected chunks
 * have a budget of a few times the file's size, which accidental damage never exhausts; once it is spent, the rest
 * counts as damaged.
 */
#include "trace/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/check.h"
#include "util/error.h"

#define WINDOW_B ((size_t)256 << 10)
#define SCRATCH_B ((size_t)256 << 10)
#define SPARE_BUDGET_B ((uint64_t)64 << 20)

void sonde_scan_init(struct sonde_scan *scan, int fd, uint64_t at)
{
	*scan = (struct sonde_scan){.fd = fd, .at = at, .file_b = at};
}

void sonde_scan_fini(struct sonde_scan *scan)
{
	free(scan->window);
	scan->window = NULL;
}

void sonde_scan_begin(struct sonde_scan *scan, uint64_t file_b)
{
	scan->file_b = file_b;
	scan->window_b = 0;
	scan->budget_b = 4 * (file_b - scan->at) + SPARE_BUDGET_B;
}

/* The bytes at `offset`: at least need_b of them, plus any others already buffered; NULL at the end of the file. */
static const uint8_t *look(struct sonde_scan *scan, uint64_t offset, size_t need_b, size_t *have_b)
{
	uint64_t end = scan->window_at + scan->window_b;
	if (offset < scan->window_at || offset + need_b > end) {
		uint64_t left = scan->file_b - offset;
		size_t want_b = left < WINDOW_B ? (size_t)left : WINDOW_B;
		size_t got_b = 0;
		while (got_b < want_b) {
			ssize_t n = pread(scan->fd, scan->window + got_b, want_b - got_b, (off_t)(offset + got_b));
			if (n < 0 && errno == EINTR)
				continue;
			if (n <= 0)
				break;
			got_b += (size_t)n;
		}
		scan->window_at = offset;
		scan->window_b = got_b;
		end = offset + got_b;
	}
	if (offset + need_b > end)
		return NULL;
	*have_b = (size_t)(end - offset);
	return scan->window + (offset - scan->window_at);
}

/* Offset of the next chunk magic at or after `from`, or file_b. */
static uint64_t next_magic(struct sonde_scan *scan, uint64_t from)
{
	const uint32_t magic = SONDE_CHUNK_MAGIC;
	while (from + sizeof(struct sonde_chunk_head) <= scan->file_b) {
		size_t have_b;
		const uint8_t *bytes = look(scan, from, sizeof magic, &have_b);
		if (!bytes)
			break;
		const uint8_t *hit = memmem(bytes, have_b, &magic, sizeof magic);
		if (hit)
			return from + (uint64_t)(hit - bytes);
		from += have_b - (sizeof magic - 1);
	}
	return scan->file_b;
}

/* The sequence number of a chunk after damage may skip at most as many chunks as the lost bytes could have held. */
static int seq_fits(const struct sonde_scan *scan, const struct sonde_chunk_head *head, uint64_t offset)
{
	uint64_t lost_b = offset - scan->at;
	return !lost_b || (head->seq >= scan->next_seq && head->seq - scan->next_seq <= lost_b / sizeof *head);
}

/* Returns 1 if a complete chunk starts at `offset`, 0 if not, or a negative errno. */
static int chunk_at(struct sonde_scan *scan, uint64_t offset, struct sonde_chunk_head *head)
{
	size_t have_b;
	const uint8_t *bytes = look(scan, offset, sizeof *head, &have_b);
	if (!bytes)
		return 0;
	memcpy(head, bytes, sizeof *head);
	if (!sonde_check_plausible(head, offset, scan->file_b) || !seq_fits(scan, head, offset))
		return 0;
	uint64_t check;
	int rc = sonde_check_file_chunk(&check, scan->fd, offset, head, scan->window + WINDOW_B, SCRATCH_B);
	if (rc == -EBADMSG)
		return 0;
	if (rc)
		return rc;
	if (check == head->check)
		return 1;
	uint64_t read_b = sonde_check_chunk_b(head);
	scan->budget_b -= read_b < scan->budget_b ? read_b : scan->budget_b;
	return 0;
}

/* True if only the tail remains and it refers to the index just passed. */
static int is_tail(struct sonde_scan *scan)
{
	struct sonde_file_tail tail;
	size_t have_b;
	if (!scan->index_offset || scan->file_b - scan->at != sizeof tail)
		return 0;
	const uint8_t *bytes = look(scan, scan->at, sizeof tail, &have_b);
	if (!bytes)
		return 0;
	memcpy(&tail, bytes, sizeof tail);
	return tail.index_offset == scan->index_offset && memcmp(tail.magic, SONDE_TAIL_MAGIC, sizeof tail.magic) == 0;
}

static void accept(struct sonde_scan *scan, uint64_t offset, const struct sonde_chunk_head *head)
{
	if (offset > scan->at) {
		if (!scan->damaged_b)
			scan->damaged_at = scan->at;
		scan->damaged_b += offset - scan->at;
		scan->index_offset = 0;
	}
	scan->at = offset + sonde_check_chunk_b(head);
	scan->next_seq = head->seq + 1;
	if (head->type != SONDE_CHUNK_INDEX)
		scan->index_offset = 0;
	else if (!scan->index_offset)
		scan->index_offset = offset;
}

int sonde_scan_next(struct sonde_scan *scan, struct sonde_index_entry *out)
{
	uint64_t offset = scan->at;
	if (!scan->window)
		scan->window = malloc(WINDOW_B + SCRATCH_B);
	if (!scan->window)
		return sonde_error(ENOMEM, "out of memory for scanning");
	while (offset + sizeof out->head <= scan->file_b && scan->budget_b) {
		struct sonde_chunk_head head;
		int found = chunk_at(scan, offset, &head);
		if (found < 0)
			return found;
		if (!found) {
			offset = next_magic(scan, offset + 1);
			continue;
		}
		accept(scan, offset, &head);
		if (head.type != SONDE_CHUNK_INDEX) {
			*out = (struct sonde_index_entry){.offset = offset, .head = head};
			return 1;
		}
		offset = scan->at;
	}
	if (is_tail(scan)) {
		scan->at = scan->file_b;
		scan->closed = 1;
	}
	return 0;
}
