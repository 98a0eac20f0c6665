/* image.c: the files that are mapped executable, and their call-frame tables, opened on the first sample.
 *
 * A file is opened as the process sees it: through the mapping itself (/proc/PID/map_files, needs privileges, survives
 * deletion), as the program's own file (/proc/PID/exe, survives deletion), below the process's root, and finally by its
 * plain path, for processes that have exited. It must have the build-id that the kernel reported; otherwise the file
 * was replaced. If no file can be opened, the file offset is used as the virtual address (the two are equal in most
 * programs), and the module still has its name.
 */
#include "source/stack/image.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "symbol/frames/cfi.h"
#include "util/arena.h"
#include "util/error.h"

#define IMAGE_BUCKETS 1024

struct sonde_images {
	struct sonde_recorder *recorder;
	void (*slow)(void *context, int compiles);
	void *context;
	struct sonde_arena arena;
	struct sonde_image *buckets[IMAGE_BUCKETS];
};

int sonde_images_new(struct sonde_images **out, struct sonde_recorder *recorder,
		     void (*slow)(void *context, int compiles), void *context)
{
	struct sonde_images *images = calloc(1, sizeof *images);
	if (!images)
		return sonde_error(ENOMEM, "out of memory for the table of images");
	images->recorder = recorder;
	images->slow = slow;
	images->context = context;
	sonde_arena_init(&images->arena);
	*out = images;
	return 0;
}

void sonde_images_free(struct sonde_images *images)
{
	if (!images)
		return;
	for (size_t i = 0; i < IMAGE_BUCKETS; i++)
		for (struct sonde_image *image = images->buckets[i]; image; image = image->next)
			sonde_unwind_table_unmap(&image->table);
	sonde_arena_fini(&images->arena);
	free(images);
}

static enum sonde_image_kind kind_of(const struct sonde_image_key *key)
{
	const char *path = key->path;
	if (strcmp(path, "[vdso]") == 0)
		return key->start > UINT32_MAX ? SONDE_IMAGE_VDSO : SONDE_IMAGE_ANONYMOUS;
	if (path[0] != '/' || strncmp(path, "//anon", 6) == 0 || strncmp(path, "/dev/zero", 9) == 0 ||
	    strncmp(path, "/SYSV", 5) == 0 || strncmp(path, "/memfd:", 7) == 0)
		return SONDE_IMAGE_ANONYMOUS;
	return SONDE_IMAGE_FILE;
}

static int same(const struct sonde_image *image, const struct sonde_image_key *key)
{
	if (strcmp(image->path, key->path) != 0)
		return 0;
	if (key->build_id_b)
		return image->build_id_b == key->build_id_b &&
		       memcmp(image->build_id, key->build_id, key->build_id_b) == 0;
	return image->device == key->device && image->inode == key->inode && image->generation == key->generation;
}

struct sonde_image *sonde_images_get(struct sonde_images *images, const struct sonde_image_key *given)
{
	struct sonde_image_key key = *given;
	enum sonde_image_kind kind = kind_of(&key);
	if (kind == SONDE_IMAGE_ANONYMOUS)
		key = (struct sonde_image_key){.path = "[anon]"};
	if (key.build_id_b > SONDE_BUILD_ID_MAX_B)
		key.build_id_b = 0;
	uint64_t hash = sonde_hash_bytes(key.path, strlen(key.path));
	struct sonde_image **bucket = &images->buckets[hash % IMAGE_BUCKETS];
	for (struct sonde_image *image = *bucket; image; image = image->next)
		if (same(image, &key))
			return image;

	struct sonde_image *image = sonde_arena_alloc(&images->arena, sizeof *image);
	char *path = sonde_arena_strndup(&images->arena, key.path, strlen(key.path));
	if (!image || !path)
		return NULL;
	image->kind = kind;
	image->path = path;
	image->live_path = path;
	image->device = key.device;
	image->inode = key.inode;
	image->generation = key.generation;
	image->build_id_b = key.build_id_b;
	if (key.build_id_b)
		memcpy(image->build_id, key.build_id, key.build_id_b);
	image->next = *bucket;
	*bucket = image;
	return image;
}

/* True if `file` is the mapped file, as far as can be determined. */
static int matches(const struct sonde_image *image, const struct sonde_elf *file)
{
	if (image->build_id_b)
		return file->build_id_b == image->build_id_b &&
		       memcmp(file->build_id, image->build_id, image->build_id_b) == 0;
	struct stat status;
	return !image->inode || fstat(file->fd, &status) < 0 || status.st_ino == image->inode;
}

static int try_open(struct sonde_elf *out, const struct sonde_image *image, const char *path)
{
	struct sonde_elf file;
	int result = sonde_elf_open(&file, path);
	if (result < 0)
		return result;
	if (!matches(image, &file)) {
		sonde_elf_close(&file);
		return sonde_error(ESTALE, "%s was replaced after it was mapped", path);
	}
	*out = file;
	return 0;
}

/* `path` without the kernel's " (deleted)". */
static const char *live_path(struct sonde_images *images, const char *path)
{
	static const char suffix[] = " (deleted)";
	size_t len_b = strlen(path), suffix_b = sizeof suffix - 1;
	if (len_b <= suffix_b || strcmp(path + len_b - suffix_b, suffix) != 0)
		return path;
	const char *cut = sonde_arena_strndup(&images->arena, path, len_b - suffix_b);
	return cut ? cut : path;
}

static int open_file(struct sonde_elf *out, const struct sonde_image *image, pid_t pid, const struct sonde_mapping *map)
{
	char place[64], below[4200];
	snprintf(place, sizeof place, "/proc/%d/map_files/%llx-%llx", (int)pid, (unsigned long long)map->start,
		 (unsigned long long)map->end);
	if (try_open(out, image, place) == 0)
		return 0;
	ssize_t len_b;
	snprintf(place, sizeof place, "/proc/%d/exe", (int)pid);
	if ((len_b = readlink(place, below, sizeof below - 1)) > 0) {
		below[len_b] = '\0';
		if (strncmp(below, image->live_path, strlen(image->live_path)) == 0 && try_open(out, image, place) == 0)
			return 0;
	}
	int wanted_b = snprintf(below, sizeof below, "/proc/%d/root%s", (int)pid, image->live_path);
	if (wanted_b > 0 && (size_t)wanted_b < sizeof below && try_open(out, image, below) == 0)
		return 0;
	return try_open(out, image, image->live_path);
}

/* Opens our own vDSO as that of all processes: the kernel maps the same code into every 64-bit process. */
static int open_vdso(struct sonde_elf *out)
{
	const Elf64_Ehdr *head =
	    (const void *)getauxval(AT_SYSINFO_EHDR); /* NOLINT: the kernel passes it as a number */
	if (!head)
		return sonde_error(ENOENT, "this process has no vdso");
	return sonde_elf_open_bytes(out, "[vdso]", head, head->e_shoff + (size_t)head->e_shentsize * head->e_shnum);
}

static void say_slow(const struct sonde_images *images, int compiles)
{
	if (images->slow)
		images->slow(images->context, compiles);
}

/* Copies the properties that recording needs from `file`. */
static void take(const struct sonde_images *images, struct sonde_image *image, const struct sonde_elf *file)
{
	image->known = 1;
	image->entry = file->class64 ? file->entry : 0;
	image->segment_count = file->segment_count;
	memcpy(image->segments, file->segments, sizeof image->segments);
	if (!image->build_id_b) {
		image->build_id_b = file->build_id_b;
		memcpy(image->build_id, file->build_id, file->build_id_b);
	}
	struct sonde_unwind_table table;
	if (!file->class64)
		return;
	int result = sonde_cfi_open_cached(&table, file);
	if (result < 0) {
		say_slow(images, 1);
		result = sonde_cfi_open(&table, file);
	}
	if (result == 0)
		image->table = table;
}

void sonde_images_open(struct sonde_images *images, struct sonde_image *image, pid_t pid,
		       const struct sonde_mapping *map)
{
	if (image->opened)
		return;
	image->opened = 1;
	if (image->kind == SONDE_IMAGE_ANONYMOUS)
		return;
	say_slow(images, 0);
	image->live_path = live_path(images, image->path);
	struct sonde_elf file;
	int result = image->kind == SONDE_IMAGE_VDSO ? open_vdso(&file) : open_file(&file, image, pid, map);
	if (result == 0) {
		take(images, image, &file);
		sonde_elf_close(&file);
	}
	struct sonde_stack_module_key key = {
	    .path = image->live_path,
	    .build_id = image->build_id,
	    .build_id_b = image->build_id_b,
	    .flags = image->kind == SONDE_IMAGE_VDSO ? SONDE_MODULE_SPECIAL : 0,
	    .root_pid = pid,
	};
	image->module = sonde_recorder_module(images->recorder, &key);
}

int sonde_images_reopen(struct sonde_images *images, const struct sonde_image *image, pid_t pid,
			const struct sonde_mapping *map, struct sonde_elf *out)
{
	say_slow(images, 0);
	return open_file(out, image, pid, map);
}

uint64_t sonde_image_address(const struct sonde_image *image, const struct sonde_mapping *map, uint64_t address)
{
	if (image->kind == SONDE_IMAGE_ANONYMOUS)
		return address;
	uint64_t offset = address - map->start + map->offset;
	for (size_t i = 0; i < image->segment_count; i++) {
		const struct sonde_elf_segment *segment = &image->segments[i];
		if (offset >= segment->offset && offset - segment->offset < segment->size_b)
			return segment->address + (offset - segment->offset);
	}
	return offset;
}
