/* stacks.h: samples, heap and waits for exchange formats: distinct stacks with their weight, and stacks as source
 * lines.
 *
 * A stack here is (thread, trie node, leaf). A leaf is an innermost line that is not code: [kernel] if the sample hit
 * the kernel and the stack ends at the entry into the kernel; [mutex] and the like for a waiting call. Expanded, a
 * stack has one line per function, inlined ones included, leaf first. The options choose the weight (session/weigh.h):
 * time, bytes or blocks.
 */
#ifndef SONDE_EXPORT_STACKS_H
#define SONDE_EXPORT_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "export/format.h"
#include "session/session.h"
#include "util/map.h"

#define SONDE_STACKS_KERNEL "[kernel]"
#define SONDE_STACKS_UNKNOWN "[unknown]"
#define SONDE_STACKS_NONE "(no stack)"

/* Leaves. A call's leaf is SONDE_STACK_LEAF_WAIT + enum sonde_wait_kind. */
enum {
	SONDE_STACK_LEAF_NONE = 0,
	SONDE_STACK_LEAF_KERNEL = 1,
	SONDE_STACK_LEAF_WAIT = 2,
	SONDE_STACK_LEAVES = SONDE_STACK_LEAF_WAIT + SONDE_WAIT_KINDS
};

struct sonde_stack {
	uint32_t thread, node, leaf;
	uint64_t count;           /* samples, blocks or calls */
	uint64_t weight;          /* in the weight's unit: ns; bytes, or blocks if requested */
	uint64_t unsampled_ns;    /* CPU time without samples: measured, or not sampled */
	uint64_t begins, begun_b; /* number and bytes of all allocations; set by sonde_export_stacks_begun() only */
};

/* The distinct stacks of a session, in the order in which they were first seen. */
struct sonde_stacks {
	struct sonde_stack *rows;
	size_t count, cap;
	struct sonde_map map;
	uint64_t samples, weight; /* total counts and weights */
	uint64_t mean_b;          /* heap: mean bytes between samples; 0 = every block was recorded */
};

/* The unit of a weight. */
static inline enum sonde_unit sonde_export_stacks_unit(const struct sonde_format_options *options)
{
	enum sonde_weigh_unit unit = sonde_weigh_rows[options->weigh.by].unit;
	return unit == SONDE_WEIGH_NS       ? SONDE_UNIT_NS
	       : unit == SONDE_WEIGH_BLOCKS ? SONDE_UNIT_COUNT
					    : SONDE_UNIT_BYTES;
}

int sonde_export_stacks_fold(struct sonde_stacks *stacks, struct sonde_session *session,
			     const struct sonde_format_options *options);
/* Adds the allocations of each stack to the rows of a heap; a stack that has no row yet gets one without weight. */
int sonde_export_stacks_begun(struct sonde_stacks *stacks, struct sonde_session *session,
			      const struct sonde_format_options *options);
void sonde_export_stacks_fini(struct sonde_stacks *stacks);

/* True if sample i needs a [kernel] line: it hit the kernel and its leaf is not kernel code. */
int sonde_export_stacks_in_kernel(const struct sonde_session *session, const struct sonde_batch *batch, size_t i);

/* Lines refer to functions by id. [kernel], unknown functions, a missing stack, and waiting calls have ids after the
 * last function, so that a format can keep a table by id. */
static inline uint32_t sonde_stack_kernel_id(const struct sonde_session *session)
{
	return (uint32_t)sonde_session_function_count(session) + 1;
}

static inline uint32_t sonde_stack_unknown_id(const struct sonde_session *session)
{
	return (uint32_t)sonde_session_function_count(session) + 2;
}

static inline uint32_t sonde_stack_none_id(const struct sonde_session *session)
{
	return (uint32_t)sonde_session_function_count(session) + 3;
}

static inline uint32_t sonde_stack_wait_id(const struct sonde_session *session, uint32_t kind)
{
	return sonde_stack_none_id(session) + 1 + kind;
}

/* Returns the number above all ids. */
static inline uint32_t sonde_stack_id_end(const struct sonde_session *session)
{
	return sonde_stack_wait_id(session, SONDE_WAIT_KINDS);
}

/* Returns the name for such an id; never empty. */
const char *sonde_stack_function_name(const struct sonde_session *session, uint32_t id);

struct sonde_stack_line {
	uint32_t function; /* id, as above */
	/* index; lines that are not frames have indices after the last (sonde_stack_frame_function()) */
	uint32_t frame;
	uint32_t inlined; /* 1 = inlined into the next line, which has the same frame */
	uint32_t line;    /* 0 = unknown */
	const char *file; /* "" = unknown */
};

/* Returns the number above all frame indices. */
static inline size_t sonde_stack_frame_end(const struct sonde_session *session)
{
	return sonde_session_frame_count(session) + 2 + SONDE_WAIT_KINDS;
}

/* The function of an index after the last frame. */
uint32_t sonde_stack_frame_function(const struct sonde_session *session, uint32_t frame);

/* Storage for one expanded stack, reused across calls. A zeroed struct is empty. */
struct sonde_stack_lines {
	struct sonde_stack_line *at;
	size_t count, cap;
};

/* Expands a stack, leaf first. There is always at least one line: if the stack is missing and there is no [kernel], a
 * line says that the stack is missing. */
int sonde_stack_expand(struct sonde_stack_lines *lines, const struct sonde_session *session, uint32_t node,
		       uint32_t leaf);
void sonde_stack_lines_fini(struct sonde_stack_lines *lines);

/* Trie nodes from the innermost outwards, reused across calls. A zeroed struct is empty. */
struct sonde_stack_path {
	uint32_t *nodes;
	size_t count, cap;
};

/* Collects the nodes from `node` outwards, up to but excluding the first node that `find` knows. `find` returns the
 * caller's value for a node, or 0 if it does not know the node; *out becomes the value of the first known node, or 0 if
 * there is none. -ENOMEM. */
int sonde_stack_path_up(struct sonde_stack_path *path, const struct sonde_session *session, uint32_t node,
			uint32_t (*find)(const void *context, uint32_t node), const void *context, uint32_t *out);
void sonde_stack_path_fini(struct sonde_stack_path *path);

#endif
