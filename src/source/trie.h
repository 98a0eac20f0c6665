/* trie.h: modules and the stack trie of a recording.
 *
 * A stack is interned from its root: each node is (parent, module, address). Stacks of one program share nearly all of
 * their nodes, so a sample costs one number. Nodes are written in STACKS chunks before anything that refers to them.
 */
#ifndef SONDE_SOURCE_TRIE_H
#define SONDE_SOURCE_TRIE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/recorder.h"
#include "source/strings.h"

struct sonde_stack_node {
	uint32_t parent, module;
	uint64_t address;
};

struct sonde_stack_module {
	uint32_t path, flags, process;
	uint8_t build_id_b;
	uint8_t build_id[23];
	pid_t root_pid;
	int fd; /* keeps the file for symbols when its path will no longer lead to it; −1 = none */
};

#define SONDE_TRIE_PATH 128

struct sonde_trie {
	struct sonde_writer *writer;
	struct sonde_strings *strings;
	struct sonde_stack_node *nodes; /* id − 1 */
	uint32_t node_count, node_cap;
	uint32_t written; /* nodes that are in the file */
	uint64_t *index;  /* of nodes: low half of the hash << 32 | id; open addressing, at most half full */
	size_t index_cap; /* a power of two; 0 = none yet */
	uint32_t path[SONDE_TRIE_PATH];     /* nodes that were interned last, by depth; 0 = none */
	struct sonde_stack_module *modules; /* id − 1 */
	uint32_t module_count, module_cap;
	struct sonde_map module_map;
	int error;
};

void sonde_trie_init(struct sonde_trie *stacks, struct sonde_writer *writer, struct sonde_strings *strings);
void sonde_trie_fini(struct sonde_trie *stacks);

uint32_t sonde_trie_module(struct sonde_trie *stacks, const struct sonde_stack_module_key *key);
uint32_t sonde_trie_intern(struct sonde_trie *stacks, const struct sonde_recorder_frame *frames, size_t count);
/* Interns frames below a node (0 = the root); the last of them is its child. Sets the node of each. 0; -ENOMEM. */
int sonde_trie_extend(struct sonde_trie *stacks, uint32_t parent, const struct sonde_recorder_frame *frames,
		      size_t count, uint32_t *nodes);

/* Writes the nodes that are not yet in the file. */
int sonde_trie_flush(struct sonde_trie *stacks);

#endif
