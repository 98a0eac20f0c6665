/* roofline_svg.c: a roofline as a picture: ceilings as lines, zones as points, both axes logarithmic.
 *
 * Drawn from the tables of the report, whose columns are found by their keys. Solid lines are what all CPUs did when
 * they were measured, dotted ones a single thread, dashed ones what the maker says. A point whose bytes are a model is
 * hollow, with an arrow to the left: it lies there or further left. What has no intensity has no point. One far below
 * all ceilings stands at the lower edge with an arrow: it would press all others together.
 */
#include "export/roofline_svg.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/clean.h"
#include "export/format.h"
#include "util/error.h"

enum {
	LEFT = 76,
	RIGHT = 850,
	TOP = 84,
	BOTTOM = 590,
	KEY_X = 880,
	POINTS_MAX = 20,
	LABELS_MAX = 48,
	ROW = 23,
	POWERS_MAX = 30,
	BELOW_MAX = 2, /* powers of ten below the ceilings that have room */
	LABEL_WIDTH = 170,
	LABEL_STEPS = 4
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
	double x_min, x_max, y_min, y_max; /* decimal logarithms */
	double labels[LABELS_MAX];         /* heights of labels at the right edge */
	size_t label_count;
	struct {
		double x, y;
	} memory[LABELS_MAX]; /* where labels along diagonals begin */
	size_t memory_count;
};

/* --- the report --------------------------------------------------------------------------------------------------- */

static double real_of(const struct sonde_section *section, size_t row, const char *key)
{
	const struct sonde_cell *cell = sonde_report_cell(section, row, key);
	return cell->kind == SONDE_CELL_REAL ? cell->real : -1;
}

/* Whether an axis, with a line for each power of ten, can hold it: what is not known is negative. */
static int has_place(double value)
{
	return isfinite(value) && value > 0 && fabs(log10(value)) <= POWERS_MAX;
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
		if (!has_place(point.x) || !has_place(point.y) || picture->count == POINTS_MAX)
			picture->left_out++;
		else
			picture->point[picture->count++] = point;
	}
}

/* The best rate of a kind: every row whose `ceiling` or `of` is `name`; −1 = none. */
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

static void widen(double *low, double *high, double value)
{
	if (value <= 0)
		return;
	*low = log10(value) < *low ? log10(value) : *low;
	*high = log10(value) > *high ? log10(value) : *high;
}

/* Points that are far below the ceilings do not stretch the axis. */
static void place_points(struct picture *picture)
{
	double lowest = picture->y_min <= picture->y_max ? picture->y_min - BELOW_MAX : -1e9;
	for (size_t i = 0; i < picture->count; i++) {
		struct point *point = &picture->point[i];
		point->is_below = log10(point->y) < lowest;
		picture->below += (size_t)point->is_below;
		if (!point->is_below)
			widen(&picture->y_min, &picture->y_max, point->y);
	}
}

static void choose_scale(struct picture *picture)
{
	double peak = best_of(picture, "FP32", "all_threads"), dram = best_of(picture, "DRAM", "one_thread");
	picture->x_min = -1.5;
	picture->x_max = 2;
	picture->y_min = 1e9;
	picture->y_max = -1e9;
	for (size_t i = 0; i < picture->count; i++)
		widen(&picture->x_min, &picture->x_max, picture->point[i].x);
	widen(&picture->y_min, &picture->y_max, peak);
	widen(&picture->y_min, &picture->y_max, best_of(picture, "FP64", "all_threads"));
	widen(&picture->y_min, &picture->y_max, best_of(picture, "FP32", "datasheet"));
	if (dram > 0)
		widen(&picture->y_min, &picture->y_max, dram * pow(10, picture->x_min));
	place_points(picture);
	if (picture->y_min > picture->y_max)
		picture->y_min = picture->y_max = 0;
	picture->x_min -= 0.15;
	picture->x_max += 0.15;
	picture->y_min -= 0.2;
	picture->y_max += 0.25;
}

/* Of logarithms. */
static double x_of(const struct picture *picture, double x)
{
	return LEFT + (x - picture->x_min) / (picture->x_max - picture->x_min) * (RIGHT - LEFT);
}

static double y_of(const struct picture *picture, double y)
{
	return BOTTOM - (y - picture->y_min) / (picture->y_max - picture->y_min) * (BOTTOM - TOP);
}

/* --- text --------------------------------------------------------------------------------------------------------- */

/* A name from the target, cleaned, in at most so many columns. */
static void put_name(struct picture *picture, const char *name, size_t columns)
{
	sonde_buf_clear(&picture->scratch);
	sonde_clean_cut(&picture->scratch, name, columns, 0);
	if (!sonde_buf_append(&picture->scratch, "", 1))
		sonde_clean_markup(picture->out, (const char *)picture->scratch.data);
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
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"rl\" role=\"img\" width=\"%d\" height=\"%d\" "
		"viewBox=\"0 0 %d %d\">\n<title>Roofline: ",
		SONDE_ROOFLINE_WIDTH, SONDE_ROOFLINE_HEIGHT, SONDE_ROOFLINE_WIDTH, SONDE_ROOFLINE_HEIGHT);
	put_name(picture, report->title ? report->title : "", 200);
	fprintf(out, "</title>\n<style><![CDATA[\n%s]]></style>\n", style);
	fprintf(out, "<rect class=\"back\" width=\"%d\" height=\"%d\"/>\n<text class=\"head\" x=\"16\" y=\"30\">",
		SONDE_ROOFLINE_WIDTH, SONDE_ROOFLINE_HEIGHT);
	put_name(picture, report->title && *report->title ? report->title : "Measured ceilings", 90);
	fputs("</text>\n<text class=\"sub\" x=\"16\" y=\"52\">Measured ceilings: solid: all CPUs; dotted: one thread; "
	      "dashed: "
	      "by the datasheet. Points: zones, by what they reported; hollow with an arrow: at most that "
	      "intensity.</text>\n",
	      out);
}

static void put_axes(struct picture *picture)
{
	FILE *out = picture->out;
	for (int x = (int)ceil(picture->x_min); x <= floor(picture->x_max); x++)
		fprintf(
		    out,
		    "<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/><text class=\"sub\" x=\"%.1f\" "
		    "y=\"%d\" text-anchor=\"middle\">%g</text>\n",
		    x_of(picture, x), TOP, x_of(picture, x), BOTTOM, x_of(picture, x), BOTTOM + 18, pow(10, x));
	for (int y = (int)ceil(picture->y_min); y <= floor(picture->y_max); y++)
		fprintf(
		    out,
		    "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/><text class=\"sub\" x=\"%d\" "
		    "y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
		    LEFT, y_of(picture, y), RIGHT, y_of(picture, y), LEFT - 8, y_of(picture, y) + 4, pow(10, y));
	fprintf(out, "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", LEFT, TOP, RIGHT - LEFT,
		BOTTOM - TOP);
	fprintf(out, "<text class=\"sub\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">intensity, FLOP/byte</text>\n",
		(LEFT + RIGHT) / 2, BOTTOM + 40);
	fprintf(
	    out,
	    "<text class=\"sub\" transform=\"translate(20 %d) rotate(-90)\" text-anchor=\"middle\">GFLOP/s</text>\n",
	    (TOP + BOTTOM) / 2);
}

/* --- ceilings ----------------------------------------------------------------------------------------------------- */

/* A label at the right edge gets its place unless another has it. */
static int label_takes(struct picture *picture, double y)
{
	for (size_t i = 0; i < picture->label_count; i++)
		if (fabs(picture->labels[i] - y) < 13)
			return 0;
	if (picture->label_count == LABELS_MAX)
		return 0;
	picture->labels[picture->label_count++] = y;
	return 1;
}

/* A horizontal line at a rate in GFLOP/s, from where the fastest memory reaches it. */
static void put_peak(struct picture *picture, double rate, const char *classes, const char *threads, const char *label)
{
	double memory = best_of(picture, "L1", !strcmp(threads, "one_thread") ? "one_thread" : "all_threads");
	double from = memory > 0 ? log10(rate / memory) : picture->x_min, y;
	if (rate <= 0 || log10(rate) > picture->y_max || log10(rate) < picture->y_min)
		return;
	from = from < picture->x_min ? picture->x_min : from > picture->x_max ? picture->x_max : from;
	y = y_of(picture, log10(rate));
	fprintf(picture->out,
		"<line class=\"cpu %s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"><title>%s %.4g "
		"GFLOP/s</title></line>\n",
		classes, x_of(picture, from), y, RIGHT, y, label, rate);
	if (label_takes(picture, y))
		fprintf(picture->out,
			"<text class=\"cpul\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s %.4g GFLOP/s</text>\n",
			RIGHT - 6, y - 4, label, rate);
}

/* How far along its line a label has to stand so that it lies on no other; all lines have one slope. */
static double label_shift(struct picture *picture, double x, double y, double slope)
{
	double shift = 0;
	for (int step = 0; step < LABEL_STEPS; step++) {
		int taken = 0;
		for (size_t i = 0; i < picture->memory_count; i++) {
			double dx = picture->memory[i].x - x - shift, dy = picture->memory[i].y - y - shift * slope;
			taken |= fabs(dx) < LABEL_WIDTH && fabs(dy - dx * slope) < 16;
		}
		if (!taken)
			break;
		shift += LABEL_WIDTH;
	}
	if (picture->memory_count < LABELS_MAX) {
		picture->memory[picture->memory_count].x = x + shift;
		picture->memory[picture->memory_count++].y = y + shift * slope;
	}
	return shift;
}

/* The diagonal of a bandwidth in GB/s, up to the highest peak. */
static void put_memory(struct picture *picture, double bandwidth, const char *classes, double peak, const char *label)
{
	if (bandwidth <= 0 || peak <= 0)
		return;
	double slope = log10(bandwidth), from = picture->x_min, to = log10(peak) - slope;
	from = from + slope < picture->y_min ? picture->y_min - slope : from;
	to = to > picture->x_max ? picture->x_max : to;
	if (to <= from)
		return;
	double x1 = x_of(picture, from), y1 = y_of(picture, from + slope);
	double x2 = x_of(picture, to), y2 = y_of(picture, to + slope);
	fprintf(picture->out, "<line class=\"mem %s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", classes, x1,
		y1, x2, y2);
	double along = 8 + label_shift(picture, x1, y1, (y2 - y1) / (x2 - x1));
	double above = along > 8 ? -19 : 5; /* below its line where another one is just above it */
	fprintf(picture->out,
		"<text class=\"meml\" transform=\"translate(%.1f %.1f) rotate(%.1f)\">%s %.4g GB/s</text>\n",
		x1 + along, y1 - above - along * (y1 - y2) / (x2 - x1),
		-atan2(y1 - y2, x2 - x1) * 180 / 3.14159265358979, label, bandwidth);
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
	double x = x_of(picture, log10(point->x)), y = y_of(picture, log10(point->y));
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
		fprintf(picture->out,
			"<text class=\"sub\" x=\"%d\" y=\"%d\">No zone has known FLOP and bytes.</text>\n", KEY_X,
			TOP + 14);
	if (picture->below)
		fprintf(picture->out,
			"<text class=\"sub\" x=\"%d\" y=\"%d\">%zu with an arrow down: far lower</text>\n", KEY_X,
			BOTTOM - ROW, picture->below);
	if (picture->left_out)
		fprintf(picture->out, "<text class=\"sub\" x=\"%d\" y=\"%d\">%zu zone%s not in the picture</text>\n",
			KEY_X, BOTTOM, picture->left_out, picture->left_out == 1 ? " is" : "s are");
}

int sonde_roofline_svg(const struct sonde_report *report, FILE *out)
{
	struct picture picture = {
	    .out = out, .roofs = sonde_report_find(report, "roofs"), .points = sonde_report_find(report, "roofline")};
	const struct sonde_section *first = picture.points ? picture.points : report->first;
	const struct sonde_note *note = first ? first->notes : NULL;
	while (note && note->next && !note->warning)
		note = note->next;
	if (!picture.roofs)
		return sonde_error(ENODATA, "a roofline needs the machine's ceilings, and the report has none%s%s",
				   note ? ": " : "", note ? note->text : "");
	sonde_buf_init(&picture.scratch, TEXT_MAX_B);
	read_points(&picture);
	choose_scale(&picture);
	put_head(&picture, report);
	put_axes(&picture);
	put_ceilings(&picture);
	put_points(&picture);
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
