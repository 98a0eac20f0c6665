/* modules.c: merges modules, symbols and stacks into one trie, so that a function is one row in all recordings.
 *
 * A module is identified by its build-id. Without one it is distinct in each recording, because it may have been
 * rebuilt in between. Modules made by the kernel (the kernel itself, the vdso) are shared within one boot, because
 * kernel addresses change from boot to boot.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "merge/out.h"
#include "util/array.h"
#include "util/error.h"

/* --- keys -------------------------------------------------------------------------------------------------------- */

static int same_key(const void *context, uint32_t id)
{
	const struct sonde_merge_keys *keys = context;
	const struct sonde_string_row *row = &keys->rows[id - 1];
	return row->len_b == keys->key.len_b && !memcmp(row->text, keys->key.data, row->len_b);
}

uint32_t sonde_merge_key(struct sonde_merge_keys *keys, int *is_new)
{
	uint64_t hash = sonde_hash_bytes(keys->key.data, keys->key.len_b);
	uint32_t id = sonde_buf_error(&keys->key) ? 0 : sonde_map_find(&keys->map, hash, same_key, keys);
	*is_new = !id;
	if (id || sonde_buf_error(&keys->key))
		return id;
	if (SONDE_ARRAY_RESERVE(keys->rows, keys->cap, keys->count + 1))
		return 0;
	char *copy = sonde_arena_alloc(&keys->arena, keys->key.len_b + 1);
	if (!copy || sonde_map_add(&keys->map, hash, keys->count + 1))
		return 0;
	memcpy(copy, keys->key.data, keys->key.len_b);
	keys->rows[keys->count] = (struct sonde_string_row){copy, (uint32_t)keys->key.len_b};
	return ++keys->count;
}

/* --- modules ----------------------------------------------------------------------------------------------------- */

static size_t machines_of(const struct sonde_merge_out *out, const struct sonde_merge_input *input)
{
	size_t count = 1;
	for (size_t i = 1; i < input->part_count; i++)
		count +=
		    out->inputs->part[input->first_part + i].machine != out->inputs->part[input->first_part].machine;
	return count;
}

static size_t bytes_of(const char *hex, uint8_t *bytes, size_t most)
{
	size_t count = 0;
	unsigned byte;
	while (count < most && hex[0] && hex[1] && sscanf(hex, "%2x", &byte) == 1) {
		bytes[count++] = (uint8_t)byte;
		hex += 2;
	}
	return count;
}

/* Builds the key that identifies a module. */
static void key_put(struct sonde_merge_out *out, size_t index, const struct sonde_module *module, uint32_t process)
{
	const struct sonde_merge_input *input = &out->inputs->input[index];
	struct sonde_buf *key = &out->modules.key;
	int is_kernel = module->flags & SONDE_MODULE_KERNEL, is_made = module->path[0] != '/';
	sonde_buf_clear(key);
	sonde_buf_printf(key, "%u %u %s", module->flags, process, module->build_id);
	if (*module->build_id && !is_kernel)
		return;
	if ((is_kernel || is_made) && machines_of(out, input) == 1)
		sonde_buf_printf(key, " machine %zu %s", out->inputs->part[input->first_part].machine, module->path);
	else
		sonde_buf_printf(key, " input %zu %u %s", index, module->id, module->path);
}

static int add_module(struct sonde_merge_out *out, size_t index, uint32_t id)
{
	struct sonde_merge_input *input = &out->inputs->input[index];
	const struct sonde_module *module = sonde_session_module(input->session, id);
	uint32_t process = sonde_merge_process(input, module->process);
	int is_new;
	key_put(out, index, module, process);
	input->modules[id] = sonde_merge_key(&out->modules, &is_new);
	if (!input->modules[id])
		return sonde_error(ENOMEM, "out of memory for modules");
	if (!is_new)
		return 0;
	struct sonde_meta_module record = {
	    .head.type = SONDE_META_MODULE,
	    .id = input->modules[id],
	    .path = sonde_merge_text(out, module->path),
	    .flags = module->flags,
	    .process = process,
	};
	record.build_id_b = (uint8_t)bytes_of(module->build_id, record.build_id, sizeof record.build_id);
	return sonde_writer_meta(out->writer, &record, sizeof record, NULL, 0);
}

/* --- symbols ----------------------------------------------------------------------------------------------------- */

enum { NOT_FOUND, NAMES_ONLY, WHOLE };

static int same_symbol(const void *context, uint32_t id)
{
	const struct sonde_merge_out *out = context;
	const struct sonde_merge_symbol *requested = &out->symbols[out->symbol_count], *row = &out->symbols[id - 1];
	return row->module == requested->module && row->address == requested->address;
}

/* True if the record has more information than the one already written, since readers use the last one. Negative: out
 * of memory. */
static int is_better(struct sonde_merge_out *out, struct sonde_merge_symbol symbol)
{
	if (SONDE_ARRAY_RESERVE(out->symbols, out->symbol_cap, (size_t)out->symbol_count + 1))
		return sonde_error(ENOMEM, "out of memory for symbols");
	out->symbols[out->symbol_count] = symbol;
	uint64_t hash = sonde_hash_pair(symbol.address, symbol.module);
	uint32_t id = sonde_map_find(&out->symbol_map, hash, same_symbol, out);
	if (!id)
		return sonde_map_add(&out->symbol_map, hash, ++out->symbol_count)
			   ? sonde_error(ENOMEM, "out of memory for symbols")
			   : 1;
	struct sonde_merge_symbol *row = &out->symbols[id - 1];
	if (row->input != symbol.input && symbol.rank <= row->rank)
		return 0;
	*row = symbol;
	return 1;
}

static int add_symbol(struct sonde_merge_out *out, uint32_t index, struct sonde_meta_symbol symbol, const uint8_t *from)
{
	struct sonde_merge_input *input = &out->inputs->input[index];
	uint32_t count = symbol.count;
	symbol.module = symbol.module <= sonde_session_module_count(input->session) ? input->modules[symbol.module] : 0;
	int is_names = symbol.head.reserved & SONDE_SYMBOL_NAMES_ONLY;
	int better = is_better(out, (struct sonde_merge_symbol){symbol.module, index + 1, symbol.address,
								!count     ? NOT_FOUND
								: is_names ? NAMES_ONLY
									   : WHOLE});
	if (better <= 0)
		return better;
	struct sonde_meta_location *places = malloc((count + 1) * sizeof *places);
	if (!places)
		return sonde_error(ENOMEM, "out of memory for %u locations", count);
	memcpy(places, from, count * sizeof *places);
	for (uint32_t i = 0; i < count; i++) {
		places[i].function = sonde_merge_text(out, sonde_session_string(input->session, places[i].function));
		places[i].file = sonde_merge_text(out, sonde_session_string(input->session, places[i].file));
	}
	int rc = sonde_writer_meta(out->writer, &symbol, sizeof symbol, places, count * sizeof *places);
	free(places);
	return rc;
}

/* Malformed and unknown records were already counted by the session. */
static int symbols_of(struct sonde_merge_out *out, uint32_t index, const uint8_t *body, size_t body_b)
{
	int rc = 0;
	for (size_t at = 0; !rc && body_b - at >= sizeof(struct sonde_meta_head);) {
		struct sonde_meta_symbol symbol = {0};
		memcpy(&symbol.head, body + at, sizeof symbol.head);
		size_t size_b = symbol.head.size_b;
		if (size_b < sizeof symbol.head || size_b > body_b - at)
			break;
		if (symbol.head.type == SONDE_META_SYMBOL && size_b >= sizeof symbol) {
			memcpy(&symbol, body + at, sizeof symbol);
			if (symbol.count <= (size_b - sizeof symbol) / sizeof(struct sonde_meta_location))
				rc = add_symbol(out, index, symbol, body + at + sizeof symbol);
		}
		size_t padded_b = (size_b + 7) & ~(size_t)7;
		at += padded_b < body_b - at ? padded_b : body_b - at;
	}
	return rc;
}

static int read_symbols(struct sonde_merge_out *out, uint32_t index)
{
	struct sonde_reader *reader = out->inputs->input[index].reader;
	struct sonde_chunk_data data = {0};
	int rc = 0;
	sonde_buf_init(&data.buf, SONDE_READER_BUF_MAX_B);
	for (size_t i = 0; !rc && i < sonde_reader_count(reader); i++) {
		const struct sonde_chunk_head *head = &sonde_reader_entry(reader, i)->head;
		if (head->type != SONDE_CHUNK_META || head->version > SONDE_CHUNK_VERSION ||
		    sonde_reader_read(reader, i, &data))
			continue;
		rc = symbols_of(out, index, data.body, data.head->raw_b);
	}
	sonde_buf_fini(&data.buf);
	return rc;
}

/* --- nodes ------------------------------------------------------------------------------------------------------- */

static int add_nodes(struct sonde_merge_out *out, struct sonde_merge_input *input)
{
	for (uint32_t id = 1; id <= sonde_session_node_count(input->session); id++) {
		const struct sonde_node *node = sonde_session_node(input->session, id);
		const struct sonde_frame *frame = sonde_session_frame(input->session, node->frame);
		const struct sonde_trie_frame step = {input->modules[frame->module], frame->address};
		int rc = sonde_trie_extend(&out->trie, input->nodes[node->parent], &step, 1, &input->nodes[id]);
		if (rc)
			return rc;
	}
	return 0;
}

int sonde_merge_modules(struct sonde_merge_out *out, size_t index)
{
	struct sonde_merge_input *input = &out->inputs->input[index];
	size_t modules = sonde_session_module_count(input->session);
	input->modules = calloc(modules + 1, sizeof *input->modules);
	input->nodes = calloc(sonde_session_node_count(input->session) + 1, sizeof *input->nodes);
	int rc = input->modules && input->nodes ? 0 : sonde_error(ENOMEM, "out of memory for stacks");
	for (uint32_t id = 1; !rc && id <= modules; id++)
		rc = add_module(out, index, id);
	rc = rc ? rc : read_symbols(out, (uint32_t)index);
	return rc ? rc : add_nodes(out, input);
}
