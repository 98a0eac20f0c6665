/* elf.h: maps a file offset of a program to its virtual address, for files that may be missing here or may have
 * changed. */
#ifndef SONDE_IMPORT_ELF_H
#define SONDE_IMPORT_ELF_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/elf.h"
#include "util/map.h"

/* Cache of files by path and build-id; each is opened once. A zeroed struct is empty. */
struct sonde_import_elves {
	struct sonde_map map;
	struct sonde_import_elf_row *rows;
	uint32_t count;
	size_t cap;
	uint64_t guessed; /* number of files missing or different here, for which the offset is used as address */
};

/* Returns the virtual address of a file offset if the file exists here and has that build-id; otherwise the offset
 * itself, which equals the address in most programs. */
uint64_t sonde_import_elf_address(struct sonde_import_elves *elves, const char *path, const uint8_t *build_id,
				  size_t build_id_b, uint64_t offset);
void sonde_import_elves_fini(struct sonde_import_elves *elves);

#endif
