/* functions.c: walks a unit's tree of entries for the requested functions and the functions inlined into them.
 *
 * The walk uses an explicit stack of bounded depth. It descends only where code can be: into functions, their blocks,
 * namespaces, and types of languages that define functions inside types. Many entries share the name and line of their
 * abstract origin, which are looked up once.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "symbol/demangle.h"
#include "symbol/dwarf/unit.h"
#include "util/array.h"
#include "util/error.h"

#define DEPTH_MAX 128
#define RANGES_MAX 4096
#define ORIGINS 1024 /* power of two */

/* Cached name and line of an abstract origin. */
struct origin {
	Dwarf_Off offset;
	uint32_t name, line;
};

struct frame {
	Dwarf_Die die;
	uint32_t node; /* node of the enclosing function */
};

struct walk {
	struct sonde_dwarf_functions *out;
	const struct sonde_dwarf_wanted *wanted;
	Dwarf_Files *files; /* file table of a .dwo file, which numbers files on its own; else NULL */
	size_t file_count;
	int has_code_in_types;
	int error;
	unsigned depth;
	struct frame stack[DEPTH_MAX];
	struct origin origins[ORIGINS];
};

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		return dwarf_formstring(&attribute);
	return NULL;
}

static int read_origin(struct walk *walk, Dwarf_Die *die, struct origin *out)
{
	int line = 0;
	const char *mangled = linkage_name(die);
	char *demangled = mangled ? sonde_demangle(mangled) : NULL;
	/* C symbols renamed in assembler ("__GI_setlocale") are not mangled: prefer the name from the source. */
	const char *plain = demangled ? demangled : dwarf_diename(die);
	const char *name = plain ? plain : mangled;
	int rc = sonde_texts_intern(&walk->out->index->texts, name, &out->name);
	out->line = dwarf_decl_line(die, &line) || line < 0 ? 0 : (uint32_t)line;
	free(demangled);
	return rc;
}

/* The name and line of a function or inlined function. */
static struct origin find_origin(struct walk *walk, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die abstract;
	struct origin origin = {0};
	if (!dwarf_attr(die, DW_AT_abstract_origin, &attribute) || !dwarf_formref_die(&attribute, &abstract)) {
		walk->error |= read_origin(walk, die, &origin);
		return origin;
	}
	/* Offsets in an alternate file overlap ours, but the address of an entry is unique. */
	Dwarf_Off offset = (Dwarf_Off)(uintptr_t)abstract.addr;
	struct origin *known = &walk->origins[sonde_hash_mix(offset) & (ORIGINS - 1)];
	if (known->offset != offset) {
		known->offset = offset;
		walk->error |= read_origin(walk, &abstract, known);
	}
	return *known;
}

static uint64_t number(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	return dwarf_attr(die, name, &attribute) && !dwarf_formudata(&attribute, &value) ? value : 0;
}

static int add_interval(struct sonde_dwarf_intervals *all, const struct sonde_dwarf_interval *interval)
{
	if (SONDE_ARRAY_RESERVE(all->items, all->capacity, all->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu code ranges", all->count + 1);
	all->items[all->count++] = *interval;
	return 0;
}

/* Adds the requested ranges of an entry and returns their number; *start becomes the start of the first, and is
 * unchanged if there are none. */
static int add_ranges(struct walk *walk, Dwarf_Die *die, uint32_t node, struct sonde_dwarf_intervals *to,
		      uint64_t *start)
{
	Dwarf_Addr base, low, high;
	unsigned count = 0;
	int is_wanted = 0;
	for (ptrdiff_t at = 0; count < RANGES_MAX && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;) {
		struct sonde_dwarf_interval interval = {low, high, node, walk->depth};
		if (low >= high)
			continue;
		walk->error |= add_interval(to, &interval);
		is_wanted |= sonde_dwarf_is_wanted(walk->wanted, low, high);
		if (!count++)
			*start = low;
	}
	return is_wanted;
}

static void read_call(struct walk *walk, Dwarf_Die *die, struct sonde_index_node *node)
{
	struct sonde_texts *texts = &walk->out->index->texts;
	uint64_t file = number(die, DW_AT_call_file);
	if (!walk->files)
		walk->error |= sonde_dwarf_lines_file(&walk->out->lines, file, texts, &node->call_file);
	else if (file < walk->file_count)
		walk->error |=
		    sonde_texts_intern(texts, dwarf_filesrc(walk->files, file, NULL, NULL), &node->call_file);
	node->call_line = (uint32_t)number(die, DW_AT_call_line);
}

static uint32_t add_node(struct walk *walk, Dwarf_Die *die, uint32_t parent, uint64_t start)
{
	struct sonde_index *index = walk->out->index;
	struct origin origin = find_origin(walk, die);
	struct sonde_index_node *node = sonde_index_add_node(index);
	if (!node) {
		walk->error = -ENOMEM;
		return SONDE_INDEX_NONE;
	}
	*node =
	    (struct sonde_index_node){.start = start, .parent = parent, .name = origin.name, .start_line = origin.line};
	return (uint32_t)(index->node_count - 1);
}

/* Adds a function. Returns its node if it is requested; NONE for others, whose ranges are recorded all the same. */
static uint32_t add_function(struct walk *walk, Dwarf_Die *die)
{
	struct sonde_dwarf_intervals *functions = &walk->out->functions;
	size_t first = functions->count;
	uint64_t start = 0;
	if (!add_ranges(walk, die, SONDE_INDEX_NONE, functions, &start))
		return SONDE_INDEX_NONE;
	uint32_t node = add_node(walk, die, SONDE_INDEX_NONE, start);
	for (size_t i = first; i < functions->count; i++) {
		functions->items[i].node = node;
		walk->error |= add_interval(&walk->out->nodes, &functions->items[i]);
	}
	return node;
}

static uint32_t add_inlined(struct walk *walk, Dwarf_Die *die, uint32_t parent)
{
	struct sonde_index *index = walk->out->index;
	uint64_t start = 0;
	uint32_t next = (uint32_t)index->node_count;
	size_t first = walk->out->nodes.count;
	add_ranges(walk, die, next, &walk->out->nodes, &start);
	if (walk->out->nodes.count == first)
		return SONDE_INDEX_NONE;
	uint32_t node = add_node(walk, die, parent, index->nodes[parent].start);
	if (node != SONDE_INDEX_NONE)
		read_call(walk, die, &index->nodes[node]);
	return node;
}

/* Visits an entry. Returns true if the walk should descend into its children; *node becomes the function that they
 * belong to. */
static int visit(struct walk *walk, Dwarf_Die *die, uint32_t *node)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		*node = add_function(walk, die);
		return *node != SONDE_INDEX_NONE;
	case DW_TAG_inlined_subroutine:
		if (*node != SONDE_INDEX_NONE)
			*node = add_inlined(walk, die, *node);
		return *node != SONDE_INDEX_NONE;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return *node != SONDE_INDEX_NONE;
	case DW_TAG_namespace:
	case DW_TAG_module:
		*node = SONDE_INDEX_NONE;
		return 1;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		*node = SONDE_INDEX_NONE;
		return walk->has_code_in_types;
	default:
		return 0;
	}
}

/* Advances to the next sibling of the entry on top, or of the nearest ancestor that has one; 0 at the end. */
static int go_on(struct walk *walk)
{
	Dwarf_Die next;
	while (walk->depth) {
		struct frame *top = &walk->stack[walk->depth - 1];
		if (!dwarf_siblingof(&top->die, &next)) {
			top->die = next;
			return 1;
		}
		walk->depth--;
	}
	return 0;
}

static void walk_tree(struct walk *walk, Dwarf_Die *tree)
{
	if (dwarf_child(tree, &walk->stack[0].die))
		return;
	walk->stack[0].node = SONDE_INDEX_NONE;
	walk->depth = 1;
	do {
		struct frame *top = &walk->stack[walk->depth - 1];
		uint32_t node = top->node;
		Dwarf_Die child;
		while (visit(walk, &top->die, &node) && walk->depth < DEPTH_MAX && !dwarf_child(&top->die, &child)) {
			top = &walk->stack[walk->depth++];
			*top = (struct frame){child, node};
		}
	} while (!walk->error && go_on(walk));
}

static int is_c_family(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_Mips_Assembler:
		return 1;
	default:
		return 0;
	}
}

int sonde_dwarf_functions_read(struct sonde_dwarf_functions *out, Dwarf_Die *unit, Dwarf_Die *tree,
			       const struct sonde_dwarf_wanted *wanted)
{
	struct walk *walk = calloc(1, sizeof *walk);
	if (!walk)
		return sonde_error(ENOMEM, "out of memory for a compile unit");
	walk->out = out;
	walk->wanted = wanted;
	walk->has_code_in_types = !is_c_family(unit);
	if (tree != unit && dwarf_getsrcfiles(tree, &walk->files, &walk->file_count))
		walk->files = NULL;
	walk_tree(walk, tree);
	int rc = walk->error ? -ENOMEM : 0;
	free(walk);
	return rc;
}
