/* elf.h: the facts of an ELF file that recording needs: build-id, and from file offset to virtual address.
 *
 * Cheap: reads headers and notes only. The file stays open (for tables and symbols) until closed.
 */
#ifndef SONDE_SYMBOL_ELF_H
#define SONDE_SYMBOL_ELF_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_BUILD_ID_MAX_B 20

struct sonde_elf_segment {
	uint64_t address; /* virtual */
	uint64_t offset;  /* in the file */
	uint64_t size_b;  /* in the file */
};

struct sonde_elf {
	int fd;
	uint16_t machine; /* e_machine */
	int class64;
	char *path; /* as opened; may go through /proc/PID/root */
	uint8_t build_id[SONDE_BUILD_ID_MAX_B];
	size_t build_id_b; /* 0 = none */
	struct sonde_elf_segment segments[16]; /* PT_LOAD; executable ones first */
	size_t segment_count;
};

/* -EBADMSG with a sentence for what is not ELF. */
int sonde_elf_open(struct sonde_elf *out, const char *path);
void sonde_elf_close(struct sonde_elf *file);

/* Virtual address of a file offset; 0 and -ENOENT outside every segment. */
int sonde_elf_address(const struct sonde_elf *file, uint64_t offset, uint64_t *out);

/* Build-id from the raw bytes of a note section or segment (vdso, memory of a process); its size, or 0. */
size_t sonde_elf_note_build_id(const void *notes, size_t notes_b, uint8_t out[SONDE_BUILD_ID_MAX_B]);

#endif
