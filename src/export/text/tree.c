/* tree.c: a weighted tree, one line per node.
 *
 * Call trees are deep and narrow: chains of single children stay at one indentation, only branches indent, and beyond
 * half of the line's width nothing does. Subtrees below half a per cent of the whole are folded into "(n more)". The
 * walk keeps a stack of its own, because hostile trees can be arbitrarily deep.
 */
#include "export/text/text.h"

#include <stdlib.h>
#include <string.h>

#include "export/clean.h"
#include "export/text/figure.h"
#include "export/text/shorten.h"

enum { BRANCH_COLUMNS = 2, FIGURES_COLUMNS = 32, LINE_MAX_B = 1 << 20, LEVELS_MAX = 60 };

static const double FOLD_SHARE = 0.005;

/* A branch being shown: its next child, and the number and total of the children folded into one line after the last
 * child. */
struct level {
	const struct sonde_tree_node *next;
	size_t folded;
	uint64_t folded_total;
};

/* How a line is attached to the branch above it. */
enum hang { HANG_CHAIN = 0, HANG_CHILD, HANG_LAST };

struct walk {
	const struct sonde_tree *tree;
	const struct sonde_format_options *options;
	FILE *out;
	double whole;
	struct sonde_buf line, name;
	size_t levels;
	struct level level[LEVELS_MAX];
};

static int shown(const struct walk *walk, const struct sonde_tree_node *node)
{
	return (double)node->total >= FOLD_SHARE * walk->whole;
}

static const struct sonde_tree_node *next_shown(const struct walk *walk, const struct sonde_tree_node *node)
{
	while (node && !shown(walk, node))
		node = node->next;
	return node;
}

static void put_figure(struct walk *walk, enum sonde_unit unit, double value, int columns)
{
	size_t start = walk->line.len_b;
	sonde_figure_value(&walk->line, unit, value, walk->options->ascii);
	if (sonde_buf_append(&walk->line, "", 1))
		return;
	int pad = columns - (int)sonde_clean_columns((const char *)walk->line.data + start);
	fprintf(walk->out, "%*s%s", pad, "", (const char *)walk->line.data + start);
	walk->line.len_b = start;
}

static void put_figures(struct walk *walk, uint64_t total, uint64_t self)
{
	sonde_buf_clear(&walk->line);
	put_figure(walk, SONDE_UNIT_RATIO, walk->whole > 0 ? (double)total / walk->whole : 0, 8);
	put_figure(walk, walk->tree->unit, (double)total, 11);
	put_figure(walk, walk->tree->unit, (double)self, 11);
	fputs("  ", walk->out);
}

static size_t put_branches(struct walk *walk, enum hang hang)
{
	static const char *const own[2][3] = {{"", "├─", "└─"}, {"", "|-", "`-"}};
	size_t most = (size_t)(walk->options->width - FIGURES_COLUMNS) / 2 / BRANCH_COLUMNS;
	size_t levels = walk->levels < most ? walk->levels : most;
	int ascii = walk->options->ascii != 0;
	for (size_t i = 0; i < levels; i++) {
		const struct level *level = &walk->level[i];
		if (i + 1 == walk->levels && hang != HANG_CHAIN)
			fputs(own[ascii][hang], walk->out);
		else
			fputs(!level->next && !level->folded ? "  " : ascii ? "| " : "│ ", walk->out);
	}
	return levels * BRANCH_COLUMNS;
}

static int put_line(struct walk *walk, const struct sonde_tree_node *node, enum hang hang)
{
	put_figures(walk, node->total, node->self);
	size_t used = FIGURES_COLUMNS + put_branches(walk, hang);
	size_t capacity = (size_t)walk->options->width > used + 8 ? (size_t)walk->options->width - used : 8;
	sonde_buf_clear(&walk->line);
	size_t module = sonde_clean_columns(node->module) + 3;
	int with_module = *node->module && module < capacity / 2;
	sonde_buf_clear(&walk->name);
	sonde_clean(&walk->name, node->name, walk->options->ascii);
	if (sonde_buf_append(&walk->name, "", 1))
		return sonde_buf_error(&walk->name);
	used = sonde_shorten_name(&walk->line, (const char *)walk->name.data,
				  with_module ? capacity - module : capacity, walk->options->ascii);
	if (with_module) {
		sonde_buf_text(&walk->line, walk->options->color ? " \033[2m(" : " (");
		sonde_clean_cut(&walk->line, node->module, module - 3, walk->options->ascii);
		sonde_buf_text(&walk->line, walk->options->color ? ")\033[0m" : ")");
	}
	sonde_buf_text(&walk->line, "\n");
	fwrite(walk->line.data, 1, walk->line.len_b, walk->out);
	return sonde_buf_error(&walk->line);
}

static void put_folded(struct walk *walk, struct level *level)
{
	size_t count = level->folded;
	level->folded = 0;
	put_figures(walk, level->folded_total, 0);
	put_branches(walk, HANG_LAST);
	fprintf(walk->out, "(%zu more)\n", count);
}

/* Continues below a node: a single child continues the chain and is returned; several open a branch. */
static const struct sonde_tree_node *open_branch(struct walk *walk, const struct sonde_tree_node *node)
{
	const struct sonde_tree_node *first = next_shown(walk, node->child);
	if (walk->levels == LEVELS_MAX) {
		if (node->child)
			fprintf(walk->out, "%*s(deeper levels not shown)\n", FIGURES_COLUMNS, "");
		return NULL;
	}
	struct level level = {.next = first};
	for (const struct sonde_tree_node *child = node->child; child; child = child->next) {
		level.folded += !shown(walk, child);
		level.folded_total += shown(walk, child) ? 0 : child->total;
	}
	if (first && !level.folded && !next_shown(walk, first->next))
		return first;
	walk->level[walk->levels++] = level;
	return NULL;
}

/* The next child of the nearest branch that has one; finished branches are closed. */
static const struct sonde_tree_node *next_branch(struct walk *walk, enum hang *hang)
{
	for (; walk->levels; walk->levels--) {
		struct level *level = &walk->level[walk->levels - 1];
		const struct sonde_tree_node *node = level->next;
		if (node) {
			level->next = next_shown(walk, node->next);
			*hang = level->next || level->folded ? HANG_CHILD : HANG_LAST;
			return node;
		}
		if (level->folded)
			put_folded(walk, level);
	}
	return NULL;
}

static int put_nodes(struct walk *walk)
{
	enum hang hang = HANG_CHAIN;
	for (const struct sonde_tree_node *node = walk->tree->root, *next; node; node = next) {
		int unnamed_root = node == walk->tree->root && !*node->name;
		int rc = unnamed_root ? 0 : put_line(walk, node, hang);
		if (rc)
			return rc;
		hang = HANG_CHAIN;
		next = open_branch(walk, node);
		if (!next)
			next = next_branch(walk, &hang);
	}
	return 0;
}

int sonde_text_tree(const struct sonde_tree *tree, const struct sonde_format_options *options, FILE *out)
{
	if (!tree->root || !tree->root->total) {
		fputs("  (no samples)\n", out);
		return 0;
	}
	struct walk walk = {.tree = tree, .options = options, .out = out, .whole = (double)tree->root->total};
	sonde_buf_init(&walk.line, LINE_MAX_B);
	sonde_buf_init(&walk.name, LINE_MAX_B);
	fprintf(out, "%s%8s%11s%11s  %s%s\n", options->color ? "\033[2m" : "", "share", "total", "self", tree->value,
		options->color ? "\033[0m" : "");
	int rc = put_nodes(&walk);
	sonde_buf_fini(&walk.line);
	sonde_buf_fini(&walk.name);
	return rc;
}
