/* sched_bpf_programs.c: three small BPF programs as tables of instructions, so that no BPF compiler is needed.
 *
 * Offsets in the kernel's structs are filled in here; jumps refer to labels. The kernel's verifier checks the resulting
 * programs, and refuses a faulty one. Registers: R0 result; R1 … R5 arguments, clobbered by calls; R6 … R9 preserved;
 * R10 the end of the stack frame. A tracepoint's arguments are 64-bit words at R1.
 *
 * 	sched_switch (preempt, prev, next)	writes a record when one of the two is followed
 * 	sched_waking (task)			notes when a followed task was woken, and by whom
 * 	task_newtask (task, flags)		follows a task that a followed one creates
 *
 * Memory for rows is allocated only where tasks are created, because the other programs run while a run queue is
 * locked.
 */
#include "source/sched/sched_bpf_programs.h"

#include <string.h>

#define PF_EXITING_BIT 4u /* linux/sched.h, task_struct.flags */
#define EXITING_SHIFT 22u /* shifts the PF_EXITING bit to SONDE_SCHED_EXITING */
#define LABEL_CODE 0xffu  /* marks a label, not an instruction */
#define LABELS 16

#define R(n) (BPF_REG_0 + (n))
#define INSN(c, d, s, o, i)                                                                           \
	(struct bpf_insn)                                                                             \
	{                                                                                             \
		.code = (c), .dst_reg = (d), .src_reg = (s), .off = (int16_t)(o), .imm = (int32_t)(i) \
	}
#define MOVE(d, s) INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define SET(d, value) INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, value)
#define MATH(op, d, value) INSN(BPF_ALU64 | (op) | BPF_K, d, 0, 0, value)
#define MATH_R(op, d, s) INSN(BPF_ALU64 | (op) | BPF_X, d, s, 0, 0)
#define LOAD(size, d, s, at) INSN(BPF_LDX | BPF_MEM | (size), d, s, at, 0)
#define STORE(size, d, at, s) INSN(BPF_STX | BPF_MEM | (size), d, s, at, 0)
#define EXCHANGE(d, at, s) INSN(BPF_STX | BPF_ATOMIC | BPF_DW, d, s, at, BPF_XCHG)
#define CALL(helper) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define RETURN INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define JUMP(label) INSN(BPF_JMP | BPF_JA, 0, 0, label, 0)
#define JUMP_IF(op, d, value, label) INSN(BPF_JMP | (op) | BPF_K, d, 0, label, value)
#define JUMP_IF_R(op, d, s, label) INSN(BPF_JMP | (op) | BPF_X, d, s, label, 0)
#define LABEL(n) INSN(LABEL_CODE, 0, 0, 0, n)
/* The address of a map, which takes two instructions. */
#define MAP(d, fd) INSN(BPF_LD | BPF_DW | BPF_IMM, d, BPF_PSEUDO_MAP_FD, 0, fd), INSN(0, 0, 0, 0, 0)
/* R0 = the row of the task in `task`, or NULL. */
#define GET_ROW(task, flags) \
	MAP(R(1), target->rows_fd), MOVE(R(2), task), SET(R(3), 0), SET(R(4), flags), CALL(BPF_FUNC_task_storage_get)
/* R0 = the ring of this CPU, or NULL; stores the CPU's number on the stack. */
#define GET_RING                                                                                         \
	CALL(BPF_FUNC_get_smp_processor_id), STORE(BPF_W, R(10), -4, R(0)), MAP(R(1), target->rings_fd), \
	    MOVE(R(2), R(10)), MATH(BPF_ADD, R(2), -4), CALL(BPF_FUNC_map_lookup_elem)
/* `d` = the tid of `task` and whether it is exiting; clobbers `scratch`. */
#define GET_TID(d, task, scratch)                                                               \
	LOAD(BPF_W, d, task, target->pid_at_b), LOAD(BPF_W, scratch, task, target->flags_at_b), \
	    MATH(BPF_AND, scratch, PF_EXITING_BIT), MATH(BPF_LSH, scratch, EXITING_SHIFT), MATH_R(BPF_OR, d, scratch)

#define RING(field) offsetof(struct sonde_sched_ring, field)
#define RECORD(field) (SONDE_SCHED_HEAD_B + offsetof(struct sonde_sched_record, field))
#define ROW(field) offsetof(struct sonde_sched_row, field)

const char *const sonde_sched_tracepoints[SONDE_SCHED_PROGRAMS] = {
    [SONDE_SCHED_SWITCH] = "btf_trace_sched_switch",
    [SONDE_SCHED_WAKING] = "btf_trace_sched_waking",
    [SONDE_SCHED_NEWTASK] = "btf_trace_task_newtask",
};

static int is_jump(const struct bpf_insn *insn)
{
	uint8_t op = BPF_OP(insn->code);
	return BPF_CLASS(insn->code) == BPF_JMP && op != BPF_CALL && op != BPF_EXIT;
}

/* Removes the labels and makes jumps relative. */
static size_t assemble(struct bpf_insn *out, const struct bpf_insn *code, size_t count)
{
	int16_t places[LABELS] = {0};
	size_t length = 0;
	for (size_t i = 0; i < count; i++)
		if (code[i].code == LABEL_CODE)
			places[code[i].imm] = (int16_t)length;
		else
			out[length++] = code[i];
	for (size_t i = 0; i < length; i++)
		if (is_jump(&out[i]))
			out[i].off = (int16_t)(places[out[i].off] - (int16_t)i - 1);
	return length;
}

/* Stack: −4 the CPU, −16 the row of next, −24 the row of prev. One kernel (6.18) was seen to omit up to 2 % of the
 * switches to a task, but never those from it. So the row of prev is looked up, too, by which a missing switch to that
 * task is noticed. */
static size_t write_switch(const struct sonde_sched_target *target, struct bpf_insn *out)
{
	enum { FOLLOWED, NOBODY, COULD_GO_ON, TIME, NO_PREV, NO_WAKER, DONE, FULL, END };
	const struct bpf_insn code[] = {
	    LOAD(BPF_DW, R(6), R(1), 0),  /* preempt; later the flags for prev's tid */
	    LOAD(BPF_DW, R(7), R(1), 8),  /* prev */
	    LOAD(BPF_DW, R(8), R(1), 16), /* next */
	    GET_ROW(R(7), 0),
	    MOVE(R(9), R(0)),
	    GET_ROW(R(8), 0),
	    JUMP_IF(BPF_JNE, R(0), 0, FOLLOWED),
	    JUMP_IF(BPF_JEQ, R(9), 0, END),
	    LABEL(FOLLOWED),
	    STORE(BPF_DW, R(10), -16, R(0)),
	    STORE(BPF_DW, R(10), -24, R(9)),
	    GET_RING,
	    JUMP_IF(BPF_JEQ, R(0), 0, END),
	    MOVE(R(9), R(0)), /* the ring */

	    SET(R(2), 0),
	    LOAD(BPF_DW, R(0), R(10), -16),
	    JUMP_IF(BPF_JEQ, R(0), 0, NOBODY),
	    LOAD(BPF_W, R(2), R(8), target->pid_at_b),
	    LOAD(BPF_W, R(3), R(8), target->tgid_at_b),
	    MATH(BPF_LSH, R(3), 32),
	    MATH_R(BPF_OR, R(2), R(3)),
	    LABEL(NOBODY),
	    STORE(BPF_DW, R(9), RING(on_cpu), R(2)),

	    LOAD(BPF_DW, R(1), R(10), -24),
	    JUMP_IF(BPF_JEQ, R(1), 0, TIME),
	    JUMP_IF(BPF_JNE, R(6), 0, COULD_GO_ON),
	    LOAD(BPF_W, R(2), R(7), target->state_at_b),
	    JUMP_IF(BPF_JNE, R(2), 0, TIME),
	    LABEL(COULD_GO_ON), /* an earlier wakeup of prev no longer counts */
	    SET(R(6), SONDE_SCHED_RUNNABLE),
	    SET(R(2), 0),
	    STORE(BPF_DW, R(1), ROW(woken_ns), R(2)),
	    LABEL(TIME),
	    CALL(BPF_FUNC_ktime_get_ns),

	    /* R1 head, R2 record − SONDE_SCHED_HEAD_B */
	    LOAD(BPF_DW, R(1), R(9), RING(head)),
	    LOAD(BPF_DW, R(2), R(9), RING(tail)),
	    MOVE(R(3), R(1)),
	    MATH_R(BPF_SUB, R(3), R(2)),
	    JUMP_IF(BPF_JGE, R(3), target->records, FULL),
	    MOVE(R(2), R(1)),
	    MATH(BPF_AND, R(2), target->records - 1),
	    MATH(BPF_MUL, R(2), sizeof(struct sonde_sched_record)),
	    MATH_R(BPF_ADD, R(2), R(9)),
	    STORE(BPF_DW, R(2), RECORD(time_ns), R(0)),

	    SET(R(4), 0),
	    SET(R(5), 0),
	    LOAD(BPF_DW, R(0), R(10), -24),
	    JUMP_IF(BPF_JEQ, R(0), 0, NO_PREV),
	    GET_TID(R(4), R(7), R(5)),
	    MATH_R(BPF_OR, R(4), R(6)),
	    LOAD(BPF_W, R(5), R(7), target->tgid_at_b),
	    LABEL(NO_PREV),
	    STORE(BPF_W, R(2), RECORD(prev), R(4)),
	    STORE(BPF_W, R(2), RECORD(prev_pid), R(5)),

	    SET(R(5), 0),
	    STORE(BPF_DW, R(2), RECORD(next), R(5)),
	    STORE(BPF_DW, R(2), RECORD(by), R(5)),
	    STORE(BPF_DW, R(2), RECORD(woken_ns), R(5)),
	    LOAD(BPF_DW, R(0), R(10), -16),
	    JUMP_IF(BPF_JEQ, R(0), 0, DONE),
	    LOAD(BPF_DW, R(4), R(0), ROW(woken_ns)),
	    JUMP_IF(BPF_JEQ, R(4), 0, NO_WAKER),
	    STORE(BPF_DW, R(0), ROW(woken_ns), R(5)),
	    STORE(BPF_DW, R(2), RECORD(woken_ns), R(4)),
	    LOAD(BPF_DW, R(4), R(0), ROW(by)),
	    STORE(BPF_DW, R(2), RECORD(by), R(4)),
	    LABEL(NO_WAKER),
	    GET_TID(R(4), R(8), R(5)),
	    LOAD(BPF_W, R(5), R(8), target->tgid_at_b),
	    STORE(BPF_W, R(2), RECORD(next), R(4)),
	    STORE(BPF_W, R(2), RECORD(next_pid), R(5)),
	    LABEL(DONE),
	    MATH(BPF_ADD, R(1), 1),
	    EXCHANGE(R(9), RING(head), R(1)), /* a full barrier: the record is written before the head includes it */
	    JUMP(END),
	    LABEL(FULL),
	    LOAD(BPF_DW, R(1), R(9), RING(lost)),
	    MATH(BPF_ADD, R(1), 1),
	    STORE(BPF_DW, R(9), RING(lost), R(1)),
	    LABEL(END),
	    SET(R(0), 0),
	    RETURN,
	};
	return assemble(out, code, sizeof code / sizeof *code);
}

/* Takes the current task as the waker if it is in a system call and the program runs on its stack. An interrupt is not
 * mistaken for that: it runs on a stack of its own or, if it interrupted user code, outside a system call. */
static size_t write_waking(const struct sonde_sched_target *target, struct bpf_insn *out)
{
	enum { NOT_KNOWN, END };
	const struct bpf_insn row[] = {
	    LOAD(BPF_DW, R(7), R(1), 0),
	    GET_ROW(R(7), 0),
	    JUMP_IF(BPF_JEQ, R(0), 0, END),
	    MOVE(R(8), R(0)),
	    SET(R(7), 0),
	};
	const struct bpf_insn waker[] = {
	    GET_RING,
	    JUMP_IF(BPF_JEQ, R(0), 0, NOT_KNOWN),
	    LOAD(BPF_DW, R(9), R(0), RING(on_cpu)),
	    JUMP_IF(BPF_JEQ, R(9), 0, NOT_KNOWN),
	    CALL(BPF_FUNC_get_current_task_btf),
	    MOVE(R(6), R(0)),
	    MOVE(R(1), R(9)),
	    MATH(BPF_AND, R(1), INT32_MAX),
	    LOAD(BPF_W, R(2), R(6), target->pid_at_b),
	    JUMP_IF_R(BPF_JNE, R(1), R(2), NOT_KNOWN), /* the switch to the current task was not reported */
	    MOVE(R(1), R(6)),
	    CALL(BPF_FUNC_task_pt_regs), /* pt_regs are at the upper end of the task's stack */
	    JUMP_IF_R(BPF_JGE, R(10), R(0), NOT_KNOWN),
	    LOAD(BPF_DW, R(1), R(6), target->stack_at_b),
	    JUMP_IF_R(BPF_JLT, R(10), R(1), NOT_KNOWN),
	    LOAD(target->call_is_short ? BPF_W : BPF_DW, R(1), R(0), target->call_at_b),
	    MATH(BPF_LSH, R(1), target->call_is_short ? 32 : 0),
	    JUMP_IF(BPF_JSLT, R(1), 0, NOT_KNOWN),
	    MOVE(R(7), R(9)),
	};
	const struct bpf_insn note[] = {
	    LABEL(NOT_KNOWN),
	    CALL(BPF_FUNC_ktime_get_ns),
	    STORE(BPF_DW, R(8), ROW(by), R(7)),
	    STORE(BPF_DW, R(8), ROW(woken_ns), R(0)),
	    LABEL(END),
	    SET(R(0), 0),
	    RETURN,
	};
	struct bpf_insn code[sizeof row / sizeof *row + sizeof waker / sizeof *waker + sizeof note / sizeof *note];
	size_t count = sizeof row / sizeof *row;
	memcpy(code, row, sizeof row);
	if (!target->without_wakers) {
		memcpy(code + count, waker, sizeof waker);
		count += sizeof waker / sizeof *waker;
	}
	memcpy(code + count, note, sizeof note);
	return assemble(out, code, count + sizeof note / sizeof *note);
}

/* Follows a new task, whose creator is the current task. The new task counts as woken by its creator: until it first
 * runs, it waits for a CPU. */
static size_t write_newtask(const struct sonde_sched_target *target, struct bpf_insn *out)
{
	enum { MISSED, END };
	const struct bpf_insn code[] = {
	    LOAD(BPF_DW, R(7), R(1), 0),
	    CALL(BPF_FUNC_get_current_task_btf),
	    MOVE(R(6), R(0)),
	    GET_ROW(R(6), 0),
	    JUMP_IF(BPF_JEQ, R(0), 0, END),
	    GET_ROW(R(7), BPF_LOCAL_STORAGE_GET_F_CREATE),
	    JUMP_IF(BPF_JEQ, R(0), 0, MISSED),
	    MOVE(R(8), R(0)),
	    LOAD(BPF_W, R(9), R(6), target->pid_at_b),
	    STORE(BPF_W, R(8), ROW(by), R(9)),
	    LOAD(BPF_W, R(9), R(6), target->tgid_at_b),
	    STORE(BPF_W, R(8), ROW(by_pid), R(9)),
	    CALL(BPF_FUNC_ktime_get_ns),
	    STORE(BPF_DW, R(8), ROW(woken_ns), R(0)),
	    JUMP(END),
	    LABEL(MISSED),
	    GET_RING,
	    JUMP_IF(BPF_JEQ, R(0), 0, END),
	    LOAD(BPF_DW, R(1), R(0), RING(missed)),
	    MATH(BPF_ADD, R(1), 1),
	    STORE(BPF_DW, R(0), RING(missed), R(1)),
	    LABEL(END),
	    SET(R(0), 0),
	    RETURN,
	};
	return assemble(out, code, sizeof code / sizeof *code);
}

size_t sonde_sched_program(enum sonde_sched_program which, const struct sonde_sched_target *target,
			   struct bpf_insn out[SONDE_SCHED_INSNS])
{
	switch (which) {
	case SONDE_SCHED_SWITCH:
		return write_switch(target, out);
	case SONDE_SCHED_WAKING:
		return write_waking(target, out);
	default:
		return write_newtask(target, out);
	}
}
