/* roofline_svg.c: draws a roofline: ceilings as lines, zones as points, both axes logarithmic.
 *
 * Drawn from the report's tables, whose columns are found by key. Solid lines are the measured ceilings of all CPUs,
 * dotted lines are those of a single thread, and dashed lines come from the datasheet. A point whose bytes are modelled
 * is hollow, with an arrow to the left: its true position is at the circle or further left. Work without an intensity
 * has no point. A point far below all ceilings is drawn at the lower edge with an arrow, because an axis that included
 * it would compress the rest of the picture. GPUs have panels of their own below (plot/roofline_devices.c), even if the
 * machine itself was not measured.
 */
#include "export/plot/roofline_svg.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/clean.h"
#include "export/format.h"
#include "export/plot/roofline_axes.h"
#include "export/plot/roofline_devices.h"
#include "util/error.h"

enum {
	TOP = 84,
	BOTTOM = 590,
	KEY_X = SONDE_ROOFLINE_KEY_X,
	HEIGHT = 660, /* without panels of GPUs */
	POINTS_MAX = 20,
	ROW = 23,
	BELOW_MAX = 2 /* decades shown below the ceilings */
};
#define TEXT_MAX_B (1 << 16)

struct point {
	const char *name, *bound;
	double x, y, share; /* share: of the run */
	double roof_share;
	int is_model, is_below;
};

struct picture {
	FILE *out;
	const struct sonde_section *roofs, *points;
	struct sonde_buf scratch;
	struct point point[POINTS_MAX];
	size_t count, left_out, below;
	struct sonde_roofline_axes axes;
};

/* --- the report --------------------------------------------------------------------------------------------------- */

static double real_of(const struct sonde_section *section, size_t row, const char *key)
{
	const struct sonde_cell *cell = sonde_report_cell(section, row, key);
	return cell->kind == SONDE_CELL_REAL ? cell->real : -1;
}

static void read_points(struct picture *picture)
{
	size_t rows = picture->points ? picture->points->table.row_count : 0;
	for (size_t row = 0; row < rows; row++) {
		struct point point = {.name = sonde_report_cell_text(picture->points, row, "zone"),
				      .bound = sonde_report_cell_text(picture->points, row, "bound"),
				      .x = real_of(picture->points, row, "flop_per_byte"),
				      .y = real_of(picture->points, row, "gflop_per_s"),
				      .share = real_of(picture->points, row, "wall_share"),
				      .roof_share = real_of(picture->points, row, "roof_share"),
				      .is_model =
					  !strcmp(sonde_report_cell_text(picture->points, row, "bytes_are"), "model")};
		if (!sonde_roofline_has_place(point.x) || !sonde_roofline_has_place(point.y) ||
		    picture->count == POINTS_MAX)
			picture->left_out++;
		else
			picture->point[picture->count++] = point;
	}
}

/* Returns the highest `rate` of the rows whose `ceiling` or `of` is `name`; −1 = none. */
static double best_of(const struct picture *picture, const char *name, const char *rate)
{
	double best = -1;
	for (size_t row = 0; row < picture->roofs->table.row_count; row++) {
		double value = real_of(picture->roofs, row, rate);
		if (value > best && (!strcmp(sonde_report_cell_text(picture->roofs, row, "ceiling"), name) ||
				     !strcmp(sonde_report_cell_text(picture->roofs, row, "of"), name)))
			best = value;
	}
	return best;
}

/* --- the scale ---------------------------------------------------------------------------------------------------- */

/* Sets the positions of points; those far below the ceilings do not extend the axis. */
static void place_points(struct picture *picture)
{
	double lowest = picture->axes.y_min <= picture->axes.y_max ? picture->axes.y_min - BELOW_MAX : -1e9;
	for (size_t i = 0; i < picture->count; i++) {
		struct point *point = &picture->point[i];
		point->is_below = log10(point->y) < lowest;
		picture->below += (size_t)point->is_below;
		if (!point->is_below)
			sonde_roofline_widen(&picture->axes.y_min, &picture->axes.y_max, point->y);
	}
}

static void choose_scale(struct picture *picture)
{
	double peak = best_of(picture, "FP32", "all_threads"), dram = best_of(picture, "DRAM", "one_thread");
	picture->axes.x_min = -1.5;
	picture->axes.x_max = 2;
	picture->axes.y_min = 1e9;
	picture->axes.y_max = -1e9;
	for (size_t i = 0; i < picture->count; i++)
		sonde_roofline_widen(&picture->axes.x_min, &picture->axes.x_max, picture->point[i].x);
	sonde_roofline_widen(&picture->axes.y_min, &picture->axes.y_max, peak);
	sonde_roofline_widen(&picture->axes.y_min, &picture->axes.y_max, best_of(picture, "FP64", "all_threads"));
	sonde_roofline_widen(&picture->axes.y_min, &picture->axes.y_max, best_of(picture, "FP32", "datasheet"));
	if (dram > 0)
		sonde_roofline_widen(&picture->axes.y_min, &picture->axes.y_max, dram * pow(10, picture->axes.x_min));
	place_points(picture);
	if (picture->axes.y_min > picture->axes.y_max)
		picture->axes.y_min = picture->axes.y_max = 0;
	picture->axes.x_min -= 0.15;
	picture->axes.x_max += 0.15;
	picture->axes.y_min -= 0.2;
	picture->axes.y_max += 0.25;
}

/* --- text --------------------------------------------------------------------------------------------------------- */

/* Writes a name from the target, cleaned, in at most so many columns. */
static void put_name(struct picture *picture, const char *name, size_t columns)
{
	sonde_buf_clear(&picture->scratch);
	sonde_clean_cut(&picture->scratch, name, columns, 0);
	sonde_clean_markup(picture->out, sonde_buf_string(&picture->scratch));
}

static const char style[] =
    ".rl{background:#fbfbfa;font:12.5px system-ui,-apple-system,\"Segoe UI\",\"Liberation Sans\",\"DejaVu "
    "Sans\",sans-serif}\n"
    ".rl text{fill:#1d2126}.rl .head{font-weight:600;font-size:17px}.rl .sub{fill:#5c636b}\n"
    ".rl .grid{stroke:#e4e6e8;stroke-width:1}.rl .frame{stroke:#9aa1a9;fill:none}.rl .back{fill:#fbfbfa}\n"
    ".rl .cpu{stroke:#b4541a;fill:none;stroke-width:1.2}.rl .mem{stroke:#2563ad;fill:none;stroke-width:1.6}\n"
    ".rl .best{stroke-width:2.6}.rl .one{stroke-dasharray:1.5 4;stroke-linecap:round}.rl .maker{stroke-dasharray:9 5}\n"
    ".rl text.cpul{fill:#93410f;font-size:11.5px}.rl text.meml{fill:#1d4f8c;font-size:11.5px}\n"
    ".rl .dot{fill:#a3217c;stroke:#fbfbfa;stroke-width:1.5}.rl .model{fill:#fbfbfa;stroke:#a3217c;stroke-width:2}\n"
    ".rl .arrow{stroke:#a3217c;stroke-width:2;fill:none}.rl text.num{fill:#fff;font-size:11px;font-weight:600}\n"
    ".rl text.numm{fill:#a3217c;font-size:11px;font-weight:600}\n"
    "@media (prefers-color-scheme: dark){.rl{background:#15171b}.rl text{fill:#e6e8eb}.rl .sub{fill:#9aa1a9}\n"
    ".rl .grid{stroke:#2a2e34}.rl .frame{stroke:#5c636b}.rl .back{fill:#15171b}.rl .cpu{stroke:#e8935a}\n"
    ".rl .mem{stroke:#6aa5ee}.rl text.cpul{fill:#f0a978}.rl text.meml{fill:#8dbcf5}.rl "
    ".dot{fill:#d64bae;stroke:#15171b}\n"
    ".rl .model{fill:#15171b;stroke:#e26fc0}.rl .arrow{stroke:#e26fc0}.rl text.numm{fill:#f0a0d8}}\n";

static void put_head(struct picture *picture, const struct sonde_report *report)
{
	FILE *out = picture->out;
	int height = sonde_roofline_height(report);
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"rl\" role=\"img\" width=\"%d\" height=\"%d\" "
		"viewBox=\"0 0 %d %d\">\n<title>Roofline: ",
		SONDE_ROOFLINE_WIDTH, height, SONDE_ROOFLINE_WIDTH, height);
	put_name(picture, report->title ? report->title : "", 200);
	fprintf(out, "</title>\n<style><![CDATA[\n%s]]></style>\n", style);
	fprintf(out, "<rect class=\"back\" width=\"%d\" height=\"%d\"/>\n<text class=\"head\" x=\"16\" y=\"30\">",
		SONDE_ROOFLINE_WIDTH, height);
	put_name(picture, report->title && *report->title ? report->title : "Measured ceilings", 90);
	fputs("</text>\n<text class=\"sub\" x=\"16\" y=\"52\">", out);
	int has_zones = picture->points && picture->points->table.row_count;
	if (picture->roofs)
		fputs("Measured ceilings: solid: all CPUs; dotted: one thread; dashed: datasheet. Points: zones as "
		      "reported; hollow with an arrow: at most that intensity.",
		      out);
	else
		fprintf(out, "Ceilings of GPUs. The machine's own were not measured%s.",
			has_zones ? ": zones cannot be placed" : "");
	fputs("</text>\n", out);
}

/* --- ceilings ----------------------------------------------------------------------------------------------------- */

/* Draws a peak, which starts where the fastest memory level reaches it. */
static void put_peak(struct picture *picture, double rate, const char *classes, const char *threads, const char *label)
{
	double memory = best_of(picture, "L1", !strcmp(threads, "one_thread") ? "one_thread" : "all_threads");
	sonde_roofline_peak_put(&picture->axes, &(struct sonde_roofline_line){rate, memory, classes, label});
}

/* Draws a memory bandwidth, which ends at the highest peak. */
static void put_memory(struct picture *picture, double bandwidth, const char *classes, double peak, const char *label)
{
	if (peak > 0)
		sonde_roofline_memory_put(&picture->axes,
					  &(struct sonde_roofline_line){bandwidth, peak, classes, label});
}

static void put_ceilings(struct picture *picture)
{
	static const char *const levels[] = {"L1", "L2", "L3", "DRAM"};
	double peak64 = best_of(picture, "FP64", "all_threads"), peak32 = best_of(picture, "FP32", "all_threads");
	double highest = peak32 > peak64 ? peak32 : peak64;
	double one64 = best_of(picture, "FP64", "one_thread");
	char label[160];
	put_peak(picture, peak64, "best", "all_threads", "FP64");
	put_peak(picture, peak32, "best", "all_threads", "FP32");
	put_peak(picture, best_of(picture, "FP64", "datasheet"), "maker", "all_threads", "FP64, datasheet");
	put_peak(picture, best_of(picture, "FP32", "datasheet"), "maker", "all_threads", "FP32, datasheet");
	put_peak(picture, one64, "one", "one_thread", "FP64, one thread");
	for (size_t row = 0; row < picture->roofs->table.row_count; row++) {
		double rate = real_of(picture->roofs, row, "all_threads");
		if (strcmp(sonde_report_cell_text(picture->roofs, row, "of"), "FP64") || rate >= peak64)
			continue;
		snprintf(label, sizeof label, "FP64 %s", sonde_report_cell_text(picture->roofs, row, "ceiling"));
		put_peak(picture, rate, "", "all_threads", label);
	}
	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
		put_memory(picture, best_of(picture, levels[i], "all_threads"), "", highest, levels[i]);
	put_memory(picture, best_of(picture, "DRAM", "datasheet"), "maker", highest, "DRAM, datasheet");
	put_memory(picture, best_of(picture, "DRAM", "one_thread"), "one", one64, "DRAM, one thread");
}

/* --- points ------------------------------------------------------------------------------------------------------- */

static void put_point(struct picture *picture, size_t number, const struct point *point)
{
	FILE *out = picture->out;
	double x = sonde_roofline_x(&picture->axes, log10(point->x)),
	       y = sonde_roofline_y(&picture->axes, log10(point->y));
	double radius = 8 + 7 * sqrt(point->share < 0 ? 0 : point->share > 1 ? 1 : point->share);
	if (point->is_below)
		y = BOTTOM - radius - 16;
	fputs("<g><title>", out);
	put_name(picture, point->name, 200);
	fprintf(out, ": %.4g GFLOP/s, %s%.4g FLOP/byte</title>", point->y, point->is_model ? "at most " : "", point->x);
	if (point->is_model)
		fprintf(out, "<path class=\"arrow\" d=\"M%.1f %.1fh-26m7 -5l-7 5l7 5\"/>", x - radius, y);
	if (point->is_below)
		fprintf(out, "<path class=\"arrow low\" d=\"M%.1f %.1fv14m-5 -7l5 7l5 -7\"/>", x, y + radius);
	fprintf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>", point->is_model ? "model" : "dot", x,
		y, radius);
	fprintf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%zu</text></g>\n",
		point->is_model ? "numm" : "num", x, y + 4, number);
}

static void put_key_row(struct picture *picture, size_t number, const struct point *point)
{
	FILE *out = picture->out;
	int y = TOP + 14 + (int)(number - 1) * ROW;
	fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%zu</text><text x=\"%d\" y=\"%d\">", KEY_X + 14, y,
		number, KEY_X + 24, y);
	put_name(picture, point->name, 24);
	fprintf(out, "</text><text class=\"sub\" x=\"%d\" y=\"%d\" text-anchor=\"end\">", SONDE_ROOFLINE_WIDTH - 16, y);
	if (point->roof_share >= 0)
		fprintf(out, point->roof_share < 0.0005 ? "%s%.1g %% of " : "%s%.1f %% of ",
			point->is_model ? "≥ " : "", point->roof_share * 100);
	sonde_clean_markup(out, *point->bound ? point->bound : "no roof");
	fputs("</text>\n", out);
}

static void put_points(struct picture *picture)
{
	for (size_t i = picture->count; i-- > 0;) /* the longest on top */
		put_point(picture, i + 1, &picture->point[i]);
	for (size_t i = 0; i < picture->count; i++)
		put_key_row(picture, i + 1, &picture->point[i]);
	if (!picture->count)
		fprintf(picture->out, "<text class=\"sub\" x=\"%d\" y=\"%d\">No zone has both FLOP and bytes.</text>\n",
			KEY_X, TOP + 14);
	if (picture->below)
		fprintf(picture->out,
			"<text class=\"sub\" x=\"%d\" y=\"%d\">%zu with an arrow down: far lower</text>\n", KEY_X,
			BOTTOM - ROW, picture->below);
	if (picture->left_out)
		fprintf(picture->out, "<text class=\"sub\" x=\"%d\" y=\"%d\">%zu zone%s not in the picture</text>\n",
			KEY_X, BOTTOM, picture->left_out, picture->left_out == 1 ? " is" : "s are");
}

int sonde_roofline_height(const struct sonde_report *report)
{
	return (sonde_report_find(report, "roofs") ? HEIGHT : TOP) + sonde_roofline_devices_height(report);
}

static int no_ceilings(const struct sonde_report *report, const struct sonde_section *first)
{
	const struct sonde_note *note = first ? first->notes : report->first ? report->first->notes : NULL;
	while (note && note->next && !note->warning)
		note = note->next;
	return sonde_error(ENODATA, "a roofline needs the machine's ceilings, and the report has none%s%s",
			   note ? ": " : "", note ? note->text : "");
}

int sonde_roofline_svg(const struct sonde_report *report, FILE *out)
{
	struct picture picture = {.out = out,
				  .roofs = sonde_report_find(report, "roofs"),
				  .points = sonde_report_find(report, "roofline"),
				  .axes = {.out = out, .top = TOP, .bottom = BOTTOM}};
	if (!picture.roofs && !sonde_roofline_devices_height(report))
		return no_ceilings(report, picture.points);
	sonde_buf_init(&picture.scratch, TEXT_MAX_B);
	put_head(&picture, report);
	if (picture.roofs) {
		read_points(&picture);
		choose_scale(&picture);
		sonde_roofline_axes_put(&picture.axes);
		put_ceilings(&picture);
		put_points(&picture);
	}
	sonde_roofline_devices_put(report, picture.roofs ? HEIGHT : TOP, out);
	fputs("</svg>\n", out);
	sonde_buf_fini(&picture.scratch);
	return 0;
}

static int render(const struct sonde_report *report, const struct sonde_format_options *options, FILE *out)
{
	(void)options;
	return sonde_roofline_svg(report, out);
}

const struct sonde_format sonde_format_roofline_svg = {
    .name = "svg",
    .extension = ".svg",
    .title = "roofline as a picture",
    .section = "roofline",
    .render = render,
};
