/* elf.c: reads ELF headers, notes and sections with pread and maps nothing: a file that shrinks meanwhile is an error,
 * not a SIGBUS.
 *
 * Both ELF classes are read into the 64-bit structures, little-endian only. Every count and size in the file is checked
 * against a limit before memory is allocated, and every range against what pread returns. Headers are read 4 KB at a
 * time: the first page of a file usually contains its program headers and notes, and one or two pages after the code
 * contain all section headers.
 */
#include "symbol/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "util/error.h"

#define SEGMENTS_MAX (sizeof((struct sonde_elf *)NULL)->segments / sizeof(struct sonde_elf_segment))
#define PROGRAM_HEADERS_MAX 256
#define SECTIONS_MAX 65536
/* The maximum size of a decompressed section is UNPACKED_SPARE_B, plus UNPACKED_FACTOR times its size in the file.
 * Debug information compresses to a third, a decompression bomb to a thousandth or less. */
#define UNPACKED_SPARE_B ((size_t)16 << 20)
#define UNPACKED_FACTOR 100
#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif
#define NOTES_MAX_B (64u << 10)
#define WINDOW_B 4096

static int bad(const struct sonde_elf *file, const char *what)
{
	return sonde_error(EBADMSG, "%s: %s", file->path, what);
}

static int read_at(const struct sonde_elf *file, void *out, size_t size_b, uint64_t offset)
{
	if (offset > INT64_MAX - size_b)
		return bad(file, "an offset lies outside the file");
	for (size_t done = 0; done < size_b;) {
		ssize_t got = pread(file->fd, (char *)out + done, size_b - done, (off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return sonde_error(errno, "%s: reading at byte %llu failed: %s", file->path,
					   (unsigned long long)offset, strerror(errno));
		if (!got)
			return bad(file, "the file is cut off");
		done += (size_t)got;
	}
	return 0;
}

/* The part of a file's headers that was read last. */
struct window {
	const struct sonde_elf *file;
	uint64_t offset;
	size_t size_b;
	uint8_t bytes[WINDOW_B];
};

static int look_at(struct window *window, void *out, size_t size_b, uint64_t offset)
{
	if (offset < window->offset || offset - window->offset > window->size_b ||
	    window->size_b - (offset - window->offset) < size_b) {
		ssize_t got = offset < INT64_MAX && size_b <= sizeof window->bytes
				  ? pread(window->file->fd, window->bytes, sizeof window->bytes, (off_t)offset)
				  : -1;
		window->offset = offset;
		window->size_b = got > 0 ? (size_t)got : 0;
		if (window->size_b < size_b)
			return read_at(window->file, out, size_b, offset);
	}
	memcpy(out, window->bytes + (offset - window->offset), size_b);
	return 0;
}

static int read_header(struct window *window, Elf64_Ehdr *out)
{
	const struct sonde_elf *file = window->file;
	unsigned char ident[EI_NIDENT];
	if (look_at(window, ident, sizeof ident, 0) || memcmp(ident, ELFMAG, SELFMAG))
		return bad(file, "not an ELF file");
	if (ident[EI_DATA] != ELFDATA2LSB || (ident[EI_CLASS] != ELFCLASS64 && ident[EI_CLASS] != ELFCLASS32))
		return bad(file, "an ELF file of an unknown class or byte order");
	if (ident[EI_CLASS] == ELFCLASS64)
		return look_at(window, out, sizeof *out, 0);
	Elf32_Ehdr head;
	int rc = look_at(window, &head, sizeof head, 0);
	if (rc)
		return rc;
	*out = (Elf64_Ehdr){.e_machine = head.e_machine,
			    .e_entry = head.e_entry,
			    .e_phoff = head.e_phoff,
			    .e_phentsize = head.e_phentsize,
			    .e_phnum = head.e_phnum,
			    .e_shoff = head.e_shoff,
			    .e_shentsize = head.e_shentsize,
			    .e_shnum = head.e_shnum,
			    .e_shstrndx = head.e_shstrndx};
	memcpy(out->e_ident, ident, sizeof ident);
	return 0;
}

static int read_program_header(struct window *window, const Elf64_Ehdr *head, unsigned index, Elf64_Phdr *out)
{
	uint64_t offset = head->e_phoff + (uint64_t)index * head->e_phentsize;
	if (window->file->class64)
		return look_at(window, out, sizeof *out, offset);
	Elf32_Phdr small;
	int rc = look_at(window, &small, sizeof small, offset);
	if (!rc)
		*out = (Elf64_Phdr){.p_type = small.p_type,
				    .p_flags = small.p_flags,
				    .p_offset = small.p_offset,
				    .p_vaddr = small.p_vaddr,
				    .p_filesz = small.p_filesz,
				    .p_memsz = small.p_memsz};
	return rc;
}

static void read_build_id(struct sonde_elf *file, struct window *window, const Elf64_Phdr *header)
{
	if (file->build_id_b || !header->p_filesz || header->p_filesz > NOTES_MAX_B)
		return;
	void *notes = malloc(header->p_filesz);
	if (notes && !look_at(window, notes, header->p_filesz, header->p_offset))
		file->build_id_b = sonde_elf_note_build_id(notes, header->p_filesz, file->build_id);
	free(notes);
}

/* Adds a segment; executable segments come first. Segments beyond the capacity are dropped (compilers and linkers make
 * four). */
static void add_segment(struct sonde_elf *file, const Elf64_Phdr *header)
{
	if (file->segment_count == SEGMENTS_MAX || !header->p_filesz ||
	    header->p_vaddr > UINT64_MAX - header->p_filesz || header->p_offset > UINT64_MAX - header->p_filesz)
		return;
	size_t at = file->segment_count++;
	if (header->p_flags & PF_X) {
		file->segments[at] = file->segments[file->executable_count];
		at = file->executable_count++;
	}
	file->segments[at] = (struct sonde_elf_segment){header->p_vaddr, header->p_offset, header->p_filesz};
}

static int read_segments(struct sonde_elf *file, struct window *window, const Elf64_Ehdr *head)
{
	if (head->e_phnum > PROGRAM_HEADERS_MAX)
		return bad(file, "too many program headers");
	for (unsigned i = 0; i < head->e_phnum; i++) {
		Elf64_Phdr header;
		int rc = read_program_header(window, head, i, &header);
		if (rc)
			return rc;
		if (header.p_type == PT_LOAD)
			add_segment(file, &header);
		else if (header.p_type == PT_NOTE)
			read_build_id(file, window, &header);
		else if (header.p_type == PT_GNU_EH_FRAME)
			file->frame_header =
			    (struct sonde_elf_segment){header.p_vaddr, header.p_offset, header.p_filesz};
	}
	return 0;
}

static int read_facts(struct sonde_elf *file)
{
	Elf64_Ehdr head;
	struct window window = {.file = file};
	int rc = read_header(&window, &head);
	if (rc)
		return rc;
	file->class64 = head.e_ident[EI_CLASS] == ELFCLASS64;
	file->machine = head.e_machine;
	file->entry = head.e_entry;
	return read_segments(file, &window, &head);
}

static int finish_open(struct sonde_elf *out, struct sonde_elf *file)
{
	int rc = file->path ? read_facts(file) : sonde_error(ENOMEM, "out of memory for a path");
	if (rc) {
		sonde_elf_close(file);
		return rc;
	}
	*out = *file;
	return 0;
}

int sonde_elf_open(struct sonde_elf *out, const char *path)
{
	/* O_NONBLOCK: opening a FIFO under that name must not block. */
	struct sonde_elf file = {.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
	if (file.fd < 0)
		return sonde_error(errno, "%s: %s", path, strerror(errno));
	struct stat facts;
	if (fstat(file.fd, &facts) || !S_ISREG(facts.st_mode)) {
		close(file.fd);
		return sonde_error(EBADMSG, "%s: not a regular file", path);
	}
	file.path = strdup(path);
	return finish_open(out, &file);
}

int sonde_elf_open_bytes(struct sonde_elf *out, const char *name, const void *bytes, size_t size_b)
{
	struct sonde_elf file = {.fd = memfd_create("sonde-module", MFD_CLOEXEC)};
	if (file.fd < 0)
		return sonde_error(errno, "%s: no memory file: %s", name, strerror(errno));
	if (write(file.fd, bytes, size_b) != (ssize_t)size_b) {
		close(file.fd);
		return sonde_error(EIO, "%s: %zu bytes could not be copied", name, size_b);
	}
	file.path = strdup(name);
	return finish_open(out, &file);
}

void sonde_elf_close(struct sonde_elf *file)
{
	if (file->path && file->fd >= 0)
		close(file->fd);
	free(file->path);
	*file = (struct sonde_elf){.fd = -1};
}

int sonde_elf_address(const struct sonde_elf *file, uint64_t offset, uint64_t *out)
{
	for (size_t i = 0; i < file->segment_count; i++) {
		const struct sonde_elf_segment *segment = &file->segments[i];
		if (offset - segment->offset < segment->size_b) {
			*out = segment->address + (offset - segment->offset);
			return 0;
		}
	}
	return -ENOENT;
}

int sonde_elf_is_code(const struct sonde_elf *file, uint64_t address)
{
	for (size_t i = 0; i < file->executable_count; i++) {
		if (address - file->segments[i].address < file->segments[i].size_b)
			return 1;
	}
	return 0;
}

static int read_section_header(struct window *window, const Elf64_Ehdr *head, uint32_t index, Elf64_Shdr *out)
{
	uint64_t offset = head->e_shoff + (uint64_t)index * head->e_shentsize;
	if (window->file->class64)
		return look_at(window, out, sizeof *out, offset);
	Elf32_Shdr small;
	int rc = look_at(window, &small, sizeof small, offset);
	if (!rc)
		*out = (Elf64_Shdr){.sh_name = small.sh_name,
				    .sh_type = small.sh_type,
				    .sh_flags = small.sh_flags,
				    .sh_addr = small.sh_addr,
				    .sh_offset = small.sh_offset,
				    .sh_size = small.sh_size,
				    .sh_link = small.sh_link,
				    .sh_info = small.sh_info,
				    .sh_entsize = small.sh_entsize};
	return rc;
}

/* Reads the header, the number of sections and the index of their names; files with very many sections store these two
 * numbers in section 0. */
static int read_section_count(struct window *window, Elf64_Ehdr *head, uint32_t *count, uint32_t *names)
{
	const struct sonde_elf *file = window->file;
	int rc = read_header(window, head);
	if (rc)
		return rc;
	*count = head->e_shoff ? head->e_shnum : 0;
	*names = head->e_shstrndx;
	if (head->e_shoff && (!head->e_shnum || head->e_shstrndx == SHN_XINDEX)) {
		Elf64_Shdr first;
		if (read_section_header(window, head, 0, &first))
			return bad(file, "no section headers where the file header says");
		*count = head->e_shnum ? head->e_shnum : (uint32_t)first.sh_size;
		*names = head->e_shstrndx == SHN_XINDEX ? first.sh_link : head->e_shstrndx;
	}
	return *count > SECTIONS_MAX ? bad(file, "too many sections") : 0;
}

static struct sonde_elf_section to_section(const Elf64_Shdr *header)
{
	return (struct sonde_elf_section){.type = header->sh_type,
					  .link = header->sh_link,
					  .flags = header->sh_flags,
					  .address = header->sh_addr,
					  .offset = header->sh_offset,
					  .size_b = header->sh_size,
					  .entry_b = header->sh_entsize};
}

int sonde_elf_section_at(const struct sonde_elf *file, uint32_t index, struct sonde_elf_section *out)
{
	Elf64_Ehdr head;
	Elf64_Shdr header;
	struct window window = {.file = file};
	uint32_t count, names;
	int rc = read_section_count(&window, &head, &count, &names);
	if (!rc && index >= count)
		return -ENOENT;
	if (!rc)
		rc = read_section_header(&window, &head, index, &header);
	if (!rc)
		*out = to_section(&header);
	return rc;
}

int sonde_elf_is_packed(const struct sonde_elf *file)
{
	Elf64_Ehdr head;
	Elf64_Shdr header;
	struct window window = {.file = file};
	uint32_t count, names;
	if (read_section_count(&window, &head, &count, &names))
		return 0;
	for (uint32_t i = 1; i < count && !read_section_header(&window, &head, i, &header); i++)
		if (header.sh_flags & SHF_COMPRESSED)
			return 1;
	return 0;
}

/* The start of the section names. It contains all names in most files; names beyond it are read one by one. */
struct section_names {
	uint64_t offset, size_b;
	size_t read_b;
	char text[2048];
};

static void read_section_names(const struct sonde_elf *file, const Elf64_Shdr *header, struct section_names *out)
{
	out->offset = header->sh_offset;
	out->size_b = header->sh_size;
	out->read_b = header->sh_size < sizeof out->text ? header->sh_size : sizeof out->text;
	if (read_at(file, out->text, out->read_b, out->offset))
		out->read_b = 0;
}

static int has_name(const struct sonde_elf *file, const struct section_names *names, const Elf64_Shdr *header,
		    const char *name)
{
	char text[64];
	size_t size_b = strlen(name) + 1;
	if (size_b > sizeof text || header->sh_name >= names->size_b || names->size_b - header->sh_name < size_b)
		return 0;
	if (header->sh_name + size_b <= names->read_b)
		return !memcmp(names->text + header->sh_name, name, size_b);
	return !read_at(file, text, size_b, names->offset + header->sh_name) && !memcmp(text, name, size_b);
}

int sonde_elf_section(const struct sonde_elf *file, const char *name, struct sonde_elf_section *out)
{
	Elf64_Ehdr head;
	Elf64_Shdr header;
	struct section_names names;
	struct window window = {.file = file};
	uint32_t count, names_at;
	int rc = read_section_count(&window, &head, &count, &names_at);
	if (rc)
		return rc;
	if (names_at >= count || read_section_header(&window, &head, names_at, &header))
		return -ENOENT;
	read_section_names(file, &header, &names);
	for (uint32_t i = 1; i < count; i++) {
		if (read_section_header(&window, &head, i, &header))
			return -ENOENT;
		if (has_name(file, &names, &header, name)) {
			*out = to_section(&header);
			return 0;
		}
	}
	return -ENOENT;
}

size_t sonde_elf_unpacked_max(size_t packed_b, size_t max_b)
{
	return packed_b < (max_b - UNPACKED_SPARE_B) / UNPACKED_FACTOR ? UNPACKED_SPARE_B + UNPACKED_FACTOR * packed_b
								       : max_b;
}

static int unpack(uint32_t type, uint8_t *plain, size_t plain_b, const uint8_t *packed, size_t packed_b)
{
	uLongf size_b = plain_b;
	if (type == ELFCOMPRESS_ZSTD)
		return ZSTD_decompress(plain, plain_b, packed, packed_b) == plain_b ? 0 : -EBADMSG;
	return uncompress(plain, &size_b, packed, packed_b) == Z_OK && size_b == plain_b ? 0 : -EBADMSG;
}

/* Replaces the contents of a SHF_COMPRESSED section by the decompressed bytes. */
static int decompress(const struct sonde_elf *file, size_t max_b, uint8_t **data, size_t *size_b)
{
	Elf64_Chdr head = {0};
	size_t head_b = file->class64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
	if (*size_b < head_b)
		return bad(file, "a compressed section is cut off");
	if (file->class64) {
		memcpy(&head, *data, sizeof head);
	} else {
		Elf32_Chdr small;
		memcpy(&small, *data, sizeof small);
		head = (Elf64_Chdr){.ch_type = small.ch_type, .ch_size = small.ch_size};
	}
	if ((head.ch_type != ELFCOMPRESS_ZLIB && head.ch_type != ELFCOMPRESS_ZSTD) ||
	    head.ch_size > sonde_elf_unpacked_max(*size_b, max_b))
		return bad(file, "a section is compressed in an unknown way or too large");
	uint8_t *plain = malloc(head.ch_size ? head.ch_size : 1);
	if (!plain)
		return sonde_error(ENOMEM, "%s: out of memory for a section", file->path);
	if (unpack(head.ch_type, plain, head.ch_size, *data + head_b, *size_b - head_b)) {
		free(plain);
		return bad(file, "a compressed section is damaged");
	}
	free(*data);
	*data = plain;
	*size_b = head.ch_size;
	return 0;
}

int sonde_elf_section_read(const struct sonde_elf *file, const struct sonde_elf_section *section, size_t max_b,
			   uint8_t **out, size_t *out_b)
{
	struct stat facts;
	if (section->type == SHT_NOBITS)
		return -ENOENT;
	if (fstat(file->fd, &facts))
		return sonde_error(errno, "%s: %s", file->path, strerror(errno));
	if (section->size_b > max_b || section->size_b > (uint64_t)facts.st_size)
		return bad(file, "a section is larger than the file or than what is read of one");
	uint8_t *data = malloc(section->size_b ? section->size_b : 1);
	if (!data)
		return sonde_error(ENOMEM, "%s: out of memory for a section", file->path);
	size_t size_b = section->size_b;
	int rc = read_at(file, data, size_b, section->offset);
	if (!rc && section->flags & SHF_COMPRESSED)
		rc = decompress(file, max_b, &data, &size_b);
	if (rc) {
		free(data);
		return rc;
	}
	*out = data;
	*out_b = size_b;
	return 0;
}

size_t sonde_elf_note_build_id(const void *notes, size_t notes_b, uint8_t out[SONDE_BUILD_ID_MAX_B])
{
	const uint8_t *at = notes;
	while (notes_b >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr head; /* identical in both classes */
		memcpy(&head, at, sizeof head);
		uint64_t name_b = ((uint64_t)head.n_namesz + 3) & ~(uint64_t)3;
		uint64_t text_b = ((uint64_t)head.n_descsz + 3) & ~(uint64_t)3;
		if (sizeof head + name_b + head.n_descsz > notes_b)
			return 0;
		if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && !memcmp(at + sizeof head, "GNU", 4)) {
			size_t size_b = head.n_descsz < SONDE_BUILD_ID_MAX_B ? head.n_descsz : SONDE_BUILD_ID_MAX_B;
			memcpy(out, at + sizeof head + name_b, size_b);
			return size_b;
		}
		uint64_t step = sizeof head + name_b + text_b;
		if (step >= notes_b)
			return 0;
		at += step;
		notes_b -= step;
	}
	return 0;
}
