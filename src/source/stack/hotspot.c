/* hotspot.c: steps through the frames of a Java VM on x86-64.
 *
 * A compiled method that has made a call is unwound by its frame size alone: the return address is at the end of the
 * frame, the caller's frame pointer below it. The frame of the method in which the thread was sampled may be
 * incomplete. Whether it is, is found from the method's instructions: those at the entry push the frame, those at an
 * exit pop it. Code without a frame of its own (adapters, vtable stubs, routines like arraycopy) must have a return
 * address on top of the stack that follows a call; a routine with a frame is recognised by the call that leads into it.
 * An interpreter frame must contain a method and one of its bytecodes. A frame that fails its check ends the stack.
 */
#include "source/stack/hotspot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/stack/hotspot_code.h"
#include "source/stack/hotspot_names.h"
#include "util/error.h"

#define PROLOGUE_B 48u
#define EPILOGUE_B 24u
#define NEAR_B 4096u /* maximum frame size of a routine */

/* Slots of an interpreter frame, in words from the frame pointer (cpu/x86/frame_x86.hpp); the VM publishes the first
 * two. */
enum { SENDER_SP = -1, LAST_SP = -2, METHOD = -3, BYTECODE = -8, FRAME_WORDS = 9 };

struct sonde_hotspot {
	struct sonde_live_memory *live; /* NULL in tests */
	pid_t pid;
	struct sonde_process_memory memory;
	struct sonde_places *places;
	char problem[160]; /* "" = none */
	struct sonde_hotspot_layout layout;
	struct sonde_hotspot_code *code;
	struct sonde_hotspot_names *names;
};

static int read_live(void *context, uint64_t address, void *out, size_t size_b)
{
	const struct sonde_hotspot *vm = context;
	return sonde_live_memory_read(vm->live, vm->pid, address, out, size_b);
}

/* Reads the VM's tables. They are initialised, since this is called when generated code is running. */
static struct sonde_hotspot *open_vm(struct sonde_hotspot *vm, uint64_t base)
{
	if (sonde_hotspot_layout_read(&vm->layout, &vm->memory, base)) {
		snprintf(vm->problem, sizeof vm->problem, "%s", sonde_error_text());
		return vm;
	}
	vm->code = sonde_hotspot_code_new(&vm->layout, &vm->memory);
	vm->names = sonde_hotspot_names_new(&vm->layout, &vm->memory, vm->places);
	if (vm->code && vm->names)
		return vm;
	sonde_hotspot_free(vm);
	return NULL;
}

struct sonde_hotspot *sonde_hotspot_new(struct sonde_live_memory *live, pid_t pid, uint64_t base,
					struct sonde_places *places)
{
	struct sonde_hotspot *vm = calloc(1, sizeof *vm);
	if (!vm)
		return NULL;
	*vm = (struct sonde_hotspot){.live = live, .pid = pid, .memory = {read_live, vm}, .places = places};
	return open_vm(vm, base);
}

struct sonde_hotspot *sonde_hotspot_new_from(const struct sonde_process_memory *memory, uint64_t base,
					     struct sonde_places *places)
{
	struct sonde_hotspot *vm = calloc(1, sizeof *vm);
	if (!vm)
		return NULL;
	*vm = (struct sonde_hotspot){.memory = *memory, .places = places};
	return open_vm(vm, base);
}

const char *sonde_hotspot_problem(const struct sonde_hotspot *vm)
{
	return *vm->problem ? vm->problem : NULL;
}

void sonde_hotspot_free(struct sonde_hotspot *vm)
{
	if (!vm)
		return;
	sonde_hotspot_code_free(vm->code);
	sonde_hotspot_names_free(vm->names);
	free(vm);
}

/* --- a step ---------------------------------------------------------------------------------------------- */

struct step {
	struct sonde_hotspot *vm;
	struct sonde_generated_frame *frame;
	struct sonde_hotspot_blob blob; /* contains pc */
	uint64_t batch;
};

static const struct sonde_hotspot_blob *blob_at(const struct step *step, uint64_t pc)
{
	return sonde_hotspot_code_find(step->vm->code, step->batch, pc);
}

static int read_stack(const struct step *step, uint64_t address, uint64_t *out)
{
	return step->frame->read(step->frame->context, address, out);
}

static int read_code(const struct step *step, uint64_t address, void *out, size_t size_b)
{
	return sonde_process_memory_read(&step->vm->memory, address, out, size_b);
}

/* Steps to the caller, whose stack pointer after the return is `cfa` and whose frame pointer was saved at `fp_at` (0:
 * it is still in its register). */
static enum sonde_unwind_result leave(const struct step *step, uint64_t cfa, uint64_t fp_at)
{
	struct sonde_unwind_regs *regs = &step->frame->regs, next = {.sp = cfa, .fp = regs->fp};
	if (cfa & 7 || cfa <= regs->sp)
		return SONDE_UNWIND_BAD;
	if (read_stack(step, cfa - 8, &next.pc) || (fp_at && read_stack(step, fp_at, &next.fp)))
		return SONDE_UNWIND_UNREADABLE;
	if (!next.pc)
		return SONDE_UNWIND_BAD;
	if (sonde_hotspot_code_holds(step->vm->code, step->batch, next.pc) && !blob_at(step, next.pc - 1) &&
	    !blob_at(step, next.pc))
		return SONDE_UNWIND_BAD;
	*regs = next;
	return SONDE_UNWIND_STEPPED;
}

/* 1 if a call instruction ends at `address`; 2 if it is known to lead into [low, high); else 0. */
static int has_call(const struct step *step, uint64_t address, uint64_t low, uint64_t high)
{
	uint8_t bytes[16]; /* the bytes before the address */
	const uint8_t *end = bytes + sizeof bytes;
	if (address < sizeof bytes || read_code(step, address - sizeof bytes, bytes, sizeof bytes))
		return 0;
	if (end[-5] == 0xe8) {
		int32_t distance;
		memcpy(&distance, end - 4, sizeof distance);
		uint64_t target = address + (uint64_t)(int64_t)distance;
		return target >= low && target < high ? 2 : 1;
	}
	if (end[-3] == 0x41 && end[-2] == 0xff && end[-1] == 0xd2) { /* call *%r10, after movabs $…,%r10 */
		uint64_t target;
		memcpy(&target, end - 11, sizeof target);
		return end[-13] == 0x49 && end[-12] == 0xba && target >= low && target < high ? 2 : 1;
	}
	return (end[-2] == 0xff && (end[-1] & 0xf8) == 0xd0) || (end[-3] == 0xff && (end[-2] & 0xf8) == 0x50) ||
	       (end[-6] == 0xff && (end[-5] & 0xf8) == 0x90);
}

/* --- compiled code --------------------------------------------------------------------------------------- */

enum progress { BEFORE_PUSH, AFTER_PUSH, FRAME, NOT_SAVED, FRAME_POINTER, STRANGE };

/* The length of an instruction that may precede the push of the frame: the probe of the stack's guard pages, nops, a
 * patched-in call (in methods that are entered in a loop); 0 = any other instruction. */
static size_t lead_b(const uint8_t *byte)
{
	static const uint8_t probe[] = {0x89, 0x84, 0x24}; /* mov %eax,-…(%rsp) */
	if (!memcmp(byte, probe, sizeof probe))
		return 7;
	if (byte[0] == 0xe9) /* a jump over the probe: the method is not entered any more */
		return byte[5] == 0xfe && byte[6] == 0xff ? 7 : 5;
	if (byte[0] == 0xe8 || (byte[0] == 0x0f && byte[1] == 0x1f && byte[2] == 0x44))
		return 5;
	return byte[0] == 0x90 ? 1 : byte[0] == 0x66 && byte[1] == 0x90 ? 2 : 0;
}

/* How much of the entry code has been executed: …; push %rbp; [mov %rsp,%rbp]; sub $…,%rsp, or sub $…,%rsp; mov
 * %rbp,…(%rsp). */
static enum progress entry_progress(const uint8_t *code, size_t size_b, size_t at)
{
	size_t i = 0;
	int is_pushed = 0;
	while (i + 8 <= size_b) {
		if (i >= at)
			return is_pushed ? AFTER_PUSH : BEFORE_PUSH;
		const uint8_t *byte = code + i;
		size_t more_b = is_pushed ? 0 : lead_b(byte);
		if (more_b) {
			i += more_b;
		} else if (!is_pushed && byte[0] == 0x55) {
			is_pushed = 1;
			i += 1;
		} else if (is_pushed && byte[0] == 0x48 &&
			   ((byte[1] == 0x8b && byte[2] == 0xec) || (byte[1] == 0x89 && byte[2] == 0xe5))) {
			i += 3;
		} else if (byte[0] == 0x48 && (byte[1] == 0x81 || byte[1] == 0x83) && byte[2] == 0xec) {
			i += byte[1] == 0x81 ? 7 : 4;
			if (i > at)
				return is_pushed ? AFTER_PUSH : BEFORE_PUSH;
			/* if %rbp was not pushed, the next instruction saves it */
			return is_pushed || i < at ? FRAME : NOT_SAVED;
		} else {
			return is_pushed ? FRAME_POINTER : STRANGE;
		}
	}
	return STRANGE;
}

/* Determines whether the frame has been partly or fully removed at `code`: [pop %rbp;] [poll;] ret. */
static enum progress exit_progress(const uint8_t *code, size_t size_b)
{
	size_t i = 0;
	if (code[0] == 0x5d) /* pop %rbp */
		i = 1;
	enum progress progress = i ? AFTER_PUSH : BEFORE_PUSH;
	if (i + 7 <= size_b && code[i] == 0x49 && code[i + 1] == 0x3b && (code[i + 2] & 0xc7) == 0x87)
		i += 7; /* cmp …(%r15),%rsp */
	else if (code[i] == 0x49 && code[i + 1] == 0x3b && (code[i + 2] & 0xc7) == 0x47)
		i += 4;
	if (i + 6 <= size_b && code[i] == 0x0f && code[i + 1] == 0x87)
		i += 6; /* ja to the poll's stub */
	if (code[i] == 0x41 && code[i + 1] == 0x85 && code[i + 2] == 0x02)
		i += 3; /* test %eax,(%r10), the poll of older VMs */
	return code[i] == 0xc3 || code[i] == 0xc2 ? progress : FRAME;
}

/* The progress of the frame in which the thread was sampled. */
static enum progress progress_of(const struct step *step)
{
	const struct sonde_hotspot_blob *blob = &step->blob;
	uint64_t pc = step->frame->regs.pc, entry = blob->kind == SONDE_HOTSPOT_NMETHOD ? blob->entry : blob->code;
	uint8_t code[PROLOGUE_B] = {0};
	if (pc < entry)
		return BEFORE_PUSH; /* the check of the receiver's class */
	enum progress progress = FRAME;
	if (blob->complete_b < 0 || pc < blob->code + (uint32_t)blob->complete_b) {
		size_t size_b = blob->code_end - entry < PROLOGUE_B ? (size_t)(blob->code_end - entry) : PROLOGUE_B;
		if (read_code(step, entry, code, size_b))
			return STRANGE;
		progress = entry_progress(code, size_b, (size_t)(pc - entry));
	}
	if (progress != FRAME && progress != FRAME_POINTER)
		return progress;
	uint8_t tail[EPILOGUE_B] = {0};
	size_t size_b = blob->code_end - pc < EPILOGUE_B ? (size_t)(blob->code_end - pc) : EPILOGUE_B;
	if (read_code(step, pc, tail, size_b))
		return STRANGE;
	enum progress last = exit_progress(tail, EPILOGUE_B - 10);
	return last == FRAME ? progress : last;
}

static enum sonde_unwind_result leave_compiled(const struct step *step)
{
	const struct sonde_unwind_regs *regs = &step->frame->regs;
	uint64_t sp = regs->sp, cfa = sp + step->blob.frame_b;
	enum progress progress = step->frame->is_leaf ? progress_of(step) : FRAME;
	switch (progress) {
	case BEFORE_PUSH:
		return leave(step, sp + 8, 0);
	case AFTER_PUSH:
		return leave(step, sp + 16, sp);
	case NOT_SAVED:
		return leave(step, cfa, 0);
	case FRAME:
		return step->blob.frame_b < 16 ? SONDE_UNWIND_BAD : leave(step, cfa, cfa - 16);
	case FRAME_POINTER:
		if (step->blob.frame_b >= 16 && step->blob.complete_b >= 0)
			return leave(step, cfa, cfa - 16);
		return regs->fp < sp ? SONDE_UNWIND_BAD : leave(step, regs->fp + 16, regs->fp);
	default:
		return SONDE_UNWIND_NO_RULE;
	}
}

/* --- stubs ----------------------------------------------------------------------------------------------- */

/* Adapters and vtable stubs: the return address is on top of the stack. */
static enum sonde_unwind_result leave_frameless(const struct step *step)
{
	uint64_t sp = step->frame->regs.sp, caller;
	if (!step->frame->is_leaf)
		return SONDE_UNWIND_NO_RULE;
	if (read_stack(step, sp, &caller))
		return SONDE_UNWIND_UNREADABLE;
	const struct sonde_hotspot_blob *blob = blob_at(step, caller);
	if (!blob || (blob->kind != SONDE_HOTSPOT_INTERPRETER && !has_call(step, caller, 0, 0)))
		return SONDE_UNWIND_NO_RULE;
	return leave(step, sp + 8, 0);
}

/* Steps from a stub without a frame that has made a call; it may have aligned the stack for the call. */
static enum sonde_unwind_result leave_caller(const struct step *step)
{
	static const uint8_t restore[] = {0x48, 0x83, 0xc4, 0x08}; /* add $8,%rsp */
	const struct sonde_unwind_regs *regs = &step->frame->regs;
	uint8_t code[sizeof restore];
	uint64_t sp = regs->sp, caller;
	if (read_code(step, regs->pc, code, sizeof code))
		return SONDE_UNWIND_NO_RULE;
	sp += memcmp(code, restore, sizeof restore) ? 0 : 8;
	if (read_stack(step, sp, &caller))
		return SONDE_UNWIND_UNREADABLE;
	return blob_at(step, caller) && has_call(step, caller, 0, 0) ? leave(step, sp + 8, 0) : SONDE_UNWIND_NO_RULE;
}

/* Steps from a routine: either it has no frame, and is recognised by the call that leads into it, or its frame is
 * linked by the frame pointer. */
static enum sonde_unwind_result leave_stub(const struct step *step)
{
	const struct sonde_unwind_regs *regs = &step->frame->regs;
	const struct sonde_hotspot_blob *blob = &step->blob;
	uint64_t caller, return_pc = 0;
	read_code(step, step->vm->layout.fields[HOTSPOT_CALL_STUB_RETURN].value, &return_pc, sizeof return_pc);
	int has_frame = regs->fp >= regs->sp && regs->fp - regs->sp < NEAR_B && !(regs->fp & 7);
	if (!step->frame->is_leaf) {
		if (regs->pc == return_pc)
			return has_frame ? leave(step, regs->fp + 16, regs->fp) : SONDE_UNWIND_BAD;
		return leave_caller(step);
	}
	if (!read_stack(step, regs->sp, &caller) && has_call(step, caller, blob->code, blob->code_end) == 2)
		return leave(step, regs->sp + 8, 0);
	if (has_frame && !read_stack(step, regs->fp + 8, &caller) &&
	    has_call(step, caller, blob->code, blob->code_end) == 2)
		return leave(step, regs->fp + 16, regs->fp);
	return !read_stack(step, regs->sp + 8, &caller) && has_call(step, caller, blob->code, blob->code_end) == 2
		   ? leave(step, regs->sp + 16, regs->sp)
		   : SONDE_UNWIND_NO_RULE;
}

/* --- the interpreter ------------------------------------------------------------------------------------- */

static uint64_t slot(uint64_t fp, int number)
{
	return fp + (uint64_t)((int64_t)number * 8);
}

/* Reads the method and the bytecode of the interpreter frame at the frame pointer. */
static int read_interpreted(const struct step *step, uint64_t *method, uint64_t *bytecode)
{
	const struct sonde_unwind_regs *regs = &step->frame->regs;
	return !(regs->fp & 7) && regs->fp >= regs->sp && !read_stack(step, slot(regs->fp, METHOD), method) &&
	       !read_stack(step, slot(regs->fp, BYTECODE), bytecode) &&
	       sonde_hotspot_names_is_method(step->vm->names, *method, *bytecode);
}

/* Steps to the calling method; sender_sp 0 = unknown; it is needed only if the caller is compiled. */
static enum sonde_unwind_result return_from(const struct step *step, uint64_t fp_at, uint64_t sender_sp)
{
	struct sonde_unwind_regs *regs = &step->frame->regs, next = {.sp = sender_sp};
	if (read_stack(step, fp_at, &next.fp) || read_stack(step, fp_at + 8, &next.pc))
		return SONDE_UNWIND_UNREADABLE;
	if (!sender_sp) {
		const struct sonde_hotspot_blob *caller = blob_at(step, next.pc);
		if (!caller || caller->kind != SONDE_HOTSPOT_INTERPRETER)
			return SONDE_UNWIND_NO_RULE;
		next.sp = fp_at + 16;
	}
	if (next.sp & 7 || next.sp <= fp_at || !next.pc)
		return SONDE_UNWIND_BAD;
	*regs = next;
	return SONDE_UNWIND_STEPPED;
}

/* How far the construction of an interpreter frame has got: the caller's frame pointer is pushed, then one slot after
 * the other, the last one FRAME_WORDS below it. Returns 0 after the first push; once the frame pointer is set, 1 + the
 * number of slots pushed; -1 if the frame is complete or not started. */
static int words_of(const struct step *step)
{
	static const uint8_t enter[] = {0x55, 0x48, 0x8b, 0xec}; /* push %rbp; mov %rsp,%rbp */
	const struct sonde_unwind_regs *regs = &step->frame->regs;
	uint8_t code[sizeof enter];
	uint64_t caller;
	if (!step->frame->is_leaf)
		return -1;
	if (!read_code(step, regs->pc - 1, code, sizeof code) && !memcmp(code, enter, sizeof enter))
		return 0;
	if (regs->fp < regs->sp || regs->fp - regs->sp >= FRAME_WORDS * 8 || read_stack(step, regs->fp + 8, &caller) ||
	    !blob_at(step, caller))
		return -1;
	return 1 + (int)((regs->fp - regs->sp) / 8);
}

static enum sonde_unwind_result leave_unfinished(const struct step *step, int words)
{
	const struct sonde_unwind_regs *regs = &step->frame->regs;
	uint64_t fp_at = words ? regs->fp : regs->sp, sender_sp = 0, method;
	if (words > 1 && read_stack(step, slot(fp_at, SENDER_SP), &sender_sp))
		return SONDE_UNWIND_UNREADABLE;
	if (words > -METHOD && !read_stack(step, slot(fp_at, METHOD), &method))
		step->frame->name = sonde_hotspot_names_method(step->vm->names, method, 0);
	return return_from(step, fp_at, sender_sp);
}

/* Handles a thread that was sampled before the frame of the method that it entered existed, or after that frame was
 * removed: the frame pointer is the caller's, and the caller has saved its stack pointer. Returns non-zero if there may
 * be another frame in between. */
static int is_between(const struct step *step)
{
	const struct sonde_unwind_regs *regs = &step->frame->regs;
	uint64_t last_sp;
	if (!step->frame->is_leaf || read_stack(step, slot(regs->fp, LAST_SP), &last_sp) || !last_sp)
		return 0;
	return last_sp > regs->fp || regs->sp + 24 < last_sp;
}

static enum sonde_unwind_result leave_interpreted(const struct step *step)
{
	const struct sonde_unwind_regs *regs = &step->frame->regs;
	uint64_t method, bytecode, sender_sp;
	int words = words_of(step);
	if (words >= 0)
		return leave_unfinished(step, words);
	if (!read_interpreted(step, &method, &bytecode) || is_between(step))
		return leave_frameless(step);
	step->frame->name = sonde_hotspot_names_method(step->vm->names, method, bytecode);
	return read_stack(step, slot(regs->fp, SENDER_SP), &sender_sp) ? SONDE_UNWIND_UNREADABLE
	       : sender_sp                                             ? return_from(step, regs->fp, sender_sp)
								       : SONDE_UNWIND_BAD;
}

/* --- dispatch ------------------------------------------------------------------------------------------ */

static void take_step(const struct step *step)
{
	struct sonde_generated_frame *frame = step->frame;
	frame->name = sonde_hotspot_names_code(step->vm->names, &step->blob, frame->regs.pc, !frame->is_leaf);
	switch (step->blob.kind) {
	case SONDE_HOTSPOT_INTERPRETER:
		frame->result = leave_interpreted(step);
		break;
	case SONDE_HOTSPOT_NMETHOD:
	case SONDE_HOTSPOT_RUNTIME:
		frame->result = step->blob.frame_b ? leave_compiled(step) : leave_frameless(step);
		break;
	case SONDE_HOTSPOT_FRAMELESS:
		frame->result = leave_frameless(step);
		break;
	default:
		frame->result = leave_stub(step);
	}
}

int sonde_hotspot_step(struct sonde_hotspot *vm, struct sonde_generated_frame *frame)
{
	uint64_t batch = vm->live ? sonde_live_memory_batch(vm->live) : 1, pc = frame->regs.pc;
	if (*vm->problem || !sonde_hotspot_code_holds(vm->code, batch, pc))
		return 0;
	const struct sonde_hotspot_blob *blob = sonde_hotspot_code_find(vm->code, batch, pc);
	if (!blob) {
		frame->name = sonde_places_frame(vm->places, NULL, 0);
		frame->result = SONDE_UNWIND_NO_RULE;
		return 1;
	}
	struct step step = {vm, frame, *blob, batch};
	take_step(&step);
	return 1;
}
