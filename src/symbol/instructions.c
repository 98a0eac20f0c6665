/* instructions.c: decodes from the start of a function, because x86 instructions have no fixed length.
 *
 * On x86, capstone's operands tell whether an instruction writes memory; on aarch64 its mnemonic does, because operands
 * of atomic instructions are not marked, and capstone does not know some of them. The loop around a write ends at the
 * first jump after the write whose target is at or before the write. The loop changes the write's address if one of its
 * instructions writes an address register, 32-bit halves included.
 */
#include "symbol/instructions.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <capstone/capstone.h>

#include "util/error.h"

#define TEXT_OF(value) #value
#define LIBRARY_OF(major) "libcapstone.so." TEXT_OF(major)
#define LIBRARY LIBRARY_OF(CS_API_MAJOR) /* structures differ between major versions */
#define LOOP_MAX_B 2048                  /* maximum distance from a write to the end of its loop */

#define FUNCTIONS(X) \
	X(open) X(close) X(option) X(malloc) X(free) X(disasm_iter) X(regs_access) X(reg_name) X(insn_group)

#define FIELD(name) __typeof__(cs_##name) *name;
static struct {
	FUNCTIONS(FIELD)
} capstone;
#undef FIELD

static int load(void)
{
	static int loaded; /* single-threaded: rules are evaluated one after another */
	if (loaded)
		return 0;
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return sonde_error(ENOSYS, "instructions cannot be decoded: " LIBRARY " is not installed");
	const char *missing = NULL;
#define FIND(name)                                                              \
	capstone.name = (__typeof__(capstone.name))dlsym(library, "cs_" #name); \
	if (!capstone.name)                                                     \
		missing = "cs_" #name;
	FUNCTIONS(FIND)
#undef FIND
	if (missing) {
		dlclose(library);
		return sonde_error(ENOSYS, "instructions cannot be decoded: " LIBRARY " has no %s", missing);
	}
	loaded = 1;
	return 0;
}

/* --- decoding in sequence ----------------------------------------------------------------------------------------- */

struct decoder {
	const struct sonde_code *code;
	csh handle;
	cs_insn *instruction; /* the last one decoded */
	const uint8_t *next;
	size_t left_b;
	uint64_t address;
	uint32_t unknown; /* aarch64: encoding of the last one if capstone does not know it; else 0 */
};

static void decoder_close(struct decoder *decoder)
{
	if (decoder->instruction)
		capstone.free(decoder->instruction, 1);
	capstone.close(&decoder->handle);
}

static int decoder_open(struct decoder *decoder, const struct sonde_code *code)
{
	int is_arm = code->machine == EM_AARCH64;
	*decoder = (struct decoder){.code = code};
	if (!is_arm && code->machine != EM_X86_64)
		return sonde_error(ENOSYS, "instructions cannot be decoded: they are neither x86-64 nor aarch64");
	int rc = load();
	if (rc)
		return rc;
	if (capstone.open(is_arm ? CS_ARCH_ARM64 : CS_ARCH_X86, is_arm ? CS_MODE_ARM : CS_MODE_64, &decoder->handle))
		return sonde_error(ENOSYS, "instructions cannot be decoded: " LIBRARY " does not know them");
	capstone.option(decoder->handle, CS_OPT_DETAIL, CS_OPT_ON);
	decoder->instruction = capstone.malloc(decoder->handle);
	if (decoder->instruction)
		return 0;
	decoder_close(decoder);
	return sonde_error(ENOMEM, "out of memory for an instruction");
}

/* Restarts at `address`, which lies in the code. */
static void seek(struct decoder *decoder, uint64_t address)
{
	size_t skipped_b = (size_t)(address - decoder->code->address);
	decoder->next = decoder->code->bytes + skipped_b;
	decoder->left_b = decoder->code->size_b - skipped_b;
	decoder->address = address;
}

/* Decodes the next instruction; 0 at the end, or if the bytes are not an instruction. */
static int step(struct decoder *decoder)
{
	cs_insn *instruction = decoder->instruction;
	decoder->unknown = 0;
	if (capstone.disasm_iter(decoder->handle, &decoder->next, &decoder->left_b, &decoder->address, instruction))
		return 1;
	if (decoder->code->machine != EM_AARCH64 || decoder->left_b < sizeof decoder->unknown)
		return 0;
	memcpy(&decoder->unknown, decoder->next, sizeof decoder->unknown);
	instruction->address = decoder->address;
	snprintf(instruction->mnemonic, sizeof instruction->mnemonic, "atomic operation");
	snprintf(instruction->op_str, sizeof instruction->op_str, "on [x%u]", decoder->unknown >> 5 & 31);
	decoder->next += sizeof decoder->unknown;
	decoder->left_b -= sizeof decoder->unknown;
	decoder->address += sizeof decoder->unknown;
	return 1;
}

/* --- effects of one instruction ----------------------------------------------------------------------------------- */

struct place {
	unsigned base, index; /* registers that can change; 0 = none */
};

static int has_prefix(const char *text, const char *const *prefixes)
{
	while (*prefixes && strncmp(text, *prefixes, strlen(*prefixes)) != 0)
		prefixes++;
	return *prefixes != NULL;
}

static int writes_x86(const cs_insn *instruction, struct place *out, int *is_atomic)
{
	const cs_x86 *detail = &instruction->detail->x86;
	*is_atomic = detail->prefix[0] == X86_PREFIX_LOCK || instruction->id == X86_INS_XCHG;
	for (size_t i = 0; i < detail->op_count; i++) {
		const cs_x86_op *operand = &detail->operands[i];
		if (operand->type != X86_OP_MEM || !(*is_atomic || operand->access & CS_AC_WRITE))
			continue;
		x86_reg base = operand->mem.base, segment = operand->mem.segment;
		*out = (struct place){base == X86_REG_RIP ? 0 : base, operand->mem.index};
		return base != X86_REG_RSP && base != X86_REG_RBP && base != X86_REG_ESP && base != X86_REG_EBP &&
		       segment != X86_REG_FS && segment != X86_REG_GS;
	}
	return 0;
}

static int writes_arm64(const cs_insn *instruction, struct place *out, int *is_atomic)
{
	static const char *const writing[] = {"st", "ld", "cas", "swp", NULL}; /* only atomic forms of ld */
	static const char *const atomic[] = {"stx",   "stlx", "stadd", "stclr", "steor", "stset",
					     "stsm",  "stum", "cas",   "ldadd", "ldclr", "ldeor",
					     "ldset", "ldsm", "ldum",  "swp",   NULL};
	const cs_arm64 *detail = &instruction->detail->arm64;
	*is_atomic = has_prefix(instruction->mnemonic, atomic);
	if (!has_prefix(instruction->mnemonic, writing) || (instruction->mnemonic[0] == 'l' && !*is_atomic))
		return 0;
	for (size_t i = 0; i < detail->op_count; i++) {
		const cs_arm64_op *operand = &detail->operands[i];
		if (operand->type != ARM64_OP_MEM)
			continue;
		*out = (struct place){operand->mem.base, operand->mem.index};
		return operand->mem.base != ARM64_REG_SP && operand->mem.base != ARM64_REG_X29;
	}
	return 0;
}

/* aarch64's atomic instructions (Arm ARM, C4.1: atomic memory operations except LDAPR, compare and swap), which
 * capstone 4 does not know. */
static int writes_unknown(uint32_t word, struct place *out, int *is_atomic)
{
	int is_operation = (word & 0x3f200c00u) == 0x38200000u && (word & 0xf000u) != 0xc000u;
	*out = (struct place){0};
	*is_atomic = is_operation || (word & 0x3fa07c00u) == 0x08a07c00u;
	return *is_atomic && (word >> 5 & 31) != 31; /* sp */
}

/* True if the last instruction writes memory; sets the registers of its address. */
static int writes(const struct decoder *decoder, struct sonde_write *out, struct place *place)
{
	const cs_insn *instruction = decoder->instruction;
	*out = (struct sonde_write){.address = instruction->address};
	snprintf(out->text, sizeof out->text, "%s %s", instruction->mnemonic, instruction->op_str);
	if (decoder->unknown)
		return writes_unknown(decoder->unknown, place, &out->is_atomic);
	return decoder->code->machine == EM_AARCH64 ? writes_arm64(instruction, place, &out->is_atomic)
						    : writes_x86(instruction, place, &out->is_atomic);
}

/* Jump target of the last instruction; 0 if it does not jump, or the target is not encoded in it. */
static uint64_t target_of(const struct decoder *decoder)
{
	const cs_insn *instruction = decoder->instruction;
	uint64_t target = 0;
	if (decoder->unknown || !capstone.insn_group(decoder->handle, instruction, CS_GRP_JUMP))
		return 0;
	if (decoder->code->machine == EM_AARCH64) {
		const cs_arm64 *detail = &instruction->detail->arm64;
		if (detail->op_count && detail->operands[detail->op_count - 1].type == ARM64_OP_IMM)
			target = (uint64_t)detail->operands[detail->op_count - 1].imm;
	} else if (instruction->detail->x86.op_count && instruction->detail->x86.operands[0].type == X86_OP_IMM) {
		target = (uint64_t)instruction->detail->x86.operands[0].imm;
	}
	return target;
}

/* --- the loop around a write -------------------------------------------------------------------------------------- */

/* The name of the full register: rdi for edi, r8 for r8d, x5 for w5. */
static void whole_name(const struct decoder *decoder, unsigned register_id, char out[16])
{
	const char *name = capstone.reg_name(decoder->handle, register_id);
	snprintf(out, 16, "%s", name ? name : "");
	size_t length = strlen(out);
	if (decoder->code->machine == EM_AARCH64)
		out[0] = out[0] == 'w' ? 'x' : out[0];
	else if (length == 3 && out[0] == 'e')
		out[0] = 'r';
	else if (length > 2 && out[0] == 'r' && out[length - 1] == 'd' && out[1] <= '9')
		out[length - 1] = 0;
}

/* True if the last instruction writes one of the address registers. */
static int moves(const struct decoder *decoder, const struct place *place)
{
	cs_regs read, written;
	uint8_t read_count = 0, written_count = 0;
	char base[16] = "", index[16] = "", name[16];
	if (decoder->unknown)
		return 0;
	if (capstone.regs_access(decoder->handle, decoder->instruction, read, &read_count, written, &written_count))
		return 1; /* if unknown, they count as changed, so that the write is no evidence */
	if (place->base)
		whole_name(decoder, place->base, base);
	if (place->index)
		whole_name(decoder, place->index, index);
	for (size_t i = 0; i < written_count; i++) {
		whole_name(decoder, written[i], name);
		if (!strcmp(name, base) || !strcmp(name, index))
			return 1;
	}
	return 0;
}

/* Finds the start and the jump of the innermost loop around an address. 0 if there is none. */
static int find_loop(struct decoder *decoder, uint64_t address, uint64_t *begins, uint64_t *ends)
{
	seek(decoder, address);
	while (step(decoder) && decoder->instruction->address - address < LOOP_MAX_B) {
		uint64_t target = target_of(decoder);
		if (!target || target > address || target < decoder->code->address)
			continue;
		*begins = target;
		*ends = decoder->instruction->address;
		return 1;
	}
	return 0;
}

static int is_repeated(struct decoder *decoder, uint64_t address, const struct place *place)
{
	uint64_t begins, ends;
	if (!find_loop(decoder, address, &begins, &ends))
		return 0;
	seek(decoder, begins);
	while (step(decoder) && decoder->instruction->address <= ends)
		if (moves(decoder, place))
			return 0;
	return 1;
}

int sonde_code_find_write(struct sonde_write *out, const struct sonde_code *code, uint64_t address)
{
	struct decoder decoder;
	struct sonde_write here, before;
	struct place here_place, before_place;
	int is_here = 0, is_before = 0, is_met = 0;
	if (address < code->address || address - code->address >= code->size_b)
		return 0;
	int rc = decoder_open(&decoder, code);
	if (rc)
		return rc;
	seek(&decoder, code->address);
	while (decoder.address <= address && step(&decoder)) {
		is_met = decoder.instruction->address == address;
		if (decoder.address == address)
			is_before = writes(&decoder, &before, &before_place);
		else if (is_met)
			is_here = writes(&decoder, &here, &here_place);
	}
	if (!is_met) {
		is_here = is_before = 0; /* no instruction starts at `address`: the bytes before it are not all code */
	} else if (is_before && (!is_here || before.is_atomic || !here.is_atomic)) {
		*out = before;
		out->is_repeated = is_repeated(&decoder, out->address, &before_place);
	} else if (is_here) {
		*out = here;
		out->is_repeated = is_repeated(&decoder, out->address, &here_place);
	}
	decoder_close(&decoder);
	return is_here || is_before;
}

/* --- iterating over all instructions ------------------------------------------------------------------------------ */

/* True if the last instruction never falls through. */
static int is_last(const struct decoder *decoder)
{
	const cs_insn *instruction = decoder->instruction;
	if (decoder->unknown)
		return 0;
	return capstone.insn_group(decoder->handle, instruction, CS_GRP_RET) ||
	       strcmp(instruction->mnemonic, "jmp") == 0 || strcmp(instruction->mnemonic, "b") == 0 ||
	       strcmp(instruction->mnemonic, "ud2") == 0;
}

int sonde_code_each(const struct sonde_code *code,
		    int (*take)(void *context, const struct sonde_instruction *instruction), void *context)
{
	struct decoder decoder;
	char text[200];
	int rc = decoder_open(&decoder, code);
	if (rc)
		return rc;
	seek(&decoder, code->address);
	while (!rc && step(&decoder)) {
		const cs_insn *instruction = decoder.instruction;
		snprintf(text, sizeof text, "%s%s%s", instruction->mnemonic, *instruction->op_str ? " " : "",
			 instruction->op_str);
		const struct sonde_instruction one = {.address = instruction->address,
						      .size_b = (size_t)(decoder.address - instruction->address),
						      .text = text,
						      .is_last = is_last(&decoder)};
		rc = take(context, &one);
	}
	decoder_close(&decoder);
	return rc;
}
