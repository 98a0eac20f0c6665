/* ranges.c: the open ranges of a thread, and the contents of annotations (nvtx/nvtx.h).
 *
 * A thread's pushed ranges form one stack, in push order; each domain counts and pops only its own. Zones of a thread
 * nest, but ranges of two domains need not: if a range ends below others that continue, these are ended with it and
 * restarted at once as "NAME (continued)". So every zone's times are right, and NAME has as many calls as in the
 * program; the time after the restart is in a row of its own. Rejected: spans for everything that may interleave, since
 * ranges that nearly always nest (NCCL within a training step) would lose their place in the hierarchy.
 *
 * The stack is maintained even while nothing is recorded, so that levels are right. A forked child keeps the levels,
 * and ends no zone of its parent's: zones open there are not open in the child.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/nvtx/nvtx.h"

#define OPEN_MAX 1024u
#define NAMES_MAX 256u /* names for threads other than the caller, per process */
#define THREAD_NAME_B 64u
#define SPAN_IDS (UINT64_C(0x4e56) << 48) /* "NV": separates them from ids of the program's own spans */
#define MARK_B (NVTX_TEXT_MAX_B + 1u)

struct open {
	const struct nvtx_name *name;
	uint32_t domain, level;
	uint32_t process; /* process that began it */
	uint32_t is_zone; /* recorded as a zone */
};

/* Owner: the thread, also in its signal handlers, which restore the stack before they return. */
struct thread {
	uint32_t process;
	uint32_t tid;
	uint32_t named; /* value of thread_name_count when it last checked for its name */
	uint32_t depth;
	uint32_t deeper; /* ranges beyond OPEN_MAX */
	struct open open[OPEN_MAX];
};

static __thread struct thread *own __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
static int is_ready;

/* Reads as 0 in a forked child, which then counts as a new process. */
static _Atomic uint32_t *is_same_process;
static _Atomic uint32_t process = 1;
static _Atomic uint64_t spans;

/* Names given to threads by other threads: written once, `tid` last. */
static struct {
	_Atomic uint32_t tid;
	char name[THREAD_NAME_B];
} thread_names[NAMES_MAX];
static _Atomic uint32_t thread_name_count;

/* --- threads ------------------------------------------------------------------------------------------------------ */

static void thread_end(void *data)
{
	own = NULL;
	munmap(data, sizeof(struct thread));
}

__attribute__((constructor)) static void begin(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || madvise(page, 4096, MADV_WIPEONFORK) || pthread_key_create(&key, thread_end))
		return;
	is_same_process = page;
	*is_same_process = 1;
	is_ready = 1;
}

int nvtx_is_ready(void)
{
	return is_ready;
}

static uint32_t process_now(void)
{
	if (__builtin_expect(!atomic_load_explicit(is_same_process, memory_order_relaxed), 0) &&
	    !atomic_exchange(is_same_process, 1))
		atomic_fetch_add(&process, 1);
	return atomic_load_explicit(&process, memory_order_relaxed);
}

/* Applies all names given to this thread, in order. */
static void take_names(struct thread *thread)
{
	thread->named = atomic_load_explicit(&thread_name_count, memory_order_acquire);
	for (uint32_t i = 0; i < NAMES_MAX && thread->named; i++) {
		uint32_t tid = thread->tid;
		if (atomic_load_explicit(&thread_names[i].tid, memory_order_acquire) == tid &&
		    atomic_compare_exchange_strong(&thread_names[i].tid, &tid, 0))
			sonde_thread_name(thread_names[i].name);
	}
}

/* Creates the thread's state, or adapts it in a forked child; NULL = out of memory. */
static __attribute__((noinline)) struct thread *thread_again(uint32_t now)
{
	int saved = errno;
	if (!own) {
		void *capacity = mmap(NULL, sizeof(*own), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (capacity != MAP_FAILED && pthread_setspecific(key, capacity)) {
			munmap(capacity, sizeof(*own));
			capacity = MAP_FAILED;
		}
		own = capacity != MAP_FAILED ? capacity : NULL;
	}
	if (own && own->process != now) {
		own->process = now;
		own->tid = (uint32_t)syscall(SYS_gettid);
	}
	if (own)
		take_names(own);
	errno = saved;
	return own;
}

static inline struct thread *thread_now(void)
{
	uint32_t now = process_now();
	struct thread *thread = own;
	if (__builtin_expect(!thread || thread->process != now ||
				 thread->named != atomic_load_explicit(&thread_name_count, memory_order_relaxed),
			     0))
		return thread_again(now);
	return thread;
}

void nvtx_name_thread(uint32_t tid, const char *name, size_t name_b)
{
	struct thread *thread = thread_now();
	if (thread && thread->tid == tid) {
		sonde_thread_name(name);
		return;
	}
	static _Atomic uint32_t reserved;
	uint32_t i = atomic_load(&reserved);
	do
		if (i >= NAMES_MAX)
			return;
	while (!atomic_compare_exchange_weak(&reserved, &i, i + 1));
	name_b = nvtx_text_cut(name, name_b, THREAD_NAME_B - 1);
	memcpy(thread_names[i].name, name, name_b);
	atomic_store_explicit(&thread_names[i].tid, tid, memory_order_release);
	atomic_fetch_add_explicit(&thread_name_count, 1, memory_order_release);
}

/* --- attributes besides the name ---------------------------------------------------------------------------------- */

static int64_t payload_int(const struct nvtx_attributes *attributes)
{
	return attributes->payload_type == NVTX_PAYLOAD_INT64 ? attributes->payload.int64 : attributes->payload.int32;
}

static uint64_t payload_uint(const struct nvtx_attributes *attributes)
{
	return attributes->payload_type == NVTX_PAYLOAD_UINT64 ? attributes->payload.uint64
							       : attributes->payload.uint32;
}

static double payload_real(const struct nvtx_attributes *attributes)
{
	return attributes->payload_type == NVTX_PAYLOAD_DOUBLE ? attributes->payload.real
							       : (double)attributes->payload.single;
}

enum payload { NO_PAYLOAD, INTEGER, NATURAL, REAL };

static enum payload payload_of(const struct nvtx_attributes *attributes)
{
	static const enum payload kinds[] = {
	    [NVTX_PAYLOAD_UINT64] = NATURAL, [NVTX_PAYLOAD_INT64] = INTEGER, [NVTX_PAYLOAD_DOUBLE] = REAL,
	    [NVTX_PAYLOAD_UINT32] = NATURAL, [NVTX_PAYLOAD_INT32] = INTEGER, [NVTX_PAYLOAD_FLOAT] = REAL,
	};
	uint32_t type = (uint32_t)attributes->payload_type;
	return type < sizeof(kinds) / sizeof(*kinds) ? kinds[type] : NO_PAYLOAD;
}

/* A category without a name is shown by its number. */
static const char *category_text(char out[16], uint32_t domain, const struct nvtx_attributes *attributes)
{
	const char *name = nvtx_category_name(domain, attributes->category);
	if (name)
		return name;
	snprintf(out, 16, "%" PRIu32, attributes->category);
	return out;
}

static size_t payload_text(char *out, size_t out_b, const struct nvtx_attributes *attributes)
{
	int size_b = 0;
	switch (payload_of(attributes)) {
	case INTEGER:
		size_b = snprintf(out, out_b, "%" PRId64, payload_int(attributes));
		break;
	case NATURAL:
		size_b = snprintf(out, out_b, "%" PRIu64, payload_uint(attributes));
		break;
	case REAL:
		size_b = snprintf(out, out_b, "%.17g", payload_real(attributes));
		for (char *comma = strchr(out, ','); comma; comma = NULL) /* decimal comma of the program's locale */
			*comma = '.';
		break;
	case NO_PAYLOAD:
		break;
	}
	return size_b > 0 ? (size_t)size_b : 0;
}

static void zone_record(uint32_t domain, const struct nvtx_attributes *attributes, int is_whole)
{
	char number[16];
	enum payload payload = payload_of(attributes);
	if (!is_whole)
		sonde_zone_name(attributes->text);
	if (attributes->category)
		sonde_arg_text("category", category_text(number, domain, attributes));
	if (payload == INTEGER)
		sonde_arg_int("payload", payload_int(attributes));
	else if (payload == NATURAL)
		sonde_arg_uint("payload", payload_uint(attributes));
	else if (payload == REAL)
		sonde_arg_double("payload", payload_real(attributes));
}

/* Integers as text: a double cannot represent all of them. */
static void span_record(uint64_t id, uint32_t domain, const struct nvtx_attributes *attributes, int is_whole)
{
	char number[32];
	if (!is_whole)
		sonde_span_arg_text(id, "text", attributes->text);
	if (attributes->category)
		sonde_span_arg_text(id, "category", category_text(number, domain, attributes));
	if (payload_of(attributes) == REAL)
		sonde_span_arg_double(id, "payload", payload_real(attributes));
	else if (payload_text(number, sizeof(number), attributes))
		sonde_span_arg_text(id, "payload", number);
}

/* --- ranges ------------------------------------------------------------------------------------------------------- */

/* The number of open ranges of its domain below the one at `at`. */
static uint32_t level_of(const struct thread *thread, uint32_t at, uint32_t domain)
{
	while (at-- > 0)
		if (thread->open[at].domain == domain)
			return thread->open[at].level + 1;
	return 0;
}

int nvtx_push(uint32_t domain, const struct nvtx_attributes *attributes)
{
	struct thread *thread = thread_now();
	if (!thread)
		return NVTX_NOT_TRACKED;
	if (thread->depth == OPEN_MAX) {
		thread->deeper++;
		if (nvtx_is_on())
			sonde_counter_add("NVTX ranges that were too deep", 1);
		return NVTX_NOT_TRACKED;
	}
	uint32_t at = thread->depth++;
	atomic_signal_fence(memory_order_seq_cst);
	struct open *open = &thread->open[at];
	*open = (struct open){.domain = domain, .level = level_of(thread, at, domain), .process = thread->process};
	if (!nvtx_is_on() || !attributes->text)
		return (int)open->level;
	int is_whole;
	struct nvtx_name *name = nvtx_name_of(NVTX_NAME_ZONE, domain, attributes, &is_whole);
	open->name = name;
	open->is_zone = 1;
	sonde_hot_begin(&name->place);
	if (!is_whole || attributes->category || attributes->payload_type)
		zone_record(domain, attributes, is_whole);
	return (int)open->level;
}

static int is_ours(const struct thread *thread, const struct open *open)
{
	return open->is_zone && open->process == thread->process;
}

/* Ends the range at `at` below others, which continue. */
static void end_beneath(struct thread *thread, uint32_t at)
{
	for (uint32_t i = thread->depth; i-- > at;)
		if (is_ours(thread, &thread->open[i]))
			sonde_hot_end();
	memmove(&thread->open[at], &thread->open[at + 1], (thread->depth - at - 1) * sizeof(struct open));
	thread->depth--;
	for (uint32_t i = at; i < thread->depth; i++) {
		struct open *open = &thread->open[i];
		if (!is_ours(thread, open))
			continue;
		struct nvtx_name *remainder = nvtx_name_continued(open->name);
		open->name = remainder;
		sonde_hot_begin(&remainder->place);
	}
}

static uint32_t find_last(const struct thread *thread, uint32_t domain)
{
	uint32_t at = thread->depth;
	while (at > 0 && thread->open[at - 1].domain != domain)
		at--;
	return at;
}

int nvtx_pop(uint32_t domain)
{
	struct thread *thread = thread_now();
	if (!thread)
		return NVTX_NOT_TRACKED;
	if (thread->deeper) {
		thread->deeper--;
		return NVTX_NOT_TRACKED;
	}
	uint32_t found = find_last(thread, domain);
	if (!found) {
		if (nvtx_is_on())
			sonde_counter_add("NVTX pops without a push", 1);
		return -1;
	}
	const struct open *open = &thread->open[found - 1];
	int level = (int)open->level;
	if (found < thread->depth) {
		end_beneath(thread, found - 1);
		return level;
	}
	if (is_ours(thread, open))
		sonde_hot_end();
	atomic_signal_fence(memory_order_seq_cst);
	thread->depth--;
	return level;
}

uint64_t nvtx_start(uint32_t domain, const struct nvtx_attributes *attributes)
{
	if (!nvtx_is_on())
		return 0;
	int is_whole;
	thread_now();
	struct nvtx_name *name = nvtx_name_of(NVTX_NAME_SPAN, domain, attributes, &is_whole);
	uint64_t id = SPAN_IDS | (atomic_fetch_add_explicit(&spans, 1, memory_order_relaxed) + 1);
	sonde_place_span(&name->place, id);
	span_record(id, domain, attributes, is_whole);
	return id;
}

void nvtx_end(uint64_t id)
{
	if (id >> 48 == SPAN_IDS >> 48)
		sonde_span_end(id);
}

void nvtx_mark(uint32_t domain, const struct nvtx_attributes *attributes)
{
	char text[MARK_B], number[32];
	int is_whole, size_b = 0;
	if (!nvtx_is_on())
		return;
	thread_now();
	struct nvtx_name *name = nvtx_name_of(NVTX_NAME_INSTANT, domain, attributes, &is_whole);
	text[0] = 0;
	if (attributes->category)
		size_b = snprintf(text, sizeof(text), "category: %.256s", category_text(number, domain, attributes));
	if (payload_text(number, sizeof(number), attributes))
		size_b +=
		    snprintf(text + size_b, sizeof(text) - (size_t)size_b, "%spayload: %s", size_b ? ", " : "", number);
	if (!is_whole)
		snprintf(text + size_b, sizeof(text) - (size_t)size_b, "%s%s", size_b ? ", " : "", attributes->text);
	sonde_instant(name->place.name, *text ? text : NULL);
}
