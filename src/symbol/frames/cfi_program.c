/* cfi_program.c: interprets call-frame instructions (DWARF 5 section 6.4.2) and turns them into rows.
 *
 * A row tracks three values: the frame address, the return address and the frame pointer; instructions about other
 * registers are parsed and ignored. Expressions of the forms that compilers, linkers and OpenSSL emit become rows of
 * their own kind (PLT, realigned stack, register plus offset, stack pointer saved on the stack); other expressions are
 * stored after the rows (frames/cfi_rules.h). The time is linear in the size of the programs, because they have no
 * jumps and no recursion.
 */
#include "symbol/frames/cfi_program.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/frames/cfi_rules.h"
#include "util/array.h"
#include "util/error.h"

#define STATES_MAX 16
#define ROWS_MAX ((size_t)32 << 20)
#define LOAD_MAX_B (8u * INT16_MAX)

/* `kind` of the frame address: enum sonde_unwind_kind; SP until it is set. */
struct state {
	uint8_t kind;
	struct sonde_cfi_frame frame;
	struct sonde_cfi_rule fp, ra;
};

struct run {
	const struct sonde_cfi_machine *machine;
	const struct sonde_cfi_common *common;
	struct sonde_cfi_rows *rows; /* NULL while a CIE's program runs */
	struct state state, initial;
	unsigned saved_count;
	uint32_t floor; /* rows at lower addresses belong to the previous function */
	uint64_t address, end;
	int bad;
	struct state saved[STATES_MAX]; /* last member, so that it need not be copied when it is empty */
};

static const struct sonde_cfi_machine machines[] = {
    {.machine = EM_X86_64, .sp = 7, .fp = 6, .ra = 16},
    {.machine = EM_AARCH64, .sp = 31, .fp = 29, .ra = 30, .ra_in_register = 1},
};

const struct sonde_cfi_machine *sonde_cfi_machine_find(uint16_t machine)
{
	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
		if (machines[i].machine == machine)
			return &machines[i];
	}
	return NULL;
}

static int says_same(const struct sonde_unwind_row *a, const struct sonde_unwind_row *b)
{
	return a->cfa_off == b->cfa_off && a->fp_off == b->fp_off && a->kind == b->kind && a->ra_slot == b->ra_slot;
}

/* Appends a row, or replaces the last row if that has the same address. */
static void append(struct sonde_cfi_rows *out, const struct sonde_unwind_row *row)
{
	if (out->count && out->rows[out->count - 1].address == row->address)
		out->count--;
	if (out->error || (out->count && says_same(&out->rows[out->count - 1], row)))
		return;
	if (out->count >= ROWS_MAX || SONDE_ARRAY_RESERVE(out->rows, out->capacity, out->count + 1))
		out->error = sonde_error(ENOMEM, "no memory for %zu call-frame rows", out->count + 1);
	else
		out->rows[out->count++] = *row;
}

static int64_t fp_offset(const struct state *state)
{
	switch (state->fp.kind) {
	case SONDE_CFI_SAME:
		return SONDE_UNWIND_FP_SAME;
	case SONDE_CFI_OFFSET:
		return state->kind == SONDE_UNWIND_FP_LOAD ? SONDE_UNWIND_FP_LOST : state->fp.value;
	case SONDE_CFI_FP_RELATIVE:
		if (state->kind == SONDE_UNWIND_FP_LOAD)
			return state->fp.value;
		/* GCC keeps the rule of a realigned frame in force after `leave`, which has already restored the
		 * register. */
		return state->kind == SONDE_UNWIND_FP
			   ? (int64_t)((uint64_t)state->fp.value - (uint64_t)state->frame.value)
			   : SONDE_UNWIND_FP_SAME;
	default:
		return SONDE_UNWIND_FP_LOST;
	}
}

static int is_fp_simple(const struct state *state)
{
	return state->fp.kind <= SONDE_CFI_FP_RELATIVE && state->fp.kind != SONDE_CFI_VAL_OFFSET;
}

/* True if a row without expressions can represent the state. */
static int to_simple_row(const struct run *run, struct sonde_unwind_row *row)
{
	const struct state *state = &run->state;
	if (state->kind == SONDE_UNWIND_EXPRESSION || state->frame.value != (int32_t)state->frame.value ||
	    !is_fp_simple(state))
		return 0;
	if (state->ra.kind == SONDE_CFI_SAME && run->machine->ra_in_register)
		row->ra_slot = SONDE_UNWIND_RA_LINK;
	else if (state->ra.kind == SONDE_CFI_OFFSET && state->ra.value < 0 && state->ra.value % 8 == 0 &&
		 state->ra.value > -8 * SONDE_UNWIND_RA_LINK)
		row->ra_slot = (uint8_t)(-state->ra.value / 8);
	else
		return 0;
	int64_t fp_off = fp_offset(state);
	row->fp_off = fp_off == (int16_t)fp_off ? (int16_t)fp_off : SONDE_UNWIND_FP_LOST;
	row->cfa_off = (int32_t)state->frame.value;
	row->kind = state->kind;
	return 1;
}

static struct sonde_unwind_row to_row(const struct run *run)
{
	const struct state *state = &run->state;
	struct sonde_unwind_row row = {.kind = SONDE_UNWIND_EXPRESSION};
	if (run->common->is_signal)
		row.kind = SONDE_UNWIND_SIGNAL;
	else if (state->ra.kind == SONDE_CFI_UNDEFINED)
		row.kind = SONDE_UNWIND_END;
	else if (!to_simple_row(run, &row) && (state->kind != SONDE_UNWIND_EXPRESSION || state->frame.code))
		row.cfa_off = sonde_cfi_rules_add(run->rows, run->machine, &state->frame, &state->ra, &state->fp);
	return row;
}

static void emit(struct run *run)
{
	if (!run->rows || run->address >= run->end)
		return;
	struct sonde_unwind_row row = to_row(run);
	row.address = run->address > run->floor ? (uint32_t)run->address : run->floor;
	append(run->rows, &row);
}

static void advance(struct run *run, uint64_t units)
{
	uint64_t step;
	emit(run);
	if (__builtin_mul_overflow(units, run->common->code_align, &step) || step > UINT32_MAX)
		run->bad = 1;
	else
		run->address += step;
}

static int64_t scaled(const struct run *run, int64_t value)
{
	int64_t product;
	return __builtin_mul_overflow(value, run->common->data_align, &product) ? INT64_MAX : product;
}

static void set_rule(struct run *run, uint64_t number, const struct sonde_cfi_rule *rule)
{
	if (number == run->machine->fp)
		run->state.fp = *rule;
	else if (number == run->common->ra_register)
		run->state.ra = *rule;
}

static void set_value(struct run *run, uint64_t number, enum sonde_cfi_rule_kind kind, int64_t value)
{
	set_rule(run, number, &(struct sonde_cfi_rule){.kind = (uint8_t)kind, .value = value});
}

static void restore_rule(struct run *run, uint64_t number)
{
	set_rule(run, number, number == run->machine->fp ? &run->initial.fp : &run->initial.ra);
}

static void set_frame(struct run *run, uint64_t number, int64_t value)
{
	struct sonde_cfi_frame *frame = &run->state.frame;
	*frame = (struct sonde_cfi_frame){.number = (uint8_t)number, .value = value};
	run->state.kind = SONDE_UNWIND_EXPRESSION;
	if (number == run->machine->sp)
		run->state.kind = SONDE_UNWIND_SP;
	else if (number == run->machine->fp)
		run->state.kind = SONDE_UNWIND_FP;
	else if (number < SONDE_UNWIND_KIND_END - SONDE_UNWIND_REGISTER)
		run->state.kind = (uint8_t)(SONDE_UNWIND_REGISTER + number);
}

/* Reads DW_OP_breg of sp or fp and its offset, and leaves the rest in the cursor. Returns 0 if the expression starts
 * differently. */
static int read_base(const struct run *run, struct sonde_cfi_cursor *code, enum sonde_unwind_kind *kind,
		     int64_t *offset)
{
	uint8_t op = sonde_cfi_byte(code);
	if (op != 0x70 + run->machine->sp && op != 0x70 + run->machine->fp)
		return 0;
	*kind = op == 0x70 + run->machine->sp ? SONDE_UNWIND_SP : SONDE_UNWIND_FP;
	*offset = sonde_cfi_sleb(code);
	return !code->bad;
}

/* The part of a frame expression after its first register: empty, deref, or deref and plus_uconst. */
static enum sonde_unwind_kind read_remainder(struct sonde_cfi_cursor code, enum sonde_unwind_kind base, int64_t *offset)
{
	if (!sonde_cfi_left(&code))
		return base;
	if (sonde_cfi_byte(&code) != 0x06) /* deref */
		return SONDE_UNWIND_EXPRESSION;
	int is_plain = !sonde_cfi_left(&code);
	if (base == SONDE_UNWIND_FP)
		return is_plain ? SONDE_UNWIND_FP_LOAD : SONDE_UNWIND_EXPRESSION;
	if (!is_plain && sonde_cfi_byte(&code) != 0x23) /* plus_uconst */
		return SONDE_UNWIND_EXPRESSION;
	uint64_t plus = is_plain ? 0 : sonde_cfi_uleb(&code);
	if (code.bad || sonde_cfi_left(&code) || plus % 8 || plus > LOAD_MAX_B || *offset % 8 ||
	    *offset > (int64_t)LOAD_MAX_B || *offset < -(int64_t)LOAD_MAX_B)
		return SONDE_UNWIND_EXPRESSION;
	*offset = SONDE_UNWIND_LOAD(*offset, (int64_t)plus);
	return SONDE_UNWIND_SP_LOAD;
}

static void set_frame_expression(struct run *run, struct sonde_cfi_cursor code)
{
	/* breg7 8, breg16 0, lit15, and, litN, ge, lit3, shl, plus: what ld emits for the x86-64 PLT */
	static const uint8_t plt_head[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a}, plt_tail[] = {0x2a, 0x33, 0x24, 0x22};
	struct sonde_cfi_frame *frame = &run->state.frame;
	const uint8_t *bytes = code.at;
	enum sonde_unwind_kind kind;
	int64_t offset;
	run->state.kind = SONDE_UNWIND_EXPRESSION;
	*frame = (struct sonde_cfi_frame){.code = bytes, .code_b = sonde_cfi_left(&code)};
	if (sonde_cfi_left(&code) == 11 && run->machine->machine == EM_X86_64 &&
	    !memcmp(bytes, plt_head, sizeof plt_head) && !memcmp(bytes + 7, plt_tail, sizeof plt_tail) &&
	    bytes[6] >= 0x30 && bytes[6] <= 0x3f) {
		run->state.kind = SONDE_UNWIND_PLT;
		frame->value = bytes[6] - 0x30;
	} else if (read_base(run, &code, &kind, &offset)) {
		run->state.kind = (uint8_t)read_remainder(code, kind, &offset);
		frame->value = offset;
	}
}

static void set_expression(struct run *run, uint64_t number, enum sonde_cfi_rule_kind how, struct sonde_cfi_cursor code)
{
	struct sonde_cfi_rule rule = {.kind = (uint8_t)how, .code = code.at, .code_b = sonde_cfi_left(&code)};
	enum sonde_unwind_kind kind;
	int64_t offset;
	if (number == run->machine->fp && how == SONDE_CFI_EXPRESSION && read_base(run, &code, &kind, &offset) &&
	    kind == SONDE_UNWIND_FP && !sonde_cfi_left(&code))
		rule = (struct sonde_cfi_rule){.kind = SONDE_CFI_FP_RELATIVE, .value = offset};
	set_rule(run, number, &rule);
}

static void save_state(struct run *run)
{
	if (run->saved_count == STATES_MAX)
		run->bad = 1;
	else
		run->saved[run->saved_count++] = run->state;
}

static void restore_state(struct run *run)
{
	if (!run->saved_count)
		run->bad = 1;
	else
		run->state = run->saved[--run->saved_count];
}

/* Executes an instruction whose upper two bits are 0. Each operand is read in a statement of its own, because the order
 * of reading matters. */
static void run_extended(struct run *run, struct sonde_cfi_cursor *code, uint8_t op)
{
	uint64_t number, size_b;
	switch (op) {
	case 0x00: /* nop */
	case 0x2d: /* aarch64: negate_ra_state; sparc: window_save */
		return;
	case 0x02: /* advance_loc1, 2, 4 */
	case 0x03:
	case 0x04:
		advance(run, sonde_cfi_fixed(code, 1u << (op - 2)));
		return;
	case 0x05: /* offset_extended */
		number = sonde_cfi_uleb(code);
		set_value(run, number, SONDE_CFI_OFFSET, scaled(run, (int64_t)sonde_cfi_uleb(code)));
		return;
	case 0x06: /* restore_extended */
		restore_rule(run, sonde_cfi_uleb(code));
		return;
	case 0x07: /* undefined */
		set_value(run, sonde_cfi_uleb(code), SONDE_CFI_UNDEFINED, 0);
		return;
	case 0x08: /* same_value */
		set_value(run, sonde_cfi_uleb(code), SONDE_CFI_SAME, 0);
		return;
	case 0x09: /* register */
		number = sonde_cfi_uleb(code);
		set_value(run, number, SONDE_CFI_REGISTER, (int64_t)sonde_cfi_uleb(code));
		return;
	case 0x0a:
		save_state(run);
		return;
	case 0x0b:
		restore_state(run);
		return;
	case 0x0c: /* def_cfa */
		number = sonde_cfi_uleb(code);
		set_frame(run, number, (int64_t)sonde_cfi_uleb(code));
		return;
	case 0x0d: /* def_cfa_register */
		set_frame(run, sonde_cfi_uleb(code), run->state.frame.value);
		return;
	case 0x0e: /* def_cfa_offset */
		run->state.frame.value = (int64_t)sonde_cfi_uleb(code);
		return;
	case 0x0f: /* def_cfa_expression */
		size_b = sonde_cfi_uleb(code);
		set_frame_expression(run, sonde_cfi_sub(code, size_b));
		return;
	case 0x10: /* expression */
		number = sonde_cfi_uleb(code);
		size_b = sonde_cfi_uleb(code);
		set_expression(run, number, SONDE_CFI_EXPRESSION, sonde_cfi_sub(code, size_b));
		return;
	case 0x11: /* offset_extended_sf */
		number = sonde_cfi_uleb(code);
		set_value(run, number, SONDE_CFI_OFFSET, scaled(run, sonde_cfi_sleb(code)));
		return;
	case 0x12: /* def_cfa_sf */
		number = sonde_cfi_uleb(code);
		set_frame(run, number, scaled(run, sonde_cfi_sleb(code)));
		return;
	case 0x13: /* def_cfa_offset_sf */
		run->state.frame.value = scaled(run, sonde_cfi_sleb(code));
		return;
	case 0x14: /* val_offset */
		number = sonde_cfi_uleb(code);
		set_value(run, number, SONDE_CFI_VAL_OFFSET, scaled(run, (int64_t)sonde_cfi_uleb(code)));
		return;
	case 0x15: /* val_offset_sf */
		number = sonde_cfi_uleb(code);
		set_value(run, number, SONDE_CFI_VAL_OFFSET, scaled(run, sonde_cfi_sleb(code)));
		return;
	case 0x16: /* val_expression */
		number = sonde_cfi_uleb(code);
		size_b = sonde_cfi_uleb(code);
		set_expression(run, number, SONDE_CFI_VALUE, sonde_cfi_sub(code, size_b));
		return;
	case 0x2e: /* GNU_args_size */
		sonde_cfi_uleb(code);
		return;
	case 0x2f: /* GNU_negative_offset_extended */
		number = sonde_cfi_uleb(code);
		set_value(run, number, SONDE_CFI_OFFSET, scaled(run, (int64_t)(0 - sonde_cfi_uleb(code))));
		return;
	default: /* including set_loc (0x01), which no compiler emits for these machines */
		run->bad = 1;
	}
}

static void run_program(struct run *run, struct sonde_cfi_cursor code)
{
	while (code.at < code.end && !run->bad) {
		uint8_t op = *code.at++, low = op & 0x3f;
		switch (op & 0xc0) {
		case 0x40:
			advance(run, low);
			break;
		case 0x80:
			set_value(run, low, SONDE_CFI_OFFSET, scaled(run, (int64_t)sonde_cfi_uleb(&code)));
			break;
		case 0xc0:
			restore_rule(run, low);
			break;
		default:
			run_extended(run, &code, low);
		}
		run->bad |= code.bad;
	}
}

/* Runs a CIE's program; the result is the `initial` state of its entries. */
static void run_common(struct run *run, const struct sonde_cfi_machine *machine, const struct sonde_cfi_common *common)
{
	*run = (struct run){.machine = machine, .common = common};
	run_program(run, common->program);
	run->initial = run->state;
}

/* Runs an entry's program. From an instruction that cannot be interpreted on, the rest of the function has no rule. */
static void run_entry(const struct run *common, struct sonde_cfi_rows *out, const struct sonde_cfi_entry *entry,
		      uint32_t floor)
{
	struct run run;
	memcpy(&run, common, offsetof(struct run, saved));
	run.rows = out;
	run.floor = floor;
	run.address = entry->start;
	run.end = (uint64_t)entry->start + entry->size_b;
	run.saved_count = 0;
	struct sonde_cfi_cursor code = {entry->program, entry->program + entry->program_b, 0};
	run_program(&run, code);
	if (!run.bad) {
		emit(&run);
	} else if (run.address < run.end) {
		uint64_t at = run.address > floor ? run.address : floor;
		append(out, &(struct sonde_unwind_row){.address = (uint32_t)at, .kind = SONDE_UNWIND_NONE});
	}
}

int sonde_cfi_compile(struct sonde_cfi_rows *out, const struct sonde_cfi_entries *entries,
		      const struct sonde_cfi_machine *machine)
{
	*out = (struct sonde_cfi_rows){0};
	uint32_t end = 0, common_of = UINT32_MAX;
	struct run common = {0};
	for (size_t i = 0; i < entries->count && !out->error; i++) {
		const struct sonde_cfi_entry *entry = &entries->entries[i];
		if (entry->start + entry->size_b <= end)
			continue;
		if (i && entry->start > end)
			append(out, &(struct sonde_unwind_row){.address = end, .kind = SONDE_UNWIND_NONE});
		if (entry->common != common_of)
			run_common(&common, machine, &entries->commons[entry->common]);
		common_of = entry->common;
		run_entry(&common, out, entry, end > entry->start ? end : entry->start);
		end = entry->start + entry->size_b;
	}
	if (out->count)
		append(out, &(struct sonde_unwind_row){.address = end, .kind = SONDE_UNWIND_NONE});
	if (!out->error)
		out->error = sonde_cfi_rules_place(out);
	free(out->expressions);
	out->expressions = NULL;
	if (!out->error)
		return 0;
	free(out->rows);
	out->rows = NULL;
	return out->error;
}
