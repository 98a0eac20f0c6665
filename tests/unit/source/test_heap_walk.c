/* test_heap_walk.c: the core of the allocation hooks on synthetic stacks, with tables and a ring of the test: walks
 * against the known stack, and several threads that write to one ring while it is drained. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "fold/drain.h"
#include "format/record.h"
#include "inject/heap/heap.h"
#include "inject/hook/caller.h"
#include "inject/hook/object.h"
#include "inject/hook/objects.h"
#include "inject/hook/process.h"
#include "inject/hook/rules.h"
#include "inject/hook/stacks.h"
#include "inject/hook/thread.h"
#include "inject/hook/walk.h"
#include "unwind/table.h"

/* --- code that is not there: functions of 256 bytes --------------------------------------------------------------- */

enum { FUNCTIONS = 64, FUNCTION_B = 256, SITES = 12, FRAMES = 5000, WORDS = 1 << 17, THREADS = 4, BLOCKS = 20000 };

#define CODE UINT64_C(0x400000)
#define CODE_B (FUNCTIONS * FUNCTION_B)
#define OTHER UINT64_C(0x800000) /* the same again, of another object */

static int has_fp(unsigned function)
{
	return function % 4 == 3; /* its frame is found by the frame pointer */
}

static int saves_fp(unsigned function)
{
	return has_fp(function) || function % 4 == 1;
}

static uint64_t frame_b(unsigned function)
{
	return 32 + 16 * (function % 6);
}

static uint64_t address_of(unsigned function, unsigned site)
{
	return CODE + function * FUNCTION_B + 16 + 16 * site;
}

static struct sonde_unwind_row row_of(unsigned function)
{
	return (struct sonde_unwind_row){.address = function * FUNCTION_B,
					 .cfa_off = has_fp(function) ? 16 : (int32_t)frame_b(function),
					 .fp_off = saves_fp(function) ? -16 : SONDE_UNWIND_FP_SAME,
					 .kind = has_fp(function) ? SONDE_UNWIND_FP : SONDE_UNWIND_SP,
					 .ra_slot = 1};
}

static int table_file(void)
{
	struct sonde_unwind_row rows[FUNCTIONS];
	struct sonde_unwind_file head = {
	    .magic = SONDE_UNWIND_FILE_MAGIC, .version = SONDE_UNWIND_FILE_VERSION, .count = FUNCTIONS};
	for (unsigned i = 0; i < FUNCTIONS; i++)
		rows[i] = row_of(i);
	head.check = sonde_unwind_table_check(rows, FUNCTIONS, 0);
	int fd = memfd_create("table", MFD_CLOEXEC);
	if (write(fd, &head, sizeof head) != sizeof head || write(fd, rows, sizeof rows) != sizeof rows)
		abort();
	return fd;
}

/* --- what the core asks of its surroundings ----------------------------------------------------------------------- */

struct hook_process *hook_process;
uint64_t heap_mean_b, heap_seed;
int heap_is_light;
pid_t hook_first_pid;
static struct sonde_ring_pool *ring;
static unsigned requested;

const int hook_waits = 1;

void hook_birth(void)
{
}

void hook_state_is(enum hook_state state)
{
	heap_record_look(state != HOOK_OFF && !heap_mean_b);
}

int inject_sandbox_is_on(void)
{
	return 0;
}

int hook_process_open(void)
{
	return 1;
}

int hook_process_init(void)
{
	return 1;
}

void *inject_connect_page(size_t size_b)
{
	void *page = mmap(NULL, size_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return page == MAP_FAILED ? NULL : page;
}

struct sonde_ring_pool *inject_connect_pool(struct inject_link *link)
{
	atomic_store(&link->process.state, SONDE_PROCESS_ON);
	return ring;
}

void inject_connect_ring(struct sonde_ring_pool *pool)
{
	(void)pool;
}

void inject_connect_close(int fd)
{
	close(fd);
}

uint64_t inject_connect_left_b(void)
{
	return UINT64_MAX;
}

int inject_connect_spares(uint64_t size_b)
{
	return size_b < SIZE_MAX;
}

int inject_calls_begin(void)
{
	return 1;
}

void inject_calls_end(void)
{
}

void hook_process_leave(enum sonde_link_reason reason)
{
	(void)reason;
	abort(); /* there is room */
}

void hook_process_forked(void)
{
}

int inject_connect_is_gone(void)
{
	return 0;
}

int inject_connect_is_refused(void)
{
	return 0;
}

int inject_connect_is_back(void)
{
	return 0;
}

int inject_connect_ask(const void *question, size_t question_b, void *answer, size_t answer_b, int *fd, int wait_s)
{
	uint64_t start = ((const struct sonde_link_table_question *)question)->address < OTHER ? CODE : OTHER;
	(void)question_b, (void)wait_s;
	struct sonde_link_table table = {.start = start, .end = start + CODE_B, .bias = start};
	assert_int_equal(answer_b, sizeof table);
	memcpy(answer, &table, sizeof table);
	*fd = table_file();
	errno = ENOENT; /* as real ones leave it */
	requested++;
	return 0;
}

static struct inject_objects_count counted = {.is_known = 1};
static struct inject_objects_range listed[2];
static uint32_t listed_count;

void inject_objects_counted(struct inject_objects_count *out)
{
	*out = counted;
}

void heap_operators_fork(void)
{
}

void heap_operators_forked(void)
{
}

uint32_t inject_objects_ranges(struct inject_objects_range *out, uint32_t most, struct inject_objects_count *count)
{
	assert_true(listed_count <= most);
	memcpy(out, listed, listed_count * sizeof *listed);
	*count = counted;
	return listed_count;
}

static int set_up(void **unused)
{
	(void)unused;
	static const uint32_t chunks = 64;
	ring = inject_connect_page(sonde_ring_pool_b(chunks));
	sonde_drain_format(ring, chunks, chunks, SONDE_RING_CLOCK_NS, SONDE_RING_BLOCK);
	hook_process = inject_connect_page(sizeof *hook_process);
	return !ring || !hook_process || hook_rules_init() || hook_stack_init();
}

/* --- a stack, and what is known of it ----------------------------------------------------------------------------- */

struct call {
	unsigned function, site;
	uint64_t cfa, sp;
	uint64_t saved_fp;
};

struct model {
	uint64_t *words; /* WORDS of them */
	struct call calls[FRAMES];
	unsigned depth;
	uint64_t fp, random;
};

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return *state >> 33;
}

static void put(uint64_t address, uint64_t word)
{
	memcpy((void *)(uintptr_t)address, &word, sizeof word); /* NOLINT: of the model's words */
}

static void enter(struct model *model)
{
	const struct call *caller = model->depth ? &model->calls[model->depth - 1] : NULL;
	struct call *call = &model->calls[model->depth++];
	call->function = (unsigned)next_random(&model->random) % FUNCTIONS;
	call->site = (unsigned)next_random(&model->random) % SITES;
	call->cfa = caller ? caller->sp : (uint64_t)(uintptr_t)(model->words + WORDS - 2);
	call->sp = call->cfa - frame_b(call->function);
	call->saved_fp = model->fp;
	put(call->cfa - 8, caller ? address_of(caller->function, caller->site) : 0);
	if (saves_fp(call->function)) {
		put(call->cfa - 16, model->fp);
		model->fp = has_fp(call->function) ? call->cfa - 16 : next_random(&model->random);
	}
}

static void leave(struct model *model)
{
	model->fp = model->calls[--model->depth].saved_fp;
}

/* Something else is called from the same place, or a register is used for something else. */
static void go_on(struct model *model)
{
	struct call *call = &model->calls[model->depth - 1];
	call->site = (unsigned)next_random(&model->random) % SITES;
	if (saves_fp(call->function) && !has_fp(call->function))
		model->fp = next_random(&model->random);
}

static struct hook_caller caller_of(const struct model *model)
{
	const struct call *call = &model->calls[model->depth - 1];
	/* the hook's return address stands below what its caller has */
	put(call->sp - 8, address_of(call->function, call->site));
	return (struct hook_caller){address_of(call->function, call->site), call->sp, model->fp};
}

static void begin(struct model *model, struct hook_thread *thread, uint64_t seed)
{
	*model = (struct model){.words = calloc(WORDS, sizeof *model->words), .random = seed};
	assert_non_null(model->words);
	thread->stack_low = (uint64_t)(uintptr_t)model->words;
	thread->stack_end = thread->stack_low + WORDS * sizeof *model->words;
	enter(model);
}

static void change(struct model *model, unsigned most)
{
	uint64_t calls = next_random(&model->random) % 4, returns = next_random(&model->random) % 4;
	if (next_random(&model->random) % 64 == 0) /* often deep in, and all the way out */
		*(calls > 1 ? &calls : &returns) = next_random(&model->random) % most;
	while (returns-- && model->depth > 1)
		leave(model);
	go_on(model);
	while (calls-- && model->depth < most)
		enter(model);
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

static void is_walked(const struct model *model, struct hook_thread *thread)
{
	struct hook_caller caller = caller_of(model);
	const struct hook_frame *leaf = hook_unwind(thread, &caller);
	size_t depth = (size_t)(leaf - thread->frames);
	if (depth < SONDE_HEAP_FRAMES_MAX || model->depth < SONDE_HEAP_FRAMES_MAX) {
		assert_int_equal(depth, model->depth);
		assert_int_equal(thread->status, SONDE_STACK_COMPLETE);
	}
	for (size_t i = 0; i < depth; i++) {
		const struct call *call = &model->calls[model->depth - 1 - i];
		if (leaf[-(ptrdiff_t)i].pc != address_of(call->function, call->site))
			fail_msg("frame %zu of %zu", i, depth);
	}
}

static void walks_find_what_is_there(unsigned most, unsigned rounds)
{
	static struct model model;
	struct hook_thread *thread = hook_thread_enter();
	assert_non_null(thread);
	uint64_t low = thread->stack_low, end = thread->stack_end;
	begin(&model, thread, most);
	for (unsigned i = 0; i < rounds; i++) {
		change(&model, most);
		is_walked(&model, thread);
		if (i % 1000 == 999)
			hook_rules_forget();
	}
	thread->stack_low = low;
	thread->stack_end = end;
	thread->innermost = thread->frames;
	hook_thread_leave(thread);
	free(model.words);
}

static void shallow_walks_find_what_is_there(void **unused)
{
	(void)unused;
	walks_find_what_is_there(20, 100000);
}

/* Deeper than is reported, and than is kept. */
static void deep_walks_find_what_is_there(void **unused)
{
	(void)unused;
	walks_find_what_is_there(FRAMES, 3000);
}

static void asking_keeps_errno(void **unused)
{
	(void)unused;
	struct hook_thread *thread = hook_thread_enter();
	assert_non_null(thread);
	hook_rules_forget();
	requested = 0;
	errno = EAGAIN;
	assert_true(hook_rules_get(thread, address_of(5, 1)) != 0);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(requested, 1);
	assert_true(hook_rules_get(thread, address_of(6, 1)) != 0); /* the module is known */
	assert_int_equal(requested, 1);
	hook_thread_leave(thread);
}

/* Like dlclose(). Returns how often the recorder is then asked for all rules. */
static unsigned requested_after(struct hook_thread *thread, struct inject_objects_count then)
{
	struct inject_objects_count before = counted;
	counted = then;
	hook_rules_forget_gone(&before);
	requested = 0;
	for (unsigned function = 0; function < FUNCTIONS; function++)
		for (unsigned site = 0; site < SITES; site++) {
			uint64_t rule = hook_rules_get(thread, address_of(function, site));
			assert_int_equal(HOOK_RULE_CFA(rule), row_of(function).cfa_off);
			assert_int_equal(rule, hook_rules_get(thread, address_of(function, site) - CODE + OTHER));
		}
	return requested;
}

static void only_what_has_gone_is_asked_for_again(void **unused)
{
	(void)unused;
	struct hook_thread *thread = hook_thread_enter();
	assert_non_null(thread);
	hook_rules_forget();
	assert_int_equal(requested_after(thread, counted), 2);
	uint64_t generation = atomic_load(&hook_rules_generation);
	assert_int_equal(requested_after(thread, (struct inject_objects_count){counted.loads + 1, counted.unloads, 1}),
			 0);
	assert_int_equal(atomic_load(&hook_rules_generation), generation);
	listed[0] = (struct inject_objects_range){CODE - 4096, CODE + 10 * CODE_B};
	listed[1] = (struct inject_objects_range){OTHER, OTHER + CODE_B};
	listed_count = 2; /* a third has gone */
	assert_int_equal(requested_after(thread, (struct inject_objects_count){counted.loads, counted.unloads + 1, 1}),
			 0);
	assert_int_equal(atomic_load(&hook_rules_generation), generation + 1);
	listed_count = 1;
	for (unsigned i = 0; i < 1000; i++) /* more rules come and go than there is room for */
		assert_int_equal(
		    requested_after(thread, (struct inject_objects_count){counted.loads, counted.unloads + 1, 1}), 1);
	/* a new object may be at the address of a removed one */
	assert_int_equal(
	    requested_after(thread, (struct inject_objects_count){counted.loads + 1, counted.unloads + 1, 1}), 2);
	assert_int_equal(requested_after(thread, (struct inject_objects_count){counted.loads, counted.unloads, 0}), 2);
	counted.is_known = 1;
	hook_thread_leave(thread);
}

enum { STACKS = 1 << 17, TOLD = 1, USED = 2 };

struct seen {
	uint64_t begins, ends, torn;
	uint8_t stacks[STACKS];
};

/* Records come whole: their first words are written last. */
static size_t read_record(struct seen *seen, const uint64_t *words, size_t count)
{
	int is_op = !(words[0] & SONDE_HEAP_ADDRESS_MASK), begins = words[0] & SONDE_HEAP_BEGINS ? 1 : 0;
	size_t size = is_op || begins ? 2 : 1;
	if (size > count) {
		seen->torn++;
		return count;
	}
	if (is_op && sonde_heap_ticks(words[0]) == SONDE_HEAP_STACK) {
		size += words[1] & 0xffff;
		seen->stacks[(words[1] >> 32) % STACKS] |= TOLD;
		seen->torn += size > count;
	} else if (!is_op) {
		seen->begins += (unsigned)begins;
		seen->ends += !begins;
		seen->stacks[begins ? (uint32_t)words[1] % STACKS : 0] |= USED;
	}
	return size;
}

static void on_heap(void *context, struct sonde_drain_thread *thread, const uint64_t *words, size_t count)
{
	(void)thread;
	for (size_t i = 0; i < count;)
		i += read_record(context, words + i, count - i);
}

static void on_thread_end(void *context, struct sonde_drain_thread *thread)
{
	(void)context, (void)thread;
}

static int thread_alive(void *context, uint32_t tid)
{
	(void)context, (void)tid;
	return 1;
}

static void *allocates(void *argument)
{
	unsigned number = *(unsigned *)argument;
	struct model *model = malloc(sizeof *model);
	struct hook_thread *thread = hook_thread_enter();
	if (!model || !thread)
		abort();
	begin(model, thread, number + 1);
	hook_thread_leave(thread);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		void *block = (void *)(uintptr_t)(0x7f0000000000 + ((uint64_t)number * BLOCKS + i) * 16); /* NOLINT */
		change(model, 12);
		struct hook_caller caller = caller_of(model);
		if (heap_record_begins(block, 100, &caller) != block || !heap_record_ends(block))
			abort();
	}
	thread->stack_low = thread->stack_end = 0; /* its destructor may free */
	free(model->words);
	free(model);
	return NULL;
}

/* All that several threads say arrives, while rules and stacks are shared and the ring is drained. */
static void threads_share_a_ring(void **unused)
{
	(void)unused;
	static struct seen seen;
	static unsigned numbers[THREADS];
	pthread_t threads[THREADS];
	void *memory = inject_connect_page(SONDE_DRAIN_B);
	struct sonde_drain *drain = sonde_drain_init(memory, ring, 64, SONDE_RING_CLOCK_NS);
	struct sonde_clockfit fit = {0};
	struct sonde_drain_sink sink = {
	    .context = &seen, .heap = on_heap, .thread_end = on_thread_end, .alive = thread_alive};
	for (unsigned i = 0; i < THREADS; i++) {
		numbers[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, allocates, &numbers[i]), 0);
	}
	for (unsigned round = 0; round < 300; round++) {
		sonde_drain_run(drain, &fit, &sink, 0);
		usleep(1000);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	sonde_drain_run(drain, &fit, &sink, 1);
	assert_int_equal(seen.begins, THREADS * BLOCKS);
	assert_int_equal(seen.ends, THREADS * BLOCKS);
	assert_int_equal(seen.torn, 0);
	for (unsigned i = 1; i < STACKS; i++)
		assert_true(!(seen.stacks[i] & USED) || seen.stacks[i] & TOLD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(shallow_walks_find_what_is_there),
	    cmocka_unit_test(deep_walks_find_what_is_there),
	    cmocka_unit_test(asking_keeps_errno),
	    cmocka_unit_test(only_what_has_gone_is_asked_for_again),
	    cmocka_unit_test(threads_share_a_ring),
	};
	return cmocka_run_group_tests(tests, set_up, NULL);
}
