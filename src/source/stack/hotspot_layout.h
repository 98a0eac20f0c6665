/* hotspot_layout.h: locates the fields of a HotSpot Java VM that unwinding and naming need.
 *
 * libjvm.so exports tables that describe its structures for debuggers (gHotSpotVMStructs: type, field, offset or
 * address; gHotSpotVMTypes: sizes; gHotSpotVMIntConstants). They are read from the memory of the process, so nothing
 * here depends on a version as long as the fields keep their names. If a required field is missing, the VM is not
 * unwound and the field is reported. Implausible offsets are rejected.
 */
#ifndef SONDE_SOURCE_STACK_HOTSPOT_LAYOUT_H
#define SONDE_SOURCE_STACK_HOTSPOT_LAYOUT_H

#include <stdint.h>

#include "source/stack/process_memory.h"

enum sonde_hotspot_field {
	/* Addresses of static variables. */
	HOTSPOT_HEAPS, /* GrowableArray<CodeHeap *> * */
	HOTSPOT_CODE_LOW,
	HOTSPOT_CODE_HIGH,
	HOTSPOT_CALL_STUB_RETURN,
	HOTSPOT_VERSION,
	/* Offsets. */
	HOTSPOT_ARRAY_LEN,
	HOTSPOT_ARRAY_DATA,
	HOTSPOT_HEAP_MEMORY,
	HOTSPOT_HEAP_SEGMAP,
	HOTSPOT_HEAP_SEGMENT_LOG2,
	HOTSPOT_SPACE_LOW,
	HOTSPOT_SPACE_HIGH,
	HOTSPOT_BLOCK_USED,
	HOTSPOT_BLOB_NAME,
	HOTSPOT_BLOB_SIZE,
	HOTSPOT_BLOB_COMPLETE,
	HOTSPOT_BLOB_FRAME_SIZE,
	HOTSPOT_BLOB_DATA_OFFSET,
	HOTSPOT_BLOB_CODE_BEGIN, /* older VMs: address */
	HOTSPOT_BLOB_CODE_END,
	HOTSPOT_BLOB_CODE_OFFSET, /* newer VMs: offset */
	HOTSPOT_BLOB_MUTABLE,
	HOTSPOT_BLOB_RELOCATION_SIZE,
	HOTSPOT_NMETHOD_METHOD,
	HOTSPOT_NMETHOD_COMPILE_ID,
	HOTSPOT_NMETHOD_ENTRY, /* verified entry; older VMs: address */
	HOTSPOT_NMETHOD_ENTRY_OFFSET,
	HOTSPOT_NMETHOD_PCS, /* offset from the blob, or from its immutable data if it has any */
	HOTSPOT_NMETHOD_PCS_END,
	HOTSPOT_NMETHOD_SCOPES, /* older VMs: address */
	HOTSPOT_NMETHOD_SCOPES_OFFSET,
	HOTSPOT_NMETHOD_IMMUTABLE,
	HOTSPOT_NMETHOD_METADATA,
	HOTSPOT_METHOD_CONST,
	HOTSPOT_CONST_POOL,
	HOTSPOT_CONST_SIZE_WORDS,
	HOTSPOT_CONST_CODE_SIZE,
	HOTSPOT_CONST_NAME,
	HOTSPOT_CONST_FLAGS,
	HOTSPOT_POOL_HOLDER,
	HOTSPOT_POOL_LENGTH,
	HOTSPOT_POOL_SOURCE,
	HOTSPOT_KLASS_NAME,
	HOTSPOT_SYMBOL_LENGTH,
	HOTSPOT_SYMBOL_BODY,
	HOTSPOT_PC_OFFSET,
	HOTSPOT_PC_SCOPE,
	HOTSPOT_FIELDS,
};

struct sonde_hotspot_slot {
	uint64_t value;   /* offset in its structure, or address of a static variable */
	uint8_t size_b;   /* 1, 2, 4, 8 */
	uint8_t is_there; /* the VM publishes it */
};

struct sonde_hotspot_layout {
	struct sonde_hotspot_slot fields[HOTSPOT_FIELDS];
	uint64_t block_b, blob_b, nmethod_b, const_b, pool_b, pc_desc_b; /* sizes of structures */
	int sender_sp_slot, last_sp_slot;                                /* words from the frame pointer */
	uint32_t has_lines;                                              /* flag of ConstMethod; 0 = unknown */
	int major;                                                       /* version, 0 = unknown */
};

/* Reads the tables of the libjvm.so whose ELF header is at `base`. 0; -ENOENT if it exports none; -ENOTSUP if a
 * required field is missing; -EBADMSG if the tables are invalid. sonde_error_text() names the field or table. */
int sonde_hotspot_layout_read(struct sonde_hotspot_layout *out, const struct sonde_process_memory *memory,
			      uint64_t base);

/* Reads a field of the structure at `address`, sign-extended if it is a signed number; non-zero if it cannot be
 * read. */
int sonde_hotspot_read(const struct sonde_hotspot_layout *layout, const struct sonde_process_memory *memory,
		       uint64_t address, enum sonde_hotspot_field field, int64_t *out);
static inline int sonde_hotspot_has(const struct sonde_hotspot_layout *layout, enum sonde_hotspot_field field)
{
	return layout->fields[field].is_there;
}

#endif
