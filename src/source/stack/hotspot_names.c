/* hotspot_names.c: Method → ConstMethod → ConstantPool → Symbol, PcDesc → ScopeDesc, and line number tables.
 *
 * Numbers in the VM's streams are packed as UNSIGNED5: each byte is a base-64 digit, and a byte below a limit is the
 * last digit of its number. Since JDK 19 none of the bytes is zero.
 */
#include "source/stack/hotspot_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define SLOTS 4096u  /* a power of two */
#define NAME_B 400u  /* of a class or a method */
#define STREAM_B 64u /* read at a time */
#define LINES_MAX 65536u
#define PC_DESCS_MAX (1u << 20)
#define EXCLUDES_ZERO_SINCE 19

struct method {
	uint64_t address, constants; /* Method *, its ConstMethod * */
	const char *name, *file;
};

struct code {
	uint64_t pc, blob;
	uint32_t compile_id;
	struct sonde_trie_frame frame;
};

struct bytecode {
	uint64_t method, constants, bcp;
	struct sonde_trie_frame frame;
};

struct sonde_hotspot_names {
	const struct sonde_hotspot_layout *layout;
	const struct sonde_process_memory *memory;
	struct sonde_places *places;
	struct method methods[SLOTS];
	struct code codes[SLOTS];
	struct bytecode bytecodes[SLOTS];
};

struct sonde_hotspot_names *sonde_hotspot_names_new(const struct sonde_hotspot_layout *layout,
						    const struct sonde_process_memory *memory,
						    struct sonde_places *places)
{
	struct sonde_hotspot_names *names = calloc(1, sizeof *names);
	if (names) {
		names->layout = layout;
		names->memory = memory;
		names->places = places;
	}
	return names;
}

void sonde_hotspot_names_free(struct sonde_hotspot_names *names)
{
	free(names);
}

static int read_field(const struct sonde_hotspot_names *names, uint64_t address, enum sonde_hotspot_field field,
		      int64_t *out)
{
	return sonde_hotspot_read(names->layout, names->memory, address, field, out);
}

/* --- texts ----------------------------------------------------------------------------------------------- */

/* Reads a Symbol's text, truncated at NAME_B; its length, or -1. */
static int read_symbol(const struct sonde_hotspot_names *names, uint64_t symbol, char *out)
{
	int64_t length;
	if (!symbol || symbol & 7 || read_field(names, symbol, HOTSPOT_SYMBOL_LENGTH, &length))
		return -1;
	size_t len_b = (uint16_t)length < NAME_B ? (uint16_t)length : NAME_B;
	uint64_t body = symbol + names->layout->fields[HOTSPOT_SYMBOL_BODY].value;
	return len_b && !sonde_process_memory_read(names->memory, body, out, len_b) ? (int)len_b : -1;
}

/* Reads the text of a constant. */
static int read_constant(const struct sonde_hotspot_names *names, uint64_t pool, int64_t index, char *out)
{
	int64_t length;
	uint64_t symbol;
	if (read_field(names, pool, HOTSPOT_POOL_LENGTH, &length) || (uint16_t)index == 0 ||
	    (uint16_t)index >= length ||
	    sonde_process_memory_read(names->memory, pool + names->layout->pool_b + (uint16_t)index * 8u, &symbol,
				      sizeof symbol))
		return -1;
	return read_symbol(names, symbol, out);
}

/* Turns "java/util/HashMap" into "java.util.HashMap". The name of a hidden class ends with an address, which differs
 * from run to run and is cut off. */
static size_t readable_class(char *text, size_t len_b)
{
	for (size_t i = 0; i < len_b; i++) {
		int is_address =
		    (text[i] == '+' || text[i] == '/') && i + 2 < len_b && text[i + 1] == '0' && text[i + 2] == 'x';
		if (is_address)
			return i;
		if (text[i] == '/')
			text[i] = '.';
	}
	return len_b;
}

/* The package's folder plus the name of the source file. */
static const char *file_of(struct sonde_hotspot_names *names, uint64_t pool, const char *class, size_t class_b)
{
	char path[2 * NAME_B];
	int64_t index;
	size_t folder_b = class_b;
	while (folder_b && class[folder_b - 1] != '/')
		folder_b--;
	memcpy(path, class, folder_b);
	if (read_field(names, pool, HOTSPOT_POOL_SOURCE, &index))
		return NULL;
	int file_b = read_constant(names, pool, index, path + folder_b);
	return file_b > 0 ? sonde_places_text(names->places, path, folder_b + (size_t)file_b) : NULL;
}

static void name_method(struct sonde_hotspot_names *names, struct method *out)
{
	char class[NAME_B], text[2 * NAME_B + 1];
	int64_t pool, holder, klass, index;
	if (read_field(names, out->constants, HOTSPOT_CONST_POOL, &pool) ||
	    read_field(names, out->constants, HOTSPOT_CONST_NAME, &index) ||
	    read_field(names, (uint64_t)pool, HOTSPOT_POOL_HOLDER, &holder) ||
	    read_field(names, (uint64_t)holder, HOTSPOT_KLASS_NAME, &klass))
		return;
	int class_b = read_symbol(names, (uint64_t)klass, class);
	if (class_b <= 0)
		return;
	memcpy(text, class, (size_t)class_b);
	size_t len_b = readable_class(text, (size_t)class_b);
	text[len_b++] = '.';
	int name_b = read_constant(names, (uint64_t)pool, index, text + len_b);
	if (name_b <= 0)
		return;
	out->name = sonde_places_text(names->places, text, len_b + (size_t)name_b);
	out->file = file_of(names, (uint64_t)pool, class, (size_t)class_b);
}

/* The method at an address; NULL if there is none. */
static const struct method *method_at(struct sonde_hotspot_names *names, uint64_t address)
{
	int64_t constants;
	if (!address || address & 7 || read_field(names, address, HOTSPOT_METHOD_CONST, &constants) || !constants ||
	    constants & 7)
		return NULL;
	struct method *slot = &names->methods[sonde_hash_mix(address) % SLOTS];
	if (slot->address != address || slot->constants != (uint64_t)constants) {
		*slot = (struct method){.address = address, .constants = (uint64_t)constants};
		name_method(names, slot);
	}
	return slot->name ? slot : NULL;
}

/* --- streams --------------------------------------------------------------------------------------------- */

struct stream {
	const struct sonde_hotspot_names *names;
	uint64_t at, begin, end; /* `at`: next address; begin to end: the addresses in `bytes` */
	uint8_t bytes[STREAM_B];
};

/* The next byte, or -1. */
static int next_byte(struct stream *stream)
{
	if (stream->at < stream->begin || stream->at >= stream->end) {
		/* Read up to an aligned end, which never crosses into an unmapped page. */
		uint64_t size_b = STREAM_B - stream->at % STREAM_B;
		if (sonde_process_memory_read(stream->names->memory, stream->at, stream->bytes, size_b))
			return -1;
		stream->begin = stream->at;
		stream->end = stream->at + size_b;
	}
	return stream->bytes[stream->at++ - stream->begin];
}

static int next_number(struct stream *stream, uint32_t *out)
{
	unsigned least = stream->names->layout->major >= EXCLUDES_ZERO_SINCE;
	uint32_t sum = 0;
	for (unsigned i = 0; i < 5; i++) {
		int byte = next_byte(stream);
		if (byte < (int)least)
			return -1;
		sum += ((uint32_t)byte - least) << (6 * i);
		if (byte < 192)
			break;
	}
	*out = sum;
	return 0;
}

static int next_signed(struct stream *stream, int32_t *out)
{
	uint32_t value;
	if (next_number(stream, &value))
		return -1;
	*out = (int32_t)(value >> 1) ^ -(int32_t)(value & 1);
	return 0;
}

/* The line of a bytecode: that of the last entry of the line table at or before the bytecode. 0 = unknown. */
static uint32_t line_of(const struct sonde_hotspot_names *names, uint64_t constants, int32_t bci)
{
	int64_t flags, size;
	if (bci < 0 || !names->layout->has_lines || read_field(names, constants, HOTSPOT_CONST_FLAGS, &flags) ||
	    !((uint32_t)flags & names->layout->has_lines) ||
	    read_field(names, constants, HOTSPOT_CONST_CODE_SIZE, &size))
		return 0;
	struct stream stream = {names, constants + names->layout->const_b + (uint16_t)size, 0, 0, {0}};
	int32_t at = 0, line = 0, found = 0, best = -1;
	for (unsigned i = 0; i < LINES_MAX; i++) {
		int byte = next_byte(&stream);
		int32_t more_code, more_lines;
		if (byte <= 0)
			break;
		if (byte != 0xff) {
			at += byte >> 3;
			line += byte & 7;
		} else if (!next_signed(&stream, &more_code) && !next_signed(&stream, &more_lines)) {
			at = (int32_t)((uint32_t)at + (uint32_t)more_code);
			line = (int32_t)((uint32_t)line + (uint32_t)more_lines);
		} else {
			break;
		}
		if (at <= bci && at > best) {
			best = at;
			found = line;
		}
	}
	return found > 0 ? (uint32_t)found : 0;
}

/* --- compiled code --------------------------------------------------------------------------------------- */

/* The offset of the scope of the first described address at or after `pc`; -1 if there is none. */
static int64_t find_scope(const struct sonde_hotspot_names *names, const struct sonde_hotspot_blob *blob, uint64_t pc,
			  int is_exact)
{
	uint64_t size_b = names->layout->pc_desc_b, count = size_b ? (blob->pcs_end - blob->pcs) / size_b : 0;
	int64_t offset, scope, wanted = (int64_t)(pc - blob->code);
	if (!count || count > PC_DESCS_MAX)
		return -1;
	uint64_t low = 0, high = count;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (read_field(names, blob->pcs + middle * size_b, HOTSPOT_PC_OFFSET, &offset))
			return -1;
		if (offset < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == count || read_field(names, blob->pcs + low * size_b, HOTSPOT_PC_OFFSET, &offset) ||
	    (is_exact && offset != wanted) || read_field(names, blob->pcs + low * size_b, HOTSPOT_PC_SCOPE, &scope))
		return -1;
	return scope;
}

/* Reads one scope: its method and line, and the offset of the caller's scope (0 = it has none). */
static int read_scope(struct sonde_hotspot_names *names, const struct sonde_hotspot_blob *blob, uint32_t at,
		      uint32_t *caller, struct sonde_place *out)
{
	struct stream stream = {names, blob->scopes + at, 0, 0, {0}};
	uint32_t index, bci;
	uint64_t address;
	if (next_number(&stream, caller) || next_number(&stream, &index) || next_number(&stream, &bci) || !index ||
	    sonde_process_memory_read(names->memory, blob->metadata + (index - 1ull) * 8, &address, sizeof address))
		return -1;
	const struct method *method = method_at(names, address);
	if (!method)
		return -1;
	*out = (struct sonde_place){method->name, method->file, line_of(names, method->constants, (int32_t)bci - 1)};
	return 0;
}

/* Reads the chain of inlined methods at `pc` in a compiled method, and returns its length; 0 if `pc` has no
 * description. Its last entry must be the method itself. */
static size_t read_scopes(struct sonde_hotspot_names *names, const struct sonde_hotspot_blob *blob, uint64_t pc,
			  int is_exact, struct sonde_place *chain)
{
	const struct method *outer = method_at(names, blob->method);
	int64_t scope = find_scope(names, blob, pc, is_exact);
	size_t count = 0;
	uint32_t at = (uint32_t)scope;
	if (scope <= 0 || !outer)
		return 0;
	while (at && count < SONDE_PLACE_DEPTH_MAX) {
		uint32_t caller;
		if (read_scope(names, blob, at, &caller, &chain[count]) || (caller && caller >= at))
			return 0;
		count++;
		at = caller;
	}
	return !at && chain[count - 1].function == outer->name ? count : 0;
}

static size_t find_chain(struct sonde_hotspot_names *names, const struct sonde_hotspot_blob *blob, uint64_t pc,
			 int is_exact, struct sonde_place *chain)
{
	if (blob->kind != SONDE_HOTSPOT_NMETHOD) {
		chain[0] =
		    (struct sonde_place){.function = sonde_places_text(names->places, blob->name, strlen(blob->name))};
		return 1;
	}
	size_t count = read_scopes(names, blob, pc, is_exact, chain);
	if (count)
		return count;
	const struct method *method = method_at(names, blob->method);
	if (!method)
		return 0;
	chain[0] = (struct sonde_place){method->name, method->file, 0};
	return 1;
}

struct sonde_trie_frame sonde_hotspot_names_code(struct sonde_hotspot_names *names,
						 const struct sonde_hotspot_blob *blob, uint64_t pc, int is_exact)
{
	uint64_t at = blob->kind == SONDE_HOTSPOT_NMETHOD ? pc : blob->code;
	struct code *slot = &names->codes[sonde_hash_pair(at, (uint64_t)is_exact) % SLOTS];
	uint64_t key = at << 1 | (unsigned)is_exact;
	if (slot->pc != key || slot->blob != blob->address || slot->compile_id != blob->compile_id) {
		struct sonde_place chain[SONDE_PLACE_DEPTH_MAX];
		size_t count = find_chain(names, blob, pc, is_exact, chain);
		*slot = (struct code){key, blob->address, blob->compile_id,
				      sonde_places_frame(names->places, chain, count)};
	}
	return slot->frame;
}

/* --- interpreted code ------------------------------------------------------------------------------------ */

int sonde_hotspot_names_is_method(const struct sonde_hotspot_names *names, uint64_t method, uint64_t bcp)
{
	int64_t constants, size;
	if (!method || method & 7 || read_field(names, method, HOTSPOT_METHOD_CONST, &constants) || !constants ||
	    constants & 7 || read_field(names, (uint64_t)constants, HOTSPOT_CONST_CODE_SIZE, &size))
		return 0;
	uint64_t begin = (uint64_t)constants + names->layout->const_b;
	return !(uint16_t)size || !bcp || (bcp >= begin && bcp - begin < (uint16_t)size);
}

struct sonde_trie_frame sonde_hotspot_names_method(struct sonde_hotspot_names *names, uint64_t address, uint64_t bcp)
{
	const struct method *method = method_at(names, address);
	if (!method)
		return sonde_places_frame(names->places, NULL, 0);
	struct bytecode *slot = &names->bytecodes[sonde_hash_pair(address, bcp) % SLOTS];
	if (slot->method != address || slot->bcp != bcp || slot->constants != method->constants) {
		uint64_t begin = method->constants + names->layout->const_b;
		int32_t bci = bcp >= begin && bcp - begin <= UINT16_MAX ? (int32_t)(bcp - begin) : -1;
		struct sonde_place place = {method->name, method->file, line_of(names, method->constants, bci)};
		*slot =
		    (struct bytecode){address, method->constants, bcp, sonde_places_frame(names->places, &place, 1)};
	}
	return slot->frame;
}
