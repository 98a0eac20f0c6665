/* beam.c: walks the return addresses on the stack of an Erlang process. */
#include "source/stack/beam.h"

#include "source/stack/image.h"
#include "source/stack/process_memory.h"

#define FRAME_WORDS_MAX 1024u /* maximum size of one Erlang function's frame */
#define TAG 3u

struct target {
	struct sonde_live_memory *live;
	pid_t pid;
};

static int read_target(void *context, uint64_t address, void *out, size_t size_b)
{
	const struct target *target = context;
	return sonde_live_memory_read(target->live, target->pid, address, out, size_b);
}

static int read_variable(const struct sonde_process_memory *memory, uint64_t base, const char *name, uint64_t *out)
{
	uint64_t at = sonde_process_memory_symbol(memory, base, name);
	return at ? sonde_process_memory_read(memory, at, out, sizeof *out) : -1;
}

uint64_t sonde_beam_open(struct sonde_live_memory *live, pid_t pid, uint64_t base)
{
	struct target target = {live, pid};
	const struct sonde_process_memory memory = {read_target, &target};
	uint64_t layout, exit;
	/* Layout 0: a frame has a return address, but no frame pointer (erts/emulator/beam/erl_vm.h). */
	if (read_variable(&memory, base, "erts_frame_layout", &layout) || (uint32_t)layout ||
	    read_variable(&memory, base, "beam_normal_exit", &exit))
		return 0;
	return exit;
}

static int is_generated(const struct sonde_space *space, uint64_t pc)
{
	const struct sonde_mapping *mapping = sonde_maps_find(space->maps, pc);
	return mapping && mapping->image->kind == SONDE_IMAGE_ANONYMOUS;
}

/* True if a call in generated code ends at `pc`. */
static int is_return(const struct target *target, const struct sonde_space *space, uint64_t pc)
{
	uint8_t bytes[6];
	if (!is_generated(space, pc) ||
	    sonde_live_memory_read(target->live, target->pid, pc - sizeof bytes, bytes, sizeof bytes))
		return 0;
	/* call …; *%r…; *8(%r…); *1000(%r…); *(%r…,%r…,8); *…(%rip) */
	return bytes[1] == 0xe8 || (bytes[4] == 0xff && (bytes[5] & 0xf8) == 0xd0) ||
	       (bytes[3] == 0xff && ((bytes[4] & 0xf8) == 0x50 || bytes[4] == 0x14)) ||
	       (bytes[0] == 0xff && ((bytes[1] & 0xf8) == 0x90 || bytes[1] == 0x15));
}

/* Finds the next return address at or above *sp, and its location. The return address of a call to a shared fragment of
 * code may have any low bits, but it is the top word of the stack. */
static enum sonde_unwind_result find_return(const struct target *target, const struct sonde_space *space,
					    const struct sonde_generated_frame *frame, uint64_t *sp, uint64_t *pc)
{
	for (unsigned i = 0; i < FRAME_WORDS_MAX; i++, *sp += 8) {
		if (frame->read(frame->context, *sp, pc))
			return SONDE_UNWIND_UNREADABLE;
		if (*pc == space->beam_exit ||
		    ((!(*pc & TAG) || (!i && frame->is_leaf)) && is_return(target, space, *pc)))
			return SONDE_UNWIND_STEPPED;
		if (!(*pc & TAG))
			return SONDE_UNWIND_NO_RULE;
	}
	return SONDE_UNWIND_BAD;
}

int sonde_beam_step(struct sonde_live_memory *live, const struct sonde_space *space,
		    struct sonde_generated_frame *frame)
{
	struct target target = {live, space->pid};
	uint64_t sp = frame->regs.sp, pc;
	if (!is_generated(space, frame->regs.pc))
		return 0;
	if (!frame->is_innermost) {
		frame->result = SONDE_UNWIND_NO_RULE;
		return 1;
	}
	if (!frame->is_leaf && frame->regs.pc == space->beam_exit) {
		frame->result = SONDE_UNWIND_ROOT;
		return 1;
	}
	frame->result = sp & 7 ? SONDE_UNWIND_BAD : find_return(&target, space, frame, &sp, &pc);
	if (frame->result == SONDE_UNWIND_STEPPED)
		frame->regs = (struct sonde_unwind_regs){.pc = pc, .sp = sp + 8, .fp = SONDE_UNWIND_FP_UNKNOWN};
	return 1;
}
