/* svg.c: the call tree as an interactive flame graph in one self-contained file.
 *
 * The picture is complete without its script: an image viewer shows it too. The script (flame.js) only rearranges it:
 * it fits the width of the window, zooms on click or Enter, searches on Ctrl-F, and navigates with the arrow keys.
 * Colours depend on the module (plot/palette.h) and follow the reader's light or dark scheme. The root is on top.
 * Frames narrower than a tenth of a pixel are left out and counted. Names are cleaned (clean.h), then escaped for XML.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/clean.h"
#include "export/text/figure.h"
#include "export/format.h"
#include "export/plot/palette.h"
#include "export/text/preorder.h"
#include "flame_css.h"
#include "flame_js.h"
#include "util/array.h"
#include "util/error.h"

enum {
	WIDTH = 1200,
	MARGIN = 16,
	ROW = 20,
	TOP = 122,
	BAR_Y = 92,
	BOTTOM = 40,
	KEYS_MAX = 10,
	HUES_APART = 7,
	MODULES_MAX = 4096,
	TEXT_MAX_B = 1 << 20
};

static const double LEAST_PX = 0.1, LETTER_PX = 7.3, WHOLE = 1e9;

struct module {
	const char *name;
	uint64_t self;
	uint32_t hue;
};

struct level {
	uint64_t next, end; /* start of the next frame at this depth; end of that frame's parent */
};

struct picture {
	const struct sonde_tree *tree;
	FILE *out; /* NULL: only measuring */
	struct sonde_buf scratch;
	struct level *levels;
	size_t level_cap, deepest, culled, shown;
	struct module modules[MODULES_MAX];
	size_t module_count;
};

static void put_text(struct picture *picture, const char *text)
{
	sonde_clean_markup(picture->out, sonde_clean_text(&picture->scratch, text));
}

static void put_figure(struct picture *picture, enum sonde_unit unit, double value)
{
	sonde_buf_clear(&picture->scratch);
	sonde_figure_value(&picture->scratch, unit, value, 0);
	sonde_clean_markup(picture->out, sonde_buf_string(&picture->scratch)); /* "<0.1 %" */
}

static uint32_t hue_of(const struct picture *picture, const char *module)
{
	for (size_t i = 0; i < picture->module_count; i++)
		if (!strcmp(picture->modules[i].name, module))
			return picture->modules[i].hue;
	return SONDE_PALETTE_GREY;
}

static const char *name_of(const struct sonde_tree_node *node)
{
	return *node->name ? node->name : "all";
}

static double share_of(const struct picture *picture, uint64_t part)
{
	return (double)part / (double)picture->tree->root->total;
}

/* Writes the hover text, which screen readers announce, too. */
static void put_title(struct picture *picture, const struct sonde_tree_node *node)
{
	FILE *out = picture->out;
	fputs("<title>", out);
	put_text(picture, name_of(node));
	if (*node->module) {
		fputs(" (", out);
		put_text(picture, node->module);
		putc(')', out);
	}
	fputs("\ntotal ", out);
	put_figure(picture, picture->tree->unit, (double)node->total);
	fputs(", ", out);
	put_figure(picture, SONDE_UNIT_RATIO, share_of(picture, node->total));
	fputs("\nself ", out);
	put_figure(picture, picture->tree->unit, (double)node->self);
	fputs(", ", out);
	put_figure(picture, SONDE_UNIT_RATIO, share_of(picture, node->self));
	if (*node->file) {
		putc('\n', out);
		put_text(picture, node->file);
		if (node->line)
			fprintf(out, ":%" PRIu32, node->line);
	}
	fputs("</title>", out);
}

/* Writes as much of the name as fits the frame; the script repeats this for other widths. */
static void put_label(struct picture *picture, const char *name, double width)
{
	size_t capacity = width > 8 ? (size_t)((width - 8) / LETTER_PX) : 0;
	const char *clean = sonde_clean_text(&picture->scratch, name);
	if (capacity < 2)
		return;
	size_t columns = sonde_clean_columns(clean);
	if (columns <= capacity) {
		sonde_clean_markup(picture->out, clean);
		return;
	}
	struct sonde_buf head;
	sonde_buf_init(&head, TEXT_MAX_B);
	sonde_clean_head(&head, clean, capacity - 1);
	sonde_clean_markup(picture->out, sonde_buf_string(&head));
	fputs("…", picture->out);
	sonde_buf_fini(&head);
}

static void put_frame(struct picture *picture, const struct sonde_preorder *at, uint64_t start, uint64_t total)
{
	FILE *out = picture->out;
	const struct sonde_tree_node *node = at->node;
	uint32_t hue = hue_of(picture, node->module);
	double x = share_of(picture, start), w = share_of(picture, total), px = WIDTH - 2 * MARGIN;
	double y = (double)TOP + (double)at->depth * ROW;
	fprintf(out, "<g class=\"f c%" PRIu32 "s%" PRIu32 "\" tabindex=\"%d\" role=\"treeitem\" aria-level=\"%zu\" ",
		hue, sonde_palette_shade(node->name), at->depth ? -1 : 0, at->depth + 1);
	fprintf(out, "data-x=\"%.0f\" data-w=\"%.0f\" data-d=\"%zu\" data-n=\"", x * WHOLE, w * WHOLE, at->depth);
	put_text(picture, name_of(node));
	fputs("\">", out);
	put_title(picture, node);
	fprintf(out, "<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" rx=\"2.5\" fill=\"#%06" PRIx32 "\"/>",
		MARGIN + x * px, y, w * px, ROW, sonde_palette_fill(hue, sonde_palette_shade(node->name), 0));
	fprintf(out, "<text x=\"%.2f\" y=\"%.0f\">", MARGIN + x * px + 5, y + 14);
	put_label(picture, name_of(node), w * px);
	fputs("</text></g>\n", out);
}

static int ensure_level(struct picture *picture, size_t depth)
{
	return SONDE_ARRAY_RESERVE(picture->levels, picture->level_cap, depth + 1 + 1)
		   ? sonde_error(ENOMEM, "out of memory for a tree %zu levels deep", depth)
		   : 0;
}

static void add_module(struct picture *picture, const struct sonde_tree_node *node)
{
	size_t i = 0;
	while (i < picture->module_count && strcmp(picture->modules[i].name, node->module))
		i++;
	if (i == MODULES_MAX)
		return;
	if (i == picture->module_count)
		picture->modules[picture->module_count++] = (struct module){.name = node->module};
	picture->modules[i].self += node->self;
}

/* Children start at their parent's left edge, side by side. A frame that is too narrow to be visible, and the frames
 * below it, still take up their space. */
static int visit(void *context, const struct sonde_preorder *at)
{
	struct picture *picture = context;
	int rc = ensure_level(picture, at->depth);
	if (rc)
		return rc;
	struct level *level = &picture->levels[at->depth];
	if (at->depth == 0)
		*level = (struct level){.next = 0, .end = at->node->total};
	uint64_t start = level->next, capacity = level->end - start;
	uint64_t total = at->node->total < capacity ? at->node->total : capacity;
	level->next = start + total;
	picture->levels[at->depth + 1] = (struct level){.next = start, .end = start + total};
	if (!picture->out)
		add_module(picture, at->node);
	if (share_of(picture, total) * (WIDTH - 2 * MARGIN) < LEAST_PX) {
		picture->culled++;
		return 0;
	}
	picture->shown++;
	if (at->depth > picture->deepest)
		picture->deepest = at->depth;
	if (picture->out)
		put_frame(picture, at, start, total);
	return 0;
}

static int by_self(const void *left, const void *right)
{
	const struct module *a = left, *b = right;
	return a->self < b->self ? 1 : a->self > b->self ? -1 : strcmp(a->name, b->name);
}

static int is_near(uint32_t a, uint32_t b)
{
	uint32_t apart = a > b ? a - b : b - a;
	return apart <= 2 || apart >= SONDE_PALETTE_HUES - 2;
}

/* Every module has the same hue in all pictures; if two modules in the key would look alike, the one with less self
 * time changes its hue. */
static void choose_hues(struct picture *picture)
{
	qsort(picture->modules, picture->module_count, sizeof *picture->modules, by_self);
	for (size_t i = 0; i < picture->module_count; i++) {
		struct module *module = &picture->modules[i];
		module->hue = sonde_palette_hue(module->name);
		for (size_t k = 0, tries = 0; k < i && i < HUES_APART && tries < SONDE_PALETTE_HUES; k++) {
			if (module->hue == SONDE_PALETTE_GREY || !is_near(module->hue, picture->modules[k].hue))
				continue;
			module->hue = (module->hue + 5) % SONDE_PALETTE_HUES;
			tries++;
			k = (size_t)-1;
		}
	}
}

/* Writes the legend of module colours: the modules with the most self time, as many as fit into one line. */
static void put_key(struct picture *picture)
{
	double x = MARGIN;
	for (size_t i = 0; i < picture->module_count && i < KEYS_MAX && picture->modules[i].self; i++) {
		const struct module *module = &picture->modules[i];
		char name[200];
		sonde_buf_clear(&picture->scratch);
		size_t columns = sonde_clean_cut(&picture->scratch, *module->name ? module->name : "no module", 28, 0);
		snprintf(name, sizeof name, "%.*s", (int)picture->scratch.len_b, (const char *)picture->scratch.data);
		double width = 20 + 7.4 * (double)columns + 58;
		if (x + width > WIDTH - MARGIN)
			break;
		fprintf(picture->out,
			"<g class=\"key\"><g class=\"c%" PRIu32
			"s1\"><rect x=\"%.1f\" y=\"68\" width=\"13\" height=\"13\" rx=\"3\" "
			"fill=\"#%06" PRIx32 "\"/></g><text x=\"%.1f\" y=\"79\">",
			module->hue, x, sonde_palette_fill(module->hue, 1, 0), x + 19);
		sonde_clean_markup(picture->out, name);
		fputs("  ", picture->out);
		put_figure(picture, SONDE_UNIT_RATIO, share_of(picture, module->self));
		fputs("</text></g>\n", picture->out);
		x += width;
	}
}

static void put_colours(struct picture *picture, int dark)
{
	for (uint32_t hue = 0; hue <= SONDE_PALETTE_GREY; hue++)
		for (uint32_t shade = 0; shade < SONDE_PALETTE_SHADES; shade++)
			fprintf(picture->out, ".c%" PRIu32 "s%" PRIu32 " rect{fill:#%06" PRIx32 "}\n", hue, shade,
				sonde_palette_fill(hue, shade, dark));
}

static void put_head(struct picture *picture, const struct sonde_report *report, int height)
{
	FILE *out = picture->out;
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
		"data-h=\"%d\">\n"
		"<title>",
		WIDTH, height, WIDTH, height, height);
	put_text(picture, *report->title ? report->title : "Flame graph");
	fputs(": ", out);
	put_text(picture, picture->tree->value);
	fputs("</title>\n<style><![CDATA[\n", out);
	put_colours(picture, 0);
	fputs("@media (prefers-color-scheme: dark) {\n", out);
	put_colours(picture, 1);
	fputs("}\n", out);
	fputs(flame_css, out);
	fprintf(out, "]]></style>\n<text class=\"head\" x=\"%d\" y=\"30\">", MARGIN);
	put_label(picture, *report->title ? report->title : "Flame graph", 640);
	fprintf(out, "</text>\n<text class=\"sub\" x=\"%d\" y=\"52\">", MARGIN);
	putc(toupper((unsigned char)*picture->tree->value), out);
	put_text(picture, *picture->tree->value ? picture->tree->value + 1 : "");
	fputs(": ", out);
	put_figure(picture, picture->tree->unit, (double)picture->tree->root->total);
	fprintf(out, " in all; colours by module, with %s</text>\n",
		picture->tree->unit == SONDE_UNIT_NS ? "its share of self time"
						     : "the share that its own functions allocated");
	fputs(
	    "<foreignObject id=\"tools\" x=\"884\" y=\"14\" width=\"300\" height=\"32\" display=\"none\">"
	    "<div xmlns=\"http://www.w3.org/1999/xhtml\" style=\"text-align:right;white-space:nowrap\">"
	    "<input id=\"search\" type=\"search\" placeholder=\"Search (Ctrl-F), regex\" aria-label=\"Search frames\"/>"
	    "<button id=\"reset\" type=\"button\" title=\"Esc\">Reset</button></div></foreignObject>\n",
	    out);
}

/* Writes the status line for the frame under the pointer. It is above the frames, so that it is visible however deep
 * the graph is. */
static void put_bar(struct picture *picture)
{
	fprintf(picture->out,
		"<g id=\"bar\" data-idle=\"Click or Enter: zoom. Arrow keys: walk. Esc: reset.\">"
		"<text class=\"sub\" x=\"%d\" y=\"%d\"></text></g>\n"
		"<text id=\"found\" class=\"note\" x=\"%d\" y=\"%d\" text-anchor=\"end\"></text>\n",
		MARGIN, BAR_Y + 18, WIDTH - MARGIN, BAR_Y - 36);
}

static void put_foot(struct picture *picture, int height)
{
	FILE *out = picture->out;
	if (picture->culled)
		fprintf(
		    out,
		    "<text class=\"note\" x=\"%d\" y=\"%d\">%zu frames narrower than 0.1 pixel are not shown.</text>\n",
		    MARGIN, height - 14, picture->culled);
	fputs("<script><![CDATA[\n", out);
	fputs(flame_js, out);
	fputs("]]></script>\n</svg>\n", out);
}

static int draw(struct picture *picture, const struct sonde_report *report, FILE *out)
{
	int rc = sonde_preorder_walk(picture->tree->root, visit, picture);
	if (rc)
		return rc;
	choose_hues(picture);
	int height = TOP + ((int)picture->deepest + 1) * ROW + BOTTOM;
	picture->out = out;
	picture->culled = 0;
	put_head(picture, report, height);
	put_key(picture);
	put_bar(picture);
	fputs("<g role=\"tree\">\n", out);
	rc = sonde_preorder_walk(picture->tree->root, visit, picture);
	fputs("</g>\n", out);
	put_foot(picture, height);
	return rc;
}

static int render(const struct sonde_report *report, const struct sonde_format_options *options, FILE *out)
{
	(void)options;
	const struct sonde_section *section = report->first;
	while (section && (section->kind != SONDE_SECTION_TREE || !section->tree.root || !section->tree.root->total))
		section = section->next;
	if (!section)
		return sonde_error(ENODATA, "a flame graph needs a call tree, and the report has none%s%s",
				   report->first && report->first->notes ? ": " : "",
				   report->first && report->first->notes ? report->first->notes->text : "");
	struct picture *picture = calloc(1, sizeof *picture);
	if (!picture)
		return sonde_error(ENOMEM, "out of memory for a flame graph");
	picture->tree = &section->tree;
	sonde_buf_init(&picture->scratch, TEXT_MAX_B);
	int rc = draw(picture, report, out);
	sonde_buf_fini(&picture->scratch);
	free(picture->levels);
	free(picture);
	return rc;
}

const struct sonde_format sonde_format_svg = {
    .name = "svg",
    .extension = ".svg",
    .title = "interactive flame graph in one file",
    .section = "calltree",
    .render = render,
};
