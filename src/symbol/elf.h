/* elf.h: the ELF facts that recording needs: the build-id, and the mapping from file offset to virtual address.
 *
 * Cheap: reads only headers and notes. The file stays open (for tables and symbols) until it is closed.
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
	uint64_t entry; /* virtual address of a program's first instruction; 0 = none */
	char *path;     /* as opened; may go through /proc/PID/root */
	uint8_t build_id[SONDE_BUILD_ID_MAX_B];
	size_t build_id_b;                     /* 0 = none */
	struct sonde_elf_segment segments[16]; /* PT_LOAD; executable ones first */
	size_t segment_count;
	size_t executable_count;
	struct sonde_elf_segment frame_header; /* PT_GNU_EH_FRAME; size_b 0 = none */
};

struct sonde_elf_section {
	uint32_t type; /* SHT_… */
	uint32_t link;
	uint64_t flags, address, offset, size_b, entry_b;
};

/* -EBADMSG with a message if the file is not ELF. */
int sonde_elf_open(struct sonde_elf *out, const char *path);

/* Opens an image in memory ([vdso]), which is copied; `name` becomes the path. */
int sonde_elf_open_bytes(struct sonde_elf *out, const char *name, const void *bytes, size_t size_b);
void sonde_elf_close(struct sonde_elf *file);

/* Virtual address of a file offset; -ENOENT outside every segment. */
int sonde_elf_address(const struct sonde_elf *file, uint64_t offset, uint64_t *out);

/* True if the address is in an executable segment. */
int sonde_elf_is_code(const struct sonde_elf *file, uint64_t address);

/* The section of that name; -ENOENT if there is none. */
int sonde_elf_section(const struct sonde_elf *file, const char *name, struct sonde_elf_section *out);
int sonde_elf_section_at(const struct sonde_elf *file, uint32_t index, struct sonde_elf_section *out);

/* True if any section is compressed. */
int sonde_elf_is_packed(const struct sonde_elf *file);

/* The maximum size that packed_b compressed bytes may expand to: about a hundred times as much, at most max_b (≥ 16
 * MB). */
size_t sonde_elf_unpacked_max(size_t packed_b, size_t max_b);

/* The decompressed bytes of a section, which the caller frees; -EBADMSG if there are more than max_b, if the section
 * exceeds the file, or if it is a decompression bomb. */
int sonde_elf_section_read(const struct sonde_elf *file, const struct sonde_elf_section *section, size_t max_b,
			   uint8_t **out, size_t *out_b);

/* Build-id from the raw bytes of a note section or segment (vdso, memory of a process); returns its size, or 0. */
size_t sonde_elf_note_build_id(const void *notes, size_t notes_b, uint8_t out[SONDE_BUILD_ID_MAX_B]);

#endif
