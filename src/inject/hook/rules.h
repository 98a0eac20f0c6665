/* rules.h: how to step from a return address to the caller: looked up once per process (hook/hook_rules.c).
 */
#ifndef SONDE_INJECT_HOOK_RULES_H
#define SONDE_INJECT_HOOK_RULES_H

#include <stdint.h>

#include "inject/hook/likely.h"
#include "inject/hook/objects.h"
#include "inject/hook/thread.h"

#pragma GCC visibility push(hidden)

/* Fields of a packed row of a call-frame table (unwind/table.h). */
#define HOOK_RULE_CFA(packed) ((int32_t)(uint32_t)(packed))
#define HOOK_RULE_FP(packed) ((int16_t)(uint16_t)((packed) >> 32))
#define HOOK_RULE_RA_SLOT(packed) ((uint8_t)((packed) >> 48))
#define HOOK_RULE_KIND(packed) ((uint8_t)((packed) >> 56 & 127))

/* A lookup costs one memory access: a return address takes one word (its low 48 bits, then the number of its row; 0 =
 * none) in a small hash table with linear probing. This word holds the table's page-aligned address plus log2 of its
 * length. */
extern _Atomic uintptr_t hook_rules;
/* Packed rows, of which even large programs have few; a row never moves. */
extern _Atomic uint64_t *hook_rows;

static inline _Atomic uint64_t *hook_rules_table(uintptr_t rules)
{
	return (_Atomic uint64_t *)(rules & ~(uintptr_t)63); /* NOLINT: the upper bits are a pointer */
}

/* Changes when code is unmapped: earlier walks are then no longer valid. */
extern _Atomic uint64_t hook_rules_generation;

/* Maps the required memory; −1 = failed. */
int hook_rules_init(void);
/* Creates the rule for a return address that has none yet. */
uint64_t hook_rules_make(const struct hook_thread *thread, uint64_t pc);
/* Forgets all rules and modules. */
void hook_rules_forget(void);
/* Forgets objects that may have been unloaded since `before` was counted. */
void hook_rules_forget_gone(const struct inject_objects_count *before);
/* Cleans up after the thread left hook_rules_make() by siglongjmp. */
void hook_rules_recover(const struct hook_thread *thread);

static inline uint32_t hook_rules_home(uintptr_t rules, uint64_t pc)
{
	return (uint32_t)(pc * UINT64_C(0x9e3779b97f4a7c15) >> (-rules & 63));
}

static inline uint64_t hook_rules_get(const struct hook_thread *thread, uint64_t pc)
{
	uintptr_t rules = atomic_load_explicit(&hook_rules, memory_order_acquire);
	uint32_t mask = (1u << (rules & 63)) - 1;
	for (uint32_t at = hook_rules_home(rules, pc);; at = (at + 1) & mask) {
		/* acquire: the row was written first */
		uint64_t rule = atomic_load_explicit(&hook_rules_table(rules)[at], memory_order_acquire);
		if (likely(rule >> 16 == pc))
			return atomic_load_explicit(&hook_rows[rule & 0xffff], memory_order_relaxed);
		if (unlikely(!rule))
			return hook_rules_make(thread, pc);
	}
}

#pragma GCC visibility pop

#endif
