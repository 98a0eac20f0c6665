/* hotspot_layout.c: reads the tables that libjvm.so publishes for debuggers.
 *
 * Each row names a type and a field. Several rows may provide the same value, since fields have moved between
 * structures from version to version. Only at the end is checked whether all required fields were found, so that the
 * field that a version lacks can be reported.
 */
#include "source/stack/hotspot_layout.h"

#include <errno.h>
#include <string.h>

#include "util/error.h"

#define ENTRIES_MAX 20000u
#define TEXT_B 96u
#define OFFSET_MAX 4096u  /* maximum offset in a structure */
#define SIZE_MAX_B 4096u  /* maximum size of a structure */
#define STRIDE_MAX_B 256u /* maximum size of a table's entry */

enum need { OPTIONAL, NEEDED };

static const struct row {
	enum sonde_hotspot_field field;
	const char *type, *name;
	enum need need;
} rows[] = {
    {HOTSPOT_HEAPS, "CodeCache", "_heaps", NEEDED},
    {HOTSPOT_CODE_LOW, "CodeCache", "_low_bound", NEEDED},
    {HOTSPOT_CODE_HIGH, "CodeCache", "_high_bound", NEEDED},
    {HOTSPOT_CALL_STUB_RETURN, "StubRoutines", "_call_stub_return_address", NEEDED},
    {HOTSPOT_VERSION, "Abstract_VM_Version", "_vm_major_version", OPTIONAL},
    {HOTSPOT_ARRAY_LEN, "GrowableArrayBase", "_len", NEEDED},
    {HOTSPOT_ARRAY_LEN, "GenericGrowableArray", "_len", NEEDED},
    {HOTSPOT_ARRAY_DATA, "GrowableArray<int>", "_data", NEEDED},
    {HOTSPOT_HEAP_MEMORY, "CodeHeap", "_memory", NEEDED},
    {HOTSPOT_HEAP_SEGMAP, "CodeHeap", "_segmap", NEEDED},
    {HOTSPOT_HEAP_SEGMENT_LOG2, "CodeHeap", "_log2_segment_size", NEEDED},
    {HOTSPOT_SPACE_LOW, "VirtualSpace", "_low", NEEDED},
    {HOTSPOT_SPACE_HIGH, "VirtualSpace", "_high", NEEDED},
    {HOTSPOT_BLOCK_USED, "HeapBlock::Header", "_used", NEEDED},
    {HOTSPOT_BLOB_NAME, "CodeBlob", "_name", NEEDED},
    {HOTSPOT_BLOB_SIZE, "CodeBlob", "_size", NEEDED},
    {HOTSPOT_BLOB_COMPLETE, "CodeBlob", "_frame_complete_offset", NEEDED},
    {HOTSPOT_BLOB_FRAME_SIZE, "CodeBlob", "_frame_size", NEEDED},
    {HOTSPOT_BLOB_DATA_OFFSET, "CodeBlob", "_data_offset", NEEDED},
    {HOTSPOT_BLOB_CODE_BEGIN, "CodeBlob", "_code_begin", OPTIONAL},
    {HOTSPOT_BLOB_CODE_END, "CodeBlob", "_code_end", OPTIONAL},
    {HOTSPOT_BLOB_CODE_OFFSET, "CodeBlob", "_code_offset", OPTIONAL},
    {HOTSPOT_BLOB_MUTABLE, "CodeBlob", "_mutable_data", OPTIONAL},
    {HOTSPOT_BLOB_RELOCATION_SIZE, "CodeBlob", "_relocation_size", OPTIONAL},
    {HOTSPOT_NMETHOD_METHOD, "nmethod", "_method", NEEDED},
    {HOTSPOT_NMETHOD_METHOD, "CompiledMethod", "_method", NEEDED},
    {HOTSPOT_NMETHOD_COMPILE_ID, "nmethod", "_compile_id", NEEDED},
    {HOTSPOT_NMETHOD_ENTRY, "nmethod", "_verified_entry_point", OPTIONAL},
    {HOTSPOT_NMETHOD_ENTRY_OFFSET, "nmethod", "_verified_entry_offset", OPTIONAL},
    {HOTSPOT_NMETHOD_PCS, "nmethod", "_scopes_pcs_offset", OPTIONAL},
    {HOTSPOT_NMETHOD_PCS_END, "nmethod", "_dependencies_offset", OPTIONAL},
    {HOTSPOT_NMETHOD_SCOPES, "CompiledMethod", "_scopes_data_begin", OPTIONAL},
    {HOTSPOT_NMETHOD_SCOPES, "nmethod", "_scopes_data_begin", OPTIONAL},
    {HOTSPOT_NMETHOD_SCOPES_OFFSET, "nmethod", "_scopes_data_offset", OPTIONAL},
    {HOTSPOT_NMETHOD_IMMUTABLE, "nmethod", "_immutable_data", OPTIONAL},
    {HOTSPOT_NMETHOD_METADATA, "nmethod", "_metadata_offset", OPTIONAL},
    {HOTSPOT_METHOD_CONST, "Method", "_constMethod", NEEDED},
    {HOTSPOT_CONST_POOL, "ConstMethod", "_constants", NEEDED},
    {HOTSPOT_CONST_SIZE_WORDS, "ConstMethod", "_constMethod_size", NEEDED},
    {HOTSPOT_CONST_CODE_SIZE, "ConstMethod", "_code_size", NEEDED},
    {HOTSPOT_CONST_NAME, "ConstMethod", "_name_index", NEEDED},
    {HOTSPOT_CONST_FLAGS, "ConstMethod", "_flags", OPTIONAL},
    {HOTSPOT_CONST_FLAGS, "ConstMethod", "_flags._flags", OPTIONAL},
    {HOTSPOT_POOL_HOLDER, "ConstantPool", "_pool_holder", NEEDED},
    {HOTSPOT_POOL_LENGTH, "ConstantPool", "_length", NEEDED},
    {HOTSPOT_POOL_SOURCE, "ConstantPool", "_source_file_name_index", OPTIONAL},
    {HOTSPOT_KLASS_NAME, "Klass", "_name", NEEDED},
    {HOTSPOT_SYMBOL_LENGTH, "Symbol", "_length", NEEDED},
    {HOTSPOT_SYMBOL_BODY, "Symbol", "_body", NEEDED},
    {HOTSPOT_PC_OFFSET, "PcDesc", "_pc_offset", OPTIONAL},
    {HOTSPOT_PC_SCOPE, "PcDesc", "_scope_decode_offset", OPTIONAL},
};
#define ROWS (sizeof rows / sizeof *rows)

/* Sizes of numbers by the VM's type names; anything else is a pointer. */
static const struct {
	const char *type;
	uint8_t size_b;
} widths[] = {
    {"int", 4},      {"jint", 4}, {"uint", 4},    {"unsigned int", 4}, {"juint", 4}, {"u4", 4},
    {"uint32_t", 4}, {"u2", 2},   {"int16_t", 2}, {"short", 2},        {"bool", 1},  {"u1", 1},
};

/* One of the tables: its first entry, the size of an entry, and the offsets of an entry's columns. */
struct table {
	uint64_t entries, stride_b, columns[6];
};

struct reader {
	const struct sonde_process_memory *memory;
	uint64_t base;
	struct sonde_hotspot_layout *out;
};

static int read_word(const struct reader *reader, const char *name, uint64_t *out)
{
	uint64_t at = sonde_process_memory_symbol(reader->memory, reader->base, name);
	return at ? sonde_process_memory_read(reader->memory, at, out, sizeof *out) : -1;
}

/* `names`: the variables that hold the first entry, the stride and each column's offset, terminated by NULL. */
static int open_table(const struct reader *reader, struct table *out, const char *const *names)
{
	*out = (struct table){0};
	if (read_word(reader, names[0], &out->entries))
		return sonde_error(ENOENT, "the Java VM does not export %s", names[0]);
	if (read_word(reader, names[1], &out->stride_b) || !out->stride_b || out->stride_b > STRIDE_MAX_B)
		return sonde_error(EBADMSG, "%s of the Java VM is invalid", names[1]);
	for (size_t i = 2; names[i]; i++)
		if (read_word(reader, names[i], &out->columns[i - 2]) || out->columns[i - 2] > out->stride_b - 4)
			return sonde_error(EBADMSG, "%s of the Java VM is invalid", names[i]);
	return 0;
}

static int read_column(const struct reader *reader, uint64_t entry, const struct table *table, size_t column,
		       uint64_t *out)
{
	return sonde_process_memory_read(reader->memory, entry + table->columns[column], out, sizeof *out);
}

/* The text that a column points to; "" if none. */
static int read_text(const struct reader *reader, uint64_t entry, const struct table *table, size_t column, char *out)
{
	uint64_t at;
	*out = 0;
	if (read_column(reader, entry, table, column, &at))
		return -1;
	return at && sonde_process_memory_text(reader->memory, at, out, TEXT_B) < 0 ? (*out = 0) : 0;
}

/* --- gHotSpotVMStructs ----------------------------------------------------------------------------------- */

enum { TYPE, FIELD, TYPE_TEXT, IS_STATIC, OFFSET, ADDRESS };

static uint8_t width_of(const char *type)
{
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
		if (!strcmp(type, widths[i].type))
			return widths[i].size_b;
	return 8;
}

static int is_wanted(const char *type)
{
	for (size_t i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].type, type))
			return 1;
	return 0;
}

static int take_field(const struct reader *reader, const struct table *table, uint64_t entry, const char *type)
{
	char name[TEXT_B], text[TEXT_B];
	if (read_text(reader, entry, table, FIELD, name))
		return -1;
	for (size_t i = 0; i < ROWS; i++) {
		uint32_t is_static;
		uint64_t value;
		if (strcmp(rows[i].type, type) != 0 || strcmp(rows[i].name, name) != 0)
			continue;
		if (sonde_process_memory_read(reader->memory, entry + table->columns[IS_STATIC], &is_static,
					      sizeof is_static) ||
		    read_column(reader, entry, table, is_static ? ADDRESS : OFFSET, &value) ||
		    read_text(reader, entry, table, TYPE_TEXT, text))
			return -1;
		if (!is_static && value > OFFSET_MAX)
			return sonde_error(EBADMSG, "the Java VM says that %s::%s lies at %llu", type, name,
					   (unsigned long long)value);
		reader->out->fields[rows[i].field] = (struct sonde_hotspot_slot){value, width_of(text), 1};
	}
	return 0;
}

static int read_structs(const struct reader *reader)
{
	static const char *const names[] = {
	    "gHotSpotVMStructs",
	    "gHotSpotVMStructEntryArrayStride",
	    "gHotSpotVMStructEntryTypeNameOffset",
	    "gHotSpotVMStructEntryFieldNameOffset",
	    "gHotSpotVMStructEntryTypeStringOffset",
	    "gHotSpotVMStructEntryIsStaticOffset",
	    "gHotSpotVMStructEntryOffsetOffset",
	    "gHotSpotVMStructEntryAddressOffset",
	    NULL,
	};
	struct table table;
	char type[TEXT_B];
	int rc = open_table(reader, &table, names);
	uint64_t entry = table.entries;
	for (unsigned i = 0; !rc && i < ENTRIES_MAX; i++, entry += table.stride_b) {
		if (read_text(reader, entry, &table, TYPE, type))
			return sonde_error(EBADMSG, "the table of structures of the Java VM cannot be read");
		if (!*type)
			return 0;
		if (is_wanted(type))
			rc = take_field(reader, &table, entry, type);
	}
	return rc ? rc : sonde_error(EBADMSG, "the table of structures of the Java VM has no end");
}

/* --- gHotSpotVMTypes and constants ----------------------------------------------------------------------- */

static int read_types(const struct reader *reader)
{
	static const char *const names[] = {
	    "gHotSpotVMTypes",
	    "gHotSpotVMTypeEntryArrayStride",
	    "gHotSpotVMTypeEntryTypeNameOffset",
	    "gHotSpotVMTypeEntrySizeOffset",
	    NULL,
	};
	struct sonde_hotspot_layout *out = reader->out;
	const struct {
		const char *type;
		uint64_t *size_b;
	} sizes[] = {
	    {"HeapBlock", &out->block_b},   {"CodeBlob", &out->blob_b},     {"nmethod", &out->nmethod_b},
	    {"ConstMethod", &out->const_b}, {"ConstantPool", &out->pool_b}, {"PcDesc", &out->pc_desc_b},
	};
	struct table table;
	char type[TEXT_B];
	int rc = open_table(reader, &table, names);
	uint64_t entry = table.entries, size_b;
	for (unsigned i = 0; !rc && i < ENTRIES_MAX; i++, entry += table.stride_b) {
		if (read_text(reader, entry, &table, 0, type) ||
		    (*type && read_column(reader, entry, &table, 1, &size_b)))
			return sonde_error(EBADMSG, "the table of types of the Java VM cannot be read");
		if (!*type)
			break;
		for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++)
			if (!strcmp(type, sizes[j].type))
				*sizes[j].size_b = size_b;
	}
	for (size_t j = 0; !rc && j < sizeof sizes / sizeof *sizes; j++)
		if (!*sizes[j].size_b || *sizes[j].size_b > SIZE_MAX_B)
			rc = sonde_error(ENOTSUP, "the Java VM does not say how large a %s is", sizes[j].type);
	return rc;
}

static int read_constants(const struct reader *reader)
{
	static const char *const names[] = {
	    "gHotSpotVMIntConstants",
	    "gHotSpotVMIntConstantEntryArrayStride",
	    "gHotSpotVMIntConstantEntryNameOffset",
	    "gHotSpotVMIntConstantEntryValueOffset",
	    NULL,
	};
	struct sonde_hotspot_layout *out = reader->out;
	struct table table;
	char name[TEXT_B];
	int rc = open_table(reader, &table, names);
	uint64_t entry = table.entries;
	for (unsigned i = 0; !rc && i < ENTRIES_MAX; i++, entry += table.stride_b) {
		int32_t value;
		if (read_text(reader, entry, &table, 0, name) ||
		    (*name &&
		     sonde_process_memory_read(reader->memory, entry + table.columns[1], &value, sizeof value)))
			return sonde_error(EBADMSG, "the table of constants of the Java VM cannot be read");
		if (!*name)
			break;
		if (!strcmp(name, "frame::interpreter_frame_sender_sp_offset"))
			out->sender_sp_slot = value;
		else if (!strcmp(name, "frame::interpreter_frame_last_sp_offset"))
			out->last_sp_slot = value;
		else if (!strcmp(name, "ConstMethod::_has_linenumber_table") ||
			 !strcmp(name, "ConstMethodFlags::_misc_has_linenumber_table"))
			out->has_lines = (uint32_t)value;
	}
	if (!rc && (out->sender_sp_slot != -1 || out->last_sp_slot != -2))
		rc = sonde_error(ENOTSUP, "frames of the interpreter of this Java VM are not known");
	return rc;
}

static int check(const struct sonde_hotspot_layout *layout)
{
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].need == NEEDED && !sonde_hotspot_has(layout, rows[i].field))
			return sonde_error(ENOTSUP, "the Java VM does not describe %s::%s", rows[i].type, rows[i].name);
	int has_code =
	    (sonde_hotspot_has(layout, HOTSPOT_BLOB_CODE_BEGIN) && sonde_hotspot_has(layout, HOTSPOT_BLOB_CODE_END)) ||
	    sonde_hotspot_has(layout, HOTSPOT_BLOB_CODE_OFFSET);
	return has_code ? 0 : sonde_error(ENOTSUP, "the Java VM does not describe where the code of a CodeBlob lies");
}

int sonde_hotspot_layout_read(struct sonde_hotspot_layout *out, const struct sonde_process_memory *memory,
			      uint64_t base)
{
	struct sonde_hotspot_layout layout = {0};
	struct reader reader = {memory, base, &layout};
	int rc = read_structs(&reader);
	rc = rc ? rc : read_types(&reader);
	rc = rc ? rc : read_constants(&reader);
	rc = rc ? rc : check(&layout);
	const struct sonde_hotspot_slot *version = &layout.fields[HOTSPOT_VERSION];
	if (!rc && version->is_there)
		sonde_process_memory_read(memory, version->value, &layout.major, sizeof layout.major);
	if (!rc)
		*out = layout;
	return rc;
}

int sonde_hotspot_read(const struct sonde_hotspot_layout *layout, const struct sonde_process_memory *memory,
		       uint64_t address, enum sonde_hotspot_field field, int64_t *out)
{
	const struct sonde_hotspot_slot *slot = &layout->fields[field];
	uint64_t value = 0;
	if (!slot->is_there || sonde_process_memory_read(memory, address + slot->value, &value, slot->size_b))
		return -1;
	*out = slot->size_b == 4   ? (int64_t)(int32_t)value
	       : slot->size_b == 2 ? (int64_t)(int16_t)value
	       : slot->size_b == 1 ? (int64_t)(int8_t)value
				   : (int64_t)value;
	return 0;
}
