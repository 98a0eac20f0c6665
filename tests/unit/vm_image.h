/* vm_image.h: the memory of a process with a small Java VM in it, described as libjvm.so describes itself, for tests of
 * source/stack/hotspot.h. */
#ifndef VM_IMAGE_H
#define VM_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "source/stack/process_memory.h"

#define VM_BASE 0x7f0000000000u /* the ELF header of libjvm.so */
#define VM_B (1u << 18)
#define VM_CODE (VM_BASE + 0x20000) /* the code heap: 512 segments of 128 bytes */
#define VM_CODE_B 0x10000u

struct vm_image {
	uint8_t bytes[VM_B];
	uint64_t used; /* bytes of it that are given out */
	/* Where things lie. */
	uint64_t structs, segments, outer, inlined, bytecodes, frame_code, call_pc, interpreter, stub, call_stub;
	uint64_t scopes, pcs;
};

/* A compiled method Outer.run (frame of 64 bytes, with Inner.add inlined at call_pc), the interpreter, a stub. */
void vm_image_make(struct vm_image *image);

/* Memory that is the image and nothing else; `image` is borrowed. */
struct sonde_process_memory vm_image_memory(struct vm_image *image);

/* Writes a word at an address of the image. */
void vm_image_put(struct vm_image *image, uint64_t address, uint64_t value);

#endif
