/* stacks.h: what exchange formats want of samples, of the heap and of waiting: distinct stacks with their weight, and
 * stacks as lines of source.
 *
 * A stack here is (thread, trie node, leaf). A leaf is a line that stands below the stack and is no code of its:
 * [kernel] where the sample was taken in the kernel and the stack ends where it entered, [mutex] and the like where a
 * call waited. Expanded, a stack has one line per function, inlined ones included, leaf first. The options say what
 * stacks are weighed by (session/weigh.h): time, bytes or blocks.
 */
#ifndef SONDE_EXPORT_STACK_STACKS_H
#define SONDE_EXPORT_STACK_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "export/format.h"
#include "session/session.h"
#include "util/map.h"

#define SONDE_STACKS_KERNEL "[kernel]"
#define SONDE_STACKS_UNKNOWN "[unknown]"
#define SONDE_STACKS_NONE "(no stack)"

/* Leaves. A call's is SONDE_STACK_LEAF_WAIT + enum sonde_wait_kind. */
enum {
	SONDE_STACK_LEAF_NONE = 0,
	SONDE_STACK_LEAF_KERNEL = 1,
	SONDE_STACK_LEAF_WAIT = 2,
	SONDE_STACK_LEAVES = SONDE_STACK_LEAF_WAIT + SONDE_WAIT_KINDS
};

struct sonde_stack {
	uint32_t thread, node, leaf;
	uint64_t count;           /* samples, blocks or calls */
	uint64_t weight;          /* in the weight's unit: ns; bytes, or blocks where these are asked for */
	uint64_t beside_ns;       /* CPU time that no sample stands for: measured, or left out by samples */
	uint64_t begins, begun_b; /* all that was allocated; only with sonde_export_stacks_begun() */
};

/* All that is wanted of a session by stack, in the order in which the stacks were first seen. */
struct sonde_stacks {
	struct sonde_stack *rows;
	size_t count, cap;
	struct sonde_map map;
	uint64_t samples, weight; /* counts and weights of all */
	uint64_t mean_b;          /* heap: bytes between samples; 0 = every block was recorded */
};

/* What a weight is measured in. */
static inline enum sonde_unit sonde_export_stacks_unit(const struct sonde_format_options *options)
{
	enum sonde_weigh_unit unit = sonde_weigh_rows[options->weigh.by].unit;
	return unit == SONDE_WEIGH_NS       ? SONDE_UNIT_NS
	       : unit == SONDE_WEIGH_BLOCKS ? SONDE_UNIT_COUNT
					    : SONDE_UNIT_BYTES;
}

int sonde_export_stacks_fold(struct sonde_stacks *stacks, struct sonde_session *session,
			     const struct sonde_format_options *options);
/* Adds what each stack allocated to rows of the heap, and rows without weight for stacks that were not there. */
int sonde_export_stacks_begun(struct sonde_stacks *stacks, struct sonde_session *session,
			      const struct sonde_format_options *options);
void sonde_export_stacks_fini(struct sonde_stacks *stacks);

/* The next batch of samples; 1, 0 at the end, or a negative errno. Chunks that cannot be decoded are passed over. */
int sonde_export_stacks_next(struct sonde_cursor *cursor, const struct sonde_batch **out);

/* Whether sample i needs a [kernel] line: it hit in the kernel and its leaf is not kernel code. */
int sonde_export_stacks_in_kernel(const struct sonde_session *session, const struct sonde_batch *batch, size_t i);

/* Lines name functions by id; [kernel], what is not known, a missing stack, and then calls that wait have ids behind
 * the last, so that a format can keep a table by id. */
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

/* Ids are below. */
static inline uint32_t sonde_stack_id_end(const struct sonde_session *session)
{
	return sonde_stack_wait_id(session, SONDE_WAIT_KINDS);
}

/* The name of such an id; never empty. */
const char *sonde_stack_function_name(const struct sonde_session *session, uint32_t id);

struct sonde_stack_line {
	uint32_t function; /* id, as above */
	uint32_t frame; /* index; lines that are no frame have indices behind the last (sonde_stack_frame_function()) */
	uint32_t inlined; /* into the next line, whose frame is the same */
	uint32_t line;    /* 0 = not known */
	const char *file; /* "" = not known */
};

/* Indices of frames are below. */
static inline size_t sonde_stack_frame_end(const struct sonde_session *session)
{
	return sonde_session_frame_count(session) + 2 + SONDE_WAIT_KINDS;
}

/* The function of an index behind the last frame's. */
uint32_t sonde_stack_frame_function(const struct sonde_session *session, uint32_t frame);

/* Room for one expanded stack, kept from call to call. A zeroed struct is empty. */
struct sonde_stack_lines {
	struct sonde_stack_line *at;
	size_t count, cap;
};

/* Expands a stack, leaf first; never empty: without a stack and without [kernel] a line says so. */
int sonde_stack_expand(struct sonde_stack_lines *lines, const struct sonde_session *session, uint32_t node,
		       uint32_t leaf);
void sonde_stack_lines_fini(struct sonde_stack_lines *lines);

/* Trie nodes on the way outwards, the innermost first, kept from call to call. A zeroed struct is empty. */
struct sonde_stack_path {
	uint32_t *nodes;
	size_t count, cap;
};

/* From `node` outwards to the first that `find` knows, which is not in the path. `find` says what it knows a node by, 0
 * = it does not; *out is that, 0 = of none on the way. -ENOMEM. */
int sonde_stack_path_up(struct sonde_stack_path *path, const struct sonde_session *session, uint32_t node,
			uint32_t (*find)(const void *context, uint32_t node), const void *context, uint32_t *out);
void sonde_stack_path_fini(struct sonde_stack_path *path);

#endif
