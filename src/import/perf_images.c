/* perf_images.c: mappings, conversion of addresses in processes to addresses in the modules' files, and kernel symbols
 * (perf_replay.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "import/perf_replay.h"
#include "symbol/symbol.h"

enum { IMAGES_MAX = 1 << 18 };

/* --- mappings ----------------------------------------------------------------------------------------------------- */

static uint32_t flags_of(const char *path, int in_kernel)
{
	if (in_kernel)
		return SONDE_MODULE_KERNEL;
	if (*path == '[')
		return strncmp(path, "[v", 2) ? SONDE_MODULE_ANONYMOUS : SONDE_MODULE_SPECIAL;
	return *path != '/' || !strncmp(path, "//anon", 6) || !strncmp(path, "/memfd:", 7) ||
		       !strncmp(path, "/dev/zero", 9) || !strncmp(path, "/SYSV", 5)
		   ? SONDE_MODULE_ANONYMOUS
		   : 0;
}

struct image_probe {
	const struct sonde_perf_replay *replay;
	const char *path;
	const uint8_t *build_id;
	size_t build_id_b;
};

static int same_image(const void *context, uint32_t value)
{
	const struct image_probe *probe = context;
	const struct sonde_perf_image *image = probe->replay->images[value - 1];
	return !strcmp(image->path, probe->path) &&
	       (!probe->build_id_b || (image->build_id_b == probe->build_id_b &&
				       !memcmp(image->build_id, probe->build_id, probe->build_id_b)));
}

struct build_id_probe {
	const struct sonde_perf *perf;
	const char *path;
};

static int same_path(const void *context, uint32_t value)
{
	const struct build_id_probe *probe = context;
	return !strcmp(probe->perf->build_ids[value - 1].path, probe->path);
}

static const struct sonde_perf_build_id *build_id_of(const struct sonde_perf *perf, const char *path)
{
	struct build_id_probe probe = {perf, path};
	uint64_t hash = sonde_hash_bytes(path, strlen(path));
	uint32_t at = sonde_map_find(&perf->build_id_map, hash, same_path, &probe);
	return at ? &perf->build_ids[at - 1] : NULL;
}

static struct sonde_perf_image *image_of(struct sonde_perf_replay *replay, const char *path, const uint8_t *build_id,
					 size_t build_id_b, int in_kernel)
{
	struct image_probe probe = {replay, path, build_id, build_id_b};
	uint64_t hash = sonde_hash_bytes(path, strlen(path));
	uint32_t at = sonde_map_find(&replay->image_map, hash, same_image, &probe);
	if (at)
		return replay->images[at - 1];
	if (replay->image_count == IMAGES_MAX ||
	    sonde_perf_grow(replay, &replay->images, replay->image_count, &replay->image_cap, sizeof *replay->images))
		return NULL;
	struct sonde_perf_image *image = sonde_arena_alloc(&replay->perf->arena, sizeof *image);
	const struct sonde_perf_build_id *listed = build_id_b ? NULL : build_id_of(replay->perf, path);
	if (!image)
		return NULL;
	*image = (struct sonde_perf_image){.path = sonde_arena_strndup(&replay->perf->arena, path, strlen(path)),
					   .flags = flags_of(path, in_kernel)};
	if (listed)
		build_id = listed->bytes, build_id_b = listed->size_b;
	void *copy = sonde_arena_alloc(&replay->perf->arena, SONDE_BUILD_ID_MAX_B);
	if (!image->path || !copy)
		return NULL;
	image->build_id_b = build_id_b <= SONDE_BUILD_ID_MAX_B ? (uint32_t)build_id_b : 0;
	if (image->build_id_b)
		memcpy(copy, build_id, image->build_id_b);
	image->build_id = copy;
	replay->images[replay->image_count++] = image;
	sonde_perf_keep(replay, sonde_map_add(&replay->image_map, hash, replay->image_count));
	return image;
}

void sonde_perf_map_take(struct sonde_perf_replay *replay, const uint8_t *record, size_t size_b, uint64_t time_ns)
{
	struct perf_event_header head;
	char path[SONDE_PERF_PATH_MAX_B];
	memcpy(&head, record, sizeof head);
	int is_new = head.type == PERF_RECORD_MMAP2;
	size_t path_at = is_new ? 72 : 40;
	if (size_b <= path_at || (!is_new && head.misc & PERF_RECORD_MISC_MMAP_DATA) ||
	    (is_new && !(sonde_perf_u32(record, 64) & 4))) /* PROT_EXEC */
		return;
	snprintf(path, sizeof path, "%.*s", (int)strnlen((const char *)record + path_at, size_b - path_at),
		 (const char *)record + path_at);
	uint32_t pid = sonde_perf_u32(record, 8);
	int has_id = is_new && head.misc & (1u << 14); /* PERF_RECORD_MISC_MMAP_BUILD_ID */
	int in_kernel =
	    pid == SONDE_PERF_NO_PID || (head.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	int is_core = in_kernel && !strncmp(path, "[kernel.kallsyms]", 17);
	struct sonde_perf_map map = {.start = sonde_perf_u64(record, 16), .offset = sonde_perf_u64(record, 32)};
	map.end = map.start + sonde_perf_u64(record, 24);
	if (map.end < map.start)
		map.end = UINT64_MAX;
	if (is_core)
		replay->kernel_start = map.start;
	map.image = image_of(replay, is_core ? "[kernel.kallsyms]" : path, record + 44,
			     has_id && record[40] <= 20 ? record[40] : 0, in_kernel);
	struct sonde_perf_process *process = in_kernel ? NULL : sonde_perf_process_of(replay, pid, time_ns);
	if (!map.image || (!in_kernel && !process)) {
		replay->maps_lost++;
		return;
	}
	if (is_core)
		replay->core = map.image;
	struct sonde_perf_maps *maps = in_kernel ? &replay->kernel : &process->maps;
	size_t before = maps->cap;
	int rc = replay->maps_b > SONDE_PERF_REPLAY_MAPS_MAX_B ? -EFBIG : sonde_perf_maps_add(maps, &map);
	replay->maps_b += (maps->cap - before) * sizeof *maps->rows;
	replay->maps_lost += rc == -EFBIG;
	sonde_perf_keep(replay, rc == -EFBIG ? 0 : rc);
}

/* --- addresses ---------------------------------------------------------------------------------------------------- */

struct sonde_trie_frame sonde_perf_kernel_frame(struct sonde_perf_replay *replay, uint64_t address)
{
	struct sonde_out *out = &replay->job->out;
	const struct sonde_perf_image *core = replay->core;
	uint32_t module = sonde_out_module(out, "[kernel]", SONDE_MODULE_KERNEL, core ? core->build_id : NULL,
					   core ? core->build_id_b : 0);
	if (!sonde_map_find(&replay->kernel_seen, sonde_hash_mix(address), NULL, NULL) &&
	    !sonde_perf_grow(replay, &replay->kernel_addresses, replay->kernel_count, &replay->kernel_cap,
			     sizeof *replay->kernel_addresses)) {
		replay->kernel_addresses[replay->kernel_count++] = address;
		sonde_perf_keep(replay,
				sonde_map_add(&replay->kernel_seen, sonde_hash_mix(address), replay->kernel_count));
	}
	return (struct sonde_trie_frame){.module = module, .address = address};
}

struct sonde_trie_frame sonde_perf_user_frame(struct sonde_perf_replay *replay, uint32_t pid, uint64_t address,
					      unsigned back)
{
	struct sonde_perf_process *process = sonde_perf_process_of(replay, pid, replay->perf->first_ns);
	const struct sonde_perf_map *map = process ? sonde_perf_maps_find(&process->maps, address - back) : NULL;
	struct sonde_perf_image *image = map ? map->image : NULL;
	struct sonde_stack_module_key key = {.path = "[unknown]", .flags = SONDE_MODULE_ANONYMOUS};
	address -= back;
	key.process = process ? process->id : 0;
	if (!image || image->flags & SONDE_MODULE_ANONYMOUS) {
		replay->unmapped += !image;
		key.path = image ? "[anon]" : "[unknown]";
		return (struct sonde_trie_frame){sonde_trie_module(&replay->job->out.trie, &key), address};
	}
	if (!image->module)
		image->module =
		    sonde_out_module(&replay->job->out, image->path, image->flags, image->build_id, image->build_id_b);
	uint64_t offset = address - map->start + map->offset;
	if (!(image->flags & SONDE_MODULE_SPECIAL))
		offset =
		    sonde_import_elf_address(&replay->elves, image->path, image->build_id, image->build_id_b, offset);
	return (struct sonde_trie_frame){image->module, offset};
}

/* --- the kernel's symbols ----------------------------------------------------------------------------------------- */

static int by_address(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return a < b ? -1 : a > b;
}

/* True if the file is from the kernel that is running now, loaded at the same address: its symbol _text is at the
 * address at which perf saw the kernel start. */
static int is_this_kernel(const struct sonde_perf_replay *replay)
{
	uint8_t notes[4096], id[SONDE_BUILD_ID_MAX_B];
	FILE *file = fopen("/sys/kernel/notes", "re");
	size_t notes_b = file ? fread(notes, 1, sizeof notes, file) : 0;
	if (file)
		fclose(file);
	size_t id_b = sonde_elf_note_build_id(notes, notes_b, id);
	if (!replay->core || !id_b || replay->core->build_id_b != id_b || memcmp(replay->core->build_id, id, id_b))
		return 0;
	char line[256];
	unsigned long long address = 0, start = 0;
	char type, name[128];
	file = fopen("/proc/kallsyms", "re");
	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "%llx %c %127s", &address, &type, name) == 3 &&
		    (!strcmp(name, "_stext") || !strcmp(name, "_text"))) {
			start = address;
			if (start == replay->kernel_start)
				break;
		}
	if (file)
		fclose(file);
	return start && start == replay->kernel_start;
}

void sonde_perf_kernel_name(struct sonde_perf_replay *replay)
{
	struct sonde_symbols *symbols = NULL;
	struct sonde_symbol_result *results = calloc(replay->kernel_count + 1, sizeof *results);
	struct sonde_out *out = &replay->job->out;
	if (!replay->kernel_count || !results) {
		free(results);
		return;
	}
	if (!is_this_kernel(replay) || sonde_symbols_kernel(&symbols)) {
		sonde_out_note(replay->job,
			       "%u kernel addresses have no names: another kernel or boot, or hidden symbols",
			       replay->kernel_count);
		free(results);
		return;
	}
	uint32_t module = sonde_perf_kernel_frame(replay, replay->kernel_addresses[0]).module;
	qsort(replay->kernel_addresses, replay->kernel_count, sizeof *replay->kernel_addresses, by_address);
	if (!sonde_symbols_resolve(symbols, replay->kernel_addresses, replay->kernel_count, results))
		for (uint32_t i = 0; i < replay->kernel_count; i++) {
			if (!results[i].count)
				continue;
			const struct sonde_symbol_location *from = &results[i].locations[results[i].count - 1];
			struct sonde_meta_location place = {.function = sonde_out_text(out, from->function),
							    .start = from->start};
			sonde_out_symbol(out, module, replay->kernel_addresses[i], &place, 1);
		}
	sonde_symbols_close(symbols);
	free(results);
}
