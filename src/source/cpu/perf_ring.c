/* perf_ring.c: the kernel's perf event buffers, one per CPU, read as one stream in time order.
 *
 * Each buffer belongs to a dummy event of our own process, into which the real events are redirected. So poll() does
 * not report a hang-up when the target's main thread ends, and the buffer's size does not depend on the process that is
 * attached to. Records are used in place (a stack copy is 16 KB: copying it again would double the recorder's
 * overhead). Only records that wrap around the end are assembled in a scratch buffer. A buffer's tail advances when the
 * next record is requested.
 *
 * spill() copies pending records into memory before a slow operation; next() reads the copies first.
 */
#include "source/cpu/perf_ring.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "source/resource/proc_stat.h"
#include "util/error.h"

#define SPILL_MAX_B (64u << 20) /* maximum of spilled records, over all buffers together */
#define RECORD_MAX_B 65536      /* perf_event_header.size is 16 bits */
#define NOTHING UINT64_MAX

struct ring {
	int fd;
	int cpu;
	struct perf_event_mmap_page *page;
	uint8_t *data;
	uint64_t head;    /* the kernel's, as of the last update */
	uint64_t tail;    /* ours: first byte not yet taken */
	uint64_t next_ns; /* time of the record at `tail`, or of the first spilled one; NOTHING = no record */
	uint8_t *spill;
	size_t spill_at, spill_b, spill_cap_b;
};

struct sonde_perf_rings {
	struct ring *rings;
	size_t count;
	size_t size_b; /* a power of two */
	size_t spilled_b;
	struct ring *current; /* ring of the record returned last */
	size_t current_b;     /* size of that record */
	uint64_t damaged;
	uint8_t scratch[RECORD_MAX_B];
};

/* --- opening --------------------------------------------------------------------------------------------- */

static int open_owner(int cpu, size_t size_b, unsigned wake_part)
{
	struct perf_event_attr attr = {
	    .size = sizeof attr,
	    .type = PERF_TYPE_SOFTWARE,
	    .config = PERF_COUNT_SW_DUMMY,
	    .disabled = 1,
	    .exclude_kernel = 1,
	    .exclude_hv = 1,
	    .watermark = 1,
	    .wakeup_watermark = (uint32_t)(size_b / wake_part),
	    .use_clockid = 1,
	    .clockid = CLOCK_MONOTONIC,
	};
	long fd = syscall(SYS_perf_event_open, &attr, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

static int map_ring(struct ring *ring, int cpu, size_t size_b, unsigned wake_part)
{
	int fd = open_owner(cpu, size_b, wake_part);
	if (fd < 0)
		return fd;
	size_t page_b = (size_t)sysconf(_SC_PAGESIZE);
	void *memory = mmap(NULL, page_b + size_b, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		int rc = -errno;
		close(fd);
		return rc;
	}
	*ring =
	    (struct ring){.fd = fd, .cpu = cpu, .page = memory, .data = (uint8_t *)memory + page_b, .next_ns = NOTHING};
	return 0;
}

static void unmap_all(struct sonde_perf_rings *rings)
{
	size_t page_b = (size_t)sysconf(_SC_PAGESIZE);
	for (size_t i = 0; i < rings->count; i++) {
		munmap(rings->rings[i].page, page_b + rings->size_b);
		close(rings->rings[i].fd);
		free(rings->rings[i].spill);
	}
	rings->count = 0;
}

/* Maps one buffer of size_b for each online CPU. */
static int map_all(struct sonde_perf_rings *rings, size_t cpus, size_t size_b, unsigned wake_part)
{
	rings->size_b = size_b;
	for (size_t cpu = 0; cpu < cpus; cpu++) {
		int result = map_ring(&rings->rings[rings->count], (int)cpu, size_b, wake_part);
		if (result == -ENODEV)
			continue;
		if (result < 0) {
			unmap_all(rings);
			return result;
		}
		rings->count++;
	}
	return rings->count ? 0 : -ENODEV;
}

static size_t power_of_two_below(size_t value)
{
	size_t power = 1;
	while (power <= value / 2)
		power *= 2;
	return power;
}

int sonde_perf_rings_open(struct sonde_perf_rings **out, size_t want_b, size_t least_b, unsigned wake_part)
{
	size_t cpus = sonde_proc_cpu_numbers();
	size_t page_b = (size_t)sysconf(_SC_PAGESIZE);
	struct sonde_perf_rings *rings = calloc(1, sizeof *rings);
	if (rings)
		rings->rings = calloc(cpus, sizeof *rings->rings);
	if (!rings || !rings->rings) {
		free(rings);
		return sonde_error(ENOMEM, "out of memory for perf event buffers");
	}
	if (least_b < page_b)
		least_b = page_b;
	size_t size_b = power_of_two_below(want_b < least_b ? least_b : want_b);
	int result;
	while ((result = map_all(rings, cpus, size_b, wake_part)) < 0) {
		if ((result != -EPERM && result != -ENOMEM) || size_b / 2 < least_b)
			break;
		size_b /= 2;
	}
	if (result < 0) {
		free(rings->rings);
		free(rings);
		return sonde_error(-result, "cannot map perf event buffers of %zu bytes a CPU: %s", size_b,
				   strerror(-result));
	}
	*out = rings;
	return 0;
}

void sonde_perf_rings_close(struct sonde_perf_rings *rings)
{
	if (!rings)
		return;
	unmap_all(rings);
	free(rings->rings);
	free(rings);
}

size_t sonde_perf_rings_count(const struct sonde_perf_rings *rings)
{
	return rings->count;
}

size_t sonde_perf_rings_size_b(const struct sonde_perf_rings *rings)
{
	return rings->size_b;
}

int sonde_perf_rings_cpu(const struct sonde_perf_rings *rings, size_t index)
{
	return rings->rings[index].cpu;
}

int sonde_perf_rings_add(struct sonde_perf_rings *rings, size_t index, int fd)
{
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, rings->rings[index].fd) < 0)
		return sonde_error(errno, "cannot direct a perf event into the buffer of CPU %d: %s",
				   rings->rings[index].cpu, strerror(errno));
	return 0;
}

/* --- records --------------------------------------------------------------------------------------------- */

/* The header of the record at position `at` of the stream, which may be larger than the buffer. Records and their sizes
 * are aligned to 8, so headers and 8-byte words never wrap. */
static const struct perf_event_header *head_at(const struct sonde_perf_rings *rings, const struct ring *ring,
					       uint64_t at)
{
	return (const struct perf_event_header *)(ring->data + (at & (rings->size_b - 1)));
}

static uint64_t word_at(const struct sonde_perf_rings *rings, const struct ring *ring, uint64_t at)
{
	uint64_t word;
	memcpy(&word, ring->data + (at & (rings->size_b - 1)), sizeof word);
	return word;
}

static int is_sane(const struct perf_event_header *head, uint64_t room_b)
{
	return head->size >= sizeof *head + 16 && head->size % 8 == 0 && head->size <= room_b;
}

/* Offset of a record's time: after TID in samples, at the end in all others. */
static uint64_t time_offset(const struct perf_event_header *head)
{
	return head->type == PERF_RECORD_SAMPLE ? 16 : head->size - 8u;
}

/* Finds the time of the next record of a ring. */
static void look_ahead(struct sonde_perf_rings *rings, struct ring *ring)
{
	ring->next_ns = NOTHING;
	if (ring->spill_at < ring->spill_b) {
		const uint8_t *record = ring->spill + ring->spill_at;
		memcpy(&ring->next_ns, record + time_offset((const struct perf_event_header *)record), 8);
		return;
	}
	if (ring->tail == ring->head)
		return;
	const struct perf_event_header *head = head_at(rings, ring, ring->tail);
	if (!is_sane(head, ring->head - ring->tail)) {
		rings->damaged++;
		ring->tail = ring->head;
		return;
	}
	ring->next_ns = word_at(rings, ring, ring->tail + time_offset(head));
}

/* Returns the consumed space to the kernel. Release order: our reads of the records must be complete before. */
static void publish_tail(struct ring *ring)
{
	atomic_store_explicit((_Atomic __u64 *)&ring->page->data_tail, ring->tail, memory_order_release);
}

/* Releases the record returned last. */
static void release_current(struct sonde_perf_rings *rings)
{
	struct ring *ring = rings->current;
	rings->current = NULL;
	if (!ring)
		return;
	if (ring->spill_at < ring->spill_b) {
		ring->spill_at += rings->current_b;
		if (ring->spill_at == ring->spill_b) {
			rings->spilled_b -= ring->spill_b;
			ring->spill_at = ring->spill_b = 0;
		}
	} else {
		ring->tail += rings->current_b;
		publish_tail(ring);
	}
	look_ahead(rings, ring);
}

void sonde_perf_rings_update(struct sonde_perf_rings *rings)
{
	release_current(rings);
	for (size_t i = 0; i < rings->count; i++) {
		struct ring *ring = &rings->rings[i];
		/* acquire: the kernel wrote the records before it moved the head */
		ring->head = atomic_load_explicit((_Atomic __u64 *)&ring->page->data_head, memory_order_acquire);
		if (ring->next_ns != NOTHING)
			continue;
		look_ahead(rings, ring);
		if (ring->next_ns == NOTHING)
			publish_tail(ring);
	}
}

/* Returns the record at `at` as contiguous memory: a record that wraps around is copied to the scratch buffer. */
static const struct perf_event_header *whole(struct sonde_perf_rings *rings, const struct ring *ring, uint64_t at)
{
	const struct perf_event_header *head = head_at(rings, ring, at);
	size_t begin = at & (rings->size_b - 1), size_b = head->size;
	if (begin + size_b <= rings->size_b)
		return head;
	size_t first_b = rings->size_b - begin;
	memcpy(rings->scratch, ring->data + begin, first_b);
	memcpy(rings->scratch + first_b, ring->data, size_b - first_b);
	return (const struct perf_event_header *)rings->scratch;
}

int sonde_perf_rings_next(struct sonde_perf_rings *rings, uint64_t horizon_ns, struct sonde_perf_record *out)
{
	release_current(rings);
	struct ring *best = NULL;
	for (size_t i = 0; i < rings->count; i++)
		if (rings->rings[i].next_ns < (best ? best->next_ns : horizon_ns))
			best = &rings->rings[i];
	if (!best)
		return 0;
	if (best->spill_at < best->spill_b)
		out->header = (const struct perf_event_header *)(best->spill + best->spill_at);
	else
		out->header = whole(rings, best, best->tail);
	out->time_ns = best->next_ns;
	out->cpu = best->cpu;
	rings->current = best;
	rings->current_b = out->header->size;
	return 1;
}

/* --- spilling -------------------------------------------------------------------------------------------- */

static int reserve_spill(struct ring *ring, size_t more_b)
{
	if (ring->spill_b + more_b <= ring->spill_cap_b)
		return 0;
	uint8_t *spill = realloc(ring->spill, ring->spill_b + more_b);
	if (!spill)
		return -ENOMEM;
	ring->spill = spill;
	ring->spill_cap_b = ring->spill_b + more_b;
	return 0;
}

/* Moves the spilled records that have not been taken to the front of their memory. */
static void close_gap(struct sonde_perf_rings *rings, struct ring *ring)
{
	if (!ring->spill_at)
		return;
	memmove(ring->spill, ring->spill + ring->spill_at, ring->spill_b - ring->spill_at);
	rings->spilled_b -= ring->spill_at;
	ring->spill_b -= ring->spill_at;
	ring->spill_at = 0;
}

/* Appends the pending records of one ring to its spilled ones; stops at a damaged record. */
static void spill_ring(struct sonde_perf_rings *rings, struct ring *ring)
{
	size_t pending_b = (size_t)(ring->head - ring->tail);
	close_gap(rings, ring);
	if (!pending_b || rings->spilled_b + pending_b > SPILL_MAX_B || reserve_spill(ring, pending_b) < 0)
		return;
	while (ring->tail < ring->head) {
		const struct perf_event_header *head = head_at(rings, ring, ring->tail);
		if (!is_sane(head, ring->head - ring->tail))
			break;
		size_t size_b = head->size;
		memcpy(ring->spill + ring->spill_b, whole(rings, ring, ring->tail), size_b);
		ring->spill_b += size_b;
		rings->spilled_b += size_b;
		ring->tail += size_b;
	}
	publish_tail(ring);
}

void sonde_perf_rings_spill(struct sonde_perf_rings *rings)
{
	sonde_perf_rings_update(rings);
	for (size_t i = 0; i < rings->count; i++) {
		spill_ring(rings, &rings->rings[i]);
		look_ahead(rings, &rings->rings[i]);
	}
}

void sonde_perf_rings_relieve(struct sonde_perf_rings *rings)
{
	sonde_perf_rings_update(rings);
	for (size_t i = 0; i < rings->count; i++) {
		struct ring *ring = &rings->rings[i];
		if (ring->head - ring->tail <= rings->size_b / 2)
			continue;
		spill_ring(rings, ring);
		look_ahead(rings, ring);
	}
}

int sonde_perf_rings_peek(struct sonde_perf_rings *rings, int (*visit)(void *context, const struct perf_event_header *),
			  void *context)
{
	sonde_perf_rings_update(rings);
	for (size_t i = 0; i < rings->count; i++) {
		const struct ring *ring = &rings->rings[i];
		for (uint64_t at = ring->tail; at < ring->head;) {
			if (!is_sane(head_at(rings, ring, at), ring->head - at))
				break;
			const struct perf_event_header *head = whole(rings, ring, at);
			int result = visit(context, head);
			if (result)
				return result;
			at += head->size;
		}
	}
	return 0;
}

size_t sonde_perf_rings_poll_fds(const struct sonde_perf_rings *rings, int *fds, size_t max)
{
	size_t count = rings->count < max ? rings->count : max;
	for (size_t i = 0; i < count; i++)
		fds[i] = rings->rings[i].fd;
	return count;
}

uint64_t sonde_perf_rings_damaged(const struct sonde_perf_rings *rings)
{
	return rings->damaged;
}
