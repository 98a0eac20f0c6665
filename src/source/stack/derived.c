/* derived.c: applies derived rules, and examines the code around return addresses.
 *
 * Code is read from the module's file, a page at a time, because the process may have exited. The calls found before
 * return addresses are kept in a direct-mapped cache, since all samples of a loop return to the same few. Neither a
 * caller's nor a callee's code is read if it is generated: its bytes may have changed since the sample.
 */
#include "source/stack/derived.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "symbol/frames/aligned_frame.h"
#include "symbol/frames/frame_rules.h"
#include "symbol/frames/x86.h"
#include "util/error.h"

#define PAGE_B 4096u
#define PAGES 16u
#define SITES 1024u  /* slots, a power of two */
#define CALL_MAX_B 8 /* maximum size of a call instruction: prefix, opcode, ModRM, SIB, displacement */
#define GO_EXIT_B 6

/* A module whose code has been read. */
struct code {
	struct code *next;
	const struct sonde_image *image;
	struct sonde_elf file;
	int is_open;
	struct sonde_frame_rules *rules;
	uint64_t page[PAGES]; /* address / PAGE_B + 1 of the cached page; 0 = empty */
	size_t page_b[PAGES];
	uint8_t bytes[PAGES][PAGE_B];
};

enum call_kind { CALL_UNSEEN = 0, CALL_NONE, CALL_DIRECT, CALL_INDIRECT };

/* The call that ends at a return address. */
struct site {
	uint64_t generation, ra;
	uint64_t target; /* process address, for direct calls */
	enum call_kind kind;
};

struct sonde_derived {
	struct sonde_images *images;
	struct sonde_live_memory *live;
	struct code *codes;
	struct code *last;
	struct site sites[SITES];
};

int sonde_derived_new(struct sonde_derived **out, struct sonde_images *images, struct sonde_live_memory *live)
{
	struct sonde_derived *derived = calloc(1, sizeof *derived);
	if (!derived)
		return sonde_error(ENOMEM, "out of memory for derived unwind rules");
	derived->images = images;
	derived->live = live;
	*out = derived;
	return 0;
}

void sonde_derived_free(struct sonde_derived *derived)
{
	if (!derived)
		return;
	for (struct code *code = derived->codes, *next; code; code = next) {
		next = code->next;
		sonde_frame_rules_free(code->rules);
		if (code->is_open)
			sonde_elf_close(&code->file);
		free(code);
	}
	free(derived);
}

/* --- code of modules ------------------------------------------------------------------------------------- */

static const struct sonde_elf_segment *segment_of(const struct sonde_elf *file, uint64_t address)
{
	for (size_t i = 0; i < file->executable_count; i++)
		if (address - file->segments[i].address < file->segments[i].size_b)
			return &file->segments[i];
	return NULL;
}

/* Reads the executable bytes of a page into the slot, and returns their number; 0 if there are none. */
static size_t fill_page(struct code *code, uint64_t page, uint32_t slot, const struct sonde_elf_segment *segment)
{
	uint64_t from = page * PAGE_B > segment->address ? page * PAGE_B : segment->address;
	uint64_t to = (page + 1) * PAGE_B, end = segment->address + segment->size_b;
	size_t before_b = (size_t)(from - page * PAGE_B);
	to = to < end ? to : end;
	ssize_t got_b = pread(code->file.fd, code->bytes[slot] + before_b, (size_t)(to - from),
			      (off_t)(segment->offset + (from - segment->address)));
	memset(code->bytes[slot], 0, before_b);
	return got_b > 0 ? before_b + (size_t)got_b : 0;
}

/* Implements sonde_frame_code's read. */
static size_t read_code(void *context, uint64_t address, uint8_t *out, size_t size_b)
{
	struct code *code = context;
	size_t done_b = 0;
	while (done_b < size_b) {
		uint64_t at = address + done_b, page = at / PAGE_B;
		uint32_t slot = (uint32_t)(page % PAGES);
		const struct sonde_elf_segment *segment = segment_of(&code->file, at);
		if (!segment)
			break;
		if (code->page[slot] != page + 1) {
			code->page_b[slot] = fill_page(code, page, slot, segment);
			code->page[slot] = page + 1;
		}
		size_t begin = at % PAGE_B, held_b = code->page_b[slot];
		if (begin >= held_b)
			break;
		size_t part_b = held_b - begin < size_b - done_b ? held_b - begin : size_b - done_b;
		memcpy(out + done_b, code->bytes[slot] + begin, part_b);
		done_b += part_b;
	}
	return done_b;
}

static struct sonde_frame_code source_of(struct code *code)
{
	return (struct sonde_frame_code){.read = read_code, .context = code, .table = &code->image->table};
}

static void open_code(struct sonde_derived *derived, struct code *code, pid_t pid, const struct sonde_mapping *mapping)
{
	if (sonde_images_reopen(derived->images, code->image, pid, mapping, &code->file))
		return;
	code->is_open = 1;
	const struct sonde_frame_code source = source_of(code);
	if (!code->file.class64 || code->file.machine != EM_X86_64 || sonde_frame_rules_new(&code->rules, &source))
		code->rules = NULL;
}

/* The code of a mapping's file; NULL if its instructions are not available. */
static struct code *code_of(struct sonde_derived *derived, pid_t pid, const struct sonde_mapping *mapping)
{
	struct code *code = derived->last;
	if (!code || code->image != mapping->image)
		for (code = derived->codes; code && code->image != mapping->image;)
			code = code->next;
	if (!code) {
		sonde_images_open(derived->images, mapping->image, pid, mapping);
		code = calloc(1, sizeof *code);
		if (!code)
			return NULL;
		code->image = mapping->image;
		code->next = derived->codes;
		derived->codes = code;
		if (mapping->image->kind == SONDE_IMAGE_FILE && mapping->image->known)
			open_code(derived, code, pid, mapping);
	}
	derived->last = code;
	return code->rules ? code : NULL;
}

int sonde_derived_knows(struct sonde_derived *derived, const struct sonde_derived_place *place, uint64_t pc)
{
	const struct sonde_mapping *mapping = sonde_maps_find(place->maps, pc);
	return mapping && mapping->image->kind == SONDE_IMAGE_FILE && code_of(derived, place->pid, mapping);
}

/* --- return addresses ------------------------------------------------------------------------------------ */

/* Finds the call that ends at `ra`; `bytes` are the CALL_MAX_B bytes before it. */
static enum call_kind find_call(const uint8_t *bytes, uint64_t ra, uint64_t *target)
{
	struct sonde_x86 what;
	enum call_kind kind = CALL_NONE;
	for (size_t size_b = 2; size_b <= CALL_MAX_B; size_b++) {
		if (sonde_x86_decode(&what, bytes + CALL_MAX_B - size_b, size_b, ra - size_b) || what.size_b != size_b)
			continue;
		if (what.kind == SONDE_X86_CALL) {
			*target = what.target;
			return CALL_DIRECT;
		}
		if (what.kind == SONDE_X86_CALL_INDIRECT)
			kind = CALL_INDIRECT;
	}
	return kind;
}

static int read_bytes(struct sonde_derived *derived, const struct sonde_derived_place *place,
		      const struct sonde_mapping *mapping, uint64_t address, uint8_t *out, size_t size_b)
{
	if (mapping->image->kind != SONDE_IMAGE_FILE)
		return sonde_live_memory_read(derived->live, place->pid, address, out, size_b);
	struct code *code = code_of(derived, place->pid, mapping);
	return code && read_code(code, sonde_image_address(mapping->image, mapping, address), out, size_b) == size_b
		   ? 0
		   : -EFAULT;
}

static const struct site *find_site(struct sonde_derived *derived, const struct sonde_derived_place *place, uint64_t ra)
{
	uint64_t generation = sonde_maps_generation(place->maps);
	struct site *site = &derived->sites[sonde_hash_pair(ra, generation) % SITES];
	if (site->kind != CALL_UNSEEN && site->ra == ra && site->generation == generation)
		return site;
	uint8_t bytes[CALL_MAX_B];
	const struct sonde_mapping *mapping = sonde_maps_find(place->maps, ra - 1);
	*site = (struct site){.generation = generation, .ra = ra, .kind = CALL_NONE};
	if (mapping && ra - mapping->start >= CALL_MAX_B &&
	    !read_bytes(derived, place, mapping, ra - CALL_MAX_B, bytes, sizeof bytes))
		site->kind = find_call(bytes, ra, &site->target);
	return site;
}

/* Determines whether a direct call of `target` leads to `pc`. */
static enum sonde_frame_lead reach(struct sonde_derived *derived, const struct sonde_derived_place *place,
				   uint64_t target, uint64_t pc)
{
	const struct sonde_mapping *to = sonde_maps_find(place->maps, target);
	const struct sonde_mapping *here = sonde_maps_find(place->maps, pc);
	if (!to || !here)
		return SONDE_FRAME_LEADS_NOT;
	if (to->image->kind != SONDE_IMAGE_FILE)
		return SONDE_FRAME_LEADS_PERHAPS; /* a generated stub */
	struct code *code = code_of(derived, place->pid, to);
	if (!code)
		return SONDE_FRAME_LEADS_NOT;
	uint64_t from = sonde_image_address(to->image, to, target);
	uint64_t wanted = to->image == here->image ? sonde_image_address(here->image, here, pc) : UINT64_MAX;
	return sonde_frame_rules_lead(code->rules, from, wanted);
}

/* A goroutine's first function returns to the second instruction of runtime.goexit, which no call precedes: nop, then a
 * call of goexit1, then nop. */
static int is_go_exit(struct sonde_derived *derived, const struct sonde_derived_place *place, uint64_t ra)
{
	uint8_t bytes[1 + GO_EXIT_B];
	const struct sonde_mapping *mapping = sonde_maps_find(place->maps, ra);
	return mapping && (ra & 15) == 1 && ra > mapping->start &&
	       !read_bytes(derived, place, mapping, ra - 1, bytes, sizeof bytes) && bytes[0] == 0x90 &&
	       bytes[1] == 0xe8 && bytes[GO_EXIT_B] == 0x90;
}

/* Determines whether the code at `pc` can return to `ra`. */
static enum sonde_frame_lead classify(struct sonde_derived *derived, const struct sonde_derived_place *place,
				      uint64_t pc, uint64_t ra)
{
	const struct site site = *find_site(derived, place, ra);
	if (site.kind == CALL_DIRECT)
		return reach(derived, place, site.target, pc);
	if (site.kind == CALL_INDIRECT)
		return SONDE_FRAME_LEADS_PERHAPS;
	return is_go_exit(derived, place, ra) ? SONDE_FRAME_LEADS : SONDE_FRAME_LEADS_NOT;
}

int sonde_derived_is_caller(struct sonde_derived *derived, const struct sonde_derived_place *place, uint64_t pc,
			    uint64_t ra)
{
	return classify(derived, place, pc, ra) == SONDE_FRAME_LEADS;
}

/* --- steps ----------------------------------------------------------------------------------------------- */

/* DWARF register numbers by the register numbers in instructions. */
static const uint8_t dwarf_numbers[SONDE_X86_NO_REGISTER] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

/* Evaluates a value in this frame. */
static enum sonde_unwind_result evaluate(const struct sonde_frame_value *value, const struct sonde_unwind_regs *regs,
					 sonde_unwind_read read, void *context, uint64_t *out)
{
	uint64_t base;
	if ((value->kind != SONDE_FRAME_REGISTER && value->kind != SONDE_FRAME_MEMORY) ||
	    value->reg >= SONDE_X86_NO_REGISTER)
		return SONDE_UNWIND_NO_RULE;
	if (value->kind == SONDE_FRAME_MEMORY && value->reg == SONDE_X86_RSP && value->load < 0)
		return SONDE_UNWIND_NO_RULE; /* the red zone is not in the copy of the stack */
	enum sonde_unwind_result result = sonde_unwind_register(regs, dwarf_numbers[value->reg], read, context, &base);
	if (result != SONDE_UNWIND_STEPPED)
		return result;
	if (value->kind == SONDE_FRAME_MEMORY && read(context, base + (uint64_t)(int64_t)value->load, &base))
		return SONDE_UNWIND_UNREADABLE;
	*out = base + (uint64_t)(int64_t)value->offset;
	return SONDE_UNWIND_STEPPED;
}

static enum sonde_unwind_result apply(const struct sonde_frame_rule *rule, struct sonde_unwind_regs *regs,
				      sonde_unwind_read read, void *context)
{
	uint64_t at;
	struct sonde_unwind_regs next = {.fp = SONDE_UNWIND_FP_UNKNOWN};
	enum sonde_unwind_result result = evaluate(&rule->ra, regs, read, context, &at);
	if (result != SONDE_UNWIND_STEPPED)
		return result;
	if (at & 7 || at < regs->sp || at > UINT64_MAX - 8)
		return SONDE_UNWIND_BAD;
	if (read(context, at, &next.pc))
		return SONDE_UNWIND_UNREADABLE;
	next.sp = at + 8;
	if (evaluate(&rule->fp, regs, read, context, &next.fp) != SONDE_UNWIND_STEPPED)
		next.fp = SONDE_UNWIND_FP_UNKNOWN;
	*regs = next;
	return SONDE_UNWIND_STEPPED;
}

enum sonde_unwind_result sonde_derived_step(struct sonde_derived *derived, const struct sonde_derived_place *place,
					    struct sonde_unwind_regs *regs, sonde_unwind_read read, void *context)
{
	const struct sonde_mapping *mapping = sonde_maps_find(place->maps, regs->pc);
	struct code *code =
	    mapping && mapping->image->kind == SONDE_IMAGE_FILE ? code_of(derived, place->pid, mapping) : NULL;
	if (!code)
		return SONDE_UNWIND_NO_RULE;
	if (is_go_exit(derived, place, regs->pc))
		return SONDE_UNWIND_ROOT;
	struct sonde_unwind_regs next = *regs;
	const struct sonde_frame_rule rule =
	    *sonde_frame_rules_find(code->rules, sonde_image_address(mapping->image, mapping, regs->pc));
	enum sonde_unwind_result result = apply(&rule, &next, read, context);
	if (result != SONDE_UNWIND_STEPPED)
		return result;
	if (classify(derived, place, regs->pc, next.pc) == SONDE_FRAME_LEADS_NOT)
		return SONDE_UNWIND_NO_RULE;
	*regs = next;
	return SONDE_UNWIND_STEPPED;
}

enum sonde_unwind_result sonde_derived_step_aligned(struct sonde_derived *derived,
						    const struct sonde_derived_place *place,
						    const struct sonde_unwind_row *row, struct sonde_unwind_regs *regs,
						    sonde_unwind_read read, void *context)
{
	const struct sonde_mapping *mapping = sonde_maps_find(place->maps, regs->pc);
	struct code *code =
	    mapping && mapping->image->kind == SONDE_IMAGE_FILE ? code_of(derived, place->pid, mapping) : NULL;
	struct sonde_aligned_frame frame;
	if (!code)
		return SONDE_UNWIND_NO_RULE;
	const struct sonde_frame_code source = source_of(code);
	if (sonde_aligned_frame_find(&frame, &source, row))
		return SONDE_UNWIND_NO_RULE;
	uint64_t above = regs->sp & (frame.align - 1);
	if (above > frame.top || above & 7)
		return SONDE_UNWIND_NO_RULE;
	struct sonde_unwind_row by_slot = *row;
	by_slot.cfa_off = SONDE_UNWIND_LOAD((int64_t)(frame.slot - above), SONDE_UNWIND_LOAD_PLUS(row->cfa_off));
	struct sonde_unwind_regs next = *regs;
	int signal;
	enum sonde_unwind_result result = sonde_unwind_step(&by_slot, &next, read, context, &signal);
	if (result != SONDE_UNWIND_STEPPED)
		return result == SONDE_UNWIND_UNREADABLE ? result : SONDE_UNWIND_NO_RULE;
	if (!sonde_derived_is_caller(derived, place, regs->pc, next.pc))
		return SONDE_UNWIND_NO_RULE;
	*regs = next;
	return SONDE_UNWIND_STEPPED;
}
