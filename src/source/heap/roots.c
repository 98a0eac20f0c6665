/* roots.c: reads the mappings of a process, and selects the roots among them (heap/roots.h). */
#include "source/heap/roots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/stack/maps.h"
#include "util/array.h"
#include "util/error.h"

/* --- mappings ---------------------------------------------------------------------------------------------------- */

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* ld-linux-x86-64.so.2, ld-2.31.so, ld-musl-x86_64.so.1; static programs have none. */
static int is_loader(const char *path)
{
	const char *name = name_of(path);
	return !strncmp(name, "ld-", 3) || !strncmp(name, "ld64.so", 7) || !strcmp(name, "ld.so");
}

static int is_libc(const char *path)
{
	const char *name = name_of(path);
	return !strncmp(name, "libc.so", 7) || !strncmp(name, "libc-2.", 7);
}

static enum sonde_heap_area_kind kind_of(const struct sonde_maps_line *line, const char *mode,
					 const struct sonde_heap_area *before)
{
	if (mode[0] != 'r' || mode[1] != 'w' || mode[3] != 'p' || !strncmp(name_of(line->path), "libsonde-", 9))
		return SONDE_HEAP_AREA_NOT;
	if (line->inode)
		return SONDE_HEAP_AREA_DATA;
	if (!strcmp(line->path, "[heap]"))
		return SONDE_HEAP_AREA_BREAK;
	if (!strcmp(line->path, "[stack]"))
		return SONDE_HEAP_AREA_STACK;
	if (*line->path && strncmp(line->path, "[anon", 5))
		return SONDE_HEAP_AREA_NOT;
	return before && before->end == line->start && before->kind == SONDE_HEAP_AREA_DATA ? SONDE_HEAP_AREA_DATA
											    : SONDE_HEAP_AREA_OTHER;
}

static struct sonde_heap_area *add(struct sonde_heap_areas *map)
{
	if (SONDE_ARRAY_RESERVE(map->rows, map->cap, map->count + 1))
		return NULL;
	return &map->rows[map->count++];
}

/* A line that starts a mapping begins with a lower-case letter or a digit, its attribute lines with a capital. */
int sonde_heap_areas_parse(struct sonde_heap_areas *out, FILE *file)
{
	struct sonde_heap_area *last = NULL;
	int is_ours = 0; /* true if the last mapping is sonde's own: then the adjacent one is ours, too */
	char *line = NULL;
	size_t line_b = 0;
	*out = (struct sonde_heap_areas){0};
	while (getline(&line, &line_b, file) > 0) {
		struct sonde_maps_line parsed;
		if (*line >= 'A' && *line <= 'Z') {
			if (last && !strncmp(line, "VmFlags:", 8) && (strstr(line, " wf") || strstr(line, " io")))
				last->kind = SONDE_HEAP_AREA_NOT;
			continue;
		}
		char mode[5] = "", *space = strchr(line, ' ');
		if (space && strlen(space) > 5)
			memcpy(mode, space + 1, 4);
		if (sonde_maps_parse(line, &parsed))
			continue;
		const struct sonde_heap_area *before = out->count ? &out->rows[out->count - 1] : NULL;
		int behind_ours = is_ours && !parsed.inode && !*parsed.path && before && before->end == parsed.start;
		struct sonde_heap_area made = {.start = parsed.start,
					       .end = parsed.end,
					       .kind = kind_of(&parsed, mode, before),
					       .is_libc = is_libc(parsed.path),
					       .is_loader = is_loader(parsed.path)};
		is_ours = behind_ours || !strncmp(name_of(parsed.path), "libsonde-", 9);
		last = add(out);
		if (!last) {
			free(line);
			return sonde_error(ENOMEM, "no memory for the mappings of a process");
		}
		*last = made;
		if (behind_ours)
			last->kind = SONDE_HEAP_AREA_NOT;
	}
	free(line);
	return 0;
}

int sonde_heap_areas_read(struct sonde_heap_areas *out, pid_t pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/smaps", (int)pid);
	FILE *file = fopen(path, "re");
	*out = (struct sonde_heap_areas){0};
	if (!file)
		return sonde_error(errno, "cannot read %s: %s", path, strerror(errno));
	int code = sonde_heap_areas_parse(out, file);
	fclose(file);
	return code ? code : out->count ? 0 : sonde_error(ESRCH, "%s is empty", path);
}

void sonde_heap_areas_free(struct sonde_heap_areas *map)
{
	free(map->rows);
	*map = (struct sonde_heap_areas){0};
}

struct sonde_heap_extent sonde_heap_areas_loader(pid_t pid)
{
	struct sonde_heap_extent found = {0, 0};
	char path[64], *line = NULL;
	size_t line_b = 0;
	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	FILE *file = fopen(path, "re");
	while (file && getline(&line, &line_b, file) > 0) {
		struct sonde_maps_line parsed;
		if (sonde_maps_parse(line, &parsed) || !parsed.executable || !is_loader(parsed.path))
			continue;
		found = (struct sonde_heap_extent){parsed.start, parsed.end};
		break;
	}
	if (file)
		fclose(file);
	free(line);
	return found;
}

static const struct sonde_heap_area *find(const struct sonde_heap_areas *map, uint64_t address)
{
	for (size_t i = 0; i < map->count; i++)
		if (address >= map->rows[i].start && address < map->rows[i].end)
			return map->rows[i].kind == SONDE_HEAP_AREA_NOT ? NULL : &map->rows[i];
	return NULL;
}

/* --- roots ------------------------------------------------------------------------------------------------------- */

/* Scans a stack from its stack pointer up. The stack may be a heap block, or a part of one. */
static int scan_stack(const struct sonde_heap_roots *roots, struct sonde_heap_scan *scan, uint64_t stack)
{
	const struct sonde_heap_area *mapping = stack ? find(roots->map, stack) : NULL;
	size_t i = sonde_heap_scan_find(scan, stack);
	if (!mapping)
		return 0;
	if (i == sonde_heap_scan_count(scan))
		return sonde_heap_scan_root(scan, (struct sonde_heap_extent){stack, mapping->end});
	const struct sonde_heap_found *block = sonde_heap_scan_block(scan, i);
	return sonde_heap_scan_whole(scan, (struct sonde_heap_extent){stack, block->address + block->size_b});
}

/* Thread-local storage is around the thread's control block: at the top of its stack or, for the first thread, in a
 * mapping of the loader. */
static int scan_storage(const struct sonde_heap_roots *roots, struct sonde_heap_scan *scan, uint64_t pointer,
			uint64_t stack)
{
	const struct sonde_heap_area *mapping = pointer ? find(roots->map, pointer) : NULL;
	if (!mapping || (stack >= mapping->start && stack < mapping->end) || mapping->kind == SONDE_HEAP_AREA_DATA)
		return 0;
	return sonde_heap_scan_root(scan, (struct sonde_heap_extent){mapping->start, mapping->end});
}

static int scan_threads(const struct sonde_heap_roots *roots, struct sonde_heap_scan *scan)
{
	int code = scan_stack(roots, scan, roots->stack);
	code = code ? code : scan_storage(roots, scan, roots->thread_pointer, roots->stack);
	for (size_t i = 0; !code && i < roots->threads->count; i++) {
		const struct sonde_heap_thread *thread = &roots->threads->rows[i];
		code = sonde_heap_scan_words(scan, thread->words, thread->count);
		code = code ? code : scan_stack(roots, scan, thread->stack);
		code = code ? code : scan_storage(roots, scan, thread->thread_pointer, thread->stack);
	}
	return code;
}

static int scan_own(const struct sonde_heap_live *mappings, struct sonde_heap_scan *scan)
{
	struct sonde_heap_block block;
	int code = 0;
	for (size_t at = 0; !code && mappings && sonde_heap_live_next(mappings, &at, &block);)
		code =
		    sonde_heap_scan_root(scan, (struct sonde_heap_extent){block.address, block.address + block.size_b});
	return code;
}

static int is_stack_unknown(const struct sonde_heap_threads *threads)
{
	for (size_t i = 0; i < threads->count; i++)
		if (!threads->rows[i].stack)
			return 1;
	return 0;
}

/* The address of the first block in a mapping, or the mapping's end. */
static uint64_t first_block(const struct sonde_heap_area *mapping, const struct sonde_heap_scan *scan)
{
	size_t i = sonde_heap_scan_first(scan, mapping->start);
	uint64_t address = i < sonde_heap_scan_count(scan) ? sonde_heap_scan_block(scan, i)->address : mapping->end;
	return address < mapping->end ? address : mapping->end;
}

static int is_root(const struct sonde_heap_roots *roots, const struct sonde_heap_area *mapping,
		   const struct sonde_heap_scan *scan, int guess)
{
	switch (mapping->kind) {
	case SONDE_HEAP_AREA_DATA:
		return 1;
	case SONDE_HEAP_AREA_STACK:
		return guess;
	case SONDE_HEAP_AREA_OTHER:
		return roots->all || (guess && first_block(mapping, scan) == mapping->end);
	case SONDE_HEAP_AREA_BREAK:
		return roots->all;
	default:
		return 0;
	}
}

/* The program's data within the break mapping. If the data ends exactly where the heap of brk() starts, the kernel
 * shows both as one mapping; the data is the part before the first block. */
static struct sonde_heap_extent data_in_break(const struct sonde_heap_areas *map, size_t i,
					      const struct sonde_heap_scan *scan)
{
	const struct sonde_heap_area *at = &map->rows[i];
	int is_joined = at->kind == SONDE_HEAP_AREA_BREAK && i && map->rows[i - 1].end == at->start;
	return (struct sonde_heap_extent){at->start, is_joined ? first_block(at, scan) : at->start};
}

/* --- glibc's first arena ------------------------------------------------------------------------------------------
 * The data of this arena is in glibc's .data. It has pointers to free chunks, each of which begins in the last bytes of
 * the block before it (heap/scan.h). The arena is recognised by its lists, most of which are empty and point to
 * themselves, and by the ring of arenas. Layout of struct malloc_state: glibc 2.27 to 2.41; in older versions the lists
 * began 8 bytes earlier. */

#define DATA_MAX_B (256u << 10)
#define LISTS 127u
#define LISTS_EMPTY 16u
#define LISTS_B (LISTS * 16u)
#define NEXT_B (LISTS_B + 16u) /* offset of the pointer to the next arena from the start of the lists */
#define ARENA_B (NEXT_B + 8u)
#define ARENAS_MAX 1024

/* True if the list of arenas, starting with `next`, leads back to this one. */
static int is_ring(const struct sonde_heap_reader *reader, uint64_t arena, uint32_t lists_at, uint64_t next)
{
	for (int i = 0; i < ARENAS_MAX && next && next % 8 == 0; i++) {
		struct sonde_heap_extent piece = {next + lists_at + NEXT_B, next + lists_at + ARENA_B};
		if (next == arena)
			return 1;
		if (reader->read(reader->context, &piece, 1, &next))
			return 0;
	}
	return 0;
}

static uint32_t count_empty(const uint64_t *lists, uint64_t address)
{
	uint32_t empty = 0;
	for (uint32_t i = 0; i < LISTS; i++) {
		uint64_t head = address + 16u * i - 16;
		empty += lists[2 * i] == head && lists[2 * i + 1] == head;
	}
	return empty;
}

/* The arena within an area, or an empty extent at the end of the area. */
static struct sonde_heap_extent find_arena(const struct sonde_heap_roots *roots, const struct sonde_heap_area *area)
{
	struct sonde_heap_extent none = {area->end, area->end}, all = {area->start, area->end};
	size_t size_b = (size_t)(area->end - area->start);
	uint64_t *words = area->is_libc && size_b <= DATA_MAX_B ? malloc(size_b) : NULL;
	if (!words || roots->reader->read(roots->reader->context, &all, 1, words)) {
		free(words);
		return none;
	}
	for (uint32_t lists_at = 112; lists_at >= 104; lists_at -= 8)
		for (size_t at_b = 0; at_b + lists_at + ARENA_B <= size_b; at_b += 8) {
			uint64_t arena = area->start + at_b;
			if (count_empty(words + (at_b + lists_at) / 8, arena + lists_at) < LISTS_EMPTY ||
			    !is_ring(roots->reader, arena, lists_at, words[(at_b + lists_at + NEXT_B) / 8]))
				continue;
			free(words);
			return (struct sonde_heap_extent){arena, arena + lists_at + ARENA_B};
		}
	free(words);
	return none;
}

static int scan_data(const struct sonde_heap_roots *roots, struct sonde_heap_scan *scan,
		     const struct sonde_heap_area *area)
{
	struct sonde_heap_extent arena = find_arena(roots, area);
	int code = sonde_heap_scan_root(scan, (struct sonde_heap_extent){area->start, arena.start});
	return code ? code : sonde_heap_scan_root(scan, (struct sonde_heap_extent){arena.end, area->end});
}

int sonde_heap_roots_scan(const struct sonde_heap_roots *roots, struct sonde_heap_scan *scan)
{
	if (roots->all)
		sonde_heap_scan_without_tails(scan);
	int code = scan_threads(roots, scan), guess = is_stack_unknown(roots->threads);
	for (size_t i = 0; !code && i < roots->map->count; i++) {
		const struct sonde_heap_area *mapping = &roots->map->rows[i];
		struct sonde_heap_extent part = data_in_break(roots->map, i, scan);
		if (is_root(roots, mapping, scan, guess))
			part = (struct sonde_heap_extent){mapping->start, mapping->end};
		if (part.start < part.end && mapping->kind == SONDE_HEAP_AREA_DATA)
			code = scan_data(roots, scan, mapping);
		else if (part.start < part.end)
			code = sonde_heap_scan_root(scan, part);
	}
	return code ? code : scan_own(roots->mappings, scan);
}
