/* hotspot_code.c: finds the CodeBlob that contains an address through the segment map of its heap.
 *
 * Each byte of the segment map belongs to one segment. It is the number of segments to go back to the start of the
 * block, or towards it (0 = the block starts here, 0xff = free). The walk back ends at the heap's start at the latest.
 * The block that it finds must be in use, and its blob must contain the address.
 */
#include "source/stack/hotspot_code.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define HEAPS_MAX 16
#define HOPS_MAX 65536u /* maximum of steps in the segment map: enough for 8 MB of one method's code */
#define SEGMENT_LOG2_MAX 16
#define BLOB_MAX_B (64u << 20)
#define FRAME_MAX_WORDS 65536
#define SLOTS 1024u /* a power of two */
#define FREE 0xffu

struct heap {
	uint64_t low, high; /* code */
	uint64_t segments;  /* the map */
	uint64_t segments_end;
	uint32_t log2;
};

struct slot {
	uint64_t pc, batch; /* batch 0: empty */
	struct sonde_hotspot_blob blob;
};

struct sonde_hotspot_code {
	const struct sonde_hotspot_layout *layout;
	const struct sonde_process_memory *memory;
	uint64_t heaps_batch, bounds_batch;
	uint64_t low, high;
	size_t heap_count;
	struct heap heaps[HEAPS_MAX];
	struct slot slots[SLOTS];
};

struct sonde_hotspot_code *sonde_hotspot_code_new(const struct sonde_hotspot_layout *layout,
						  const struct sonde_process_memory *memory)
{
	struct sonde_hotspot_code *code = calloc(1, sizeof *code);
	if (code) {
		code->layout = layout;
		code->memory = memory;
	}
	return code;
}

void sonde_hotspot_code_free(struct sonde_hotspot_code *code)
{
	free(code);
}

static int read_field(const struct sonde_hotspot_code *code, uint64_t address, enum sonde_hotspot_field field,
		      int64_t *out)
{
	return sonde_hotspot_read(code->layout, code->memory, address, field, out);
}

static uint64_t offset_of(const struct sonde_hotspot_code *code, enum sonde_hotspot_field field)
{
	return code->layout->fields[field].value;
}

static int read_word(const struct sonde_hotspot_code *code, uint64_t address, uint64_t *out)
{
	return sonde_process_memory_read(code->memory, address, out, sizeof *out);
}

/* --- heaps ----------------------------------------------------------------------------------------------- */

static int read_heap(const struct sonde_hotspot_code *code, uint64_t address, struct heap *out)
{
	int64_t low, high, segments, segments_end, log2;
	uint64_t memory = address + offset_of(code, HOTSPOT_HEAP_MEMORY);
	uint64_t map = address + offset_of(code, HOTSPOT_HEAP_SEGMAP);
	if (read_field(code, memory, HOTSPOT_SPACE_LOW, &low) || read_field(code, memory, HOTSPOT_SPACE_HIGH, &high) ||
	    read_field(code, map, HOTSPOT_SPACE_LOW, &segments) ||
	    read_field(code, map, HOTSPOT_SPACE_HIGH, &segments_end) ||
	    read_field(code, address, HOTSPOT_HEAP_SEGMENT_LOG2, &log2))
		return -1;
	*out = (struct heap){(uint64_t)low, (uint64_t)high, (uint64_t)segments, (uint64_t)segments_end, (uint32_t)log2};
	return out->low < out->high && out->segments < out->segments_end && log2 > 3 && log2 <= SEGMENT_LOG2_MAX ? 0
														 : -1;
}

static void read_heaps(struct sonde_hotspot_code *code)
{
	uint64_t array;
	int64_t count, data;
	code->heap_count = 0;
	if (read_word(code, offset_of(code, HOTSPOT_HEAPS), &array) ||
	    read_field(code, array, HOTSPOT_ARRAY_LEN, &count) || read_field(code, array, HOTSPOT_ARRAY_DATA, &data))
		return;
	count = count < 0 ? 0 : count > HEAPS_MAX ? HEAPS_MAX : count;
	for (int64_t i = 0; i < count; i++) {
		uint64_t heap;
		if (!read_word(code, (uint64_t)data + (uint64_t)i * 8, &heap) &&
		    !read_heap(code, heap, &code->heaps[code->heap_count]))
			code->heap_count++;
	}
}

static const struct heap *heap_of(const struct sonde_hotspot_code *code, uint64_t pc)
{
	for (size_t i = 0; i < code->heap_count; i++)
		if (pc >= code->heaps[i].low && pc < code->heaps[i].high)
			return &code->heaps[i];
	return NULL;
}

int sonde_hotspot_code_holds(struct sonde_hotspot_code *code, uint64_t batch, uint64_t pc)
{
	if (code->bounds_batch != batch) {
		uint64_t low, high;
		if (!read_word(code, offset_of(code, HOTSPOT_CODE_LOW), &low) &&
		    !read_word(code, offset_of(code, HOTSPOT_CODE_HIGH), &high)) {
			code->low = low;
			code->high = high;
		} /* otherwise the process has exited, and the last known bounds stay valid */
		code->bounds_batch = batch;
	}
	return pc >= code->low && pc < code->high;
}

/* --- blobs ----------------------------------------------------------------------------------------------- */

/* The start of the block that contains `pc`. */
static int find_block(const struct sonde_hotspot_code *code, const struct heap *heap, uint64_t pc, uint64_t *out)
{
	uint64_t segment = (pc - heap->low) >> heap->log2;
	for (unsigned i = 0; i < HOPS_MAX; i++) {
		uint8_t back;
		if (segment >= heap->segments_end - heap->segments ||
		    sonde_process_memory_read(code->memory, heap->segments + segment, &back, 1) || back == FREE ||
		    back > segment)
			return -1;
		if (!back) {
			*out = heap->low + (segment << heap->log2);
			return 0;
		}
		segment -= back;
	}
	return -1;
}

static enum sonde_hotspot_kind kind_of(const char *name, uint32_t frame_b)
{
	static const struct {
		const char *prefix;
		enum sonde_hotspot_kind kind;
	} kinds[] = {
	    {"nmethod", SONDE_HOTSPOT_NMETHOD},         {"native nmethod", SONDE_HOTSPOT_NMETHOD},
	    {"Interpreter", SONDE_HOTSPOT_INTERPRETER}, {"StubRoutines", SONDE_HOTSPOT_STUBS},
	    {"Stub Generator", SONDE_HOTSPOT_STUBS},    {"I2C/C2I", SONDE_HOTSPOT_FRAMELESS},
	    {"vtable", SONDE_HOTSPOT_FRAMELESS},        {"MethodHandle", SONDE_HOTSPOT_FRAMELESS},
	};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!strncmp(name, kinds[i].prefix, strlen(kinds[i].prefix)))
			return kinds[i].kind;
	return frame_b ? SONDE_HOTSPOT_RUNTIME : SONDE_HOTSPOT_STUBS;
}

static void read_code_range(const struct sonde_hotspot_code *code, struct sonde_hotspot_blob *out)
{
	int64_t begin = 0, end = 0;
	if (sonde_hotspot_has(code->layout, HOTSPOT_BLOB_CODE_BEGIN)) {
		read_field(code, out->address, HOTSPOT_BLOB_CODE_BEGIN, &begin);
		read_field(code, out->address, HOTSPOT_BLOB_CODE_END, &end);
		out->code = (uint64_t)begin;
		out->code_end = (uint64_t)end;
	} else {
		read_field(code, out->address, HOTSPOT_BLOB_CODE_OFFSET, &begin);
		read_field(code, out->address, HOTSPOT_BLOB_DATA_OFFSET, &end);
		out->code = out->address + (uint64_t)begin;
		out->code_end = out->address + (uint64_t)end;
	}
}

/* Locates the debugging information of a compiled method; it stays unknown if it cannot be read. */
static void read_scopes(const struct sonde_hotspot_code *code, struct sonde_hotspot_blob *out)
{
	const struct sonde_hotspot_layout *layout = code->layout;
	int64_t pcs, end, base = (int64_t)out->address, scopes, metadata, relocations;
	if (read_field(code, out->address, HOTSPOT_NMETHOD_PCS, &pcs))
		return;
	if (sonde_hotspot_has(layout, HOTSPOT_NMETHOD_IMMUTABLE)) {
		if (read_field(code, out->address, HOTSPOT_NMETHOD_IMMUTABLE, &base) ||
		    read_field(code, out->address, HOTSPOT_NMETHOD_SCOPES_OFFSET, &end))
			return;
		scopes = base + end;
	} else if (read_field(code, out->address, HOTSPOT_NMETHOD_PCS_END, &end) ||
		   read_field(code, out->address, HOTSPOT_NMETHOD_SCOPES, &scopes)) {
		return;
	}
	if (sonde_hotspot_has(layout, HOTSPOT_NMETHOD_METADATA)) {
		if (read_field(code, out->address, HOTSPOT_NMETHOD_METADATA, &metadata))
			return;
		metadata += (int64_t)out->address;
	} else {
		if (read_field(code, out->address, HOTSPOT_BLOB_MUTABLE, &metadata) ||
		    read_field(code, out->address, HOTSPOT_BLOB_RELOCATION_SIZE, &relocations))
			return;
		metadata += (relocations + 7) & ~7ll;
	}
	if (pcs < 0 || end < pcs || end > (int64_t)BLOB_MAX_B)
		return;
	out->pcs = (uint64_t)(base + pcs);
	out->pcs_end = (uint64_t)(base + end);
	out->scopes = (uint64_t)scopes;
	out->metadata = (uint64_t)metadata;
}

static int read_method(const struct sonde_hotspot_code *code, struct sonde_hotspot_blob *out)
{
	int64_t method, id, entry;
	if (read_field(code, out->address, HOTSPOT_NMETHOD_METHOD, &method) ||
	    read_field(code, out->address, HOTSPOT_NMETHOD_COMPILE_ID, &id))
		return -1;
	out->method = (uint64_t)method;
	out->compile_id = (uint32_t)id;
	out->entry = out->code;
	if (!read_field(code, out->address, HOTSPOT_NMETHOD_ENTRY, &entry))
		out->entry = (uint64_t)entry;
	else if (!read_field(code, out->address, HOTSPOT_NMETHOD_ENTRY_OFFSET, &entry))
		out->entry = out->code + (uint16_t)entry;
	if (out->entry < out->code || out->entry >= out->code_end)
		return -1;
	read_scopes(code, out);
	return 0;
}

static int read_blob(const struct sonde_hotspot_code *code, const struct heap *heap, uint64_t address,
		     struct sonde_hotspot_blob *out)
{
	int64_t size, frame, complete, name;
	*out = (struct sonde_hotspot_blob){.address = address};
	if (read_field(code, address, HOTSPOT_BLOB_SIZE, &size) ||
	    read_field(code, address, HOTSPOT_BLOB_FRAME_SIZE, &frame) ||
	    read_field(code, address, HOTSPOT_BLOB_COMPLETE, &complete) ||
	    read_field(code, address, HOTSPOT_BLOB_NAME, &name) ||
	    sonde_process_memory_text(code->memory, (uint64_t)name, out->name, sizeof out->name) < 0)
		return -1;
	if (size <= 0 || size > (int64_t)BLOB_MAX_B || address + (uint64_t)size > heap->high || frame > FRAME_MAX_WORDS)
		return -1;
	out->frame_b = frame > 0 ? (uint32_t)frame * 8 : 0;
	out->complete_b = (int32_t)complete;
	out->kind = kind_of(out->name, out->frame_b);
	read_code_range(code, out);
	if (out->code < address || out->code_end <= out->code || out->code_end > address + (uint64_t)size)
		return -1;
	return out->kind == SONDE_HOTSPOT_NMETHOD ? read_method(code, out) : 0;
}

/* True if a blob found in an earlier batch is still there, according to its header. Also true if the process has
 * exited. */
static int is_same(const struct sonde_hotspot_code *code, const struct sonde_hotspot_blob *blob)
{
	int64_t frame, method, id;
	uint8_t used;
	uint64_t block = blob->address - code->layout->block_b;
	if (sonde_process_memory_read(code->memory, block + offset_of(code, HOTSPOT_BLOCK_USED), &used, 1))
		return 1;
	if (!used || read_field(code, blob->address, HOTSPOT_BLOB_FRAME_SIZE, &frame) ||
	    (frame > 0 ? frame * 8 : 0) != blob->frame_b)
		return 0;
	if (blob->kind != SONDE_HOTSPOT_NMETHOD)
		return 1;
	return !read_field(code, blob->address, HOTSPOT_NMETHOD_METHOD, &method) &&
	       !read_field(code, blob->address, HOTSPOT_NMETHOD_COMPILE_ID, &id) && (uint64_t)method == blob->method &&
	       (uint32_t)id == blob->compile_id;
}

static int find(struct sonde_hotspot_code *code, uint64_t batch, uint64_t pc, struct sonde_hotspot_blob *out)
{
	if (code->heaps_batch != batch) {
		read_heaps(code);
		code->heaps_batch = batch;
	}
	const struct heap *heap = heap_of(code, pc);
	uint64_t block;
	uint8_t used;
	if (!heap || find_block(code, heap, pc, &block) ||
	    sonde_process_memory_read(code->memory, block + offset_of(code, HOTSPOT_BLOCK_USED), &used, 1) || !used ||
	    read_blob(code, heap, block + code->layout->block_b, out))
		return -1;
	return pc >= out->code && pc < out->code_end ? 0 : -1;
}

const struct sonde_hotspot_blob *sonde_hotspot_code_find(struct sonde_hotspot_code *code, uint64_t batch, uint64_t pc)
{
	struct slot *slot = &code->slots[sonde_hash_mix(pc) % SLOTS];
	if (slot->batch && slot->pc == pc) {
		if (slot->batch == batch)
			return &slot->blob;
		if (is_same(code, &slot->blob)) {
			slot->batch = batch;
			return &slot->blob;
		}
	}
	*slot = (struct slot){.pc = pc};
	if (!sonde_hotspot_code_holds(code, batch, pc) || find(code, batch, pc, &slot->blob))
		return NULL;
	slot->batch = batch;
	return &slot->blob;
}
