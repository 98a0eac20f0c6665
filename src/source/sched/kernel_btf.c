/* kernel_btf.c: one pass over the kernel's types, from the first one to the last that is wanted.
 *
 * The file is mapped if the kernel supports that (6.16), else read: 5 MB in a millisecond. The scheduler's types come
 * early, so a mapping touches few pages. The file is bounds-checked like any other.
 */
#include "source/sched/kernel_btf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/error.h"

#define PATH "/sys/kernel/btf/vmlinux"
#define FILE_MAX_B ((size_t)256 << 20)

struct types {
	const uint8_t *at, *end;
	const char *strings;
	size_t strings_b;
};

/* Size of the data that follows a type's head; −1 for an unknown kind. */
static long tail_b(const struct btf_type *type)
{
	long members = BTF_INFO_VLEN(type->info);
	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case 17: /* BTF_KIND_DECL_TAG */
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return members * (long)sizeof(struct btf_member);
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		return members * 8;
	case BTF_KIND_DATASEC:
	case 19: /* BTF_KIND_ENUM64 */
		return members * 12;
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case 18: /* BTF_KIND_TYPE_TAG */
		return 0;
	default:
		return -1;
	}
}

static int is_named(const struct types *types, uint32_t offset, const char *name)
{
	size_t size_b = strlen(name) + 1;
	return offset < types->strings_b && size_b <= types->strings_b - offset &&
	       !memcmp(types->strings + offset, name, size_b);
}

/* True if the struct has the member; stores its offset in *offset_b. */
static int find_member(const struct types *types, const struct btf_type *type, const char *name, uint32_t *offset_b)
{
	const struct btf_member *members = (const struct btf_member *)(type + 1);
	for (size_t i = 0; i < BTF_INFO_VLEN(type->info); i++)
		if (is_named(types, members[i].name_off, name)) {
			uint32_t offset =
			    BTF_INFO_KFLAG(type->info) ? BTF_MEMBER_BIT_OFFSET(members[i].offset) : members[i].offset;
			*offset_b = offset / 8;
			return 1;
		}
	return 0;
}

/* True if the type is the wanted one; fills in `wish`. */
static int look(const struct types *types, const struct btf_type *type, uint32_t id, struct sonde_btf_wish *wish)
{
	for (int i = 0; i < 2; i++) {
		const struct sonde_btf_place *place = &wish->places[i];
		if (!place->name || BTF_INFO_KIND(type->info) != place->kind ||
		    !is_named(types, type->name_off, place->name))
			continue;
		if (place->member && !find_member(types, type, place->member, &wish->offset_b))
			continue;
		wish->id = id;
		wish->which = i;
		return 1;
	}
	return 0;
}

int sonde_btf_find(const void *file, size_t size_b, struct sonde_btf_wish *wishes, size_t count)
{
	const struct btf_header *head = file;
	if (size_b < sizeof *head || head->magic != BTF_MAGIC || head->hdr_len > size_b ||
	    head->type_off > size_b - head->hdr_len || head->type_len > size_b - head->hdr_len - head->type_off ||
	    head->str_off > size_b - head->hdr_len || head->str_len > size_b - head->hdr_len - head->str_off ||
	    (head->hdr_len | head->type_off) % 4)
		return sonde_error(EBADMSG, "the kernel's types (" PATH ") cannot be parsed");
	const uint8_t *body = (const uint8_t *)file + head->hdr_len;
	struct types types = {body + head->type_off, body + head->type_off + head->type_len,
			      (const char *)body + head->str_off, head->str_len};
	size_t found = 0;
	for (uint32_t id = 1; found < count && types.end - types.at >= (long)sizeof(struct btf_type); id++) {
		const struct btf_type *type = (const void *)types.at;
		long more_b = tail_b(type);
		if (more_b < 0 || more_b > types.end - types.at - (long)sizeof *type)
			return sonde_error(EBADMSG, "the kernel's types (" PATH ") have one of an unknown kind");
		for (size_t i = 0; i < count; i++)
			found += (size_t)(!wishes[i].id && look(&types, type, id, &wishes[i]));
		types.at += (long)sizeof *type + more_b;
	}
	return 0;
}

/* The whole file in memory; NULL on failure. */
static void *read_all(int fd, size_t size_b)
{
	uint8_t *bytes = malloc(size_b ? size_b : 1);
	size_t at = 0;
	while (bytes && at < size_b) {
		ssize_t got = read(fd, bytes + at, size_b - at);
		if (got <= 0) {
			free(bytes);
			return NULL;
		}
		at += (size_t)got;
	}
	return bytes;
}

int sonde_kernel_btf_find(struct sonde_btf_wish *wishes, size_t count)
{
	struct stat status;
	int fd = open(PATH, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) || status.st_size <= 0 || (size_t)status.st_size > FILE_MAX_B) {
		if (fd >= 0)
			close(fd);
		return sonde_error(ENOENT, "this kernel does not describe its types (" PATH ": CONFIG_DEBUG_INFO_BTF)");
	}
	size_t size_b = (size_t)status.st_size;
	void *mapped = mmap(NULL, size_b, PROT_READ, MAP_PRIVATE, fd, 0);
	void *bytes = mapped == MAP_FAILED ? read_all(fd, size_b) : mapped;
	int result = bytes ? sonde_btf_find(bytes, size_b, wishes, count)
			   : sonde_error(EIO, "the kernel's types (" PATH ") cannot be read");
	if (mapped == MAP_FAILED)
		free(bytes);
	else
		munmap(mapped, size_b);
	close(fd);
	return result;
}
