/* trie.c: rows in arrays, hash indexes over them, and columnar STACKS chunks. */
#include "trace/trie.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/varint.h"
#include "format/bodies.h"
#include "trace/columns_write.h"
#include "util/array.h"
#include "util/error.h"

#define NODES_A_CHUNK 65536u
#define OPEN_FILES_MAX 256u /* modules kept open for symbols */

void sonde_trie_init(struct sonde_trie *stacks, struct sonde_writer *writer, struct sonde_strings *strings)
{
	*stacks = (struct sonde_trie){.writer = writer, .strings = strings};
}

void sonde_trie_fini(struct sonde_trie *stacks)
{
	for (uint32_t i = 0; i < stacks->module_count; i++)
		if (stacks->modules[i].fd >= 0)
			close(stacks->modules[i].fd);
	free(stacks->modules);
	free(stacks->nodes);
	sonde_map_fini(&stacks->module_map);
	free(stacks->index);
}

/* --- modules --------------------------------------------------------------------------------------------- */

struct module_probe {
	const struct sonde_trie *stacks;
	const struct sonde_stack_module_key *key;
	uint32_t path;
};

static int same_module(const void *context, uint32_t id)
{
	const struct module_probe *probe = context;
	const struct sonde_stack_module *row = &probe->stacks->modules[id - 1];
	const struct sonde_stack_module_key *key = probe->key;
	if (row->flags != key->flags || row->build_id_b != key->build_id_b)
		return 0;
	if (key->build_id_b)
		return !memcmp(row->build_id, key->build_id, key->build_id_b);
	return row->path == probe->path && row->process == key->process;
}

static int keep_open(const struct sonde_trie *stacks, const struct sonde_stack_module_key *key)
{
	if (key->path[0] != '/' || key->flags || stacks->module_count >= OPEN_FILES_MAX)
		return -1;
	char path[4200];
	snprintf(path, sizeof path, "/proc/%d/root%s", key->root_pid, key->path);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static uint32_t add_module(struct sonde_trie *stacks, const struct sonde_stack_module_key *key, uint32_t path)
{
	if (SONDE_ARRAY_RESERVE(stacks->modules, stacks->module_cap, stacks->module_count + 1)) {
		stacks->error = sonde_error(ENOMEM, "out of memory for %u modules", stacks->module_count + 1);
		return 0;
	}
	struct sonde_stack_module row = {
	    .path = path,
	    .flags = key->flags,
	    .process = key->process,
	    .build_id_b = (uint8_t)key->build_id_b,
	    .root_pid = key->root_pid,
	    .fd = keep_open(stacks, key),
	};
	memcpy(row.build_id, key->build_id, key->build_id_b);
	uint32_t id = ++stacks->module_count;
	stacks->modules[id - 1] = row;
	struct sonde_meta_module record = {
	    .head.type = SONDE_META_MODULE,
	    .id = id,
	    .path = path,
	    .flags = row.flags,
	    .process = row.process,
	    .build_id_b = row.build_id_b,
	};
	memcpy(record.build_id, row.build_id, sizeof record.build_id);
	sonde_writer_meta(stacks->writer, &record, sizeof record, NULL, 0);
	return id;
}

uint32_t sonde_trie_module(struct sonde_trie *stacks, const struct sonde_stack_module_key *key)
{
	struct sonde_stack_module_key bounded = *key;
	if (bounded.build_id_b > sizeof((struct sonde_stack_module *)0)->build_id)
		bounded.build_id_b = 0;
	if (!bounded.build_id_b)
		bounded.build_id = (const uint8_t *)"";
	uint32_t path = sonde_strings_intern(stacks->strings, key->path, strlen(key->path));
	struct module_probe probe = {stacks, &bounded, path};
	uint64_t hash = bounded.build_id_b ? sonde_hash_bytes(bounded.build_id, bounded.build_id_b)
					   : sonde_hash_pair(path, key->process);
	uint32_t id = sonde_map_find(&stacks->module_map, hash, same_module, &probe);
	if (id)
		return id;
	id = add_module(stacks, &bounded, path);
	if (id)
		stacks->error |= sonde_map_add(&stacks->module_map, hash, id);
	return id;
}

/* --- nodes ----------------------------------------------------------------------------------------------- */

#define INDEX_FIRST ((size_t)4096)

static int same_node(const struct sonde_stack_node *left, const struct sonde_stack_node *right)
{
	return left->parent == right->parent && left->module == right->module && left->address == right->address;
}

static uint64_t hash_of(const struct sonde_stack_node *node)
{
	return sonde_hash_pair(node->address, (uint64_t)node->parent << 32 | node->module);
}

static void put_entry(uint64_t *index, size_t cap, uint64_t entry)
{
	size_t at = entry >> 32 & (cap - 1);
	while (index[at])
		at = (at + 1) & (cap - 1);
	index[at] = entry;
}

static int grow_index(struct sonde_trie *stacks)
{
	size_t cap = stacks->index_cap ? 2 * stacks->index_cap : INDEX_FIRST;
	uint64_t *index = calloc(cap, sizeof *index);
	if (!index)
		return stacks->error = sonde_error(ENOMEM, "out of memory for an index of %zu slots", cap);
	for (size_t i = 0; i < stacks->index_cap; i++)
		if (stacks->index[i])
			put_entry(index, cap, stacks->index[i]);
	free(stacks->index);
	stacks->index = index;
	stacks->index_cap = cap;
	return 0;
}

static uint32_t find_node(const struct sonde_trie *stacks, const struct sonde_stack_node *node, uint64_t hash)
{
	size_t last = stacks->index_cap - 1;
	if (!stacks->index_cap)
		return 0;
	for (size_t at = hash & last; stacks->index[at]; at = (at + 1) & last) {
		uint32_t id = (uint32_t)stacks->index[at];
		if (stacks->index[at] >> 32 == (uint32_t)hash && same_node(&stacks->nodes[id - 1], node))
			return id;
	}
	return 0;
}

/* Makes room for `count` more nodes. */
static int reserve_nodes(struct sonde_trie *stacks, size_t count)
{
	if (stacks->node_count + count > UINT32_MAX)
		return stacks->error = sonde_error(ENOMEM, "more than %u stack nodes", UINT32_MAX);
	while (2 * (stacks->node_count + count) > stacks->index_cap)
		if (grow_index(stacks))
			return -ENOMEM;
	if (SONDE_ARRAY_RESERVE(stacks->nodes, stacks->node_cap, stacks->node_count + count))
		return stacks->error =
			   sonde_error(ENOMEM, "out of memory for %zu stack nodes", stacks->node_count + count);
	return 0;
}

/* Adds frames below a node that has none of them yet. Their ids are known in advance, so their index slots are
 * prefetched. */
static int add_chain(struct sonde_trie *stacks, uint32_t parent, const struct sonde_trie_frame *frames, size_t count,
		     uint32_t *nodes)
{
	uint32_t first = stacks->node_count + 1;
	if (reserve_nodes(stacks, count))
		return -ENOMEM;
	struct sonde_stack_node *rows = stacks->nodes + stacks->node_count;
	for (size_t i = 0; i < count; i++) {
		const struct sonde_trie_frame *frame = &frames[count - 1 - i];
		rows[i] =
		    (struct sonde_stack_node){i ? first + (uint32_t)i - 1 : parent, frame->module, frame->address};
		__builtin_prefetch(&stacks->index[hash_of(&rows[i]) & (stacks->index_cap - 1)], 1);
		nodes[count - 1 - i] = first + (uint32_t)i;
	}
	for (size_t i = 0; i < count; i++)
		put_entry(stacks->index, stacks->index_cap, hash_of(&rows[i]) << 32 | (first + i));
	stacks->node_count += (uint32_t)count;
	return 0;
}

int sonde_trie_extend(struct sonde_trie *stacks, uint32_t parent, const struct sonde_trie_frame *frames, size_t count,
		      uint32_t *nodes)
{
	for (; count; count--) {
		struct sonde_stack_node next = {parent, frames[count - 1].module, frames[count - 1].address};
		uint32_t id = find_node(stacks, &next, hash_of(&next));
		if (!id)
			return add_chain(stacks, parent, frames, count, nodes);
		nodes[count - 1] = parent = id;
	}
	return 0;
}

static uint32_t intern_node(struct sonde_trie *stacks, uint32_t parent, const struct sonde_trie_frame *frame)
{
	uint32_t node = 0;
	return sonde_trie_extend(stacks, parent, frame, 1, &node) ? 0 : node;
}

/* The outer nodes are mostly those of the previous stack. */
uint32_t sonde_trie_intern(struct sonde_trie *stacks, const struct sonde_trie_frame *frames, size_t count)
{
	uint32_t node = 0;
	for (size_t depth = 0; count--; depth++) {
		struct sonde_stack_node next = {node, frames[count].module, frames[count].address};
		uint32_t *before = depth < SONDE_TRIE_PATH ? &stacks->path[depth] : NULL;
		if (before && *before && same_node(&stacks->nodes[*before - 1], &next)) {
			node = *before;
			continue;
		}
		node = intern_node(stacks, node, &frames[count]);
		if (!node)
			return 0;
		if (before)
			*before = node;
	}
	return node;
}

static int write_nodes(struct sonde_trie *stacks, uint32_t first, uint32_t count)
{
	struct sonde_columns columns;
	sonde_columns_init(&columns, SONDE_STACKS_COLUMNS);
	uint64_t before = 0;
	for (uint32_t id = first; id < first + count; id++) {
		const struct sonde_stack_node *node = &stacks->nodes[id - 1];
		sonde_columns_put(&columns, SONDE_STACKS_COLUMN_PARENT, id - node->parent);
		sonde_columns_put(&columns, SONDE_STACKS_COLUMN_MODULE, node->module);
		sonde_columns_put(&columns, SONDE_STACKS_COLUMN_ADDRESS,
				  sonde_varint_zigzag((int64_t)(node->address - before)));
		before = node->address;
	}
	struct sonde_stacks_summary summary = {.first_node = first};
	struct sonde_chunk chunk = {
	    .type = SONDE_CHUNK_STACKS,
	    .count = count,
	    .summary = &summary,
	    .summary_b = sizeof summary,
	};
	int rc = sonde_columns_write(&columns, stacks->writer, &chunk);
	sonde_columns_fini(&columns);
	return rc;
}

int sonde_trie_flush(struct sonde_trie *stacks)
{
	while (stacks->written < stacks->node_count) {
		uint32_t count = stacks->node_count - stacks->written;
		if (count > NODES_A_CHUNK)
			count = NODES_A_CHUNK;
		int rc = write_nodes(stacks, stacks->written + 1, count);
		if (rc)
			return rc;
		stacks->written += count;
	}
	return stacks->error;
}

#define LOCATIONS_MAX 64

int sonde_trie_symbol(struct sonde_trie *stacks, uint32_t module, uint64_t address,
		      const struct sonde_trie_location *locations, size_t count)
{
	struct sonde_meta_location rows[LOCATIONS_MAX];
	count = count < LOCATIONS_MAX ? count : LOCATIONS_MAX;
	for (size_t i = 0; i < count; i++) {
		const char *function = locations[i].function ? locations[i].function : "";
		const char *file = locations[i].file ? locations[i].file : "";
		rows[i] = (struct sonde_meta_location){
		    .function = sonde_strings_intern(stacks->strings, function, strlen(function)),
		    .file = sonde_strings_intern(stacks->strings, file, strlen(file)),
		    .line = locations[i].line,
		};
	}
	struct sonde_meta_symbol record = {
	    .head = {.type = SONDE_META_SYMBOL},
	    .module = module,
	    .count = (uint32_t)count,
	    .address = address,
	};
	return sonde_writer_meta(stacks->writer, &record, sizeof record, rows, count * sizeof *rows);
}
