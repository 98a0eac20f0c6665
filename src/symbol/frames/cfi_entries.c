/* cfi_entries.c: walks the entries of .eh_frame and .debug_frame and sorts them by address.
 *
 * This parser is used instead of libdw's because it takes a quarter of the time, and checks every length in one place
 * (frames/cfi_cursor.h). A malformed entry is skipped; a malformed entry length ends the section. For functions that
 * both sections describe, the entry of .eh_frame wins, because it is read first and the sort is stable. Format: LSB 5.0
 * "Exception frames", DWARF 5 section 6.4.
 */
#include "symbol/frames/cfi_entries.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/error.h"

#define SECTION_MAX_B ((size_t)512 << 20)
#define COMMON_PROGRAM_MAX_B 256
#define COMMON_CACHE 64
#define ENCODING_OMIT 0xff

struct section {
	const struct sonde_elf *file;
	const uint8_t *data;
	size_t size_b;
	uint64_t address;
	int is_debug;
	/* Cache of the index of a CIE, by the CIE's offset + 1. A CIE that is no longer in the cache is parsed
	 * again. */
	struct {
		uint64_t offset;
		uint32_t common;
	} cache[COMMON_CACHE];
};

/* Reads an encoded pointer (DW_EH_PE_…); an encoding that needs another base than the section's address is an error. */
static uint64_t read_pointer(const struct section *section, struct sonde_cfi_cursor *cursor, uint8_t encoding)
{
	uint64_t place = section->address + (uint64_t)(cursor->at - section->data), value = 0;
	switch (encoding & 0x0f) {
	case 0x00:
		value = sonde_cfi_fixed(cursor, section->file->class64 ? 8 : 4);
		break;
	case 0x01:
		value = sonde_cfi_uleb(cursor);
		break;
	case 0x02:
		value = sonde_cfi_fixed(cursor, 2);
		break;
	case 0x03:
		value = sonde_cfi_fixed(cursor, 4);
		break;
	case 0x04:
	case 0x0c:
		value = sonde_cfi_fixed(cursor, 8);
		break;
	case 0x09:
		value = (uint64_t)sonde_cfi_sleb(cursor);
		break;
	case 0x0a:
		value = (uint64_t)(int16_t)sonde_cfi_fixed(cursor, 2);
		break;
	case 0x0b:
		value = (uint64_t)(int32_t)sonde_cfi_fixed(cursor, 4);
		break;
	default:
		return sonde_cfi_fail(cursor);
	}
	if ((encoding & 0xf0) == 0x10)
		return value + place;
	return encoding & 0xf0 ? sonde_cfi_fail(cursor) : value;
}

/* Processes the letters after 'z', in order. */
static void read_augmentation(const struct section *section, struct sonde_cfi_common *common, const char *letters,
			      struct sonde_cfi_cursor block)
{
	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			common->pointer_encoding = sonde_cfi_byte(&block);
			break;
		case 'L':
			sonde_cfi_byte(&block);
			break;
		case 'P':
			/* Only the size of the personality routine's pointer matters: read it as an absolute one of the
			 * same format. */
			read_pointer(section, &block, sonde_cfi_byte(&block) & 0x0f);
			break;
		case 'S':
			common->is_signal = 1;
			break;
		default: /* 'B' and 'G': aarch64 pointer authentication and memory tagging, without data */
			break;
		}
	}
}

static int parse_common(const struct section *section, struct sonde_cfi_cursor body, struct sonde_cfi_common *out)
{
	struct sonde_cfi_common common = {0};
	uint8_t version = sonde_cfi_byte(&body);
	const char *letters = (const char *)body.at;
	const uint8_t *end = memchr(body.at, 0, sonde_cfi_left(&body));
	if (!end || (version != 1 && version != 3 && version != 4) || (*letters && *letters != 'z'))
		return -EBADMSG;
	body.at = end + 1;
	if (version == 4)
		sonde_cfi_fixed(&body, 2); /* address and segment size: the file's own are used */
	common.code_align = sonde_cfi_uleb(&body);
	common.data_align = sonde_cfi_sleb(&body);
	common.ra_register = version == 1 ? sonde_cfi_byte(&body) : sonde_cfi_uleb(&body);
	if (*letters == 'z') {
		common.has_augmentation = 1;
		struct sonde_cfi_cursor block = sonde_cfi_sub(&body, sonde_cfi_uleb(&body));
		read_augmentation(section, &common, letters + 1, block);
	}
	if (body.bad || sonde_cfi_left(&body) > COMMON_PROGRAM_MAX_B)
		return -EBADMSG;
	common.program = body;
	*out = common;
	return 0;
}

/* Reads an entry's length and returns its body; 0 at the end of the section. */
static int next_body(const struct section *section, struct sonde_cfi_cursor *cursor, struct sonde_cfi_cursor *body,
		     unsigned *offset_b)
{
	uint64_t length = sonde_cfi_fixed(cursor, 4);
	*offset_b = 4;
	if (length == UINT32_MAX) {
		length = sonde_cfi_fixed(cursor, 8);
		*offset_b = section->is_debug ? 8 : 4;
	}
	*body = sonde_cfi_sub(cursor, length);
	return length && !cursor->bad;
}

static int add_common(struct sonde_cfi_entries *all, const struct sonde_cfi_common *common)
{
	if (all->common_count == UINT32_MAX ||
	    SONDE_ARRAY_RESERVE(all->commons, all->common_capacity, all->common_count + 1))
		return -ENOMEM;
	all->commons[all->common_count++] = *common;
	return 0;
}

static int find_common(struct sonde_cfi_entries *all, struct section *section, uint64_t offset, uint32_t *out)
{
	if (offset >= section->size_b) /* before the cache lookup: an empty slot matches the largest offset */
		return -EBADMSG;
	size_t slot = offset / 4 % COMMON_CACHE;
	if (section->cache[slot].offset == offset + 1) {
		*out = section->cache[slot].common;
		return 0;
	}
	struct sonde_cfi_cursor cursor = {section->data + offset, section->data + section->size_b, 0}, body;
	struct sonde_cfi_common common;
	unsigned offset_b;
	if (!next_body(section, &cursor, &body, &offset_b))
		return -EBADMSG;
	uint64_t id = sonde_cfi_fixed(&body, offset_b);
	uint64_t wanted = !section->is_debug ? 0 : offset_b == 8 ? UINT64_MAX : UINT32_MAX;
	if (id != wanted || parse_common(section, body, &common))
		return -EBADMSG;
	int rc = add_common(all, &common);
	if (rc)
		return rc;
	section->cache[slot].offset = offset + 1;
	*out = section->cache[slot].common = (uint32_t)(all->common_count - 1);
	return 0;
}

/* Entries of functions that the linker dropped have addresses outside the code and are skipped. */
static int add_entry(struct sonde_cfi_entries *all, const struct section *section, uint32_t common,
		     struct sonde_cfi_cursor body)
{
	uint8_t encoding = all->commons[common].pointer_encoding;
	uint64_t start = read_pointer(section, &body, encoding);
	uint64_t size_b = read_pointer(section, &body, encoding & 0x0f);
	if (all->commons[common].has_augmentation)
		sonde_cfi_sub(&body, sonde_cfi_uleb(&body));
	if (body.bad || encoding == ENCODING_OMIT || !size_b || start < all->base || start - all->base > UINT32_MAX ||
	    size_b > UINT32_MAX - (start - all->base) || !sonde_elf_is_code(section->file, start) ||
	    !sonde_elf_is_code(section->file, start + size_b - 1))
		return 0;
	if (SONDE_ARRAY_RESERVE(all->entries, all->capacity, all->count + 1))
		return -ENOMEM;
	all->entries[all->count++] = (struct sonde_cfi_entry){.start = (uint32_t)(start - all->base),
							      .size_b = (uint32_t)size_b,
							      .common = common,
							      .program_b = (uint32_t)sonde_cfi_left(&body),
							      .program = body.at};
	return 0;
}

static int walk(struct sonde_cfi_entries *all, struct section *section)
{
	struct sonde_cfi_cursor cursor = {section->data, section->data + section->size_b, 0}, body;
	unsigned offset_b;
	while (next_body(section, &cursor, &body, &offset_b)) {
		uint64_t place = (uint64_t)(body.at - section->data);
		uint64_t id = sonde_cfi_fixed(&body, offset_b);
		if (id == (!section->is_debug ? 0 : offset_b == 8 ? UINT64_MAX : UINT32_MAX))
			continue;
		uint32_t common;
		int rc = find_common(all, section, section->is_debug ? id : place - id, &common);
		if (!rc)
			rc = add_entry(all, section, common, body);
		if (rc == -ENOMEM)
			return sonde_error(ENOMEM, "%s: out of memory for call-frame entries", section->file->path);
	}
	return 0;
}

/* .eh_frame of a file without section headers: it begins where .eh_frame_hdr points, and ends with the segment. */
static int find_by_header(const struct sonde_elf *file, struct sonde_elf_section *out)
{
	struct sonde_elf_section head = {
	    .offset = file->frame_header.offset, .address = file->frame_header.address, .size_b = 12};
	uint8_t *data;
	size_t size_b;
	if (file->frame_header.size_b < 12 || sonde_elf_section_read(file, &head, 12, &data, &size_b))
		return -ENOENT;
	struct section section = {.file = file, .data = data, .size_b = size_b, .address = head.address};
	struct sonde_cfi_cursor cursor = {data + 4, data + size_b, 0};
	uint64_t address = read_pointer(&section, &cursor, data[1]);
	int bad = cursor.bad;
	free(data);
	for (size_t i = 0; !bad && i < file->segment_count; i++) {
		const struct sonde_elf_segment *segment = &file->segments[i];
		uint64_t inside = address - segment->address;
		if (inside >= segment->size_b)
			continue;
		*out = (struct sonde_elf_section){.type = SHT_PROGBITS,
						  .address = address,
						  .offset = segment->offset + inside,
						  .size_b = segment->size_b - inside};
		return 0;
	}
	return -ENOENT;
}

static int read_section(struct sonde_cfi_entries *all, const struct sonde_elf *file, int is_debug)
{
	struct sonde_elf_section facts;
	struct section section = {.file = file, .is_debug = is_debug};
	int rc = sonde_elf_section(file, is_debug ? ".debug_frame" : ".eh_frame", &facts);
	if (rc == -ENOENT && !is_debug)
		rc = find_by_header(file, &facts);
	if (!rc)
		rc = sonde_elf_section_read(file, &facts, SECTION_MAX_B, &all->sections[is_debug], &section.size_b);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	section.data = all->sections[is_debug];
	section.address = is_debug ? 0 : facts.address;
	return walk(all, &section);
}

struct key {
	uint32_t start, index;
};

/* Stable radix sort, 11 bits at a time: there may be a hundred thousand entries, which linkers leave in the order of
 * the input files. */
static void sort_keys(struct key *keys, struct key *spare, size_t count)
{
	for (unsigned shift = 0; shift < 33; shift += 11) {
		size_t at[2048] = {0};
		for (size_t i = 0; i < count; i++)
			at[keys[i].start >> shift & 2047]++;
		for (size_t i = 0, sum = 0; i < 2048; i++) {
			size_t here = at[i];
			at[i] = sum;
			sum += here;
		}
		for (size_t i = 0; i < count; i++)
			spare[at[keys[i].start >> shift & 2047]++] = keys[i];
		struct key *swap = keys;
		keys = spare;
		spare = swap;
	}
}

static int is_sorted(const struct sonde_cfi_entries *all)
{
	for (size_t i = 1; i < all->count; i++) {
		if (all->entries[i].start < all->entries[i - 1].start)
			return 0;
	}
	return 1;
}

static int sort_entries(struct sonde_cfi_entries *all)
{
	if (is_sorted(all))
		return 0;
	struct key *keys = malloc(2 * all->count * sizeof *keys);
	struct sonde_cfi_entry *sorted = malloc(all->count * sizeof *sorted);
	if (!keys || !sorted) {
		free(keys);
		free(sorted);
		return sonde_error(ENOMEM, "out of memory for %zu call-frame entries", all->count);
	}
	for (size_t i = 0; i < all->count; i++)
		keys[i] = (struct key){all->entries[i].start, (uint32_t)i};
	sort_keys(keys, keys + all->count, all->count);
	for (size_t i = 0; i < all->count; i++)
		sorted[i] = all->entries[keys[all->count + i].index]; /* three passes end in `spare` */
	free(keys);
	free(all->entries);
	all->entries = sorted;
	all->capacity = all->count;
	return 0;
}

static uint64_t lowest_address(const struct sonde_elf *file)
{
	uint64_t low = UINT64_MAX;
	for (size_t i = 0; i < file->executable_count; i++)
		low = file->segments[i].address < low ? file->segments[i].address : low;
	return low & ~(uint64_t)0xfff;
}

int sonde_cfi_entries_read(struct sonde_cfi_entries *out, const struct sonde_elf *file)
{
	struct sonde_cfi_entries all = {.base = lowest_address(file)};
	int rc = file->executable_count ? read_section(&all, file, 0) : 0;
	if (!rc && file->executable_count)
		rc = read_section(&all, file, 1);
	if (!rc)
		rc = sort_entries(&all);
	if (rc) {
		sonde_cfi_entries_free(&all);
		return rc;
	}
	*out = all;
	return 0;
}

void sonde_cfi_entries_free(struct sonde_cfi_entries *entries)
{
	free(entries->entries);
	free(entries->commons);
	free(entries->sections[0]);
	free(entries->sections[1]);
	*entries = (struct sonde_cfi_entries){0};
}
