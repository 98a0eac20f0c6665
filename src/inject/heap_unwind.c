/* heap_unwind.c: walks the calling thread's stack, as little of it as must be walked.
 *
 * Rules: what a return address needs (one row of a call-frame table) is kept in a hash table of the process. The tables
 * are compiled by the recorder, which hands out their cache files; a module is asked for once.
 *
 * Verified-incremental walking: the thread keeps the frames of its last walk with the slots that their return addresses
 * and frame pointers were read from. A new walk steps from the leaf until it meets a kept frame, and if all the slots
 * outside that frame still hold the same words, the rest of the stack is the same. Only on the thread's own stack,
 * whose bounds are known: every slot is readable there.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/record.h"
#include "inject/heap.h"
#include "unwind/machine.h"
#include "unwind/step.h"

#define RULE_BITS 16
#define RULES (1u << RULE_BITS)
#define RULES_MOST (RULES / 4 * 3)
#define MODULES 2048u
#define WAIT_S 10
#define NOWHERE (&nowhere)

/* A row, packed; 0 = not known yet. */
struct rule {
	_Atomic uint64_t pc;
	_Atomic uint64_t packed;
};

struct module {
	uint64_t start, end, bias;
	struct sonde_unwind_table table;
};

/* In memory that a forked child reads as zeros. */
struct known {
	_Atomic uint32_t lock;
	_Atomic uint32_t rule_count;
	_Atomic uint32_t module_count;
	struct module modules[MODULES];
	struct rule rules[RULES];
};

static struct known *known;
static const uint64_t nowhere = 0; /* of a frame pointer that no frame has saved */

int heap_unwind_init(void)
{
	known = inject_connect_page(sizeof(*known));
	return known ? 0 : -1;
}

/* --- modules ----------------------------------------------------------------------------------------------------- */

static int try_lock(void)
{
	for (int i = 0; i < 1000000; i++) {
		uint32_t unlocked = 0;
		if (atomic_compare_exchange_weak(&known->lock, &unlocked, 1))
			return 1;
	}
	return 0; /* whoever had it is gone, or does not come on: this walk does without */
}

static void unlock(void)
{
	atomic_store(&known->lock, 0);
}

static const struct module *find_module(uint64_t pc)
{
	uint32_t count = atomic_load_explicit(&known->module_count, memory_order_acquire);
	for (uint32_t i = count; i-- > 0;)
		if (pc >= known->modules[i].start && pc < known->modules[i].end)
			return &known->modules[i];
	return NULL;
}

/* Asks the recorder what lies at `pc`; a module without a table when it has none. */
static void ask(struct module *module, uint64_t pc)
{
	struct sonde_link_table_question question = {
	    .head = {SONDE_LINK_TABLE, SONDE_LINK_VERSION}, .pid = (uint32_t)getpid(), .address = pc};
	struct sonde_link_table answer = {.status = -EPROTO};
	int fd;
	*module = (struct module){.start = pc, .end = pc + 1};
	int code = inject_connect_ask(&question, sizeof(question), &answer, sizeof(answer), &fd, WAIT_S);
	if (code || answer.status || answer.start > pc || answer.end <= pc) {
		if (fd >= 0)
			close(fd);
		return;
	}
	module->start = answer.start;
	module->end = answer.end;
	module->bias = answer.bias;
	if (fd < 0)
		return;
	sonde_unwind_table_map(&module->table, fd, answer.build_id, answer.build_id_b);
	close(fd);
}

static const struct module *get_module(uint64_t pc)
{
	const struct module *found = find_module(pc);
	if (found || !try_lock())
		return found;
	uint32_t count = atomic_load(&known->module_count);
	found = find_module(pc);
	if (!found && count < MODULES) {
		ask(&known->modules[count], pc);
		atomic_store_explicit(&known->module_count, count + 1, memory_order_release);
		found = &known->modules[count];
	}
	unlock();
	return found;
}

/* --- rules ------------------------------------------------------------------------------------------------------- */

static uint64_t pack(const struct sonde_unwind_row *row)
{
	return (uint64_t)1 << 63 | (uint64_t)row->kind << 56 | (uint64_t)row->ra_slot << 48 |
	       (uint64_t)(uint16_t)row->fp_off << 32 | (uint32_t)row->cfa_off;
}

static struct sonde_unwind_row unpack(uint64_t packed)
{
	return (struct sonde_unwind_row){
	    .kind = packed >> 56 & 127,
	    .ra_slot = (uint8_t)(packed >> 48),
	    .fp_off = (int16_t)(uint16_t)(packed >> 32),
	    .cfa_off = (int32_t)(uint32_t)packed,
	};
}

static uint32_t slot_of(uint64_t pc)
{
	return (uint32_t)(pc * UINT64_C(0x9e3779b97f4a7c15) >> (64 - RULE_BITS));
}

/* The rule for a caller: its return address stands behind the call. */
static __attribute__((noinline)) uint64_t make_rule(uint64_t pc)
{
	struct sonde_unwind_row none = {.kind = SONDE_UNWIND_NONE};
	const struct module *module = get_module(pc - 1);
	const struct sonde_unwind_row *row =
	    module && module->table.count ? sonde_unwind_table_find(&module->table, pc - 1 - module->bias) : NULL;
	uint64_t packed = pack(row ? row : &none);
	if (!module || atomic_load(&known->rule_count) >= RULES_MOST)
		return packed;
	for (uint32_t at = slot_of(pc);; at = (at + 1) % RULES) {
		uint64_t unused = 0;
		if (!atomic_compare_exchange_strong(&known->rules[at].pc, &unused, pc)) {
			if (unused == pc)
				return packed;
			continue;
		}
		atomic_store_explicit(&known->rules[at].packed, packed, memory_order_release);
		atomic_fetch_add(&known->rule_count, 1);
		return packed;
	}
}

static inline uint64_t get_rule(uint64_t pc)
{
	for (uint32_t at = slot_of(pc);; at = (at + 1) % RULES) {
		uint64_t key = atomic_load_explicit(&known->rules[at].pc, memory_order_relaxed);
		if (likely(key == pc)) {
			uint64_t packed = atomic_load_explicit(&known->rules[at].packed, memory_order_acquire);
			return likely(packed) ? packed : make_rule(pc);
		}
		if (!key)
			return make_rule(pc);
	}
}

/* Code that stood there is not run any more: nobody looks for the rules that go, and those of others are found again.
 */
void heap_unwind_forget(void)
{
	if (!known || !try_lock())
		return;
	for (uint32_t i = 0; i < RULES; i++) {
		atomic_store_explicit(&known->rules[i].packed, 0, memory_order_relaxed);
		atomic_store_explicit(&known->rules[i].pc, 0, memory_order_release);
	}
	atomic_store(&known->rule_count, 0);
	atomic_store(&known->module_count, 0);
	unlock();
}

/* --- walking ----------------------------------------------------------------------------------------------------- */

/* The walk as it stands: `fp` was read from `fp_slot`. */
struct walk {
	uint64_t pc, sp, fp;
	const uint64_t *fp_slot;
	uint64_t low, end; /* of the stack */
};

static inline int is_readable(const struct walk *walk, uint64_t address)
{
	return address >= walk->low && address <= walk->end - 8 && !(address & 7);
}

static inline uint64_t word_at(uint64_t address)
{
	return *(const uint64_t *)(uintptr_t)address; /* NOLINT: checked by is_readable() */
}

static int read_word(void *context, uint64_t address, uint64_t *out)
{
	if (!is_readable(context, address))
		return -1;
	*out = word_at(address);
	return 0;
}

/* The rules that are seldom met. */
static __attribute__((noinline)) enum sonde_unwind_result step_slowly(struct walk *walk, uint64_t packed)
{
	struct sonde_unwind_row row = unpack(packed);
	struct sonde_unwind_regs regs = {.pc = walk->pc, .sp = walk->sp, .fp = walk->fp};
	int signal;
	enum sonde_unwind_result result = row.kind == SONDE_UNWIND_NONE
					      ? sonde_unwind_step_fp(&regs, read_word, walk)
					      : sonde_unwind_step(&row, &regs, read_word, walk, &signal);
	if (result != SONDE_UNWIND_STEPPED)
		return result;
	*walk = (struct walk){regs.pc, regs.sp, regs.fp, NOWHERE, walk->low, walk->end};
	return result;
}

static inline enum sonde_unwind_result step(struct walk *walk, uint64_t packed, uint64_t *slot)
{
	uint8_t kind = packed >> 56 & 127, ra_slot = (uint8_t)(packed >> 48);
	if (unlikely(kind != SONDE_UNWIND_SP && kind != SONDE_UNWIND_FP) || unlikely(ra_slot == SONDE_UNWIND_RA_LINK)) {
		enum sonde_unwind_result result = step_slowly(walk, packed);
		*slot = walk->sp - 8;
		return result;
	}
	int16_t fp_off = (int16_t)(uint16_t)(packed >> 32);
	uint64_t frame = (kind == SONDE_UNWIND_SP ? walk->sp : walk->fp) + (uint64_t)(int64_t)(int32_t)(uint32_t)packed;
	uint64_t at = frame - 8u * ra_slot, saved = frame + (uint64_t)(int64_t)fp_off;
	if (unlikely(frame <= walk->sp || !is_readable(walk, at)))
		return SONDE_UNWIND_BAD;
	uint64_t pc = sonde_unwind_strip(word_at(at));
	if (unlikely(!pc))
		return SONDE_UNWIND_ROOT;
	if (fp_off == SONDE_UNWIND_FP_LOST) {
		walk->fp_slot = NOWHERE;
		walk->fp = 1; /* no frame is there */
	} else if (fp_off != SONDE_UNWIND_FP_SAME) {
		if (unlikely(!is_readable(walk, saved)))
			return SONDE_UNWIND_BAD;
		walk->fp_slot = (const uint64_t *)(uintptr_t)saved; /* NOLINT: checked */
		walk->fp = *walk->fp_slot;
	}
	walk->pc = pc;
	walk->sp = frame;
	*slot = at;
	return SONDE_UNWIND_STEPPED;
}

/* Whether frames[0 … count) are still what they were, the innermost of which was met. A frame pointer that it has in
 * common with frames outside it is known to be the same; where that lies in memory may have changed. */
static inline int still_there(const struct heap_frame *frames, uint32_t count)
{
	const uint64_t *met = frames[count - 1].fp_slot;
	uint64_t differs = 0;
	for (uint32_t i = 0; i + 1 < count; i++) {
		const uint64_t *fp_slot = frames[i].fp_slot;
		differs |= sonde_unwind_strip(word_at(frames[i].slot)) ^ frames[i].pc;
		if (fp_slot != met && fp_slot != NOWHERE)
			differs |= *fp_slot ^ frames[i].fp;
	}
	return !differs;
}

static uint8_t status_of(enum sonde_unwind_result result)
{
	static const uint8_t statuses[] = {
	    [SONDE_UNWIND_ROOT] = SONDE_STACK_COMPLETE,        [SONDE_UNWIND_NO_RULE] = SONDE_STACK_NO_TABLE,
	    [SONDE_UNWIND_UNREADABLE] = SONDE_STACK_TRUNCATED, [SONDE_UNWIND_BAD] = SONDE_STACK_BAD_FRAME,
	    [SONDE_UNWIND_UNKNOWN] = SONDE_STACK_EXPRESSION,   [SONDE_UNWIND_STEPPED] = SONDE_STACK_DEEP,
	};
	return statuses[result];
}

/* Puts the new frames, leaf first, behind the `kept` outer ones, and counts the hashes on. */
static void keep(struct heap_thread *thread, uint32_t kept, uint32_t count)
{
	uint64_t hash = kept ? thread->frames[kept - 1].hash : 1;
	for (uint32_t i = count; i-- > 0;) {
		struct heap_frame *frame = &thread->frames[kept++];
		*frame = thread->fresh[i];
		hash = (hash ^ frame->pc) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
		frame->hash = hash;
	}
	thread->depth = kept;
}

/* Steps until a kept frame is met or the walk ends; how many outer frames are kept. */
static inline uint32_t walk_on(struct heap_thread *thread, struct walk *walk, uint32_t *count,
			       enum sonde_unwind_result *result)
{
	uint32_t left = thread->depth;
	uint64_t slot = walk->sp - 8;
	while (*count < HEAP_DEPTH) {
		while (left && thread->frames[left - 1].slot < slot)
			left--;
		const struct heap_frame *old = left ? &thread->frames[left - 1] : NULL;
		if (old && old->slot == slot && old->pc == walk->pc && old->fp == walk->fp) {
			if (likely(still_there(thread->frames, left)))
				return left;
			left = 0;
		}
		thread->fresh[(*count)++] = (struct heap_frame){slot, walk->pc, walk->fp, walk->fp_slot, 0};
		*result = step(walk, get_rule(walk->pc), &slot);
		if (unlikely(*result != SONDE_UNWIND_STEPPED))
			break;
	}
	return 0;
}

uint8_t heap_unwind(struct heap_thread *thread, const struct heap_caller *caller)
{
	struct walk walk = {caller->pc, caller->sp, caller->fp, NOWHERE, caller->sp - 8, thread->stack_end};
	enum sonde_unwind_result result = SONDE_UNWIND_STEPPED;
	uint32_t count = 0;
	if (unlikely(caller->sp < thread->stack_low || caller->sp >= thread->stack_end)) {
		walk.end = caller->sp; /* a stack whose bounds nobody knows: only the leaf is certain */
		thread->depth = 0;
	}
	uint32_t kept = walk_on(thread, &walk, &count, &result);
	if (!kept)
		thread->status = status_of(result);
	if (unlikely(kept + count > HEAP_DEPTH)) {
		kept = 0;
		thread->status = SONDE_STACK_DEEP;
	}
	keep(thread, kept, count);
	return thread->status;
}
