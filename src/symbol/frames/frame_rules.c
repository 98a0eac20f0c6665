/* frame_rules.c: derives unwinding rules backwards from every `ret` that an instruction can reach.
 *
 * From the requested instruction, all paths are followed forwards, over branches and jumps and across calls, up to a
 * `ret`, to code that has table rows, or to code whose rules are known. At the `ret`, the return address is at rsp, and
 * rbp has the caller's value. Going backwards over one instruction, both values are rewritten in terms of the registers
 * before it (Dijkstra's weakest precondition): before `pop %rbx` the return address is 8 bytes further up; before `mov
 * 64(%rsp), %rsp` its location depends on the word at 64(%rsp); before `mov %rsp, %r11` it is relative to rsp instead
 * of r11. Where paths join, their values must agree. This is repeated until nothing changes. A value can only change
 * from OPEN to known, and from known to UNKNOWN, so the iteration ends.
 *
 * The starts of functions, which stripped libraries do not provide, need not be known, and code before the instruction,
 * such as a realignment of the stack, does not matter. Three assumptions are made: stack memory that a rule reads is
 * not written through other registers; calls preserve the registers that the ABI lists; and calls return. If a called
 * function does not return, the code after the call may belong to another function. Then two paths disagree, or the
 * caller's check of the return address fails. Two simpler methods were rejected: analysis only forwards from a
 * function's start, because starts are unknown; and use of the first `ret` in byte order, because it may belong to
 * another path.
 */
#include "symbol/frames/frame_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "symbol/frames/x86.h"
#include "util/array.h"
#include "util/error.h"
#include "util/map.h"

#define NODES_MAX 32768u /* maximum of instructions followed at once; longer code has no rule */
#define PASSES_MAX 64u
#define CALLEE_NODES_MAX 4096u /* limit for deciding whether a callee returns: longer ones are assumed to return */
#define KNOWN_MAX (1u << 20)
#define OUTSIDE UINT32_MAX
#define FRAME_MAX (1 << 28)   /* larger offsets are not frame offsets */
#define KEPT_BY_CALLS 0xf038u /* rbx, rsp, rbp, r12 to r15 */

enum { RETURNS = 1, NEVER_RETURNS = 2 };

/* An instruction on a path. */
struct node {
	uint64_t address;
	struct sonde_x86 what;
	uint32_t next, target; /* node indices; OUTSIDE = none */
	uint8_t is_end;        /* the path ends here: the rule is known, or there is no successor */
	struct sonde_frame_rule rule;
};

struct start {
	uint64_t address;
	uint8_t jumps_indirectly, shares, is_cut;
};

struct sonde_frame_rules {
	struct sonde_frame_code code;
	struct sonde_map known; /* address → 1 + index in `rules` */
	struct sonde_frame_rule *rules;
	size_t rule_count, rule_capacity;
	struct sonde_map callees; /* address → 1: it returns, 2: it never does */
	struct sonde_map owners;  /* address → 1 + index of the function start that reaches it */
	struct sonde_map starts_by_address;
	struct start *starts;
	size_t start_count, start_capacity;

	/* State of one exploration. */
	struct node *nodes;
	size_t node_count, node_capacity;
	struct sonde_map at; /* address → 1 + node */
	uint64_t *pending;
	size_t pending_count, pending_capacity;
	size_t node_limit;
	int is_cut, jumps_indirectly, returns;
	struct sonde_frame_rule answer;
};

int sonde_frame_rules_new(struct sonde_frame_rules **out, const struct sonde_frame_code *code)
{
	struct sonde_frame_rules *rules = calloc(1, sizeof *rules);
	if (!rules)
		return sonde_error(ENOMEM, "out of memory for derived rules");
	rules->code = *code;
	*out = rules;
	return 0;
}

void sonde_frame_rules_free(struct sonde_frame_rules *rules)
{
	if (!rules)
		return;
	sonde_map_fini(&rules->known);
	sonde_map_fini(&rules->callees);
	sonde_map_fini(&rules->owners);
	sonde_map_fini(&rules->starts_by_address);
	sonde_map_fini(&rules->at);
	free(rules->rules);
	free(rules->starts);
	free(rules->nodes);
	free(rules->pending);
	free(rules);
}

/* --- values ---------------------------------------------------------------------------------------------- */

static struct sonde_frame_value in_register(uint8_t reg, int64_t offset)
{
	struct sonde_frame_value value = {.kind = SONDE_FRAME_UNKNOWN};
	if (reg < SONDE_X86_NO_REGISTER && offset < FRAME_MAX && offset > -FRAME_MAX)
		value = (struct sonde_frame_value){.kind = SONDE_FRAME_REGISTER, .reg = reg, .offset = (int32_t)offset};
	return value;
}

static struct sonde_frame_value in_memory(uint8_t reg, int64_t load, int64_t offset)
{
	struct sonde_frame_value value = in_register(reg, offset);
	if (value.kind == SONDE_FRAME_REGISTER && load < FRAME_MAX && load > -FRAME_MAX) {
		value.kind = SONDE_FRAME_MEMORY;
		value.load = (int32_t)load;
	} else {
		value.kind = SONDE_FRAME_UNKNOWN;
	}
	return value;
}

static const struct sonde_frame_value unknown = {.kind = SONDE_FRAME_UNKNOWN};

static int is_equal(const struct sonde_frame_value *a, const struct sonde_frame_value *b)
{
	return a->kind == b->kind && (a->kind == SONDE_FRAME_OPEN || a->kind == SONDE_FRAME_UNKNOWN ||
				      (a->reg == b->reg && a->offset == b->offset &&
				       (a->kind == SONDE_FRAME_REGISTER || a->load == b->load)));
}

static struct sonde_frame_value meet(struct sonde_frame_value a, struct sonde_frame_value b)
{
	if (a.kind == SONDE_FRAME_OPEN)
		return b;
	return b.kind == SONDE_FRAME_OPEN || is_equal(&a, &b) ? a : unknown;
}

/* Replaces `reg` in the value by base + offset, in terms of the registers before the instruction. */
static struct sonde_frame_value over_set(struct sonde_frame_value value, uint8_t reg, uint8_t base, int64_t offset)
{
	if (value.reg != reg)
		return value;
	if (value.kind == SONDE_FRAME_MEMORY)
		return in_memory(base, value.load + offset, value.offset);
	return in_register(base, value.offset + offset);
}

/* Replaces `reg` in the value by the 8 bytes at base + offset. A value that would need two memory reads becomes
 * unknown. */
static struct sonde_frame_value over_load(struct sonde_frame_value value, const struct sonde_x86 *what)
{
	if (value.reg != what->reg)
		return value;
	return value.kind == SONDE_FRAME_MEMORY ? unknown : in_memory(what->base, what->offset, value.offset);
}

/* Rewrites a value for the time before a store of `reg` to the 8 bytes at base + offset. */
static struct sonde_frame_value over_store(struct sonde_frame_value value, uint8_t base, int64_t offset, uint8_t reg)
{
	if (value.kind != SONDE_FRAME_MEMORY || value.reg != base || value.load >= offset + 8 ||
	    offset >= (int64_t)value.load + 8)
		return value;
	return value.load == offset ? in_register(reg, value.offset) : unknown;
}

/* Rewrites a value for the time before a `push`, which stores `reg` and moves the stack pointer. */
static struct sonde_frame_value over_push(struct sonde_frame_value value, uint8_t reg)
{
	return over_store(over_set(value, SONDE_X86_RSP, SONDE_X86_RSP, -8), SONDE_X86_RSP, -8, reg);
}

static struct sonde_frame_value over_pop(struct sonde_frame_value value, uint8_t reg)
{
	if (reg != SONDE_X86_NO_REGISTER && value.reg == reg)
		return value.kind == SONDE_FRAME_MEMORY ? unknown : in_memory(SONDE_X86_RSP, 0, value.offset);
	return over_set(value, SONDE_X86_RSP, SONDE_X86_RSP, 8);
}

static struct sonde_frame_value over_swap(struct sonde_frame_value value, const struct sonde_x86 *what)
{
	value.reg = value.reg == what->reg ? what->base : value.reg == what->base ? what->reg : value.reg;
	return value;
}

/* Rewrites a value for the time before a call. The callee may write caller-saved registers and memory below the stack
 * pointer. */
static struct sonde_frame_value over_call(struct sonde_frame_value value)
{
	int is_below = value.kind == SONDE_FRAME_MEMORY && value.reg == SONDE_X86_RSP && value.load < 0;
	return KEPT_BY_CALLS >> value.reg & 1 && !is_below ? value : unknown;
}

static struct sonde_frame_value over(struct sonde_frame_value value, const struct sonde_x86 *what)
{
	if (value.kind != SONDE_FRAME_REGISTER && value.kind != SONDE_FRAME_MEMORY)
		return value;
	switch (what->kind) {
	case SONDE_X86_PUSH:
		return over_push(value, what->reg);
	case SONDE_X86_POP:
		return over_pop(value, what->reg);
	case SONDE_X86_SET:
		return over_set(value, what->reg, what->base, what->offset);
	case SONDE_X86_LOAD:
		return over_load(value, what);
	case SONDE_X86_STORE:
		return over_store(value, what->base, what->offset, what->reg);
	case SONDE_X86_SWAP:
		return over_swap(value, what);
	case SONDE_X86_LEAVE:
		return over_set(over_pop(value, SONDE_X86_RBP), SONDE_X86_RSP, SONDE_X86_RBP, 0);
	case SONDE_X86_CALL:
	case SONDE_X86_CALL_INDIRECT:
		return over_call(value);
	case SONDE_X86_STRANGE:
		return unknown;
	default:
		return what->written >> value.reg & 1 ? unknown : value;
	}
}

/* True if the instruction overwrites the return address, whose location `ra` is given in terms of the registers after
 * the instruction. Then the code does not return to its caller. */
static int writes_address(const struct sonde_x86 *what, struct sonde_frame_value ra)
{
	if (ra.kind != SONDE_FRAME_REGISTER)
		return 0;
	if (what->kind == SONDE_X86_PUSH)
		return ra.reg == SONDE_X86_RSP && ra.offset == 0;
	return what->kind == SONDE_X86_STORE && ra.reg == what->base && ra.offset == what->offset;
}

/* The rule before an instruction, given the rule after it. */
static struct sonde_frame_rule before(const struct sonde_x86 *what, const struct sonde_frame_rule *after)
{
	struct sonde_frame_rule rule = {.ra = unknown, .fp = unknown};
	if (!writes_address(what, after->ra)) {
		rule.ra = over(after->ra, what);
		rule.fp = over(after->fp, what);
	}
	return rule;
}

/* --- following all paths --------------------------------------------------------------------------------- */

static struct sonde_frame_rule rule_of_return(void)
{
	return (struct sonde_frame_rule){.ra = in_register(SONDE_X86_RSP, 0), .fp = in_register(SONDE_X86_RBP, 0)};
}

/* Translates a table row into a rule. */
static struct sonde_frame_rule rule_of_row(const struct sonde_unwind_row *row, uint64_t address)
{
	struct sonde_frame_rule rule = {.ra = unknown, .fp = unknown};
	uint8_t reg = row->kind == SONDE_UNWIND_FP ? SONDE_X86_RBP : SONDE_X86_RSP;
	int64_t frame = row->cfa_off;
	if (row->kind == SONDE_UNWIND_PLT)
		frame = 8 + ((int64_t)(address & 15) >= row->cfa_off ? 8 : 0);
	else if ((row->kind != SONDE_UNWIND_SP && row->kind != SONDE_UNWIND_FP) || row->ra_slot != 1)
		return rule;
	rule.ra = in_register(reg, frame - 8);
	if (row->kind == SONDE_UNWIND_PLT || row->fp_off == SONDE_UNWIND_FP_SAME)
		rule.fp = in_register(SONDE_X86_RBP, 0);
	else if (row->fp_off != SONDE_UNWIND_FP_LOST)
		rule.fp = in_memory(reg, frame + row->fp_off, 0);
	return rule;
}

static const struct sonde_unwind_row *row_at(const struct sonde_frame_rules *rules, uint64_t address)
{
	const struct sonde_unwind_row *row =
	    rules->code.table ? sonde_unwind_table_find(rules->code.table, address) : NULL;
	return row && row->kind != SONDE_UNWIND_NONE ? row : NULL;
}

static uint32_t find_node(const struct sonde_frame_rules *rules, uint64_t address)
{
	return sonde_map_find(&rules->at, sonde_hash_mix(address), NULL, NULL) - 1; /* OUTSIDE */
}

/* NULL: too many nodes. */
static struct node *add_node(struct sonde_frame_rules *rules, uint64_t address)
{
	if (rules->node_count == rules->node_limit ||
	    SONDE_ARRAY_RESERVE(rules->nodes, rules->node_capacity, rules->node_count + 1) ||
	    sonde_map_add(&rules->at, sonde_hash_mix(address), (uint32_t)rules->node_count + 1)) {
		rules->is_cut = 1;
		return NULL;
	}
	struct node *node = &rules->nodes[rules->node_count++];
	*node = (struct node){.address = address, .next = OUTSIDE, .target = OUTSIDE};
	return node;
}

static void add_pending(struct sonde_frame_rules *rules, uint64_t address)
{
	if (SONDE_ARRAY_RESERVE(rules->pending, rules->pending_capacity, rules->pending_count + 1))
		rules->is_cut = 1;
	else
		rules->pending[rules->pending_count++] = address;
}

/* True if the rule at the node is known without following it. */
static int ends_by_rule(struct sonde_frame_rules *rules, struct node *node)
{
	uint32_t known = sonde_map_find(&rules->known, sonde_hash_mix(node->address), NULL, NULL);
	const struct sonde_unwind_row *row = known ? NULL : row_at(rules, node->address);
	if (known)
		node->rule = rules->rules[known - 1];
	else if (row)
		node->rule = rule_of_row(row, node->address);
	return known || row;
}

static void decode(struct sonde_frame_rules *rules, struct node *node)
{
	uint8_t bytes[SONDE_X86_MAX_B];
	size_t size_b = rules->code.read(rules->code.context, node->address, bytes, sizeof bytes);
	if (!size_b || sonde_x86_decode(&node->what, bytes, size_b, node->address))
		node->what = (struct sonde_x86){.kind = SONDE_X86_STRANGE};
	/* a call of the next instruction only pushes the address of that instruction */
	if (node->what.kind == SONDE_X86_CALL && node->what.target == node->address + node->what.size_b) {
		node->what.kind = SONDE_X86_PUSH;
		node->what.reg = SONDE_X86_NO_REGISTER;
	}
}

/* If an instruction has no successors, sets its rule and returns true. */
static int ends(struct sonde_frame_rules *rules, struct node *node)
{
	static const struct sonde_frame_rule open;
	switch (node->what.kind) {
	case SONDE_X86_RETURN:
		rules->returns = 1;
		node->rule = rule_of_return();
		return 1;
	case SONDE_X86_STRANGE:
		rules->returns = 1;
		node->rule = (struct sonde_frame_rule){.ra = unknown, .fp = unknown};
		return 1;
	case SONDE_X86_JUMP_INDIRECT:
		rules->jumps_indirectly = 1;
		node->rule = open;
		return 1;
	case SONDE_X86_STOP:
		node->rule = open;
		return 1;
	case SONDE_X86_CALL:
		node->rule = open;
		return sonde_map_find(&rules->callees, sonde_hash_mix(node->what.target), NULL, NULL) == NEVER_RETURNS;
	default:
		return 0;
	}
}

/* Follows one path from `address` until it ends or joins another. */
static void follow(struct sonde_frame_rules *rules, uint64_t address, int uses_rules)
{
	while (find_node(rules, address) == OUTSIDE) {
		struct node *node = add_node(rules, address);
		if (!node)
			return;
		if (uses_rules && ends_by_rule(rules, node)) {
			node->is_end = 1;
			return;
		}
		decode(rules, node);
		if (ends(rules, node)) {
			node->is_end = 1;
			return;
		}
		const struct sonde_x86 what = node->what;
		if (what.kind == SONDE_X86_BRANCH)
			add_pending(rules, what.target);
		address = what.kind == SONDE_X86_JUMP ? what.target : address + what.size_b;
	}
}

/* Explores all instructions reachable from `address`, at most `limit`; with uses_rules, stops where rules are known. */
static void explore(struct sonde_frame_rules *rules, uint64_t address, size_t limit, int uses_rules)
{
	sonde_map_fini(&rules->at);
	rules->node_count = rules->pending_count = 0;
	rules->is_cut = rules->jumps_indirectly = rules->returns = 0;
	rules->node_limit = limit;
	add_pending(rules, address);
	while (rules->pending_count && !rules->is_cut)
		follow(rules, rules->pending[--rules->pending_count], uses_rules);
}

/* --- rules ----------------------------------------------------------------------------------------------- */

static void connect(struct sonde_frame_rules *rules)
{
	for (size_t i = 0; i < rules->node_count; i++) {
		struct node *node = &rules->nodes[i];
		if (node->is_end)
			continue;
		if (node->what.kind != SONDE_X86_JUMP)
			node->next = find_node(rules, node->address + node->what.size_b);
		if (node->what.kind == SONDE_X86_JUMP || node->what.kind == SONDE_X86_BRANCH)
			node->target = find_node(rules, node->what.target);
	}
}

static int update(struct sonde_frame_rules *rules, struct node *node)
{
	static const struct sonde_frame_rule open;
	if (node->is_end)
		return 0;
	const struct sonde_frame_rule *next = node->next == OUTSIDE ? &open : &rules->nodes[node->next].rule;
	const struct sonde_frame_rule *target = node->target == OUTSIDE ? &open : &rules->nodes[node->target].rule;
	struct sonde_frame_rule after = {.ra = meet(next->ra, target->ra), .fp = meet(next->fp, target->fp)};
	struct sonde_frame_rule rule = before(&node->what, &after);
	int is_changed = !is_equal(&rule.ra, &node->rule.ra) || !is_equal(&rule.fp, &node->rule.fp);
	node->rule = rule;
	return is_changed;
}

/* Iterates to the fixed point; 0 if it is not reached. */
static int settle(struct sonde_frame_rules *rules)
{
	for (unsigned pass = 0; pass < PASSES_MAX; pass++) {
		int is_changed = 0;
		for (size_t i = rules->node_count; i-- > 0;)
			is_changed |= update(rules, &rules->nodes[i]);
		if (!is_changed)
			return 1;
	}
	return 0;
}

/* Stores a rule for an address. An equal previous rule is shared, since neighbours mostly have the same rule. */
static void keep(struct sonde_frame_rules *rules, uint64_t address, const struct sonde_frame_rule *rule)
{
	const struct sonde_frame_rule *last = rules->rule_count ? &rules->rules[rules->rule_count - 1] : NULL;
	if (rules->known.count >= KNOWN_MAX)
		return;
	if (!last || !is_equal(&last->ra, &rule->ra) || !is_equal(&last->fp, &rule->fp)) {
		if (SONDE_ARRAY_RESERVE(rules->rules, rules->rule_capacity, rules->rule_count + 1))
			return;
		rules->rules[rules->rule_count++] = *rule;
	}
	sonde_map_add(&rules->known, sonde_hash_mix(address), (uint32_t)rules->rule_count);
}

/* Explores the code after `address` and derives its rules; 0 if there is too much code. */
static int derive(struct sonde_frame_rules *rules, uint64_t address)
{
	explore(rules, address, NODES_MAX, 1);
	connect(rules);
	return !rules->is_cut && settle(rules);
}

/* Finds out which of the functions called by the explored code never return (runtime.panicIndex of Go): code after
 * calls of these functions belongs to another path or function. If there are such functions, discards the exploration
 * and returns 1; else 0. */
static int find_callees(struct sonde_frame_rules *rules)
{
	int is_lost = 0;
	rules->pending_count = 0;
	for (size_t i = 0; i < rules->node_count; i++) {
		const struct node *node = &rules->nodes[i];
		if (!node->is_end && node->what.kind == SONDE_X86_CALL && !row_at(rules, node->what.target))
			add_pending(rules, node->what.target);
	}
	size_t count = rules->pending_count;
	uint64_t *targets = count ? malloc(count * sizeof *targets) : NULL;
	if (!targets)
		return 0;
	memcpy(targets, rules->pending, count * sizeof *targets);
	for (size_t i = 0; i < count; i++) {
		uint64_t hash = sonde_hash_mix(targets[i]);
		if (sonde_map_find(&rules->callees, hash, NULL, NULL))
			continue;
		explore(rules, targets[i], CALLEE_NODES_MAX, 0);
		int returns = rules->returns || rules->is_cut || rules->jumps_indirectly;
		is_lost = 1;
		sonde_map_add(&rules->callees, hash, returns ? RETURNS : NEVER_RETURNS);
	}
	free(targets);
	return is_lost;
}

const struct sonde_frame_rule *sonde_frame_rules_find(struct sonde_frame_rules *rules, uint64_t address)
{
	uint32_t known = sonde_map_find(&rules->known, sonde_hash_mix(address), NULL, NULL);
	if (known)
		return &rules->rules[known - 1];
	int is_derived = derive(rules, address);
	if (is_derived && rules->nodes[0].rule.ra.kind == SONDE_FRAME_UNKNOWN && find_callees(rules))
		is_derived = derive(rules, address);
	if (!is_derived) {
		rules->answer = (struct sonde_frame_rule){.ra = unknown, .fp = unknown};
		keep(rules, address, &rules->answer);
		return &rules->answer;
	}
	rules->answer = rules->nodes[0].rule;
	keep(rules, address, &rules->answer);
	for (size_t i = 1; i < rules->node_count; i++) {
		const struct node *node = &rules->nodes[i];
		if (node->rule.ra.kind != SONDE_FRAME_UNKNOWN && !row_at(rules, node->address) &&
		    !sonde_map_find(&rules->known, sonde_hash_mix(node->address), NULL, NULL))
			keep(rules, node->address, &node->rule);
	}
	return &rules->answer;
}

/* --- where functions lead -------------------------------------------------------------------------------- */

static uint32_t owner_of(const struct sonde_frame_rules *rules, uint64_t address)
{
	return sonde_map_find(&rules->owners, sonde_hash_mix(address), NULL, NULL);
}

/* Returns 1 + the index of the function start `from`; 0 if out of memory. The code of a new start is explored. */
static uint32_t find_start(struct sonde_frame_rules *rules, uint64_t from)
{
	uint32_t number = sonde_map_find(&rules->starts_by_address, sonde_hash_mix(from), NULL, NULL);
	if (number || rules->owners.count >= KNOWN_MAX ||
	    SONDE_ARRAY_RESERVE(rules->starts, rules->start_capacity, rules->start_count + 1))
		return number;
	number = (uint32_t)rules->start_count + 1;
	if (sonde_map_add(&rules->starts_by_address, sonde_hash_mix(from), number))
		return 0;
	struct start *start = &rules->starts[rules->start_count++];
	explore(rules, from, NODES_MAX, 0);
	*start = (struct start){
	    .address = from, .jumps_indirectly = (uint8_t)rules->jumps_indirectly, .is_cut = (uint8_t)rules->is_cut};
	for (size_t i = 0; i < rules->node_count; i++) {
		if (owner_of(rules, rules->nodes[i].address))
			start->shares = 1;
		else
			sonde_map_add(&rules->owners, sonde_hash_mix(rules->nodes[i].address), number);
	}
	return number;
}

enum sonde_frame_lead sonde_frame_rules_lead(struct sonde_frame_rules *rules, uint64_t from, uint64_t address)
{
	uint32_t number = find_start(rules, from);
	if (!number)
		return SONDE_FRAME_LEADS_NOT;
	const struct start start = rules->starts[number - 1];
	if (owner_of(rules, address) == number)
		return SONDE_FRAME_LEADS;
	if (start.shares) {
		explore(rules, from, NODES_MAX, 0);
		if (find_node(rules, address) != OUTSIDE)
			return SONDE_FRAME_LEADS;
	}
	return start.jumps_indirectly ? SONDE_FRAME_LEADS_PERHAPS : SONDE_FRAME_LEADS_NOT;
}
