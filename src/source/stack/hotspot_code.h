/* hotspot_code.h: which piece of code of a Java VM holds an address.
 *
 * The code cache is a few heaps of blocks; a block holds one CodeBlob: a compiled method, a stub, an adapter, or the
 * interpreter. A map of segments leads from an address to the block that holds it. Everything is read from the memory
 * of the process; what was found is kept by address and believed again in a later batch once the blob's head still says
 * the same, since methods are compiled, thrown away and compiled anew.
 */
#ifndef SONDE_SOURCE_STACK_HOTSPOT_CODE_H
#define SONDE_SOURCE_STACK_HOTSPOT_CODE_H

#include <stdint.h>

#include "source/stack/hotspot_layout.h"

enum sonde_hotspot_kind {
	SONDE_HOTSPOT_NMETHOD = 1, /* a compiled method, or the wrapper of a native one */
	SONDE_HOTSPOT_INTERPRETER,
	SONDE_HOTSPOT_STUBS,     /* many routines in one blob, each as it likes */
	SONDE_HOTSPOT_FRAMELESS, /* adapters, vtable and itable stubs: they jump on */
	SONDE_HOTSPOT_RUNTIME,   /* calls into the VM, with a frame of fixed size */
};

#define SONDE_HOTSPOT_NAME_B 48

struct sonde_hotspot_blob {
	uint64_t address, code, code_end; /* of the blob; its first instruction; behind its last one */
	enum sonde_hotspot_kind kind;
	uint32_t frame_b;                /* from the stack pointer to behind the return address; 0 = none */
	int32_t complete_b;              /* from `code` on the frame is complete; negative: never said */
	char name[SONDE_HOTSPOT_NAME_B]; /* of stubs, as the VM calls them */
	/* Of compiled methods. */
	uint64_t method; /* Method * */
	uint64_t entry;  /* verified entry point: what lies before checks the receiver's class */
	uint32_t compile_id;
	uint64_t pcs, pcs_end;     /* PcDesc array; equal = not known */
	uint64_t scopes, metadata; /* 0 = not known */
};

struct sonde_hotspot_code;

/* Both are borrowed. NULL when out of memory. */
struct sonde_hotspot_code *sonde_hotspot_code_new(const struct sonde_hotspot_layout *layout,
						  const struct sonde_process_memory *memory);
void sonde_hotspot_code_free(struct sonde_hotspot_code *code);

/* Whether `pc` lies between the lowest and the highest address of the code cache; read once a batch. */
int sonde_hotspot_code_holds(struct sonde_hotspot_code *code, uint64_t batch, uint64_t pc);

/* The blob whose code holds `pc`, valid until the next call; NULL where there is none. `batch` is a number that changes
 * when memory may have. */
const struct sonde_hotspot_blob *sonde_hotspot_code_find(struct sonde_hotspot_code *code, uint64_t batch, uint64_t pc);

#endif
