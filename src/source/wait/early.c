/* early.c: reads the records that processes make before they connect (wait/early.h).
 *
 * Slots are polled each round, but read with a delay, since the kernel's events about a process (its fork, its name)
 * must be known first. A process that calls exec has a slot for each program: the slots are read in the order in which
 * the programs began, and a slot ends when the next program begins. The memory of slots is allocated before a process
 * can touch it, because a lack of memory would raise SIGBUS in the process. More is allocated when half of it is in
 * use.
 */
#include "source/wait/early.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "format/early.h"
#include "format/heap.h"
#include "format/ring.h"
#include "format/wait.h"
#include "source/wait/process.h"
#include "source/target/channel.h"

#define COMMIT_FIRST 64u
#define REMAINDER_NS 25000000u /* delay until the rest is read: longer than kernel events wait to be read */
#define SIZE_B (SONDE_EARLY_HEAD_B + (size_t)SONDE_EARLY_SLOTS * SONDE_EARLY_SLOT_B)

/* A slot that a process has taken. */
struct row {
	pid_t pid;      /* 0 = none seen */
	uint32_t taken; /* words read */
	uint64_t began; /* raw clock value */
	uint32_t thread;
	int is_connected;                 /* it has connected, so its mappings are known from its rings */
	struct sonde_wait_process *waits; /* NULL = not read yet, or out of memory */
};

struct sonde_wait_early {
	struct sonde_wait_early_options options;
	int fd;
	struct sonde_early_head *head;
	struct sonde_early_slot *slots;
	uint32_t clock;
	uint32_t committed; /* our copy of the number in the shared head, which processes may have modified */
	uint64_t count;
	struct row rows[SONDE_EARLY_SLOTS];
	uint64_t words[SONDE_EARLY_WORDS];
};

/* --- memory ------------------------------------------------------------------------------------------------------ */

static void commit(struct sonde_wait_early *early, uint32_t to)
{
	off_t from_b =
	    early->committed ? (off_t)(SONDE_EARLY_HEAD_B + (size_t)early->committed * SONDE_EARLY_SLOT_B) : 0;
	off_t to_b = (off_t)(SONDE_EARLY_HEAD_B + (size_t)to * SONDE_EARLY_SLOT_B);
	if (to > SONDE_EARLY_SLOTS || fallocate(early->fd, 0, from_b, to_b - from_b))
		return;
	early->committed = to;
	atomic_store(&early->head->committed, to);
}

static int lay_out(struct sonde_wait_early *early)
{
	early->fd = memfd_create(SONDE_EARLY_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (early->fd < 0 || ftruncate(early->fd, (off_t)SIZE_B) ||
	    fcntl(early->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -1;
	char *memory = mmap(NULL, SIZE_B, PROT_READ | PROT_WRITE, MAP_SHARED, early->fd, 0);
	if (memory == MAP_FAILED)
		return -1;
	early->head = (struct sonde_early_head *)(void *)memory;
	early->slots = (struct sonde_early_slot *)(void *)(memory + SONDE_EARLY_HEAD_B);
	if (fallocate(early->fd, 0, 0, SONDE_EARLY_HEAD_B))
		return -1;
	commit(early, COMMIT_FIRST);
	return early->committed ? 0 : -1;
}

/* True if Yama does not let processes of the user read each other's memory. They could read it in the shared slots.
 * Setting 1 restricts access to parents and root, 3 denies all (Documentation/admin-guide/LSM/Yama.rst). */
static int is_restricted(void)
{
	char scope = '0';
	int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, &scope, 1) != 1)
		scope = '1';
	if (fd >= 0)
		close(fd);
	return scope >= (geteuid() ? '1' : '3');
}

struct sonde_wait_early *sonde_wait_early_new(const struct sonde_wait_early_options *options)
{
	struct sonde_wait_early *early = is_restricted() ? NULL : calloc(1, sizeof *early);
	if (!early)
		return NULL;
	early->options = *options;
	early->clock = sonde_clockfit_usable() ? SONDE_RING_CLOCK_CYCLES : SONDE_RING_CLOCK_NS;
	if (lay_out(early)) {
		sonde_wait_early_free(early);
		return NULL;
	}
	early->head->magic = SONDE_EARLY_MAGIC;
	early->head->clock = early->clock;
	snprintf(early->head->socket, sizeof early->head->socket, "%s", sonde_channel_name(options->channel));
	return early;
}

void sonde_wait_early_free(struct sonde_wait_early *early)
{
	if (!early)
		return;
	for (uint32_t i = 0; i < SONDE_EARLY_SLOTS; i++)
		if (early->rows[i].waits)
			sonde_wait_process_end(early->rows[i].waits);
	if (early->head)
		munmap(early->head, SIZE_B);
	if (early->fd >= 0)
		close(early->fd);
	free(early);
}

void sonde_wait_early_place(const struct sonde_wait_early *early, char *out, size_t out_b)
{
	snprintf(out, out_b, "%d %d", (int)getpid(), early->fd);
}

uint64_t sonde_wait_early_count(const struct sonde_wait_early *early)
{
	return early ? early->count : 0;
}

int sonde_wait_early_has(const struct sonde_wait_early *early, pid_t pid)
{
	for (uint32_t i = 0; early && i < early->committed; i++)
		if (atomic_load_explicit(&early->head->owners[i], memory_order_relaxed) == (uint32_t)pid)
			return 1;
	return 0;
}

/* --- words ------------------------------------------------------------------------------------------------------- */

static uint64_t time_of(const struct sonde_wait_early *early, uint64_t raw)
{
	return early->clock == SONDE_RING_CLOCK_CYCLES
		   ? sonde_clockfit_ns(sonde_channel_fit(early->options.channel), raw)
		   : raw;
}

static void begin(struct sonde_wait_early *early, struct row *row)
{
	const struct sonde_wait_early_options *options = &early->options;
	uint64_t began_ns = time_of(early, row->began);
	struct sonde_wait_process_options process = {.recorder = options->recorder,
						     .interposed = options->interposed,
						     .chunks = options->chunks,
						     .channel = options->channel,
						     .pid = row->pid,
						     .clock = early->clock,
						     .time_ns = began_ns};
	sonde_spaces_exec(options->interposed->spaces, row->pid, "");
	if (sonde_wait_process_new(&row->waits, &process))
		row->waits = NULL;
	row->thread = sonde_recorder_thread(options->recorder, row->pid, row->pid, began_ns);
	early->count++;
	if (options->begun)
		options->begun(options->context, sonde_recorder_process(options->recorder, row->pid, began_ns));
}

/* Stack copies must not stay where other processes of the user can read them: their words are cleared once read. */
static void wipe(struct sonde_early_slot *slot, uint32_t at, size_t size, uint64_t first)
{
	if (first >> SONDE_HEAP_ADDRESS_BITS != SONDE_EARLY_COPY)
		return;
	for (size_t i = SONDE_EARLY_COPY_HEAD; i < size; i++)
		atomic_store_explicit(&slot->words[at + i], 0, memory_order_relaxed);
}

/* Copies the records that are complete, and so do not change any more. Returns their number of words. */
static uint32_t copy_records(struct sonde_wait_early *early, struct sonde_early_slot *slot, uint32_t from)
{
	uint32_t at = from;
	while (at + 1 < SONDE_EARLY_WORDS) {
		/* acquire: the rest of the record was written before its first word */
		uint64_t first = atomic_load_explicit(&slot->words[at], memory_order_acquire);
		uint64_t second = atomic_load_explicit(&slot->words[at + 1], memory_order_relaxed);
		size_t size = first ? sonde_wait_process_size(first, second) : 0;
		if (!size || size > SONDE_EARLY_WORDS - at)
			break;
		early->words[at] = first;
		early->words[at + 1] = second;
		for (size_t i = 2; i < size; i++)
			early->words[at + i] = atomic_load_explicit(&slot->words[at + i], memory_order_relaxed);
		wipe(slot, at, size, first);
		at += (uint32_t)size;
	}
	return at - from;
}

static void lose(const struct sonde_wait_early *early, const struct row *row, const char *cause, uint64_t count)
{
	struct sonde_recorder_loss loss = {
	    .source = "waits", .cause = cause, .count = count, .time_ns = sonde_clock_now_ns()};
	if (!count)
		return;
	loss.process = sonde_recorder_process(early->options.recorder, row->pid, time_of(early, row->began));
	sonde_recorder_lost(early->options.recorder, &loss);
}

static uint64_t calls_in(const uint64_t *words, uint32_t count)
{
	uint64_t calls = 0;
	for (uint32_t at = 0; at < count; at += (uint32_t)sonde_wait_process_size(words[at], words[at + 1]))
		calls += words[at] >> SONDE_HEAP_ADDRESS_BITS == SONDE_WAIT_CALL;
	return calls;
}

static void take_words(struct sonde_wait_early *early, uint32_t i)
{
	struct row *row = &early->rows[i];
	uint32_t count = copy_records(early, &early->slots[i], row->taken);
	if (row->waits && count)
		sonde_wait_process_add(row->waits, row->thread, early->words + row->taken, count);
	else if (count)
		lose(early, row, "out of memory for them", calls_in(early->words + row->taken, count));
	if (row->waits)
		sonde_wait_process_settle(row->waits);
	row->taken += count;
}

/* Reads all remaining records, and frees the slot. */
static void end(struct sonde_wait_early *early, uint32_t i)
{
	struct row *row = &early->rows[i];
	if (!row->waits && row->began)
		begin(early, row);
	take_words(early, i);
	uint64_t remainder = row->taken < SONDE_EARLY_WORDS ? atomic_load(&early->slots[i].words[row->taken]) : 0;
	if (row->waits && remainder) /* the remainder is no valid record: it is counted as bad */
		sonde_wait_process_add(row->waits, row->thread, &remainder, 1);
	if (row->began)
		lose(early, row, sonde_ring_lost_text(SONDE_RING_LOST_SIGNAL), atomic_load(&early->slots[i].lost));
	if (row->waits)
		sonde_wait_process_end(row->waits);
	if (!row->is_connected)
		sonde_spaces_exit(early->options.interposed->spaces, row->pid);
	*row = (struct row){.pid = 0};
	memset((void *)&early->slots[i], 0, SONDE_EARLY_SLOT_B);
	atomic_store_explicit(&early->head->owners[i], 0, memory_order_release);
}

/* --- slots ------------------------------------------------------------------------------------------------------- */

/* Fills rows of newly taken slots; returns how many are in use. */
static uint32_t look(struct sonde_wait_early *early)
{
	uint32_t used = 0;
	for (uint32_t i = 0; i < early->committed; i++) {
		struct row *row = &early->rows[i];
		/* acquire: once a process has set `began`, it owns the slot; before, it may give the slot back */
		uint64_t began = row->began ? 0 : atomic_load_explicit(&early->slots[i].began, memory_order_acquire);
		uint32_t owner = atomic_load(&early->head->owners[i]);
		used += owner != 0;
		if (!row->began)
			row->pid = (pid_t)owner > 0 ? (pid_t)owner : 0;
		if (!row->began && row->pid)
			row->began = began;
	}
	return used;
}

/* The process's slot with the earliest start before `began`; SONDE_EARLY_SLOTS: none. */
static uint32_t first_of(const struct sonde_wait_early *early, pid_t pid, uint64_t began)
{
	uint32_t first = SONDE_EARLY_SLOTS;
	for (uint32_t i = 0; i < early->committed; i++) {
		const struct row *row = &early->rows[i];
		if (row->pid == pid && row->began && row->began < began) {
			first = i;
			began = row->began;
		}
	}
	return first;
}

/* Ends the slots of programs that a process executed earlier. */
static void end_earlier(struct sonde_wait_early *early, pid_t pid, uint64_t began)
{
	uint32_t first;
	while ((first = first_of(early, pid, began)) < SONDE_EARLY_SLOTS)
		end(early, first);
}

static int is_dead(pid_t pid)
{
	return kill(pid, 0) && errno == ESRCH;
}

static void drain_slot(struct sonde_wait_early *early, uint32_t i, int final, uint64_t now_ns)
{
	struct row *row = &early->rows[i];
	int is_over = final || atomic_load(&early->slots[i].moved) || is_dead(row->pid);
	if (!row->began) { /* killed, or gave the slot back, which may now belong to another process */
		if (!is_over || atomic_load(&early->head->owners[i]) != (uint32_t)row->pid)
			return;
		/* The process may have set `began`, written and exited since look(). */
		row->began = atomic_load_explicit(&early->slots[i].began, memory_order_acquire);
	}
	if (!row->began) {
		end(early, i);
		return;
	}
	if (!final && time_of(early, row->began) + REMAINDER_NS > now_ns)
		return;
	end_earlier(early, row->pid, row->began);
	if (is_over) {
		end(early, i);
		return;
	}
	if (!row->waits)
		begin(early, row);
	take_words(early, i);
}

void sonde_wait_early_drain(struct sonde_wait_early *early, int final)
{
	uint64_t now_ns = sonde_clock_now_ns();
	if (!early)
		return;
	uint32_t used = look(early);
	if (used)
		sonde_unwinder_begin(early->options.interposed->unwinder);
	for (uint32_t i = 0; used && i < early->committed; i++)
		if (early->rows[i].pid)
			drain_slot(early, i, final, now_ns);
	if (!final && used > early->committed / 2 && early->committed < SONDE_EARLY_SLOTS)
		commit(early, early->committed * 2);
}

void sonde_wait_early_connected(struct sonde_wait_early *early, pid_t pid)
{
	if (!early)
		return;
	look(early);
	uint32_t last = SONDE_EARLY_SLOTS;
	for (uint32_t i = 0; i < early->committed; i++)
		if (early->rows[i].pid == pid &&
		    (last == SONDE_EARLY_SLOTS || early->rows[i].began > early->rows[last].began))
			last = i;
	if (last == SONDE_EARLY_SLOTS)
		return;
	end_earlier(early, pid, early->rows[last].began);
	if (!early->rows[last].waits && early->rows[last].began)
		begin(early, &early->rows[last]);
	take_words(early, last); /* a call in which a signal handler connected is reported later */
	early->rows[last].is_connected = 1;
}
