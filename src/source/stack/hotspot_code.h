/* hotspot_code.h: finds the code blob of a Java VM that contains an address.
 *
 * The code cache consists of a few heaps of blocks. A block holds one CodeBlob: a compiled method, a stub, an adapter,
 * or the interpreter. A segment map leads from an address to its block. Everything is read from the memory of the
 * process. Results are cached by address; in a later batch a cached blob is used only if its header is unchanged, since
 * methods are compiled, discarded and compiled again.
 */
#ifndef SONDE_SOURCE_STACK_HOTSPOT_CODE_H
#define SONDE_SOURCE_STACK_HOTSPOT_CODE_H

#include <stdint.h>

#include "source/stack/hotspot_layout.h"

enum sonde_hotspot_kind {
	SONDE_HOTSPOT_NMETHOD = 1, /* a compiled method, or the wrapper of a native one */
	SONDE_HOTSPOT_INTERPRETER,
	SONDE_HOTSPOT_STUBS,     /* many routines in one blob, each with its own frame layout */
	SONDE_HOTSPOT_FRAMELESS, /* adapters, vtable and itable stubs: they have no frame, and jump on */
	SONDE_HOTSPOT_RUNTIME,   /* calls into the VM, with a frame of fixed size */
};

#define SONDE_HOTSPOT_NAME_B 48

struct sonde_hotspot_blob {
	uint64_t address, code, code_end; /* the blob; its first instruction; end of its code */
	enum sonde_hotspot_kind kind;
	uint32_t frame_b;                /* from the stack pointer to the end of the return address; 0 = no frame */
	int32_t complete_b;              /* offset from `code` at which the frame is complete; negative: unknown */
	char name[SONDE_HOTSPOT_NAME_B]; /* the VM's name of a stub */
	/* Compiled methods only. */
	uint64_t method; /* Method * */
	uint64_t entry;  /* verified entry point: the code before it checks the receiver's class */
	uint32_t compile_id;
	uint64_t pcs, pcs_end;     /* PcDesc array; equal = unknown */
	uint64_t scopes, metadata; /* 0 = unknown */
};

struct sonde_hotspot_code;

/* Borrows both arguments. NULL if out of memory. */
struct sonde_hotspot_code *sonde_hotspot_code_new(const struct sonde_hotspot_layout *layout,
						  const struct sonde_process_memory *memory);
void sonde_hotspot_code_free(struct sonde_hotspot_code *code);

/* True if `pc` is within the bounds of the code cache, which are read once per batch. */
int sonde_hotspot_code_holds(struct sonde_hotspot_code *code, uint64_t batch, uint64_t pc);

/* The blob whose code contains `pc`, valid until the next call; NULL if there is none. `batch` is a number that changes
 * when the memory may have changed. */
const struct sonde_hotspot_blob *sonde_hotspot_code_find(struct sonde_hotspot_code *code, uint64_t batch, uint64_t pc);

#endif
