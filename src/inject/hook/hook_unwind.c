/* hook_unwind.c: unwinds the calling thread's stack, as few frames of it as necessary.
 *
 * Verified-incremental unwinding: the thread keeps the frames of its last walk, and with each frame the stack words
 * that led from it to its callers. A new walk steps from the leaf until it meets a kept frame: the same return address
 * at the same stack address. If all words that led from that frame to its callers are unchanged, a complete walk would
 * read the same words again, so the remaining frames are identical. If some words differ, only the frames outside the
 * outermost difference are still valid.
 *
 * A frame pointer is compared only if the remaining walk depends on it: most frames are found by their stack pointers
 * alone, and in such programs the register may hold any value. Works only on the thread's own stack, whose bounds are
 * known: every word there is readable. A stack deeper than what is kept loses its outermost frames.
 */
#include <string.h>

#include "format/record.h"
#include "inject/hook/caller.h"
#include "inject/hook/likely.h"
#include "inject/hook/rules.h"
#include "inject/hook/thread.h"
#include "inject/hook/walk.h"
#include "unwind/machine.h"
#include "unwind/step.h"

#define FP_LOST 1u /* matches no frame */

/* The current position of a walk. */
struct walk {
	uint64_t pc, sp, fp;
	uint64_t interrupted; /* 1 = interrupted by a signal: the address does not follow a call */
	uint64_t low, end;    /* bounds of the stack */
};

/* Distinguishes frames with the same address that were left by a call and by a signal. */
static inline uint64_t slot_of(const struct walk *walk)
{
	return (walk->sp - 8) | walk->interrupted;
}

static inline int is_readable(const struct walk *walk, uint64_t address)
{
	return address >= walk->low && address <= walk->end - 8 && !(address & 7);
}

/* Records the word that it reads; the caller has checked is_readable(). */
static inline uint64_t read_at(struct hook_step *step, uint32_t index, uint64_t address)
{
	const uint64_t *at = (const uint64_t *)(uintptr_t)address; /* NOLINT */
	uint64_t word = *at;
	step->read[index].at = at;
	step->read[index].word = word;
	return word;
}

struct reader {
	const struct walk *walk;
	struct hook_step *step;
};

static int read_word(void *context, uint64_t address, uint64_t *out)
{
	const struct reader *reader = context;
	if (!is_readable(reader->walk, address) || reader->step->reads == HOOK_READS_MAX)
		return -1;
	*out = read_at(reader->step, reader->step->reads++, address);
	return 0;
}

/* Steps by the less frequent kinds of rules. */
static __attribute__((noinline)) enum sonde_unwind_result step_slowly(struct walk *walk, uint64_t packed,
								      struct hook_step *step)
{
	struct sonde_unwind_row row = {.kind = HOOK_RULE_KIND(packed),
				       .ra_slot = HOOK_RULE_RA_SLOT(packed),
				       .fp_off = HOOK_RULE_FP(packed),
				       .cfa_off = HOOK_RULE_CFA(packed)};
	struct sonde_unwind_regs regs = {.pc = walk->pc, .sp = walk->sp, .fp = walk->fp};
	struct reader reader = {walk, step};
	int signal;
	step->reads = 0;
	step->follows_fp = HOOK_FP_NEEDED;
	enum sonde_unwind_result result = row.kind == SONDE_UNWIND_NONE
					      ? sonde_unwind_step_fp(&regs, read_word, &reader)
					      : sonde_unwind_step(&row, &regs, read_word, &reader, &signal);
	if (result != SONDE_UNWIND_STEPPED)
		return result;
	if (regs.sp < walk->sp) /* from a signal frame that was overwritten */
		return SONDE_UNWIND_BAD;
	walk->pc = regs.pc;
	walk->sp = regs.sp;
	walk->fp = regs.fp;
	walk->interrupted = row.kind == SONDE_UNWIND_SIGNAL;
	return result;
}

static inline enum sonde_unwind_result step_out(struct walk *walk, uint64_t packed, struct hook_step *step)
{
	uint8_t kind = HOOK_RULE_KIND(packed), ra_slot = HOOK_RULE_RA_SLOT(packed);
	int16_t fp_off = HOOK_RULE_FP(packed);
	step->slot = slot_of(walk);
	step->pc = walk->pc;
	step->fp = walk->fp;
	if (unlikely(kind != SONDE_UNWIND_SP && kind != SONDE_UNWIND_FP) || unlikely(ra_slot == SONDE_UNWIND_RA_LINK)) {
		struct walk copy = *walk;
		enum sonde_unwind_result result = step_slowly(&copy, packed, step);
		*walk = copy;
		return result;
	}
	walk->interrupted = 0;
	step->reads = 0;
	step->follows_fp = kind == SONDE_UNWIND_FP ? HOOK_FP_NEEDED : HOOK_FP_REPLACED;
	uint64_t frame = (kind == SONDE_UNWIND_SP ? walk->sp : walk->fp) + (uint64_t)(int64_t)HOOK_RULE_CFA(packed);
	uint64_t at = frame - 8u * ra_slot, saved = frame + (uint64_t)(int64_t)fp_off;
	if (unlikely(frame <= walk->sp || !is_readable(walk, at)))
		return SONDE_UNWIND_BAD;
	uint64_t pc = sonde_unwind_strip(read_at(step, 0, at));
	step->reads = 1;
	if (unlikely(!pc))
		return SONDE_UNWIND_ROOT;
	if (fp_off == SONDE_UNWIND_FP_SAME) {
		step->follows_fp |= HOOK_FP_PASSED;
	} else if (fp_off == SONDE_UNWIND_FP_LOST) {
		walk->fp = FP_LOST;
	} else {
		if (unlikely(!is_readable(walk, saved)))
			return SONDE_UNWIND_BAD;
		walk->fp = read_at(step, 1, saved);
		step->reads = 2;
		step->follows_fp |= HOOK_FP_READ;
	}
	walk->pc = pc;
	walk->sp = frame;
	return SONDE_UNWIND_STEPPED;
}

/* --- kept frames ------------------------------------------------------------------------------------------------- */

/* Index of the first check that fails; `count` = all hold. */
static __attribute__((noinline)) uint32_t first_broken(const struct hook_check *checks, uint32_t count)
{
	uint32_t i = 0;
	while (i < count && *checks[i].at == checks[i].word)
		i++;
	return i;
}

static inline int all_hold(const struct hook_check *checks, uint32_t count)
{
	uint64_t differs = 0, differs_too = 0;
	uint32_t i = 0;
	for (; i + 4 <= count; i += 4) {
		differs |= (*checks[i].at ^ checks[i].word) | (*checks[i + 1].at ^ checks[i + 1].word);
		differs_too |= (*checks[i + 2].at ^ checks[i + 2].word) | (*checks[i + 3].at ^ checks[i + 3].word);
	}
	for (; i < count; i++)
		differs |= *checks[i].at ^ checks[i].word;
	return !(differs | differs_too);
}

/* `met` is a kept frame that the walk has reached, but its checks fail. Returns the innermost of its callers whose
 * checks hold. */
static struct hook_frame *drop_broken(struct hook_thread *thread, struct hook_frame *met)
{
	uint32_t hold = first_broken(thread->checks, met->checks);
	while (met->checks > hold)
		met--;
	return met;
}

/* Appends the frames that were stepped out of, leaf first, to the kept one; returns the innermost. */
static inline struct hook_frame *keep(struct hook_thread *thread, struct hook_frame *kept, uint32_t count)
{
	uint64_t hash = kept->hash, fp_mask = kept->fp_mask;
	struct hook_check *check = &thread->checks[kept->checks];
	for (const struct hook_step *step = &thread->steps[count]; step-- > thread->steps;) {
		uint32_t reads = step->reads - (step->follows_fp & HOOK_FP_READ && !fp_mask);
		for (uint32_t i = 0; i < reads; i++, check++) {
			check->at = step->read[i].at;
			check->word = step->read[i].word;
		}
		fp_mask = step->follows_fp & HOOK_FP_NEEDED || (step->follows_fp & HOOK_FP_PASSED && fp_mask)
			      ? UINT64_MAX
			      : 0;
		hash = (hash ^ step->pc) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
		kept++;
		kept->slot = step->slot;
		kept->pc = step->pc;
		kept->fp = step->fp;
		kept->fp_mask = fp_mask;
		kept->hash = hash;
		kept->checks = (uint32_t)(check - thread->checks);
		kept->stack = 0;
	}
	return kept;
}

/* Makes room for `count` more frames after the kept one by dropping outer frames, many at once; returns the kept
 * frame's new position. */
static __attribute__((noinline)) struct hook_frame *cut(struct hook_thread *thread, const struct hook_frame *kept,
							uint32_t count)
{
	size_t before = (size_t)(kept - thread->frames), most = HOOK_WALK_MAX / 2 > count ? HOOK_WALK_MAX / 2 : 0;
	size_t stay = before < most ? before : most, gone = before - stay;
	uint32_t checks_gone = thread->frames[gone].checks, checks_stay = kept->checks - checks_gone;
	memmove(thread->frames + 1, thread->frames + 1 + gone, stay * sizeof(*thread->frames));
	memmove(thread->checks, thread->checks + checks_gone, checks_stay * sizeof(*thread->checks));
	for (size_t i = 1; i <= stay; i++)
		thread->frames[i].checks -= checks_gone;
	thread->is_cut = 1;
	thread->status = SONDE_STACK_DEEP;
	return &thread->frames[stay];
}

/* --- walking ----------------------------------------------------------------------------------------------------- */

static uint8_t status_of(enum sonde_unwind_result result)
{
	static const uint8_t statuses[] = {
	    [SONDE_UNWIND_ROOT] = SONDE_STACK_COMPLETE,        [SONDE_UNWIND_NO_RULE] = SONDE_STACK_NO_TABLE,
	    [SONDE_UNWIND_UNREADABLE] = SONDE_STACK_TRUNCATED, [SONDE_UNWIND_BAD] = SONDE_STACK_BAD_FRAME,
	    [SONDE_UNWIND_UNKNOWN] = SONDE_STACK_EXPRESSION,   [SONDE_UNWIND_STEPPED] = SONDE_STACK_DEEP,
	    [SONDE_UNWIND_NO_REGISTER] = SONDE_STACK_REGISTER,
	};
	return statuses[result];
}

static inline int is_met(const struct hook_frame *frame, uint64_t slot, uint64_t pc, uint64_t fp)
{
	return frame->slot == slot && frame->pc == pc && !((frame->fp ^ fp) & frame->fp_mask);
}

/* Steps outwards until the walk ends or reaches a kept frame, which is `left` or one of its callers. Returns that
 * frame; thread->frames if it reached none. */
static inline struct hook_frame *walk_on(struct hook_thread *thread, struct walk walk, struct hook_frame *left,
					 uint32_t *count)
{
	enum sonde_unwind_result result = SONDE_UNWIND_STEPPED;
	struct hook_step *step = thread->steps;
	while (step < thread->steps + HOOK_WALK_MAX && likely(result == SONDE_UNWIND_STEPPED)) {
		while (left->slot < slot_of(&walk))
			left--;
		if (is_met(left, slot_of(&walk), walk.pc, walk.fp)) {
			if (likely(all_hold(thread->checks, left->checks))) {
				*count = (uint32_t)(step - thread->steps);
				return left;
			}
			left = drop_broken(thread, left);
		}
		uint64_t packed = hook_rules_get(thread, walk.pc + walk.interrupted);
		result = step_out(&walk, packed, step++);
	}
	thread->status = status_of(result);
	thread->is_cut = result == SONDE_UNWIND_STEPPED;
	*count = (uint32_t)(step - thread->steps);
	return thread->frames;
}

static __attribute__((noinline)) struct hook_frame *walk(struct hook_thread *thread, const struct hook_caller *caller)
{
	struct walk from = {.pc = caller->pc, .sp = caller->sp, .fp = caller->fp};
	struct hook_frame *left = thread->innermost;
	uint32_t count;
	from.low = caller->sp - 8;
	from.end = thread->stack_end;
	if (unlikely(caller->sp < thread->stack_low || caller->sp >= thread->stack_end)) {
		from.end = caller->sp; /* the stack's bounds are unknown: only the leaf is certain */
		left = thread->frames;
	}
	struct hook_frame *kept = walk_on(thread, from, left, &count);
	size_t depth = (size_t)(kept - thread->frames) + count;
	if (unlikely(thread->is_cut) && kept != thread->frames && depth < SONDE_HEAP_FRAMES_MAX) {
		kept = walk_on(thread, from, thread->frames, &count); /* more frames can be recorded */
		depth = count;
	}
	if (unlikely(depth > HOOK_WALK_MAX))
		kept = cut(thread, kept, count);
	return thread->innermost = keep(thread, kept, count);
}

struct hook_frame *hook_unwind(struct hook_thread *thread, const struct hook_caller *caller)
{
	uint64_t generation = atomic_load_explicit(&hook_rules_generation, memory_order_relaxed);
	struct hook_frame *innermost = thread->innermost;
	if (unlikely(thread->generation != generation)) {
		thread->generation = generation;
		thread->innermost = thread->frames;
		thread->frames[0].hash = 1 + generation; /* other code may be at the same addresses */
	} else if (is_met(innermost, caller->sp - 8, caller->pc, caller->fp) &&
		   likely(all_hold(thread->checks, innermost->checks))) {
		return innermost; /* same stack as before */
	}
	return walk(thread, caller);
}
