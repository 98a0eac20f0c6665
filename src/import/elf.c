/* elf.c: reads and caches the segments of ELF files by path and build-id (elf.h). */
#include "import/elf.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "util/array.h"

enum { FILES_MAX = 65536 };

struct sonde_import_elf_row {
	uint64_t hash;
	int known;
	struct sonde_elf_segment segments[16];
	size_t segment_count;
};

static int same(const void *context, uint32_t value)
{
	(void)context;
	(void)value;
	return 1;
}

/* Reads the segments of a file. Devices and pipes are not opened, because that could block. */
static void look(struct sonde_import_elf_row *row, const char *path, const uint8_t *build_id, size_t build_id_b)
{
	struct stat status;
	struct sonde_elf file;
	if (*path != '/' || stat(path, &status) || !S_ISREG(status.st_mode) || sonde_elf_open(&file, path))
		return;
	row->known = !build_id_b || (file.build_id_b == build_id_b && !memcmp(file.build_id, build_id, build_id_b));
	row->segment_count = file.segment_count;
	memcpy(row->segments, file.segments, sizeof row->segments);
	sonde_elf_close(&file);
}

static struct sonde_import_elf_row *row_of(struct sonde_import_elves *elves, const char *path, const uint8_t *build_id,
					   size_t build_id_b)
{
	uint64_t hash = sonde_hash_pair(sonde_hash_bytes(path, strlen(path)),
					build_id_b ? sonde_hash_bytes(build_id, build_id_b) : 0);
	uint32_t at = sonde_map_find(&elves->map, hash, same, NULL);
	if (at)
		return &elves->rows[at - 1];
	if (elves->count == FILES_MAX)
		return NULL;
	if (SONDE_ARRAY_RESERVE(elves->rows, elves->cap, elves->count + 1))
		return NULL;
	struct sonde_import_elf_row *row = &elves->rows[elves->count];
	*row = (struct sonde_import_elf_row){.hash = hash};
	look(row, path, build_id, build_id_b);
	elves->guessed += !row->known;
	elves->count++;
	sonde_map_add(&elves->map, hash, elves->count);
	return row;
}

uint64_t sonde_import_elf_address(struct sonde_import_elves *elves, const char *path, const uint8_t *build_id,
				  size_t build_id_b, uint64_t offset)
{
	const struct sonde_import_elf_row *row = row_of(elves, path, build_id, build_id_b);
	for (size_t i = 0; row && row->known && i < row->segment_count; i++) {
		const struct sonde_elf_segment *segment = &row->segments[i];
		if (offset >= segment->offset && offset - segment->offset < segment->size_b)
			return segment->address + (offset - segment->offset);
	}
	return offset;
}

void sonde_import_elves_fini(struct sonde_import_elves *elves)
{
	sonde_map_fini(&elves->map);
	free(elves->rows);
	*elves = (struct sonde_import_elves){0};
}
