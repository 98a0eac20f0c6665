/* frame_rules.h: how to find the caller in code without call-frame information, derived from its instructions.
 *
 * A rule holds at one instruction: it says where the return address lies and what the caller's frame pointer is, in
 * terms of the registers there. It is what every way from there to a `ret` leads to; where two ways disagree, or one
 * cannot be followed, there is no rule. Rules are kept, so a function costs once. x86-64 only; addresses are ELF
 * virtual ones. Not thread-safe.
 */
#ifndef SONDE_SYMBOL_FRAMES_FRAME_RULES_H
#define SONDE_SYMBOL_FRAMES_FRAME_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/table.h"

enum sonde_frame_kind {
	SONDE_FRAME_OPEN = 0, /* no way to a `ret` was found */
	SONDE_FRAME_REGISTER, /* reg + offset */
	SONDE_FRAME_MEMORY,   /* the 8 bytes at reg + load, plus offset */
	SONDE_FRAME_UNKNOWN,  /* ways disagree, or it cannot be said so */
};

/* A value in terms of the registers (numbers of symbol/frames/x86.h) at an instruction. */
struct sonde_frame_value {
	uint8_t kind; /* enum sonde_frame_kind */
	uint8_t reg;
	int32_t load, offset;
};

struct sonde_frame_rule {
	struct sonde_frame_value ra; /* the address of the return address: 8 below the caller's stack pointer */
	struct sonde_frame_value fp; /* the caller's rbp */
};

/* A module's code. */
struct sonde_frame_code {
	/* Copies up to size_b bytes from `address` on; how many there were, 0 outside the code. */
	size_t (*read)(void *context, uint64_t address, uint8_t *out, size_t size_b);
	void *context;
	const struct sonde_unwind_table *table; /* code that has rows is not followed: they say the same; or NULL */
};

struct sonde_frame_rules;

/* `code` is borrowed. */
int sonde_frame_rules_new(struct sonde_frame_rules **out, const struct sonde_frame_code *code);
void sonde_frame_rules_free(struct sonde_frame_rules *rules);

/* The rule at `address`, which is valid until the next call; never NULL: `ra` is OPEN or UNKNOWN where there is none.
 */
const struct sonde_frame_rule *sonde_frame_rules_find(struct sonde_frame_rules *rules, uint64_t address);

enum sonde_frame_lead {
	SONDE_FRAME_LEADS_NOT = 0,
	SONDE_FRAME_LEADS_PERHAPS, /* it jumps to places that are not known: a jump table, a PLT entry */
	SONDE_FRAME_LEADS,
};

/* Whether code that is called at `from` comes to `address` by jumps and branches, or by going on. */
enum sonde_frame_lead sonde_frame_rules_lead(struct sonde_frame_rules *rules, uint64_t from, uint64_t address);

#endif
