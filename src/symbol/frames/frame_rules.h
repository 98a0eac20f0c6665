/* frame_rules.h: derives rules for finding the caller from the instructions of code that has no call-frame information.
 *
 * A rule holds at one instruction: it gives the location of the return address, and the caller's frame pointer, in
 * terms of the registers at that instruction. Every path from the instruction to a `ret` must yield the same rule; if
 * two paths disagree, or one cannot be followed, there is no rule. Rules are cached, so each function is analysed once.
 * x86-64 only; addresses are ELF virtual addresses. Not thread-safe.
 */
#ifndef SONDE_SYMBOL_FRAMES_FRAME_RULES_H
#define SONDE_SYMBOL_FRAMES_FRAME_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/table.h"

enum sonde_frame_kind {
	SONDE_FRAME_OPEN = 0, /* no path to a `ret` found yet */
	SONDE_FRAME_REGISTER, /* reg + offset */
	SONDE_FRAME_MEMORY,   /* the 8 bytes at reg + load, plus offset */
	SONDE_FRAME_UNKNOWN,  /* paths disagree, or the value cannot be expressed */
};

/* A value in terms of the registers at an instruction (numbered as in symbol/frames/x86.h). */
struct sonde_frame_value {
	uint8_t kind; /* enum sonde_frame_kind */
	uint8_t reg;
	int32_t load, offset;
};

struct sonde_frame_rule {
	struct sonde_frame_value ra; /* address of the return address: 8 below the caller's stack pointer */
	struct sonde_frame_value fp; /* the caller's rbp */
};

/* A module's code. */
struct sonde_frame_code {
	/* Copies up to size_b bytes at `address`; returns the number of bytes copied, 0 outside the code. */
	size_t (*read)(void *context, uint64_t address, uint8_t *out, size_t size_b);
	void *context;
	const struct sonde_unwind_table *table; /* gives the rules of code with rows, which is not followed; or NULL */
};

struct sonde_frame_rules;

/* `code` is borrowed. */
int sonde_frame_rules_new(struct sonde_frame_rules **out, const struct sonde_frame_code *code);
void sonde_frame_rules_free(struct sonde_frame_rules *rules);

/* The rule at `address`, valid until the next call; never NULL: `ra` is OPEN or UNKNOWN if there is none. */
const struct sonde_frame_rule *sonde_frame_rules_find(struct sonde_frame_rules *rules, uint64_t address);

enum sonde_frame_lead {
	SONDE_FRAME_LEADS_NOT = 0,
	SONDE_FRAME_LEADS_PERHAPS, /* it jumps to unknown targets: a jump table, a PLT entry */
	SONDE_FRAME_LEADS,
};

/* Tells whether code entered at `from` reaches `address` by jumps, branches or falling through. */
enum sonde_frame_lead sonde_frame_rules_lead(struct sonde_frame_rules *rules, uint64_t from, uint64_t address);

#endif
