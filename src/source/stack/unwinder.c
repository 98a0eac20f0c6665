/* unwinder.c: turns registers and a copy of the stack into an interned stack.
 *
 * Each frame is one lookup of (address space generation, pc) in a direct-mapped cache and one step by its row. Only a
 * miss searches mappings and tables, and only the first hit of an image opens it. The leaf's pc is looked up as it is;
 * for a caller, the return address minus one is looked up, so that the call is found, not the code after it. The pc of
 * the frame directly above a signal frame is that of the interrupted instruction, so it is looked up as it is, too.
 *
 * Above the copy, the stack of the live process is read, provided that the live stack still has the last bytes of the
 * copy. Returns and calls since the sample would have changed these bytes in most cases. If the stack has changed all
 * the same, the frames soon become invalid, and those read from above the copy are discarded. Code without a row is
 * unwound by derived rules (stack/derived.h), then by frame pointers; a few known stubs are recognised by their bytes.
 */
#include "source/stack/unwinder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "source/stack/call_site.h"
#include "source/stack/derived.h"
#include "source/stack/generated.h"
#include "source/stack/haskell.h"
#include "source/stack/live_memory.h"
#include "symbol/elf.h"
#include "util/error.h"

#define CODES 8192u     /* slots of the cache, a power of two */
#define BOUNDARY_B 512u /* how much of the copy's end is compared with the live stack */
#define RED_ZONE_B 128u /* how much a function may use below the stack pointer */
#define ENTRY_B 64u     /* maximum size of a program's entry code */
#define STUB_MAX_B 9u
#define FRAMES_MAX (SONDE_UNWINDER_DEPTH_MAX + 256) /* user and kernel */

enum code_kind { CODE_NONE = 0, CODE_UNMAPPED, CODE_PLAIN, CODE_GENERATED, CODE_ENTRY };

struct code {
	uint64_t generation, pc;
	uint64_t address;                   /* in its module */
	const struct sonde_unwind_row *row; /* NULL = not in any table */
	uint32_t module;
	enum code_kind kind;
	enum { CALL_UNSEEN = 0, CALL_ENDS, CALL_NONE } call; /* whether a call ends at `pc`, if that was checked */
};

/* The last stack of return addresses that was interned (sonde_unwinder_intern()), leaf first. */
struct recorded {
	pid_t pid;
	uint64_t generation;
	size_t count; /* 0 = none */
	uint64_t pcs[SONDE_UNWINDER_DEPTH_MAX];
	uint32_t nodes[SONDE_UNWINDER_DEPTH_MAX];
};

struct sonde_unwinder {
	struct sonde_recorder *recorder;
	struct sonde_images *images;
	struct sonde_spaces *spaces;
	struct sonde_live_memory *live;
	struct sonde_generated *generated;
	struct sonde_derived *derived;
	uint32_t kernel; /* module id, 0 = not needed yet */
	struct code codes[CODES];
	struct sonde_trie_frame frames[FRAMES_MAX];
	struct recorded recorded;
};

/* A stack during the walk. */
struct walk {
	struct sonde_unwinder *unwinder;
	struct sonde_unwind_sample *sample;
	struct sonde_space *space;
	struct sonde_unwind_regs regs;
	size_t count;      /* frames so far */
	size_t copy_count; /* those found before the live process was read */
	enum { LIVE_UNKNOWN = 0, LIVE_SAME, LIVE_CHANGED } live;
	int guessed;          /* frame pointers were used */
	int derived;          /* derived rules were used */
	int below;            /* a word below the stack pointer was read */
	uint32_t only_module; /* module of all frames so far; 0: several, or none */
	int has_left;         /* a frame in code that is not generated has been unwound */
};

int sonde_unwinder_new(struct sonde_unwinder **out, struct sonde_recorder *recorder, struct sonde_images *images,
		       struct sonde_spaces *spaces)
{
	struct sonde_unwinder *unwinder = calloc(1, sizeof *unwinder);
	if (!unwinder)
		return sonde_error(ENOMEM, "out of memory for the unwinder");
	int result = sonde_live_memory_new(&unwinder->live);
	if (!result)
		result = sonde_derived_new(&unwinder->derived, images, unwinder->live);
	if (result < 0) {
		sonde_unwinder_free(unwinder);
		return result;
	}
	unwinder->generated = sonde_generated_new(recorder, unwinder->live);
	if (!unwinder->generated) {
		sonde_unwinder_free(unwinder);
		return sonde_error(ENOMEM, "out of memory for the unwinder");
	}
	unwinder->recorder = recorder;
	unwinder->images = images;
	unwinder->spaces = spaces;
	*out = unwinder;
	return 0;
}

void sonde_unwinder_free(struct sonde_unwinder *unwinder)
{
	if (!unwinder)
		return;
	sonde_generated_free(unwinder->generated);
	sonde_derived_free(unwinder->derived);
	sonde_live_memory_free(unwinder->live);
	free(unwinder);
}

void sonde_unwinder_begin(struct sonde_unwinder *unwinder)
{
	sonde_live_memory_forget(unwinder->live);
}

/* --- memory of the target -------------------------------------------------------------------------------- */

/* True if the process's stack still matches the copy, so that the part above the copy can be read from the process. */
static int live_is_same(struct walk *walk)
{
	if (walk->sample->copy_only)
		return 0;
	if (walk->live == LIVE_UNKNOWN) {
		const struct sonde_unwind_sample *sample = walk->sample;
		uint8_t now[BOUNDARY_B];
		size_t size_b = sample->stack_b < BOUNDARY_B ? sample->stack_b : BOUNDARY_B;
		size_t begin = sample->stack_b - size_b;
		walk->live = LIVE_CHANGED;
		walk->copy_count = walk->count;
		if (size_b &&
		    !sonde_live_memory_read(walk->unwinder->live, sample->pid, sample->regs.sp + begin, now, size_b) &&
		    !memcmp(now, sample->stack + begin, size_b))
			walk->live = LIVE_SAME;
	}
	return walk->live == LIVE_SAME;
}

/* Implements sonde_unwind_read: from the copy, else from the live process. Words below the stack pointer are not in the
 * copy and may have changed since the sample, so frames found through them must be checked. */
static int read_stack(void *context, uint64_t address, uint64_t *out)
{
	struct walk *walk = context;
	const struct sonde_unwind_sample *sample = walk->sample;
	uint64_t offset = address - sample->regs.sp;
	if (sample->regs.sp - address - 1 < RED_ZONE_B && walk->regs.sp == sample->regs.sp && !sample->copy_only) {
		walk->below = 1;
		return sonde_live_memory_read(walk->unwinder->live, sample->pid, address, out, sizeof *out);
	}
	if (offset < sample->stack_b && sample->stack_b - offset >= sizeof *out) {
		memcpy(out, sample->stack + offset, sizeof *out);
		return 0;
	}
	if (!live_is_same(walk))
		return -EFAULT;
	return sonde_live_memory_read(walk->unwinder->live, sample->pid, address, out, sizeof *out);
}

/* --- code ------------------------------------------------------------------------------------------------ */

static uint32_t anonymous_module(struct sonde_unwinder *unwinder, struct sonde_space *space, uint64_t time_ns)
{
	if (!space->anonymous) {
		struct sonde_stack_module_key key = {
		    .path = "[anon]",
		    .flags = SONDE_MODULE_ANONYMOUS,
		    .process = sonde_recorder_process(unwinder->recorder, space->pid, time_ns),
		    .root_pid = space->pid,
		};
		space->anonymous = sonde_recorder_module(unwinder->recorder, &key);
	}
	return space->anonymous;
}

static void resolve(const struct walk *walk, const struct sonde_mapping *mapping, uint64_t pc, struct code *out)
{
	struct sonde_unwinder *unwinder = walk->unwinder;
	struct sonde_image *image = mapping->image;
	sonde_images_open(unwinder->images, image, walk->space->pid, mapping);
	out->address = sonde_image_address(image, mapping, pc);
	if (image->kind == SONDE_IMAGE_ANONYMOUS) {
		out->kind = CODE_GENERATED; /* not cached: its module is the process's, but forks share generations */
		return;
	}
	out->module = image->module;
	out->row = image->known ? sonde_unwind_table_find(&image->table, out->address) : NULL;
	out->kind = image->entry && out->address - image->entry < ENTRY_B ? CODE_ENTRY : CODE_PLAIN;
}

/* The code at `pc`; valid until the next call. */
static struct code *look_up(const struct walk *walk, uint64_t pc)
{
	struct sonde_unwinder *unwinder = walk->unwinder;
	struct sonde_space *space = walk->space;
	uint64_t generation = sonde_maps_generation(space->maps);
	struct code *slot = &unwinder->codes[sonde_hash_pair(pc, generation) % CODES];
	if (slot->pc == pc && slot->generation == generation && slot->kind != CODE_NONE)
		return slot;
	const struct sonde_mapping *mapping = sonde_maps_find(space->maps, pc);
	if (!mapping && sonde_spaces_refresh(unwinder->spaces, space, walk->sample->time_ns)) {
		generation = sonde_maps_generation(space->maps);
		slot = &unwinder->codes[sonde_hash_pair(pc, generation) % CODES];
		mapping = sonde_maps_find(space->maps, pc);
	}
	*slot = (struct code){.generation = generation, .pc = pc, .kind = CODE_UNMAPPED};
	if (mapping)
		resolve(walk, mapping, pc, slot);
	return slot;
}

/* Code without call-frame information that is recognised by its bytes at the return address (or, for a signal
 * trampoline, at its start). */
struct stub {
	uint8_t bytes[STUB_MAX_B];
	uint8_t bytes_b;
	struct sonde_unwind_row row;
};

static const struct stub stubs[] = {
#if defined(__x86_64__)
    /* CPython 3.12's perf trampoline: add $8,%rsp; ret */
    {{0x48, 0x83, 0xc4, 0x08, 0xc3},
     5,
     {.kind = SONDE_UNWIND_SP, .cfa_off = 16, .fp_off = SONDE_UNWIND_FP_SAME, .ra_slot = 1}},
    /* musl's __restore_rt: mov $15,%rax; syscall */
    {{0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05}, 9, {.kind = SONDE_UNWIND_SIGNAL}},
#else
    {.bytes_b = 0},
#endif
};

/* The row of a stub that is recognised by its bytes. In a module's code, bytes that look like a stub may not be one, so
 * a rule is derived there instead. */
static const struct sonde_unwind_row *find_stub(const struct walk *walk, enum code_kind kind)
{
	uint8_t code[STUB_MAX_B];
	if (sonde_live_memory_read(walk->unwinder->live, walk->sample->pid, walk->regs.pc, code, sizeof code))
		return NULL;
	for (size_t i = 0; i < sizeof stubs / sizeof *stubs; i++)
		if (stubs[i].bytes_b && (kind == CODE_GENERATED || stubs[i].row.kind == SONDE_UNWIND_SIGNAL) &&
		    !memcmp(code, stubs[i].bytes, stubs[i].bytes_b))
			return &stubs[i].row;
	return NULL;
}

/* --- the walk -------------------------------------------------------------------------------------------- */

static enum sonde_stack_status status_of(enum sonde_unwind_result result)
{
	switch (result) {
	case SONDE_UNWIND_UNREADABLE:
		return SONDE_STACK_TRUNCATED;
	case SONDE_UNWIND_BAD:
		return SONDE_STACK_BAD_FRAME;
	case SONDE_UNWIND_UNKNOWN:
		return SONDE_STACK_EXPRESSION;
	case SONDE_UNWIND_NO_REGISTER:
		return SONDE_STACK_REGISTER;
	default:
		return SONDE_STACK_NO_TABLE;
	}
}

static void push(struct walk *walk, uint32_t module, uint64_t address)
{
	walk->unwinder->frames[walk->count++] = (struct sonde_trie_frame){module, address};
}

/* Steps from code without a row: by a derived rule, else by frame pointer. In a module's code, the frame pointer's
 * register may hold any number, so the step must lead to a verified caller. Nothing is known of generated code, except
 * that it keeps frame pointers (as do V8's builtins, which are linked into its file). */
static enum sonde_unwind_result step_blind(struct walk *walk, const struct code *code)
{
	const struct sonde_derived_place place = {walk->sample->pid, walk->space->maps};
	int is_checked = code->kind == CODE_PLAIN &&
			 !sonde_generated_is_v8(walk->unwinder->generated, walk->space, walk->regs.pc) &&
			 sonde_derived_knows(walk->unwinder->derived, &place, walk->regs.pc);
	struct sonde_unwind_regs next = walk->regs;
	enum sonde_unwind_result derived = SONDE_UNWIND_NO_RULE;
	if (is_checked)
		derived = sonde_derived_step(walk->unwinder->derived, &place, &walk->regs, read_stack, walk);
	if (derived != SONDE_UNWIND_NO_RULE && derived != SONDE_UNWIND_NO_REGISTER) {
		walk->derived = 1;
		return derived;
	}
	enum sonde_unwind_result result = sonde_unwind_step_fp(&next, read_stack, walk);
	/* A frame pointer of 0 ends a chain. If no frame pointer was followed yet, the 0 is just the value of a
	 * register in other use. */
	if (result == SONDE_UNWIND_ROOT)
		return walk->guessed && !is_checked ? result : derived;
	if (result != SONDE_UNWIND_STEPPED || look_up(walk, next.pc - 1)->kind == CODE_UNMAPPED ||
	    (is_checked && !sonde_derived_is_caller(walk->unwinder->derived, &place, walk->regs.pc, next.pc)))
		return derived;
	walk->guessed = 1;
	walk->regs = next;
	return SONDE_UNWIND_STEPPED;
}

static int read_code(void *context, uint64_t address, void *out, size_t size_b)
{
	const struct walk *walk = context;
	return sonde_live_memory_read(walk->unwinder->live, walk->sample->pid, address, out, size_b);
}

/* Steps through the frame of code compiled by GHC. */
static int step_haskell(struct walk *walk)
{
	struct sonde_process_memory code = {read_code, walk};
	return sonde_haskell_step(&walk->regs, read_stack, walk, &code, &walk->space->stg_return);
}

/* True if a rule that uses a caller-saved register may use its value at the leaf: in functions of one module that call
 * each other by private conventions (OpenSSL's AES-GCM keeps its frame address in rax across such calls). */
static int keeps_register(const struct walk *walk, const struct sonde_unwind_row *row)
{
	static const uint64_t not_kept = SONDE_UNWIND_NOT_KEPT;
	unsigned number = row->kind - (unsigned)SONDE_UNWIND_REGISTER;
	return row->kind >= SONDE_UNWIND_REGISTER && number < 64 && not_kept >> number & 1 && walk->only_module &&
	       walk->sample->regs.all;
}

/* True if a call ends at the current pc. The result is cached, since samples are still unwound after the process has
 * exited. */
static int is_behind_call(const struct walk *walk)
{
	struct code *code = look_up(walk, walk->regs.pc - 1);
	if (code->call == CALL_UNSEEN && code->kind != CODE_UNMAPPED) {
		int ends = sonde_call_site_is_behind_call(walk->unwinder->live, walk->sample->pid, walk->regs.pc);
		code->call = ends < 0 ? CALL_UNSEEN : ends ? CALL_ENDS : CALL_NONE;
	}
	return code->call == CALL_ENDS;
}

/* True if a row's frame address is saved below the stack pointer, as it may be in an interrupted function. */
static int is_saved_below(const struct sonde_unwind_row *row)
{
	return row->kind == SONDE_UNWIND_SP_LOAD && SONDE_UNWIND_LOAD_FROM(row->cfa_off) < 0;
}

/* True if the current pc, which was read from a word that may have changed since the sample, is a caller of the code at
 * `pc`. It must follow a direct call of that code's function or, where instructions cannot be decoded, any call. */
static int is_caller(const struct walk *walk, uint64_t pc)
{
	struct sonde_derived *derived = walk->unwinder->derived;
	const struct sonde_derived_place place = {walk->sample->pid, walk->space->maps};
	return sonde_derived_knows(derived, &place, pc) ? sonde_derived_is_caller(derived, &place, pc, walk->regs.pc)
							: is_behind_call(walk);
}

/* Steps by a row. If its rule uses data that may have changed since the sample, the caller is checked. */
static enum sonde_unwind_result step_row(struct walk *walk, const struct sonde_unwind_row *row, int *signal)
{
	struct sonde_unwind_regs before = walk->regs;
	const struct sonde_derived_place place = {walk->sample->pid, walk->space->maps};
	if (is_saved_below(row) && sonde_derived_step_aligned(walk->unwinder->derived, &place, row, &walk->regs,
							      read_stack, walk) == SONDE_UNWIND_STEPPED) {
		*signal = 0;
		walk->derived = 1;
		return SONDE_UNWIND_STEPPED;
	}
	enum sonde_unwind_result result = sonde_unwind_step(row, &walk->regs, read_stack, walk, signal);
	int is_stale = walk->below, is_kept = 0;
	if (result == SONDE_UNWIND_NO_REGISTER && keeps_register(walk, row)) {
		walk->regs.all = walk->sample->regs.all;
		result = sonde_unwind_step(row, &walk->regs, read_stack, walk, signal);
		is_kept = 1;
	}
	walk->below = 0;
	if (!is_stale && !is_kept)
		return result;
	/* If the frame address comes from the stack or frame pointer, a word read below the stack pointer can only be a
	 * frame pointer that was popped. */
	int is_frame_stale = is_stale && row->kind != SONDE_UNWIND_SP && row->kind != SONDE_UNWIND_FP;
	if (result == SONDE_UNWIND_STEPPED && (is_frame_stale ? is_caller(walk, before.pc) : is_behind_call(walk)))
		return result;
	walk->regs = before;
	return SONDE_UNWIND_NO_REGISTER;
}

/* Steps from the frame of `code` to its caller. */
static enum sonde_unwind_result step(struct walk *walk, const struct code *code, int *signal)
{
	const struct sonde_unwind_row *row = code->row;
	enum code_kind kind = code->kind;
	*signal = 0;
	if (!row || row->kind == SONDE_UNWIND_NONE) {
		if (kind == CODE_ENTRY)
			return SONDE_UNWIND_ROOT;
		row = find_stub(walk, kind);
		if (!row)
			return step_haskell(walk) ? SONDE_UNWIND_STEPPED : step_blind(walk, code);
	}
	return step_row(walk, row, signal);
}

/* The frame of a file's code. */
static enum sonde_unwind_result step_known(struct walk *walk, const struct code *code, int is_leaf, int *signal)
{
	int is_trampoline = !is_leaf && code->row && code->row->kind == SONDE_UNWIND_SIGNAL; /* no call precedes it */
	push(walk, code->module, code->address + (uint64_t)is_trampoline);
	walk->only_module = is_leaf || walk->only_module == code->module ? code->module : 0;
	walk->has_left = 1;
	return walk->sample->leaf_only ? SONDE_UNWIND_NO_RULE : step(walk, code, signal);
}

/* The frame of code without a file: by the runtime that generated it, else by frame pointers. */
static enum sonde_unwind_result step_generated(struct walk *walk, const struct code *code, int is_leaf, int *signal)
{
	struct sonde_generated_frame frame = {.regs = walk->regs,
					      .is_leaf = is_leaf,
					      .is_innermost = !walk->has_left,
					      .read = read_stack,
					      .context = walk};
	if (!walk->sample->leaf_only && sonde_generated_step(walk->unwinder->generated, walk->space, &frame)) {
		*signal = 0;
		if (!frame.name.module)
			frame.name = (struct sonde_trie_frame){
			    anonymous_module(walk->unwinder, walk->space, walk->sample->time_ns), code->address};
		push(walk, frame.name.module, frame.name.address);
		walk->only_module = 0;
		walk->regs = frame.regs;
		return frame.result;
	}
	push(walk, anonymous_module(walk->unwinder, walk->space, walk->sample->time_ns), code->address);
	walk->only_module = 0;
	return walk->sample->leaf_only ? SONDE_UNWIND_NO_RULE : step(walk, code, signal);
}

static int has_rule(const struct code *code)
{
	return code->row && code->row->kind != SONDE_UNWIND_NONE;
}

/* True if a caller's pc is the start of a function and no code precedes it, so that it cannot follow a call. Then
 * makecontext() has stored it as the return address of a context's first function, and the frame is the root. */
static int is_laid(struct walk *walk)
{
	const struct code *code = look_up(walk, walk->regs.pc);
	if (!has_rule(code))
		return 0;
	push(walk, code->module, code->address);
	return 1;
}

/* The status of a stack whose pc is not mapped. During an exec, the registers are still those of the old program: there
 * is no user stack until the new program has run. */
static enum sonde_stack_status status_of_unmapped(const struct walk *walk)
{
	if (!walk->count || walk->count != walk->sample->kernel_count)
		return SONDE_STACK_UNMAPPED;
	return walk->space->is_fresh ? SONDE_STACK_COMPLETE : SONDE_STACK_NO_USER;
}

static enum sonde_stack_status status_of_root(const struct walk *walk)
{
	return walk->guessed ? SONDE_STACK_FRAME_POINTER : walk->derived ? SONDE_STACK_DERIVED : SONDE_STACK_COMPLETE;
}

static enum sonde_stack_status follow(struct walk *walk)
{
	size_t limit = walk->count + SONDE_UNWINDER_DEPTH_MAX;
	uint64_t back = 0; /* 1 if pc is a return address */
	for (;;) {
		const struct code *code = look_up(walk, walk->regs.pc - back);
		if (code->kind == CODE_UNMAPPED)
			return status_of_unmapped(walk);
		walk->space->is_fresh = 0;
		if (back && !has_rule(code) && code->kind != CODE_ENTRY) {
			if (is_laid(walk))
				return status_of_root(walk);
			code = look_up(walk, walk->regs.pc - back);
		}
		int signal;
		enum sonde_unwind_result result = code->kind == CODE_GENERATED
						      ? step_generated(walk, code, !back, &signal)
						      : step_known(walk, code, !back, &signal);
		if (result == SONDE_UNWIND_ROOT || (result == SONDE_UNWIND_STEPPED && !walk->regs.pc))
			return status_of_root(walk);
		if (result != SONDE_UNWIND_STEPPED)
			return status_of(result);
		if (walk->count >= limit)
			return SONDE_STACK_DEEP;
		back = !signal;
	}
}

static enum sonde_stack_status walk_user(struct walk *walk)
{
	enum sonde_stack_status status = follow(walk);
	if (walk->live != LIVE_SAME || (status != SONDE_STACK_BAD_FRAME && status != SONDE_STACK_UNMAPPED))
		return status;
	walk->count = walk->copy_count;
	return SONDE_STACK_TRUNCATED;
}

/* Uses the kernel's build-id if its notes are readable. */
static uint32_t kernel_module(struct sonde_unwinder *unwinder)
{
	if (unwinder->kernel)
		return unwinder->kernel;
	uint8_t notes[4096], build_id[SONDE_BUILD_ID_MAX_B];
	struct sonde_stack_module_key key = {.path = "[kernel]", .build_id = build_id, .flags = SONDE_MODULE_KERNEL};
	int fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		ssize_t notes_b = read(fd, notes, sizeof notes);
		if (notes_b > 0)
			key.build_id_b = sonde_elf_note_build_id(notes, (size_t)notes_b, build_id);
		close(fd);
	}
	return unwinder->kernel = sonde_recorder_module(unwinder->recorder, &key);
}

static void push_kernel(struct walk *walk)
{
	const struct sonde_unwind_sample *sample = walk->sample;
	size_t count = sample->kernel_count < FRAMES_MAX - SONDE_UNWINDER_DEPTH_MAX
			   ? sample->kernel_count
			   : FRAMES_MAX - SONDE_UNWINDER_DEPTH_MAX;
	uint32_t module = count ? kernel_module(walk->unwinder) : 0;
	for (size_t i = 0; i < count; i++)
		push(walk, module, sample->kernel[i] - (i ? 1 : 0));
}

enum sonde_stack_status sonde_unwinder_run(struct sonde_unwinder *unwinder, struct sonde_unwind_sample *sample,
					   uint32_t *stack)
{
	struct walk walk = {.unwinder = unwinder, .sample = sample, .regs = sample->regs};
	push_kernel(&walk);
	/* Without registers, the thread has no user memory: it is exiting, or is a kernel thread. */
	enum sonde_stack_status status = walk.count ? SONDE_STACK_COMPLETE : SONDE_STACK_NO_USER;
	if (sample->has_user) {
		walk.space = sonde_spaces_get(unwinder->spaces, sample->pid, sample->time_ns);
		status = walk.space ? walk_user(&walk) : SONDE_STACK_UNMAPPED;
	}
	*stack = sonde_recorder_stack(unwinder->recorder, unwinder->frames, walk.count);
	return status;
}

/* The number of outer frames shared with the previous stack. */
static size_t count_same(const struct recorded *recorded, const uint64_t *pcs, size_t count)
{
	size_t same = 0;
	while (same < count && same < recorded->count &&
	       pcs[count - 1 - same] == recorded->pcs[recorded->count - 1 - same])
		same++;
	return same;
}

/* Interns a stack of return addresses. Consecutive stacks of a thread share most outer frames, so only new frames are
 * looked up. */
uint32_t sonde_unwinder_intern(struct sonde_unwinder *unwinder, pid_t pid, uint64_t time_ns, const uint64_t *pcs,
			       size_t count)
{
	struct sonde_unwind_sample sample = {.pid = pid, .time_ns = time_ns};
	struct walk walk = {.unwinder = unwinder, .sample = &sample};
	struct recorded *recorded = &unwinder->recorded;
	walk.space = sonde_spaces_get(unwinder->spaces, pid, time_ns);
	count = count < SONDE_UNWINDER_DEPTH_MAX ? count : SONDE_UNWINDER_DEPTH_MAX;
	if (!walk.space || !count)
		return 0;
	uint64_t generation = sonde_maps_generation(walk.space->maps);
	size_t same = 0;
	int is_known = 1;
	if (recorded->pid == pid && recorded->generation == generation)
		same = count_same(recorded, pcs, count);
	for (size_t i = 0; i < count - same; i++) {
		const struct code *code = look_up(&walk, pcs[i] - 1);
		int generated = code->kind == CODE_GENERATED || code->kind == CODE_UNMAPPED;
		is_known &= code->kind != CODE_UNMAPPED;
		push(&walk, generated ? anonymous_module(unwinder, walk.space, time_ns) : code->module,
		     generated ? pcs[i] - 1 : code->address);
	}
	memmove(recorded->nodes + count - same, recorded->nodes + recorded->count - same,
		same * sizeof *recorded->nodes);
	memcpy(recorded->pcs, pcs, count * sizeof *pcs);
	recorded->pid = pid;
	recorded->generation = sonde_maps_generation(walk.space->maps);
	recorded->count = 0; /* empty until all frames are known and were looked up in the same mappings */
	uint32_t parent = same ? recorded->nodes[count - same] : 0;
	if (sonde_recorder_stack_below(unwinder->recorder, parent, unwinder->frames, walk.count, recorded->nodes))
		return 0;
	if (is_known && recorded->generation == generation)
		recorded->count = count;
	return recorded->nodes[0];
}
