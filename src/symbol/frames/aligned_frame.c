/* aligned_frame.c: walks back over a function's rows to its entry, then forwards over its instructions.
 *
 * Only a prologue without jumps is accepted, in which the stack pointer is aligned once and then moved by constants. It
 * ends at the first row that says that the frame address is saved above the stack pointer.
 */
#include "symbol/frames/aligned_frame.h"

#include <errno.h>
#include <string.h>

#include "symbol/frames/x86.h"

#define ROWS_MAX 64u          /* maximum of rows from the given row back to the entry */
#define INSTRUCTIONS_MAX 256u /* maximum of instructions from the entry to where the frame address is saved */
#define ALIGN_MAX (UINT64_C(1) << 16)
#define SLOT_MAX (INT16_MAX * 8u) /* the largest offset that a row can hold */

/* The state while a prologue is followed. */
struct prologue {
	uint64_t align; /* the alignment; 0 = not aligned, or not known any more */
	int64_t above;  /* stack pointer − aligned address */
};

static int is_entry(const struct sonde_unwind_row *row)
{
	return row->kind == SONDE_UNWIND_SP && row->cfa_off == 8 && row->ra_slot == 1;
}

static int is_saved_above(const struct sonde_unwind_row *row)
{
	return row->kind == SONDE_UNWIND_SP_LOAD && SONDE_UNWIND_LOAD_FROM(row->cfa_off) >= 0;
}

/* The row at the entry of the function of `row`; *saved: the first row after the entry whose frame address is saved
 * above the stack pointer. NULL if either does not exist. */
static const struct sonde_unwind_row *find_entry(const struct sonde_unwind_table *table,
						 const struct sonde_unwind_row *row,
						 const struct sonde_unwind_row **saved)
{
	*saved = NULL;
	for (unsigned i = 0; i < ROWS_MAX && row >= table->rows && row->kind != SONDE_UNWIND_NONE; i++, row--) {
		if (is_saved_above(row))
			*saved = row;
		if (is_entry(row))
			return *saved ? row : NULL;
	}
	return NULL;
}

/* The alignment in bytes, if the instruction is an `and $constant, %rsp` that clears low bits; 0 = another
 * instruction. */
static uint64_t alignment_of(const uint8_t *bytes, size_t size_b)
{
	int32_t constant;
	if (size_b < 4 || bytes[0] != 0x48 || bytes[2] != 0xe4)
		return 0;
	if (bytes[1] == 0x83 && size_b == 4)
		constant = (int8_t)bytes[3];
	else if (bytes[1] == 0x81 && size_b == 7)
		memcpy(&constant, bytes + 3, sizeof constant);
	else
		return 0;
	uint64_t align = 0 - (uint64_t)(int64_t)constant;
	return align && align <= ALIGN_MAX && !(align & (align - 1)) ? align : 0;
}

static void forget(struct prologue *prologue)
{
	*prologue = (struct prologue){0};
}

static void pass(struct prologue *prologue, const struct sonde_x86 *what, const uint8_t *bytes)
{
	uint64_t align = alignment_of(bytes, what->size_b);
	if (align) {
		*prologue = (struct prologue){.align = align};
		return;
	}
	switch (what->kind) {
	case SONDE_X86_PUSH:
		prologue->above -= 8;
		return;
	case SONDE_X86_POP:
		prologue->above += 8;
		if (what->reg == SONDE_X86_RSP)
			forget(prologue);
		return;
	case SONDE_X86_SET:
		if (what->reg == SONDE_X86_RSP && what->base == SONDE_X86_RSP)
			prologue->above += what->offset;
		else if (what->reg == SONDE_X86_RSP)
			forget(prologue);
		return;
	case SONDE_X86_LOAD:
		if (what->reg == SONDE_X86_RSP)
			forget(prologue);
		return;
	case SONDE_X86_STORE:
	case SONDE_X86_BRANCH:
		return;
	case SONDE_X86_OTHER:
		if (what->written >> SONDE_X86_RSP & 1)
			forget(prologue);
		return;
	default:
		forget(prologue);
	}
}

int sonde_aligned_frame_find(struct sonde_aligned_frame *out, const struct sonde_frame_code *code,
			     const struct sonde_unwind_row *row)
{
	const struct sonde_unwind_row *saved, *entry = find_entry(code->table, row, &saved);
	if (!entry)
		return -ENOENT;
	struct prologue prologue = {0};
	uint64_t address = code->table->base + entry->address, end = code->table->base + saved->address;
	for (unsigned i = 0; i < INSTRUCTIONS_MAX && address < end; i++) {
		uint8_t bytes[SONDE_X86_MAX_B];
		struct sonde_x86 what;
		size_t size_b = code->read(code->context, address, bytes, sizeof bytes);
		if (!size_b || sonde_x86_decode(&what, bytes, size_b, address))
			return -ENOENT;
		pass(&prologue, &what, bytes);
		address += what.size_b;
	}
	if (address != end || !prologue.align || prologue.above < 0 || (uint64_t)prologue.above >= prologue.align)
		return -ENOENT;
	out->align = prologue.align;
	out->top = (uint64_t)prologue.above;
	out->slot = out->top + (uint64_t)SONDE_UNWIND_LOAD_FROM(saved->cfa_off);
	return out->slot <= SLOT_MAX ? 0 : -ENOENT;
}
