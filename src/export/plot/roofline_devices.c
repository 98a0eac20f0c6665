/* roofline_devices.c: theoretical ceilings of GPUs as panels (plot/roofline_devices.h).
 *
 * A panel has axes of its own, because a GPU's peak is far from the CPU's. All of its lines are dashed, like datasheet
 * ceilings, because nothing is measured. There are no points, because the work and bytes of kernels are unknown; the
 * panel says so. GPUs with the same name and ceilings share a panel, which lists all of their numbers.
 */
#include "export/plot/roofline_devices.h"

#include <math.h>
#include <string.h>

#include "export/clean.h"
#include "export/plot/roofline_axes.h"

enum { PEAKS_MAX = 4, PANELS_MAX = 8, ALIKE_MAX = 64, PANEL = 330, HEAD = 46, FOOT = 60, ROW = 23 };
enum { NAME_COLUMNS = 70, CEILING_COLUMNS = 30 };
#define TEXT_MAX_B (1 << 16)

struct ceiling {
	const char *name;
	double rate; /* GFLOP/s; −1 = unknown */
};

struct panel {
	const char *names[ALIKE_MAX];
	size_t count;
	struct ceiling peaks[PEAKS_MAX];
	size_t peak_count;
	double memory; /* GB/s; −1 = unknown */
};

struct panels {
	struct panel all[PANELS_MAX];
	size_t count, left_out; /* devices without a panel */
};

/* --- the report --------------------------------------------------------------------------------------------------- */

static double rate_of(const struct sonde_section *section, size_t row)
{
	const struct sonde_cell *cell = sonde_report_cell(section, row, "rate");
	return cell->kind == SONDE_CELL_REAL && sonde_roofline_has_place(cell->real) ? cell->real : -1;
}

/* Reads the rows of one device, starting at *row, and advances it past them. */
static struct panel read_device(const struct sonde_section *section, size_t *row)
{
	const char *name = sonde_report_cell_text(section, *row, "device");
	struct panel panel = {.names = {name}, .count = 1, .memory = -1};
	for (; *row < section->table.row_count && !strcmp(sonde_report_cell_text(section, *row, "device"), name);
	     (*row)++) {
		double rate = rate_of(section, *row);
		if (!strcmp(sonde_report_cell_text(section, *row, "unit"), "GB/s"))
			panel.memory = rate;
		else if (panel.peak_count < PEAKS_MAX)
			panel.peaks[panel.peak_count++] =
			    (struct ceiling){sonde_report_cell_text(section, *row, "ceiling"), rate};
	}
	return panel;
}

/* Length of the name without its number. */
static size_t kind_b(const char *name)
{
	const char *number = strrchr(name, ' ');
	return number ? (size_t)(number - name) : strlen(name);
}

static int is_alike(const struct panel *a, const struct panel *b)
{
	size_t name_b = kind_b(a->names[0]);
	if (name_b != kind_b(b->names[0]) || memcmp(a->names[0], b->names[0], name_b) != 0 ||
	    a->peak_count != b->peak_count || fabs(a->memory - b->memory) > 0)
		return 0;
	for (size_t i = 0; i < a->peak_count; i++)
		if (strcmp(a->peaks[i].name, b->peaks[i].name) || fabs(a->peaks[i].rate - b->peaks[i].rate) > 0)
			return 0;
	return 1;
}

static double highest(const struct panel *panel)
{
	double most = -1;
	for (size_t i = 0; i < panel->peak_count; i++)
		most = panel->peaks[i].rate > most ? panel->peaks[i].rate : most;
	return most;
}

static void add(struct panels *panels, const struct panel *device)
{
	size_t at = 0;
	if (device->memory < 0 && highest(device) < 0)
		return; /* the device's rows give the reason */
	while (at < panels->count && !is_alike(&panels->all[at], device))
		at++;
	if (at == PANELS_MAX || panels->all[at].count == ALIKE_MAX) {
		panels->left_out++;
		return;
	}
	if (at < panels->count)
		panels->all[at].names[panels->all[at].count++] = device->names[0];
	else
		panels->all[panels->count++] = *device;
}

static void read_all(struct panels *out, const struct sonde_report *report)
{
	const struct sonde_section *section = sonde_report_find(report, "device-roofs");
	out->count = out->left_out = 0;
	for (size_t row = 0; section && row < section->table.row_count;) {
		const struct panel device = read_device(section, &row);
		add(out, &device);
	}
}

/* --- a panel ------------------------------------------------------------------------------------------------------ */

/* Chooses axes that extend at least one decade to the left and right of the ridge points; the lower end is the rate
 * that memory allows at the left edge. */
static void choose_scale(struct sonde_roofline_axes *axes, const struct panel *panel)
{
	double most = highest(panel), low = 1e9, high = -1e9;
	for (size_t i = 0; i < panel->peak_count; i++)
		sonde_roofline_widen(&low, &high, panel->peaks[i].rate);
	axes->x_min = -1;
	axes->x_max = 2;
	if (panel->memory > 0 && most > 0) {
		axes->x_min = fmin(axes->x_min, low - log10(panel->memory) - 1);
		axes->x_max = fmax(axes->x_max, high - log10(panel->memory) + 1);
	}
	if (panel->memory > 0) {
		sonde_roofline_widen(&low, &high, panel->memory * pow(10, axes->x_min));
		if (most <= 0)
			sonde_roofline_widen(&low, &high, panel->memory * pow(10, axes->x_max));
	}
	axes->y_min = low - 0.3;
	axes->y_max = high + 0.35;
}

static void put_text(FILE *out, struct sonde_buf *scratch, const char *text, size_t columns)
{
	sonde_buf_clear(scratch);
	sonde_clean_cut(scratch, text, columns, 0);
	sonde_clean_markup(out, sonde_buf_string(scratch));
}

static void put_title(FILE *out, struct sonde_buf *scratch, const struct panel *panel, int top)
{
	fprintf(out, "<text class=\"head\" x=\"16\" y=\"%d\">", top + 18);
	put_text(out, scratch, panel->names[0], NAME_COLUMNS);
	for (size_t i = 1; i < panel->count && i < 16; i++) {
		const char *name = panel->names[i];
		fputs(",", out);
		put_text(out, scratch, name + kind_b(name), 12);
	}
	if (panel->count > 16)
		fprintf(out, " and %zu more", panel->count - 16);
	fputs("</text>\n", out);
	fprintf(out,
		"<text class=\"sub\" x=\"16\" y=\"%d\">Theoretical ceilings, from the GPU's attributes: not measured, "
		"and out of reach below its highest clock.</text>\n",
		top + 38);
}

/* Explains the lines, and says which ceilings have no line; the table gives the reason. */
static void put_key(FILE *out, struct sonde_buf *scratch, const struct panel *panel, int top)
{
	static const char *const why[] = {"Kernels are not shown: their FLOP and bytes", "are known only to the GPU's",
					  "counters, which are not read."};
	int y = top + 14;
	for (size_t i = 0; i <= panel->peak_count; i++, y += ROW) {
		int is_memory = i == panel->peak_count;
		double rate = is_memory ? panel->memory : panel->peaks[i].rate;
		fprintf(out, "<text class=\"%s\" x=\"%d\" y=\"%d\">", is_memory ? "meml" : "cpul", SONDE_ROOFLINE_KEY_X,
			y);
		put_text(out, scratch, is_memory ? "memory" : panel->peaks[i].name, CEILING_COLUMNS);
		fprintf(out, "</text><text class=\"sub\" x=\"%d\" y=\"%d\" text-anchor=\"end\">",
			SONDE_ROOFLINE_WIDTH - 16, y);
		if (rate > 0)
			sonde_roofline_rate_put(out, rate, is_memory ? "B/s" : "FLOP/s");
		else
			fputs("unknown: see the table", out);
		fputs("</text>\n", out);
	}
	for (size_t i = 0; i < sizeof why / sizeof *why; i++)
		fprintf(out, "<text class=\"sub\" x=\"%d\" y=\"%d\">%s</text>\n", SONDE_ROOFLINE_KEY_X,
			y + 14 + (int)i * 18, why[i]);
}

static void put_lines(struct sonde_roofline_axes *axes, const struct panel *panel)
{
	for (size_t i = 0; i < panel->peak_count; i++)
		if (panel->peaks[i].rate > 0)
			sonde_roofline_peak_put(axes, &(struct sonde_roofline_line){.rate = panel->peaks[i].rate,
										    .meets = panel->memory,
										    .classes = "maker",
										    .label = panel->peaks[i].name});
	sonde_roofline_memory_put(
	    axes, &(struct sonde_roofline_line){
		      .rate = panel->memory, .meets = highest(panel), .classes = "maker", .label = "memory"});
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

int sonde_roofline_devices_height(const struct sonde_report *report)
{
	struct panels panels;
	read_all(&panels, report);
	return (int)panels.count * PANEL + (panels.left_out ? ROW : 0);
}

void sonde_roofline_devices_put(const struct sonde_report *report, int top, FILE *out)
{
	struct panels panels;
	struct sonde_buf scratch;
	read_all(&panels, report);
	sonde_buf_init(&scratch, TEXT_MAX_B);
	for (size_t i = 0; i < panels.count; i++, top += PANEL) {
		struct sonde_roofline_axes axes = {.out = out, .top = top + HEAD, .bottom = top + PANEL - FOOT};
		choose_scale(&axes, &panels.all[i]);
		fputs("<g class=\"device\">\n", out);
		put_title(out, &scratch, &panels.all[i], top);
		sonde_roofline_axes_put(&axes);
		put_lines(&axes, &panels.all[i]);
		put_key(out, &scratch, &panels.all[i], axes.top);
		fputs("</g>\n", out);
	}
	if (panels.left_out)
		fprintf(out, "<text class=\"sub\" x=\"16\" y=\"%d\">%zu more GPU%s only in the table</text>\n", top + 8,
			panels.left_out, panels.left_out == 1 ? " is" : "s are");
	sonde_buf_fini(&scratch);
}
