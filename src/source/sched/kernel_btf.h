/* kernel_btf.h: looks up types and member offsets of the running kernel in its BTF (/sys/kernel/btf/vmlinux). */
#ifndef SONDE_SOURCE_SCHED_KERNEL_BTF_H
#define SONDE_SOURCE_SCHED_KERNEL_BTF_H

#include <stddef.h>
#include <stdint.h>

/* A type, or a member of a struct; `kind`: BTF_KIND_… from linux/btf.h. */
struct sonde_btf_place {
	uint8_t kind;
	const char *name;
	const char *member; /* NULL = the type itself */
};

/* A lookup of a type or member under the names that different kernels use, and its result. */
struct sonde_btf_wish {
	struct sonde_btf_place places[2]; /* the second one may be empty */
	uint32_t id;                      /* id of the type; 0 = not found */
	uint32_t offset_b;                /* offset of the member */
	int which;                        /* index into `places` of the one found */
};

/* Fills in the results. -ENOENT without BTF, -EBADMSG if the BTF cannot be parsed; both with a message. */
int sonde_kernel_btf_find(struct sonde_btf_wish *wishes, size_t count);

/* The same for the contents of a BTF file, `size_b` bytes long. */
int sonde_btf_find(const void *file, size_t size_b, struct sonde_btf_wish *wishes, size_t count);

#endif
