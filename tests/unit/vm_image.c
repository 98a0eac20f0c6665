/* vm_image.c: lays out the tables of a Java VM, a code heap and two methods. The offsets are made up, so that readers
 * must look them up. */
#include "vm_image.h"

#include <elf.h>
#include <string.h>

#define SEGMENT_B 128u
#define SYMBOLS_MAX 32u

enum { STRIDE = 48, TYPE = 0, FIELD = 8, TEXT = 16, STATIC = 24, OFFSET = 32, ADDRESS = 40 };

static int read_image(void *context, uint64_t address, void *out, size_t size_b)
{
	const struct vm_image *image = context;
	if (address < VM_BASE || address - VM_BASE > VM_B || size_b > VM_B - (address - VM_BASE))
		return -1;
	memcpy(out, image->bytes + (address - VM_BASE), size_b);
	return 0;
}

struct sonde_process_memory vm_image_memory(struct vm_image *image)
{
	return (struct sonde_process_memory){read_image, image};
}

static void put(struct vm_image *image, uint64_t address, const void *bytes, size_t size_b)
{
	memcpy(image->bytes + (address - VM_BASE), bytes, size_b);
}

void vm_image_put(struct vm_image *image, uint64_t address, uint64_t value)
{
	put(image, address, &value, sizeof value);
}

static void put32(struct vm_image *image, uint64_t address, uint32_t value)
{
	put(image, address, &value, sizeof value);
}

static uint64_t take(struct vm_image *image, size_t size_b)
{
	uint64_t at = VM_BASE + image->used;
	image->used += (size_b + 15) & ~15ull;
	return at;
}

static uint64_t text(struct vm_image *image, const char *text)
{
	uint64_t at = take(image, strlen(text) + 1);
	put(image, at, text, strlen(text) + 1);
	return at;
}

static uint64_t word(struct vm_image *image, uint64_t value)
{
	uint64_t at = take(image, 8);
	vm_image_put(image, at, value);
	return at;
}

/* --- exported symbols ------------------------------------------------------------------------------------ */

struct symbols {
	const char *names[SYMBOLS_MAX];
	uint64_t addresses[SYMBOLS_MAX];
	uint32_t count;
};

static void export(struct symbols *symbols, const char *name, uint64_t address)
{
	symbols->names[symbols->count] = name;
	symbols->addresses[symbols->count++] = address;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;
	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

/* One bucket, so that a chain holds all. Symbol 0 is the undefined one. */
static void put_symbols(struct vm_image *image, const struct symbols *symbols)
{
	uint64_t table = take(image, (symbols->count + 1) * sizeof(Elf64_Sym));
	uint64_t hash = take(image, 16 + 8 + 4 + symbols->count * 4);
	uint64_t strings = image->used + VM_BASE;
	put32(image, hash, 1);
	put32(image, hash + 4, 1);
	put32(image, hash + 8, 1);
	put32(image, hash + 24, 1);
	for (uint32_t i = 0; i < symbols->count; i++) {
		Elf64_Sym symbol = {.st_name = (uint32_t)(text(image, symbols->names[i]) - strings),
				    .st_shndx = 1,
				    .st_value = symbols->addresses[i] - VM_BASE};
		put(image, table + (i + 1) * sizeof symbol, &symbol, sizeof symbol);
		put32(image, hash + 28 + i * 4, (gnu_hash(symbols->names[i]) & ~1u) | (i + 1 == symbols->count));
	}
	Elf64_Dyn dynamic[] = {{DT_SYMTAB, {table}}, {DT_STRTAB, {strings}}, {DT_GNU_HASH, {hash}}, {DT_NULL, {0}}};
	uint64_t at = take(image, sizeof dynamic);
	put(image, at, dynamic, sizeof dynamic);
	Elf64_Ehdr head = {.e_phoff = sizeof head, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2};
	memcpy(head.e_ident, ELFMAG, SELFMAG);
	head.e_ident[EI_CLASS] = ELFCLASS64;
	Elf64_Phdr segments[] = {{.p_type = PT_LOAD}, {.p_type = PT_DYNAMIC, .p_vaddr = at - VM_BASE}};
	put(image, VM_BASE, &head, sizeof head);
	put(image, VM_BASE + sizeof head, segments, sizeof segments);
}

/* --- tables ---------------------------------------------------------------------------------------------- */

struct field {
	const char *type, *name, *text;
	int is_static;
	uint64_t value;
};

static void put_structs(struct vm_image *image, struct symbols *symbols, const struct field *fields, size_t count)
{
	static const struct {
		const char *name;
		uint64_t value;
	} shape[] = {
	    {"gHotSpotVMStructEntryArrayStride", STRIDE},    {"gHotSpotVMStructEntryTypeNameOffset", TYPE},
	    {"gHotSpotVMStructEntryFieldNameOffset", FIELD}, {"gHotSpotVMStructEntryTypeStringOffset", TEXT},
	    {"gHotSpotVMStructEntryIsStaticOffset", STATIC}, {"gHotSpotVMStructEntryOffsetOffset", OFFSET},
	    {"gHotSpotVMStructEntryAddressOffset", ADDRESS},
	};
	uint64_t at = image->structs = take(image, (count + 1) * STRIDE);
	for (size_t i = 0; i < count; i++, at += STRIDE) {
		vm_image_put(image, at + TYPE, text(image, fields[i].type));
		vm_image_put(image, at + FIELD, text(image, fields[i].name));
		vm_image_put(image, at + TEXT, text(image, fields[i].text));
		put32(image, at + STATIC, (uint32_t)fields[i].is_static);
		vm_image_put(image, at + (fields[i].is_static ? ADDRESS : OFFSET), fields[i].value);
	}
	export(symbols, "gHotSpotVMStructs", word(image, image->structs));
	for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
		export(symbols, shape[i].name, word(image, shape[i].value));
}

struct number {
	const char *name;
	uint64_t value;
};

/* A table of (name, number): entries of 16 bytes. */
static uint64_t put_numbers(struct vm_image *image, const struct number *numbers, size_t count)
{
	uint64_t table = take(image, (count + 1) * 16);
	for (size_t i = 0; i < count; i++) {
		vm_image_put(image, table + i * 16, text(image, numbers[i].name));
		vm_image_put(image, table + i * 16 + 8, numbers[i].value);
	}
	return table;
}

static void put_types(struct vm_image *image, struct symbols *symbols)
{
	static const struct number sizes[] = {{"HeapBlock", 16},   {"CodeBlob", 128},    {"nmethod", 256},
					      {"ConstMethod", 64}, {"ConstantPool", 64}, {"PcDesc", 16}};
	static const struct number constants[] = {{"frame::interpreter_frame_sender_sp_offset", (uint32_t)-1},
						  {"frame::interpreter_frame_last_sp_offset", (uint32_t)-2},
						  {"ConstMethod::_has_linenumber_table", 1}};
	uint64_t stride = word(image, 16), zero = word(image, 0), eight = word(image, 8);
	export(symbols, "gHotSpotVMTypes", word(image, put_numbers(image, sizes, 6)));
	export(symbols, "gHotSpotVMTypeEntryArrayStride", stride);
	export(symbols, "gHotSpotVMTypeEntryTypeNameOffset", zero);
	export(symbols, "gHotSpotVMTypeEntrySizeOffset", eight);
	export(symbols, "gHotSpotVMIntConstants", word(image, put_numbers(image, constants, 3)));
	export(symbols, "gHotSpotVMIntConstantEntryArrayStride", stride);
	export(symbols, "gHotSpotVMIntConstantEntryNameOffset", zero);
	export(symbols, "gHotSpotVMIntConstantEntryValueOffset", eight);
}

/* --- methods --------------------------------------------------------------------------------------------- */

static uint64_t put_symbol(struct vm_image *image, const char *name)
{
	uint64_t at = take(image, 8 + strlen(name));
	put32(image, at + 4, (uint32_t)strlen(name));
	put(image, at + 8, name, strlen(name));
	return at;
}

/* Method { constMethod 8 }, ConstMethod { pool 8, words 16, flags 20, code size 24, name 28 }, ConstantPool { holder 8,
 * length 16, source 20 }, Klass { name 8 }. One line: 7, from bytecode 0 on. */
static uint64_t put_method(struct vm_image *image, const char *class, const char *name, uint64_t *bytecodes)
{
	static const uint8_t lines[] = {7, 0};
	uint64_t klass = take(image, 16), pool = take(image, 64 + 4 * 8), constants = take(image, 64 + 16 + 16);
	uint64_t method = take(image, 16);
	vm_image_put(image, klass + 8, put_symbol(image, class));
	vm_image_put(image, pool + 8, klass);
	put32(image, pool + 16, 4);
	put32(image, pool + 20, 2);
	vm_image_put(image, pool + 64 + 8, put_symbol(image, name));
	vm_image_put(image, pool + 64 + 16, put_symbol(image, "Test.java"));
	vm_image_put(image, constants + 8, pool);
	put32(image, constants + 20, 1);
	put32(image, constants + 24, 16);
	put32(image, constants + 28, 1);
	put(image, constants + 64 + 16, lines, sizeof lines);
	vm_image_put(image, method + 8, constants);
	if (bytecodes)
		*bytecodes = constants + 64;
	return method;
}

/* --- code ------------------------------------------------------------------------------------------------ */

/* A block of `count` segments at segment `first`, with a blob: { name 0, size 8, complete 12, frame 16, data 20,
 * code begin 24, code end 32, … }. Code lies 256 bytes into the blob. */
static uint64_t put_blob(struct vm_image *image, uint32_t first, uint32_t count, const char *name, uint32_t frame_words,
			 uint32_t complete)
{
	uint64_t block = VM_CODE + first * SEGMENT_B, blob = block + 16, end = block + count * SEGMENT_B;
	for (uint32_t i = 0; i < count; i++)
		image->bytes[image->segments - VM_BASE + first + i] = (uint8_t)i;
	image->bytes[block + 8 - VM_BASE] = 1;
	vm_image_put(image, blob, text(image, name));
	put32(image, blob + 8, (uint32_t)(end - blob));
	put32(image, blob + 12, complete);
	put32(image, blob + 16, frame_words);
	vm_image_put(image, blob + 24, blob + 256);
	vm_image_put(image, blob + 32, end);
	return blob;
}

static void put_nmethod(struct vm_image *image)
{
	/* mov %eax,-…(%rsp); push %rbp; sub $48,%rsp; call …; add $48,%rsp; pop %rbp; ret */
	static const uint8_t code[] = {0x89, 0x84, 0x24, 0, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x30,
				       0xe8, 0,    0,    0, 0,    0x48, 0x83, 0xc4, 0x30, 0x5d, 0xc3};
	/* At call_pc, 17 bytes in: Inner.add at bytecode 2, called by Outer.run at bytecode 4. */
	static const uint8_t scopes[] = {0, 0, 1, 5, 1, 2, 3};
	uint64_t blob = put_blob(image, 0, 8, "nmethod", 8, 12), metadata = blob + 600;
	image->frame_code = blob + 256;
	image->call_pc = image->frame_code + 17;
	put(image, image->frame_code, code, sizeof code);
	image->scopes = blob + 640;
	image->pcs = blob + 560;
	put(image, image->scopes, scopes, sizeof scopes);
	vm_image_put(image, metadata, image->outer);
	vm_image_put(image, metadata + 8, image->inlined);
	put32(image, image->pcs, (uint32_t)-1);
	put32(image, image->pcs + 16, 17);
	put32(image, image->pcs + 20, 4);
	vm_image_put(image, blob + 40, image->outer);
	put32(image, blob + 48, 77);                       /* compile id */
	vm_image_put(image, blob + 56, image->frame_code); /* verified entry */
	put32(image, blob + 64, 560);
	put32(image, blob + 68, 592);
	vm_image_put(image, blob + 72, image->scopes);
	put32(image, blob + 80, 600);
}

static void put_code(struct vm_image *image)
{
	/* A stub at segment 16 that Outer.run calls: push %rbp; …; ret */
	put_nmethod(image);
	image->interpreter = put_blob(image, 8, 8, "Interpreter", 0, 0) + 256;
	image->stub = put_blob(image, 16, 4, "StubRoutines (1)", 0, 0) + 256;
	int32_t distance = (int32_t)(image->stub - image->call_pc);
	put(image, image->call_pc - 4, &distance, sizeof distance);
	vm_image_put(image, image->call_stub, image->stub + 32);
}

void vm_image_make(struct vm_image *image)
{
	memset(image, 0, sizeof *image);
	image->used = 0x400;
	struct symbols symbols = {0};
	uint64_t heap = take(image, 256), array = take(image, 32), list = word(image, heap);
	uint64_t heaps = word(image, array), low = word(image, VM_CODE), high = word(image, VM_CODE + VM_CODE_B);
	uint64_t version = word(image, 17);
	image->segments = take(image, VM_CODE_B / SEGMENT_B);
	image->call_stub = take(image, 8);
	memset(image->bytes + (image->segments - VM_BASE), 0xff, VM_CODE_B / SEGMENT_B);
	const struct field fields[] = {
	    {"CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", 1, heaps},
	    {"CodeCache", "_low_bound", "address", 1, low},
	    {"CodeCache", "_high_bound", "address", 1, high},
	    {"StubRoutines", "_call_stub_return_address", "address", 1, image->call_stub},
	    {"Abstract_VM_Version", "_vm_major_version", "int", 1, version},
	    {"GrowableArrayBase", "_len", "int", 0, 4},
	    {"GrowableArray<int>", "_data", "int*", 0, 16},
	    {"CodeHeap", "_memory", "VirtualSpace", 0, 16},
	    {"CodeHeap", "_segmap", "VirtualSpace", 0, 64},
	    {"CodeHeap", "_log2_segment_size", "int", 0, 128},
	    {"VirtualSpace", "_low", "char*", 0, 8},
	    {"VirtualSpace", "_high", "char*", 0, 16},
	    {"HeapBlock::Header", "_used", "bool", 0, 8},
	    {"CodeBlob", "_name", "const char*", 0, 0},
	    {"CodeBlob", "_size", "int", 0, 8},
	    {"CodeBlob", "_frame_complete_offset", "int", 0, 12},
	    {"CodeBlob", "_frame_size", "int", 0, 16},
	    {"CodeBlob", "_data_offset", "int", 0, 20},
	    {"CodeBlob", "_code_begin", "address", 0, 24},
	    {"CodeBlob", "_code_end", "address", 0, 32},
	    {"CompiledMethod", "_method", "Method*", 0, 40},
	    {"nmethod", "_compile_id", "int", 0, 48},
	    {"nmethod", "_verified_entry_point", "address", 0, 56},
	    {"nmethod", "_scopes_pcs_offset", "int", 0, 64},
	    {"nmethod", "_dependencies_offset", "int", 0, 68},
	    {"CompiledMethod", "_scopes_data_begin", "address", 0, 72},
	    {"nmethod", "_metadata_offset", "int", 0, 80},
	    {"Method", "_constMethod", "ConstMethod*", 0, 8},
	    {"ConstMethod", "_constants", "ConstantPool*", 0, 8},
	    {"ConstMethod", "_constMethod_size", "int", 0, 16},
	    {"ConstMethod", "_flags", "u2", 0, 20},
	    {"ConstMethod", "_code_size", "u2", 0, 24},
	    {"ConstMethod", "_name_index", "u2", 0, 28},
	    {"ConstantPool", "_pool_holder", "InstanceKlass*", 0, 8},
	    {"ConstantPool", "_length", "int", 0, 16},
	    {"ConstantPool", "_source_file_name_index", "u2", 0, 20},
	    {"Klass", "_name", "Symbol*", 0, 8},
	    {"Symbol", "_length", "u2", 0, 4},
	    {"Symbol", "_body", "u1", 0, 8},
	    {"PcDesc", "_pc_offset", "int", 0, 0},
	    {"PcDesc", "_scope_decode_offset", "int", 0, 4},
	};
	put32(image, array + 4, 1);
	vm_image_put(image, array + 16, list);
	vm_image_put(image, heap + 16 + 8, VM_CODE);
	vm_image_put(image, heap + 16 + 16, VM_CODE + VM_CODE_B);
	vm_image_put(image, heap + 64 + 8, image->segments);
	vm_image_put(image, heap + 64 + 16, image->segments + VM_CODE_B / SEGMENT_B);
	put32(image, heap + 128, 7);
	put_structs(image, &symbols, fields, sizeof fields / sizeof *fields);
	put_types(image, &symbols);
	image->outer = put_method(image, "pack/Outer", "run", &image->bytecodes);
	image->inlined = put_method(image, "pack/Inner", "add", NULL);
	put_code(image);
	put_symbols(image, &symbols);
}
