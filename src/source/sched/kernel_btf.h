/* kernel_btf.h: where things are in the running kernel, from the types that it describes itself by
 * (/sys/kernel/btf/vmlinux).
 */
#ifndef SONDE_SOURCE_SCHED_KERNEL_BTF_H
#define SONDE_SOURCE_SCHED_KERNEL_BTF_H

#include <stddef.h>
#include <stdint.h>

/* A type, or a member of a struct; `kind`: BTF_KIND_… of linux/btf.h. */
struct sonde_btf_place {
	uint8_t kind;
	const char *name;
	const char *member; /* NULL = the type itself */
};

/* What is looked for, by the names that kernels gave it. */
struct sonde_btf_wish {
	struct sonde_btf_place places[2]; /* the second one may be empty */
	uint32_t id;                      /* of the type; 0 = not there */
	uint32_t offset_b;                /* of the member */
	int which;                        /* of the places */
};

/* Fills in what is there. -ENOENT without such a file, -EBADMSG when it cannot be understood, with a sentence. */
int sonde_kernel_btf_find(struct sonde_btf_wish *wishes, size_t count);

/* The same in `size_b` bytes of such a file. */
int sonde_btf_find(const void *file, size_t size_b, struct sonde_btf_wish *wishes, size_t count);

#endif
