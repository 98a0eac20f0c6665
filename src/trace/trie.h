/* trie.h: modules and the stack trie of a recording.
 *
 * A stack is interned from its root: each node is (parent, module, address). Stacks of one program share nearly all of
 * their nodes, so a sample costs one number. Nodes are written in STACKS chunks before any row refers to them.
 */
#ifndef SONDE_TRACE_TRIE_H
#define SONDE_TRACE_TRIE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace/strings.h"
#include "trace/writer.h"
#include "util/map.h"

/* Identifies a module, which is interned by its build-id, or by path and process if it has none. */
struct sonde_stack_module_key {
	const char *path; /* as the process sees it */
	const uint8_t *build_id;
	size_t build_id_b; /* 0 = none */
	uint32_t flags;    /* enum sonde_module_flag */
	uint32_t process;  /* owner of an anonymous module; else 0 */
	pid_t root_pid;    /* a live process that sees the path: the file is kept open for symbols */
};

struct sonde_trie_frame {
	uint32_t module;
	uint64_t address; /* as in STACKS: return address − 1 for callers */
};

/* Location of a frame in a module without a file: innermost function first. */
struct sonde_trie_location {
	const char *function; /* NULL = unnamed */
	const char *file;     /* NULL = unknown */
	uint32_t line;        /* 0 = unknown */
};

struct sonde_stack_node {
	uint32_t parent, module;
	uint64_t address;
};

struct sonde_stack_module {
	uint32_t path, flags, process;
	uint8_t build_id_b;
	uint8_t build_id[23];
	pid_t root_pid;
	int fd; /* keeps the file readable for symbols after its path becomes invalid; −1 = none */
};

#define SONDE_TRIE_PATH 128

struct sonde_trie {
	struct sonde_writer *writer;
	struct sonde_strings *strings;
	struct sonde_stack_node *nodes; /* indexed by id − 1 */
	uint32_t node_count;
	size_t node_cap;
	uint32_t written; /* nodes already in the file */
	uint64_t *index;  /* hash index of nodes: low half of the hash << 32 | id; open addressing, at most half full */
	size_t index_cap; /* a power of two; 0 = none yet */
	uint32_t path[SONDE_TRIE_PATH];     /* nodes of the last interned stack, by depth; 0 = none */
	struct sonde_stack_module *modules; /* indexed by id − 1 */
	uint32_t module_count;
	size_t module_cap;
	struct sonde_map module_map;
	int error;
};

void sonde_trie_init(struct sonde_trie *stacks, struct sonde_writer *writer, struct sonde_strings *strings);
void sonde_trie_fini(struct sonde_trie *stacks);

uint32_t sonde_trie_module(struct sonde_trie *stacks, const struct sonde_stack_module_key *key);
uint32_t sonde_trie_intern(struct sonde_trie *stacks, const struct sonde_trie_frame *frames, size_t count);
/* Interns frames below a node (0 = the root); the last frame becomes its child. Stores each frame's node. 0;
 * -ENOMEM. */
int sonde_trie_extend(struct sonde_trie *stacks, uint32_t parent, const struct sonde_trie_frame *frames, size_t count,
		      uint32_t *nodes);

/* Writes a SYMBOL record. Returns 0 or the writer's error. */
int sonde_trie_symbol(struct sonde_trie *stacks, uint32_t module, uint64_t address,
		      const struct sonde_trie_location *locations, size_t count);

/* Writes the nodes that are not yet in the file. */
int sonde_trie_flush(struct sonde_trie *stacks);

#endif
