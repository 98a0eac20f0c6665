/* x86.c: decodes one x86-64 instruction: prefixes, opcode map, ModRM, immediate.
 *
 * To find the length of any instruction, all opcode maps are stored as tables of ranges (Intel SDM volume 2, appendix
 * A). The effect is decoded only for instructions that change the stack pointer, or a register in which it is saved.
 * Vector instructions write general registers in only a few forms (vmovd, vpextr, kmov, cvt…2si and the like), which
 * are listed. For an unknown instruction, -EBADMSG is returned instead of a guessed length, because after a wrong one
 * decoding would be out of step. Capstone is not used: version 4 does not know AVX-512 FP16, and takes microseconds per
 * instruction while this decoder takes ten nanoseconds, which matters because recorders decode whole functions.
 */
#include "symbol/frames/x86.h"

#include <errno.h>
#include <string.h>

#define NONE SONDE_X86_NO_REGISTER
#define BIT(number) ((uint16_t)(1u << (number)))

/* Opcode maps, by their number in VEX, EVEX and XOP prefixes. */
enum { MAP_ONE = 0, MAP_0F = 1, MAP_0F38 = 2, MAP_0F3A = 3, MAP_5 = 5, MAP_6 = 6, MAP_8 = 8, MAP_9 = 9, MAP_A = 10 };

struct reader {
	const uint8_t *bytes;
	size_t size_b, at;
	uint8_t map, opcode;
	uint8_t vector;  /* 0: legacy; else VEX or EVEX */
	uint8_t prefix;  /* 0, 0x66, 0xf2, 0xf3: the last one, or the one encoded in VEX */
	uint8_t is_word; /* has prefix 66 */
	uint8_t segment, short_address, has_rex;
	uint8_t w, r, x, b; /* from REX, VEX or EVEX; r, x, b shifted to bit 3 */
	uint8_t vvvv;
	uint8_t has_modrm, mod, digit, reg, rm; /* digit: ModRM.reg without REX.R */
	uint8_t base, has_index;                /* memory operand; base NONE: rip, or none */
	int32_t disp;
	int64_t imm;
};

static int take(struct reader *reader, unsigned size_b, int64_t *out)
{
	uint64_t value = 0;
	if (reader->size_b - reader->at < size_b)
		return -EBADMSG;
	memcpy(&value, reader->bytes + reader->at, size_b);
	reader->at += size_b;
	unsigned shift = 64 - 8 * size_b;
	*out = size_b ? (int64_t)(value << shift) >> shift : 0;
	return 0;
}

static int take_byte(struct reader *reader, uint8_t *out)
{
	if (reader->at == reader->size_b)
		return -EBADMSG;
	*out = reader->bytes[reader->at++];
	return 0;
}

/* --- prefixes and opcode --------------------------------------------------------------------------------- */

static int is_legacy_prefix(struct reader *reader, uint8_t byte)
{
	switch (byte) {
	case 0x66:
		reader->is_word = 1;
		reader->prefix = reader->prefix ? reader->prefix : byte;
		return 1;
	case 0xf2:
	case 0xf3:
		reader->prefix = byte;
		return 1;
	case 0x64:
	case 0x65:
		reader->segment = 1;
		return 1;
	case 0x67:
		reader->short_address = 1;
		return 1;
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0xf0:
		return 1;
	default:
		return 0;
	}
}

static void take_pp(struct reader *reader, unsigned pp)
{
	static const uint8_t prefixes[] = {0, 0x66, 0xf3, 0xf2};
	reader->prefix = prefixes[pp & 3];
}

static int read_vex(struct reader *reader, uint8_t first)
{
	uint8_t a, b = 0;
	if (take_byte(reader, &a))
		return -EBADMSG;
	reader->vector = 1;
	reader->r = a & 0x80 ? 0 : 8;
	reader->map = MAP_0F;
	if (first != 0xc5) {
		if (take_byte(reader, &b))
			return -EBADMSG;
		reader->x = a & 0x40 ? 0 : 8;
		reader->b = a & 0x20 ? 0 : 8;
		reader->map = a & 0x1f;
		reader->w = b >> 7;
		a = b;
	}
	reader->vvvv = (uint8_t)(~a >> 3 & 15);
	take_pp(reader, a);
	int is_map = first == 0x8f ? reader->map >= MAP_8 && reader->map <= MAP_A
				   : reader->map >= MAP_0F && reader->map <= MAP_0F3A;
	return is_map ? take_byte(reader, &reader->opcode) : -EBADMSG;
}

/* 8f is pop if ModRM.reg is 0, else AMD's XOP, whose maps start at 8. */
static int is_xop(const struct reader *reader, uint8_t byte)
{
	return byte == 0x8f && reader->at < reader->size_b && reader->bytes[reader->at] & 0x38;
}

static int read_evex(struct reader *reader)
{
	uint8_t p0, p1, p2;
	if (take_byte(reader, &p0) || take_byte(reader, &p1) || take_byte(reader, &p2))
		return -EBADMSG;
	reader->vector = 2;
	reader->map = p0 & 7;
	reader->r = p0 & 0x80 ? 0 : 8;
	reader->x = p0 & 0x40 ? 0 : 8;
	reader->b = p0 & 0x20 ? 0 : 8;
	reader->w = p1 >> 7;
	reader->vvvv = (uint8_t)(~p1 >> 3 & 15);
	take_pp(reader, p1);
	if (p0 & 8 || !(p1 & 4) || reader->map == MAP_ONE || reader->map == 4 || reader->map == 7)
		return -EBADMSG; /* from later extensions */
	return take_byte(reader, &reader->opcode);
}

static int read_escaped(struct reader *reader)
{
	reader->map = MAP_0F;
	if (take_byte(reader, &reader->opcode))
		return -EBADMSG;
	if (reader->opcode != 0x38 && reader->opcode != 0x3a)
		return 0;
	reader->map = reader->opcode == 0x38 ? MAP_0F38 : MAP_0F3A;
	return take_byte(reader, &reader->opcode);
}

static int read_opcode(struct reader *reader)
{
	uint8_t byte, rex = 0;
	do {
		if (take_byte(reader, &byte))
			return -EBADMSG;
	} while (is_legacy_prefix(reader, byte));
	if (byte >> 4 == 4) {
		rex = byte;
		if (take_byte(reader, &byte))
			return -EBADMSG;
	}
	reader->has_rex = rex != 0;
	reader->w = rex >> 3 & 1;
	reader->r = (uint8_t)((rex & 4) << 1);
	reader->x = (uint8_t)((rex & 2) << 2);
	reader->b = (uint8_t)((rex & 1) << 3);
	if (byte == 0x0f)
		return read_escaped(reader);
	if (byte == 0xc4 || byte == 0xc5 || is_xop(reader, byte))
		return rex ? -EBADMSG : read_vex(reader, byte);
	if (byte == 0x62)
		return rex ? -EBADMSG : read_evex(reader);
	reader->opcode = byte;
	return 0;
}

/* --- ModRM and immediates -------------------------------------------------------------------------------- */

static int read_modrm(struct reader *reader)
{
	uint8_t byte, sib = 0;
	int64_t disp = 0;
	if (take_byte(reader, &byte))
		return -EBADMSG;
	reader->has_modrm = 1;
	reader->mod = byte >> 6;
	reader->digit = byte >> 3 & 7;
	reader->reg = (uint8_t)(reader->digit | reader->r);
	reader->rm = (uint8_t)((byte & 7) | reader->b);
	if (reader->mod == 3)
		return 0;
	unsigned disp_b = reader->mod == 1 ? 1 : reader->mod == 2 ? 4 : 0;
	reader->base = reader->rm;
	if ((byte & 7) == 4) {
		if (take_byte(reader, &sib))
			return -EBADMSG;
		reader->base = (uint8_t)((sib & 7) | reader->b);
		reader->has_index = (sib >> 3 & 7) != 4 || reader->x || reader->vector;
	}
	if (reader->mod == 0 && ((byte & 7) == 5 || ((byte & 7) == 4 && (sib & 7) == 5))) {
		disp_b = 4;
		reader->base = NONE;
	}
	if (take(reader, disp_b, &disp))
		return -EBADMSG;
	reader->disp = (int32_t)disp;
	return 0;
}

/* Size of an operand-sized immediate, which is at most 4 bytes. */
static unsigned wide(const struct reader *reader)
{
	return reader->is_word && !reader->w ? 2 : 4;
}

/* One-byte map: whether ModRM follows, or -1 if invalid in 64-bit code. */
static int one_has_modrm(uint8_t op)
{
	static const uint8_t invalid[] = {0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f, 0x37,
					  0x3f, 0x60, 0x61, 0x82, 0x9a, 0xce, 0xd4, 0xd5, 0xd6, 0xea};
	if (memchr(invalid, op, sizeof invalid))
		return -1;
	return (op < 0x40 && (op & 7) < 4) || op == 0x63 || op == 0x69 || op == 0x6b || (op >= 0x80 && op < 0x90) ||
	       op == 0xc0 || op == 0xc1 || op == 0xc6 || op == 0xc7 || (op >= 0xd0 && op < 0xd4) ||
	       (op >= 0xd8 && op < 0xe0) || op == 0xf6 || op == 0xf7 || op >= 0xfe;
}

static unsigned one_imm(const struct reader *reader)
{
	uint8_t op = reader->opcode;
	if (op < 0x40)
		return (op & 7) == 4 ? 1 : (op & 7) == 5 ? wide(reader) : 0;
	if (op == 0x68 || op == 0x69 || op == 0x81 || op == 0xa9 || op == 0xc7)
		return wide(reader);
	if (op == 0x6a || op == 0x6b || (op >= 0x70 && op < 0x80) || op == 0x80 || op == 0x83 || op == 0xa8 ||
	    (op >= 0xb0 && op < 0xb8) || op == 0xc0 || op == 0xc1 || op == 0xc6 || op == 0xcd ||
	    (op >= 0xe0 && op < 0xe8) || op == 0xeb)
		return 1;
	if (op >= 0xa0 && op < 0xa4)
		return reader->short_address ? 4 : 8;
	if (op >= 0xb8 && op < 0xc0)
		return reader->w ? 8 : wide(reader);
	if (op == 0xc2 || op == 0xca)
		return 2;
	if (op == 0xc8)
		return 3;
	if (op == 0xe8 || op == 0xe9)
		return 4; /* near branches in 64-bit code ignore the operand-size prefix (Intel) */
	if ((op == 0xf6 || op == 0xf7) && reader->digit < 2)
		return op == 0xf6 ? 1 : wide(reader);
	return 0;
}

/* Two-byte map (0f): whether ModRM follows, or -1. */
static int two_has_modrm(const struct reader *reader)
{
	static const uint8_t invalid[] = {0x04, 0x0a, 0x0c, 0x24, 0x25, 0x26, 0x27,
					  0x36, 0x39, 0x3b, 0x3c, 0x3d, 0x3e, 0x3f};
	static const uint8_t plain[] = {0x05, 0x06, 0x07, 0x08, 0x09, 0x0b, 0x0e,
					0x77, 0xa0, 0xa1, 0xa2, 0xa8, 0xa9, 0xaa};
	uint8_t op = reader->opcode;
	if (!reader->vector &&
	    (memchr(invalid, op, sizeof invalid) ||
	     (op == 0x78 && (reader->is_word || reader->prefix == 0xf2)))) /* SSE4a: two immediates */
		return -1;
	if (memchr(plain, op, sizeof plain))
		return op == 0x77 && reader->vector == 2 ? 1 : 0;
	if (reader->vector)
		return 1;
	return !((op >= 0x30 && op < 0x38) || (op >= 0x80 && op < 0x90) || (op >= 0xc8 && op < 0xd0));
}

static unsigned two_imm(const struct reader *reader)
{
	uint8_t op = reader->opcode;
	if (!reader->vector && op >= 0x80 && op < 0x90)
		return 4;
	if ((op >= 0x70 && op < 0x74) || op == 0xc2 || op == 0xc4 || op == 0xc5 || op == 0xc6)
		return 1;
	return !reader->vector && (op == 0x0f || op == 0xa4 || op == 0xac || op == 0xba);
}

static int read_remainder(struct reader *reader)
{
	int has_modrm = reader->map == MAP_ONE  ? one_has_modrm(reader->opcode)
			: reader->map == MAP_0F ? two_has_modrm(reader)
						: 1;
	if (has_modrm < 0 || (has_modrm && read_modrm(reader)))
		return -EBADMSG;
	unsigned imm_b = reader->map == MAP_ONE                            ? one_imm(reader)
			 : reader->map == MAP_0F                           ? two_imm(reader)
			 : reader->map == MAP_0F3A || reader->map == MAP_8 ? 1
			 : reader->map == MAP_A                            ? 4
									   : 0;
	if (imm_b == 3) { /* enter */
		reader->at += 3;
		return reader->at > reader->size_b ? -EBADMSG : 0;
	}
	return take(reader, imm_b, &reader->imm);
}

/* --- effects --------------------------------------------------------------------------------------------- */

/* Byte operands: without REX, 4 to 7 are the second bytes of rax, rcx, rdx, rbx. */
static uint16_t byte_register(const struct reader *reader, uint8_t number)
{
	return BIT(!reader->has_rex && number >= 4 && number < 8 ? number - 4 : number);
}

static uint16_t rm_written(const struct reader *reader, int is_byte)
{
	if (reader->mod != 3)
		return 0;
	return is_byte ? byte_register(reader, reader->rm) : BIT(reader->rm);
}

/* True for 8 bytes at a register plus a constant. */
static int is_plain_memory(const struct reader *reader)
{
	return reader->mod != 3 && reader->base != NONE && !reader->has_index && !reader->segment &&
	       !reader->short_address && reader->w;
}

static void set(struct sonde_x86 *out, uint8_t reg, uint8_t base, int64_t offset)
{
	out->kind = SONDE_X86_SET;
	out->reg = reg;
	out->base = base;
	out->offset = (int32_t)offset;
	out->written = BIT(reg);
}

static void move(struct sonde_x86 *out, const struct reader *reader)
{
	int to_reg = reader->opcode == 0x8b;
	if (reader->mod == 3 && reader->w) {
		set(out, to_reg ? reader->reg : reader->rm, to_reg ? reader->rm : reader->reg, 0);
	} else if (is_plain_memory(reader)) {
		out->kind = to_reg ? SONDE_X86_LOAD : SONDE_X86_STORE;
		out->reg = reader->reg;
		out->base = reader->base;
		out->offset = reader->disp;
		out->written = to_reg ? BIT(reader->reg) : 0;
	} else {
		out->written = to_reg ? BIT(reader->reg) : rm_written(reader, 0);
	}
}

/* 80, 81, 83: add, or, adc, sbb, and, sub, xor, cmp with an immediate. */
static void immediate_group(struct sonde_x86 *out, const struct reader *reader)
{
	int is_add = reader->digit == 0, is_sub = reader->digit == 5;
	if (reader->digit == 7)
		return;
	if ((is_add || is_sub) && reader->mod == 3 && reader->w && reader->opcode != 0x80 && reader->imm != INT32_MIN)
		set(out, reader->rm, reader->rm, is_add ? reader->imm : -reader->imm);
	else
		out->written = rm_written(reader, reader->opcode == 0x80);
}

static uint16_t unary_written(const struct reader *reader)
{
	if (reader->digit >= 4) /* multiplies and divides */
		return BIT(SONDE_X86_RAX) | BIT(SONDE_X86_RDX);
	return reader->digit >= 2 ? rm_written(reader, reader->opcode == 0xf6) : 0;
}

/* fe, ff: inc, dec, call, far call, jmp, far jmp, push. */
static int step_group(struct sonde_x86 *out, const struct reader *reader)
{
	if (reader->digit < 2) {
		if (reader->opcode == 0xff && reader->mod == 3 && reader->w)
			set(out, reader->rm, reader->rm, reader->digit ? -1 : 1);
		else
			out->written = rm_written(reader, reader->opcode == 0xfe);
		return 0;
	}
	static const uint8_t kinds[] = {SONDE_X86_CALL_INDIRECT, SONDE_X86_STRANGE, SONDE_X86_JUMP_INDIRECT,
					SONDE_X86_STRANGE, SONDE_X86_PUSH};
	if (reader->opcode == 0xfe || reader->digit == 7)
		return -EBADMSG;
	out->kind = reader->is_word ? SONDE_X86_STRANGE : kinds[reader->digit - 2];
	if (out->kind == SONDE_X86_PUSH)
		out->reg = reader->mod == 3 ? reader->rm : NONE;
	return 0;
}

static void push_or_pop(struct sonde_x86 *out, const struct reader *reader, enum sonde_x86_kind kind, uint8_t reg)
{
	out->kind = reader->is_word ? SONDE_X86_STRANGE : (uint8_t)kind;
	out->reg = reg;
	out->written = kind == SONDE_X86_POP && reg != NONE ? BIT(reg) : 0;
	if (out->kind == SONDE_X86_POP && reg == SONDE_X86_RSP) {
		out->kind = SONDE_X86_LOAD;
		out->base = SONDE_X86_RSP;
	}
}

static void swap(struct sonde_x86 *out, const struct reader *reader, uint8_t a, uint8_t b)
{
	out->written = BIT(a) | BIT(b);
	if (!reader->w)
		return;
	out->kind = SONDE_X86_SWAP;
	out->reg = a;
	out->base = b;
}

static void jump(struct sonde_x86 *out, const struct reader *reader, enum sonde_x86_kind kind, uint64_t address)
{
	out->kind = (uint8_t)kind;
	out->target = address + reader->at + (uint64_t)reader->imm;
}

/* Arithmetic 00 to 3f: add, or, adc, sbb, and, sub, xor, cmp. */
static uint16_t arithmetic_written(const struct reader *reader)
{
	unsigned form = reader->opcode & 7;
	if (reader->opcode >= 0x38)
		return 0;
	if (form >= 4)
		return BIT(SONDE_X86_RAX);
	if (form < 2)
		return rm_written(reader, form == 0);
	return form == 2 ? byte_register(reader, reader->reg) : BIT(reader->reg);
}

static uint16_t string_written(uint8_t op)
{
	uint16_t written = BIT(SONDE_X86_RCX) | BIT(6) | BIT(7);
	return op >= 0xac ? written | BIT(SONDE_X86_RAX) : written;
}

static int load_address(struct sonde_x86 *out, const struct reader *reader)
{
	if (reader->mod == 3)
		return -EBADMSG;
	if (reader->w && reader->base != NONE && !reader->has_index && !reader->short_address)
		set(out, reader->reg, reader->base, reader->disp);
	else
		out->written = BIT(reader->reg);
	return 0;
}

static void move_number(struct sonde_x86 *out, const struct reader *reader, uint64_t address)
{
	if (reader->digit == 7 && reader->mod == 3) { /* xabort, xbegin */
		if (reader->opcode == 0xc7)
			jump(out, reader, SONDE_X86_BRANCH, address);
		out->written = BIT(SONDE_X86_RAX);
	} else {
		out->written = rm_written(reader, reader->opcode == 0xc6);
	}
}

/* Registers that the one-byte map writes, except for instructions handled by one_effect(). */
static uint16_t one_written(const struct reader *reader)
{
	uint8_t op = reader->opcode, low = (uint8_t)((op & 7) | reader->b);
	if (op < 0x40)
		return arithmetic_written(reader);
	if (op >= 0xb0 && op < 0xc0)
		return op < 0xb8 ? byte_register(reader, low) : BIT(low);
	switch (op) {
	case 0x63: /* movsxd, imul */
	case 0x69:
	case 0x6b:
		return BIT(reader->reg);
	case 0x86: /* xchg of bytes */
		return rm_written(reader, 1) | byte_register(reader, reader->reg);
	case 0x88:
		return rm_written(reader, 1);
	case 0x8a:
		return byte_register(reader, reader->reg);
	case 0x8c: /* from a segment register */
		return rm_written(reader, 0);
	case 0x98: /* cdqe, lahf, mov from an address, xlat, in; fnstsw */
	case 0x9f:
	case 0xa0:
	case 0xa1:
	case 0xd7:
	case 0xdf:
	case 0xe4:
	case 0xe5:
	case 0xec:
	case 0xed:
		return BIT(SONDE_X86_RAX);
	case 0x99: /* cqo */
		return BIT(SONDE_X86_RDX);
	case 0xc0: /* shifts */
	case 0xc1:
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
		return rm_written(reader, !(op & 1));
	case 0xf6:
	case 0xf7:
		return unary_written(reader);
	default:
		return (op >= 0x6c && op < 0x70) || (op >= 0xa4 && op < 0xb0 && op != 0xa8 && op != 0xa9)
			   ? string_written(op)
			   : 0;
	}
}

/* Instructions that jump, or that change the stack pointer or a register to a known value. */
static int one_effect(struct sonde_x86 *out, const struct reader *reader, uint64_t address)
{
	uint8_t op = reader->opcode, low = (uint8_t)((op & 7) | reader->b);
	if (op >= 0x50 && op < 0x60)
		push_or_pop(out, reader, op < 0x58 ? SONDE_X86_PUSH : SONDE_X86_POP, low);
	else if (op == 0x68 || op == 0x6a || op == 0x9c) /* an immediate, or the flags */
		push_or_pop(out, reader, SONDE_X86_PUSH, NONE);
	else if (op == 0x8f || op == 0x9d)
		push_or_pop(out, reader, SONDE_X86_POP, op == 0x8f && reader->mod == 3 ? reader->rm : NONE);
	else if ((op >= 0x70 && op < 0x80) || (op >= 0xe0 && op < 0xe4))
		jump(out, reader, SONDE_X86_BRANCH, address);
	else if (op == 0xe8 || op == 0xe9 || op == 0xeb)
		jump(out, reader, op == 0xe8 ? SONDE_X86_CALL : SONDE_X86_JUMP, address);
	else if (op > 0x90 - !!reader->b && op < 0x98) /* 90 is nop */
		swap(out, reader, SONDE_X86_RAX, low);
	else if (op == 0x80 || op == 0x81 || op == 0x83)
		immediate_group(out, reader);
	else if (op == 0x87 && reader->mod == 3)
		swap(out, reader, reader->reg, reader->rm);
	else if (op == 0x87)
		out->written = BIT(reader->reg);
	else if (op == 0x89 || op == 0x8b)
		move(out, reader);
	else if (op == 0x8d)
		return load_address(out, reader);
	else if (op == 0xc3)
		out->kind = SONDE_X86_RETURN;
	else if (op == 0xc6 || op == 0xc7)
		move_number(out, reader, address);
	else if (op == 0xc9)
		out->kind = reader->is_word ? SONDE_X86_STRANGE : SONDE_X86_LEAVE;
	else if (op == 0xc2 || op == 0xc8 || op == 0xca || op == 0xcb || op == 0xcf) /* ret imm16, enter, far returns */
		out->kind = SONDE_X86_STRANGE;
	else if (op == 0xcc || op == 0xf1 || op == 0xf4)
		out->kind = SONDE_X86_STOP;
	else if (op >= 0xfe)
		return step_group(out, reader);
	else
		out->written = one_written(reader);
	if (op >= 0xe0 && op < 0xe4)
		out->written = BIT(SONDE_X86_RCX);
	return 0;
}

/* Legacy instructions of map 0f. */
static int two_effect(struct sonde_x86 *out, const struct reader *reader, uint64_t address)
{
	const uint16_t rax = BIT(SONDE_X86_RAX), rcx = BIT(SONDE_X86_RCX), rdx = BIT(SONDE_X86_RDX);
	uint8_t op = reader->opcode;
	if (op >= 0x80 && op < 0x90)
		jump(out, reader, SONDE_X86_BRANCH, address);
	else if ((op >= 0x40 && op < 0x50) || op == 0xaf || op == 0xb6 || op == 0xb7 || (op >= 0xbc && op < 0xc0) ||
		 op == 0xb8 || op == 0x02 || op == 0x03 || op == 0x50 || op == 0xd7 || op == 0xc5)
		out->written = BIT(reader->reg);
	else if ((op == 0x2c || op == 0x2d) && (reader->prefix == 0xf2 || reader->prefix == 0xf3))
		out->written = BIT(reader->reg);
	else if (op >= 0x90 && op < 0xa0)
		out->written = rm_written(reader, 1);
	else if (op == 0xa4 || op == 0xa5 || op == 0xab || op == 0xac || op == 0xad || op == 0xb3 || op == 0xbb ||
		 (op == 0xba && reader->digit > 4) || op == 0x00 || op == 0x20 || op == 0x21)
		out->written = rm_written(reader, 0);
	else if (op == 0x7e && reader->prefix != 0xf3) /* movd, movq from a vector */
		out->written = rm_written(reader, 0);
	else if (op == 0xb0 || op == 0xb1)
		out->written = rm_written(reader, op == 0xb0) | rax;
	else if (op == 0xc0 || op == 0xc1)
		out->written = rm_written(reader, op == 0xc0) |
			       (op == 0xc0 ? byte_register(reader, reader->reg) : BIT(reader->reg));
	else if (op == 0xc7) /* cmpxchg16b; rdrand, rdseed, rdpid */
		out->written = reader->mod == 3 ? BIT(reader->rm) : rax | rdx;
	else if (op >= 0xc8 && op < 0xd0)
		out->written = BIT((op & 7) | reader->b);
	else if (op == 0xa2 || op == 0x01) /* cpuid; xgetbv, rdtscp, smsw and the like */
		out->written = op == 0xa2 ? rax | rcx | rdx | BIT(3) : rax | rcx | rdx | rm_written(reader, 0);
	else if (op >= 0x31 && op < 0x34)
		out->written = rax | rdx;
	else if (op == 0x05) /* syscall */
		out->written = rax | rcx | BIT(11);
	else if (op == 0xae && reader->prefix == 0xf3) /* rdfsbase */
		out->written = rm_written(reader, 0);
	else if (op == 0x1e && reader->mod == 3 && reader->prefix == 0xf3 && reader->rm < 8) /* rdsspq */
		out->written = reader->digit == 1 ? BIT(reader->rm | reader->b) : 0;
	else if (op == 0xa0 || op == 0xa8)
		push_or_pop(out, reader, SONDE_X86_PUSH, NONE);
	else if (op == 0xa1 || op == 0xa9)
		push_or_pop(out, reader, SONDE_X86_POP, NONE);
	else if (op == 0x0b || op == 0xb9 || op == 0xff)
		out->kind = SONDE_X86_STOP;
	else if (op == 0x07 || op == 0x34 || op == 0x35 || op == 0xaa)
		out->kind = SONDE_X86_STRANGE;
	return 0;
}

/* Three-byte maps, and everything with a VEX or EVEX prefix. */
static void vector_effect(struct sonde_x86 *out, const struct reader *reader)
{
	uint8_t op = reader->opcode, map = reader->map, prefix = reader->prefix;
	int is_number = prefix == 0xf2 || prefix == 0xf3;
	if (map == MAP_0F3A) {
		if (op >= 0x14 && op < 0x18) /* pextrb, …, extractps */
			out->written = rm_written(reader, 0);
		else if ((op >= 0x60 && op < 0x64) || op == 0xf0) /* pcmpestri and the like; rorx */
			out->written = op == 0xf0 ? BIT(reader->reg) : BIT(SONDE_X86_RCX);
	} else if (map == MAP_0F38) {
		int is_store = op == 0xf1 && !reader->vector && prefix != 0xf2; /* movbe */
		if (op >= 0xf0 && op < 0xf8 && !is_store) /* crc32, adcx, andn, bls…, bzhi, mulx, pdep, shlx */
			out->written = BIT(reader->reg) | (reader->vector ? BIT(reader->vvvv) : 0);
	} else if (map == MAP_0F && reader->vector) {
		if (op == 0x50 || op == 0xd7 || op == 0xc5 || (op == 0x93 && reader->mod == 3) ||
		    ((op == 0x2c || op == 0x2d || op == 0x78 || op == 0x79) && is_number))
			out->written = BIT(reader->reg);
		else if (op == 0x7e && prefix == 0x66)
			out->written = rm_written(reader, 0);
	} else if (map == MAP_9 || map == MAP_A) { /* AMD's blc…, llwpcb; bextr */
		out->written = op == 0x10                 ? BIT(reader->reg)
			       : op == 0x01 || op == 0x02 ? BIT(reader->vvvv)
			       : op == 0x12               ? rm_written(reader, 0)
							  : 0;
	} else if (map == MAP_5) {
		if ((op == 0x2c || op == 0x2d || op == 0x78 || op == 0x79) && is_number)
			out->written = BIT(reader->reg);
		else if (op == 0x7e)
			out->written = rm_written(reader, 0);
	}
}

int sonde_x86_decode(struct sonde_x86 *out, const uint8_t *bytes, size_t size_b, uint64_t address)
{
	struct reader reader = {
	    .bytes = bytes, .size_b = size_b < SONDE_X86_MAX_B ? size_b : SONDE_X86_MAX_B, .base = NONE};
	struct sonde_x86 decoded = {.reg = NONE, .base = NONE};
	if (read_opcode(&reader) || read_remainder(&reader))
		return -EBADMSG;
	if (reader.vector || reader.map > MAP_0F)
		vector_effect(&decoded, &reader);
	else if (reader.map == MAP_0F ? two_effect(&decoded, &reader, address) : one_effect(&decoded, &reader, address))
		return -EBADMSG;
	decoded.size_b = (uint8_t)reader.at;
	*out = decoded;
	return 0;
}
