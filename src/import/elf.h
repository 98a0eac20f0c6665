/* elf.h: from an offset in a program's file to its virtual address, for files that may be here and may be others by
 * now.
 */
#ifndef SONDE_IMPORT_ELF_H
#define SONDE_IMPORT_ELF_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/elf.h"
#include "util/map.h"

/* Files by path and build-id, each looked at once. A zeroed struct is empty. */
struct sonde_import_elves {
	struct sonde_map map;
	struct sonde_import_elf_row *rows;
	uint32_t count, cap;
	uint64_t guessed; /* files that are not here, or others: the offset stood in for the address */
};

/* The virtual address of a file offset, where the file is here and has that build-id; else the offset itself: they are
 * equal in most programs. */
uint64_t sonde_import_elf_address(struct sonde_import_elves *elves, const char *path, const uint8_t *build_id,
				  size_t build_id_b, uint64_t offset);
void sonde_import_elves_fini(struct sonde_import_elves *elves);

#endif
