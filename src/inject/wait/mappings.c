/* mappings.c: the code mapped in this process, as reported by its loader: path, build-id and range of each object, so
 * that the recorder finds the same files after the process has ended.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "format/early.h"
#include "inject/hook/machine.h"
#include "inject/hook/objects.h"
#include "inject/wait/waits.h"

#define PAGE_B ((uint64_t)4096)
#define GNU_BUILD_ID 3u

struct each {
	int (*take)(void *context, const uint64_t *head, const uint64_t *path, uint32_t path_words);
	void *context;
	int error;
};

/* True if the bytes are part of a loaded segment; notes may lie outside. */
static int is_loaded(const struct dl_phdr_info *object, const ElfW(Phdr) * part)
{
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *whole = &object->dlpi_phdr[i];
		if (whole->p_type == PT_LOAD && whole->p_flags & PF_R && part->p_vaddr >= whole->p_vaddr &&
		    part->p_vaddr - whole->p_vaddr < whole->p_filesz &&
		    part->p_memsz <= whole->p_filesz - (part->p_vaddr - whole->p_vaddr))
			return 1;
	}
	return 0;
}

static uint8_t find_build_id(const struct dl_phdr_info *object, uint64_t out[3])
{
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];
		const char *note = (const char *)(object->dlpi_addr + part->p_vaddr), *end = note + part->p_memsz;
		int is_there = part->p_type == PT_NOTE && is_loaded(object, part);
		while (is_there && (size_t)(end - note) > sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *head = (const ElfW(Nhdr) *)(const void *)note;
			size_t name_b = (head->n_namesz + 3u) & ~3u, text_b = (head->n_descsz + 3u) & ~3u;
			const char *text = note + sizeof(*head) + name_b;
			if (name_b + text_b > (size_t)(end - note) - sizeof(*head))
				break;
			if (head->n_type == GNU_BUILD_ID && head->n_namesz == 4 && !memcmp(head + 1, "GNU", 4) &&
			    head->n_descsz <= SONDE_EARLY_BUILD_ID_MAX_B) {
				memcpy(out, text, head->n_descsz);
				return (uint8_t)head->n_descsz;
			}
			note = text + text_b;
		}
	}
	return 0;
}

/* Finds an object's path. For the program that the kernel executed, the loader itself reports no path (glibc) or the
 * name by which the program was invoked (musl). A program that was passed to the loader as an argument has no path
 * here, since the kernel loaded only the loader. */
static size_t path_of(const struct dl_phdr_info *object, char *out)
{
	size_t path_b = strnlen(object->dlpi_name, SONDE_EARLY_PATH_MAX_B + 1);
	if (*object->dlpi_name == '/' && path_b <= SONDE_EARLY_PATH_MAX_B) {
		memcpy(out, object->dlpi_name, path_b);
		return path_b;
	}
	if ((uintptr_t)object->dlpi_phdr != getauxval(AT_PHDR) || !getauxval(AT_BASE))
		return 0;
	long got = inject_machine_call(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)out,
				       SONDE_EARLY_PATH_MAX_B + 1, 0, 0);
	return got > 0 && got <= (long)SONDE_EARLY_PATH_MAX_B && *out == '/' ? (size_t)got : 0;
}

static int is_vdso(const struct dl_phdr_info *object)
{
	return !strncmp(object->dlpi_name, "linux-", sizeof("linux-") - 1);
}

static int take_object(struct dl_phdr_info *object, size_t size_b, void *data)
{
	struct each *each = data;
	uint64_t path[SONDE_EARLY_PATH_MAX_B / 8 + 1] = {0}, id[3] = {0};
	(void)size_b;
	if (is_vdso(object)) /* no hooked call comes from there */
		return 0;
	size_t path_b = path_of(object, (char *)path);
	uint8_t id_b = find_build_id(object, id);
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];
		uint32_t path_words = (uint32_t)(path_b + 7) / 8;
		uint64_t start = (object->dlpi_addr + part->p_vaddr) & ~(PAGE_B - 1);
		uint64_t end = (object->dlpi_addr + part->p_vaddr + part->p_memsz + PAGE_B - 1) & ~(PAGE_B - 1);
		uint64_t head[SONDE_EARLY_MAPPING_HEAD] = {
		    sonde_heap_op((enum sonde_heap_op)SONDE_EARLY_MAPPING),
		    path_b << 32 | id_b,
		    start,
		    end,
		    part->p_offset & ~(PAGE_B - 1),
		    id[0],
		    id[1],
		    id[2],
		};
		if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
			continue;
		each->error = path_b ? each->take(each->context, head, path, path_words) : -1;
		if (each->error)
			return each->error;
	}
	return 0;
}

int wait_mappings_each(int (*take)(void *context, const uint64_t *head, const uint64_t *path, uint32_t path_words),
		       void *context)
{
	struct each each = {take, context, -1};
	inject_objects_each(take_object, &each);
	return each.error;
}
