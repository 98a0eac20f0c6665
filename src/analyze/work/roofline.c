/* roofline.c: the section `roofline`: zones with known work, under the measured ceilings of their machine.
 *
 * A rate is work ÷ time during which at least one thread was in a call that reported work. No intensity is shown if
 * FLOP or bytes are unknown; if bytes are a model (the minimum that must move), the intensity is an upper bound. Work
 * of nested zones is never counted twice: it belongs to the innermost zone.
 */
#include "analyze/work/roofline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/columns.h"
#include "analyze/device/roofs.h"
#include "analyze/work/flop.h"
#include "analyze/work/flop_counted.h"
#include "analyze/marks.h"
#include "analyze/work/roofline_calls.h"
#include "analyze/statistics/stats.h"
#include "analyze/window.h"
#include "analyze/words.h"
#include "sonde/device.h"
#include "util/error.h"

#define TITLE "Roofline: zones under the machine's ceilings"
#define LOW_FLOPS 1e9 /* FLOP/s */
#define LOW_TIME 0.01 /* share of the run below which work is not worth mentioning */
#define FAR_SHARE 0.2 /* share of the roof */

enum { DEFAULT_ROWS = 20, LOW_MAX = 5 };
enum {
	ZONE,
	GFLOPS,
	INTENSITY,
	ROOF,
	SHARE,
	BOUND,
	TIME_SHARE,
	MACHINE_SHARE,
	DRAM_SHARE,
	THREADS,
	PRECISION,
	BYTES_ARE,
	BYTES_RATE,
	CALLS,
	WALL,
	FLOP,
	BYTES,
	COLUMNS
};

static const struct sonde_column columns[COLUMNS] = {
    [ZONE] = {SONDE_COLUMN_KEY(roofline, zone), "zone", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [GFLOPS] = {SONDE_COLUMN_KEY(roofline, gflop_per_s), "GFLOP/s", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [INTENSITY] = {SONDE_COLUMN_KEY(roofline, flop_per_byte), "FLOP/B", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [ROOF] = {SONDE_COLUMN_KEY(roofline, roof_gflop_per_s), "roof", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [SHARE] = {SONDE_COLUMN_KEY(roofline, roof_share), "of roof", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [BOUND] = {SONDE_COLUMN_KEY(roofline, bound), "bound", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [TIME_SHARE] = {"wall_share", "of the run", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 1},
    [MACHINE_SHARE] = {"machine_share", "of all CPUs", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 2},
    [DRAM_SHARE] = {SONDE_COLUMN_KEY(roofline, dram_share), "of DRAM", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 3},
    [THREADS] = {SONDE_COLUMN_KEY(roofline, threads), "threads", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 3},
    [PRECISION] = {"precision", "compared with", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 4},
    [BYTES_ARE] = {SONDE_COLUMN_KEY(roofline, bytes_are), "bytes", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 4},
    [BYTES_RATE] = {SONDE_COLUMN_KEY(roofline, bytes_per_s), "bytes/s", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 4},
    [CALLS] = {"calls", "calls", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 5},
    [WALL] = {SONDE_COLUMN_KEY(roofline, wall_ns), "wall time", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 5},
    [FLOP] = {SONDE_COLUMN_KEY(roofline, flop), "FLOP", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 6},
    [BYTES] = {"bytes", "bytes", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 6},
};

struct roofline {
	struct sonde_roofline_calls calls;
	struct sonde_window window;
	struct sonde_roof roof;
	struct sonde_flop_counted counted;
	int from_cache;
	struct sonde_report *report;
	struct sonde_section *section;
};

static void roofline_end(void *state)
{
	struct roofline *roofline = state;
	sonde_roofline_calls_fini(&roofline->calls);
}

static int roofline_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct roofline *roofline = state;
	roofline->window = sonde_window_of(session, options);
	int rc = sonde_flop_counted_read(&roofline->counted, session);
	return rc ? rc : sonde_roofline_calls_init(&roofline->calls, session, options);
}

static uint32_t roofline_wants(const void *state)
{
	return ((const struct roofline *)state)->calls.works.count ? 1u << SONDE_CHUNK_ZONES : 0;
}

static int roofline_feed(void *state, const struct sonde_batch *batch)
{
	return sonde_roofline_calls_feed(&((struct roofline *)state)->calls, batch);
}

static int roofline_merge(void *state, void *other)
{
	return sonde_roofline_calls_merge(&((struct roofline *)state)->calls, &((struct roofline *)other)->calls);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* The number of threads that a library may use: from its environment variables, else the CPUs available to the run; 0 =
 * unknown. */
static double library_threads(const struct sonde_session *session)
{
	static const char *const keys[] = {"env.OPENBLAS_NUM_THREADS", "env.OMP_NUM_THREADS", "run.cpus", "host.cpus"};
	double threads = 0;
	for (size_t i = 0; i < sizeof keys / sizeof *keys && threads < 1; i++) {
		const char *text = sonde_session_info(session, keys[i]);
		threads = text ? strtod(text, NULL) : 0;
	}
	return threads;
}

/* Zones of library calls: their bytes are a model, their names tell the precision, and it is unknown how many threads
 * work in them. */
static void take_library(struct sonde_roofline_work *work, const struct sonde_site *site, double threads)
{
	work->is_model = site && (!strcmp(site->unit, "blas") || !strcmp(site->unit, "lapack"));
	if (work->is_model && *site->name && strchr("sc", *site->name))
		work->precision = SONDE_ROOF_FP32;
	work->inside = work->is_model ? threads : 0;
}

static int by_time(const void *left, const void *right)
{
	const struct sonde_roofline_work *a = left, *b = right;
	int by = (a->wall_ns < b->wall_ns) - (a->wall_ns > b->wall_ns);
	return by ? by : (a->site > b->site) - (a->site < b->site);
}

static struct sonde_cell known(double value, double scale, const char *why)
{
	return value >= 0 ? sonde_cell_real(value / scale, 0) : sonde_cell_absent(why);
}

static struct sonde_cell bound_cell(const struct sonde_roofline_work *work, const struct sonde_roofline_place *place)
{
	switch (place->bound) {
	case SONDE_ROOFLINE_COMPUTE: /* intensity is an upper bound: memory may be the limit, too */
		return sonde_cell_text(work->is_model ? "compute, at best" : "compute");
	case SONDE_ROOFLINE_MEMORY:
		return sonde_cell_label(sonde_roof_level_name(place->level), (int)place->level);
	case SONDE_ROOFLINE_ABOVE:
		return sonde_cell_text("above every ceiling");
	default:
		return sonde_cell_absent(work->flop > 0 ? "no bytes were reported" : "no FLOP were reported");
	}
}

static const char *site_name(const struct roofline *roofline, const struct sonde_roofline_work *work)
{
	const struct sonde_site *site = sonde_session_site(roofline->calls.session, work->site);
	return site ? site->name : "(unknown)";
}

static int row_add(struct roofline *roofline, const struct sonde_roofline_work *work,
		   const struct sonde_roofline_place *place)
{
	static const char no_flop[] = "no FLOP were reported", no_bytes[] = "no bytes were reported";
	static const char no_roof[] = "no measured ceiling";
	struct sonde_cell *row = sonde_report_row(roofline->report, roofline->section);
	const char *why = work->flop > 0 ? no_bytes : no_flop;
	row[ZONE] = sonde_cell_text(site_name(roofline, work));
	row[GFLOPS] = known(place->flops, 1e9, no_flop);
	row[INTENSITY] = known(place->intensity, 1, why);
	row[ROOF] = known(place->roof, 1e9, work->flop > 0 ? no_roof : no_flop);
	row[SHARE] = known(place->share, 1, work->flop > 0 ? no_roof : no_flop);
	row[BOUND] = bound_cell(work, place);
	row[TIME_SHARE] =
	    sonde_cell_real(sonde_stats_share((double)work->wall_ns / 1e9, sonde_window_s(&roofline->window)), 0);
	row[MACHINE_SHARE] = known(place->machine_share, 1, work->flop > 0 ? no_roof : no_flop);
	row[DRAM_SHARE] = known(place->dram_share, 1, work->bytes > 0 ? no_roof : no_bytes);
	row[THREADS] = sonde_cell_real(place->threads, 0);
	row[PRECISION] = work->flop > 0 ? sonde_cell_text(place->precision == SONDE_ROOF_FP64 ? "FP64" : "FP32")
					: sonde_cell_absent(no_flop);
	row[BYTES_ARE] = work->bytes <= 0 ? sonde_cell_absent(no_bytes)
			 : work->is_model ? sonde_cell_label("model", SONDE_ROOFLINE_BYTES_MODEL)
					  : sonde_cell_label("reported", SONDE_ROOFLINE_BYTES_REPORTED);
	row[BYTES_RATE] = known(place->bytes, 1, no_bytes);
	row[CALLS] = sonde_cell_int(work->calls);
	row[WALL] = sonde_cell_int(work->wall_ns);
	row[FLOP] = work->flop > 0 ? sonde_cell_real(work->flop, 0) : sonde_cell_absent(no_flop);
	row[BYTES] = work->bytes > 0 ? sonde_cell_real(work->bytes, 0) : sonde_cell_absent(no_bytes);
	return 0;
}

/* --- notes -------------------------------------------------------------------------------------------------------- */

/* True if a throughput is low in absolute terms and near no ceiling, for long enough to matter. */
static int is_low(const struct roofline *roofline, const struct sonde_roofline_work *work,
		  const struct sonde_roofline_place *place)
{
	return place->flops > 0 && place->flops < LOW_FLOPS && place->share >= 0 && place->share < FAR_SHARE &&
	       (double)work->wall_ns / 1e9 >= LOW_TIME * sonde_window_s(&roofline->window);
}

static int low_note(const struct roofline *roofline, const struct sonde_roofline_work *work,
		    const struct sonde_roofline_place *place)
{
	sonde_report_note(
	    roofline->report, roofline->section, 1,
	    "LowThroughput: %s does %.3g GFLOP/s, %.2g %% of its roof, for %.1f %% of the run: latency bound",
	    site_name(roofline, work), place->flops / 1e9, place->share * 100,
	    sonde_stats_share((double)work->wall_ns / 1e9, sonde_window_s(&roofline->window)) * 100);
	return 0;
}

struct reported {
	uint64_t silent, models, above, half;
};

static int notes_add(struct roofline *roofline, const struct reported *reported)
{
	struct sonde_report *report = roofline->report;
	struct sonde_section *section = roofline->section;
	double covered = sonde_stats_share((double)roofline->calls.covered_ns / 1e9, sonde_window_s(&roofline->window));
	sonde_report_note(report, section, 0, "work was reported during %.1f %% of %.3f s of %s; the rest is unknown",
			  covered * 100, sonde_window_s(&roofline->window), roofline->window.what);
	sonde_report_note(report, section, 0,
			  "rates: work ÷ time with a thread in the call; roof: measured with the same number of threads%s",
			  roofline->from_cache ? " on this machine, not by the recording" : "");
	sonde_report_note(report, section, 0,
			  "bound: the ceiling above; a small share of that ceiling suggests latency, dependencies or "
			  "waiting");
	if (reported->models)
		sonde_report_note(
		    report, section, 0,
		    "the bytes of %llu zone%s are modelled: intensity and roof are upper bounds, shares lower bounds",
		    (unsigned long long)reported->models, sonde_plural(reported->models));
	if (reported->half)
		sonde_report_note(report, section, 0,
				  "%llu zone%s without FLOP or bytes: no intensity, not in the picture",
				  (unsigned long long)reported->half, sonde_plural(reported->half));
	if (reported->above)
		sonde_report_note(report, section, 1,
				  "%llu zone%s above every ceiling: the reported work or the ceilings are wrong",
				  (unsigned long long)reported->above, sonde_word(reported->above, " lies", "s lie"));
	sonde_works_note(&roofline->calls.works, report, section);
	if (reported->silent)
		sonde_report_note(report, section, 1, "%llu call%s of these zones reported nothing and are left out",
				  (unsigned long long)reported->silent, sonde_plural(reported->silent));
	if (roofline->calls.outside)
		sonde_report_note(report, section, 1, "%llu report%s of work came from outside every zone",
				  (unsigned long long)roofline->calls.outside, sonde_plural(roofline->calls.outside));
	return 0;
}

static void tell(struct reported *reported, const struct sonde_roofline_work *work,
		 const struct sonde_roofline_place *place)
{
	reported->silent += work->silent;
	reported->models += (uint64_t)work->is_model;
	reported->half += (uint64_t)(place->intensity < 0);
	reported->above += (uint64_t)(place->bound == SONDE_ROOFLINE_ABOVE);
}

static int rows_add(struct roofline *roofline, struct reported *reported)
{
	struct sonde_roofline_calls *calls = &roofline->calls;
	size_t limit = calls->options.limit ? calls->options.limit : DEFAULT_ROWS;
	double threads = library_threads(calls->session);
	int rc = 0, lows = 0;
	for (size_t i = 0; i < calls->work_count; i++)
		take_library(&calls->work[i], sonde_session_site(calls->session, calls->work[i].site), threads);
	if (calls->work_count)
		qsort(calls->work, calls->work_count, sizeof *calls->work, by_time);
	for (size_t i = 0; i < calls->work_count && !rc; i++) {
		const struct sonde_roofline_work *work = &calls->work[i];
		struct sonde_roofline_place place = sonde_roofline_place(&roofline->roof, work);
		tell(reported, work, &place);
		rc = i < limit ? row_add(roofline, work, &place) : 0;
		if (!rc && is_low(roofline, work, &place) && lows++ < LOW_MAX)
			rc = low_note(roofline, work, &place);
	}
	roofline->section->table.omitted = calls->work_count > limit ? calls->work_count - limit : 0;
	return rc;
}

static int roofline_finish(void *state, struct sonde_report *report)
{
	struct roofline *roofline = state;
	struct sonde_roofline_calls *calls = &roofline->calls;
	struct reported reported = {0};
	int has_roof = !sonde_roofline_roof(&roofline->roof, &roofline->from_cache, calls->session);
	const char *why = has_roof ? NULL : sonde_report_text(report, "%s", sonde_error_text());
	int rc = sonde_roofline_calls_finish(calls);
	if (rc)
		return rc;
	const char *missing = calls->work_count ? NULL : sonde_pass_missing(calls->session, SONDE_NEEDS(API), report);
	if (!calls->work_count)
		rc = sonde_pass_nothing(&calls->options, report, "roofline", TITLE,
					missing ? missing
						: "no zone reported work: use SONDE_ZONE_WORK(flop, bytes, items) "
						  "(sonde/sonde.h), or sonde record --blas");
	roofline->report = report;
	if (!rc && calls->work_count) {
		roofline->section = sonde_report_table(report, "roofline", TITLE, columns, COLUMNS);
		rc = rows_add(roofline, &reported);
		rc = rc ? rc : notes_add(roofline, &reported);
	}
	if (!rc && !has_roof && roofline->section)
		sonde_report_note(report, roofline->section, 1, "no roof: %s", why);
	/* Hardware counters know neither zones nor bytes, so they yield no point. */
	if (!rc)
		sonde_flop_counted_note(&roofline->counted, 0, report, roofline->section);
	rc = !rc && has_roof ? sonde_roofline_ceilings(&roofline->roof, report) : rc;
	if (!rc)
		sonde_device_roofs_add(calls->session, report);
	return rc;
}

/* True if there is work, or devices with known ceilings, which have a table of their own. */
static int has_work_or_roofs(const struct sonde_session *session)
{
	for (uint32_t id = 1; id <= sonde_session_device_count(session); id++) {
		const struct sonde_device *device = sonde_session_device(session, id);
		if (device->kind != SONDE_DEVICE_CPU && (device->capability || device->memory_b_per_s))
			return 1;
	}
	return sonde_flop_has_work(session);
}

const struct sonde_pass sonde_pass_roofline = {
    .name = "roofline",
    .has = has_work_or_roofs,
    .title = "zones under the machine's measured ceilings",
    .types = 1u << SONDE_CHUNK_ZONES,
    .state_b = sizeof(struct roofline),
    .begin = roofline_begin,
    .wants = roofline_wants,
    .feed = roofline_feed,
    .merge = roofline_merge,
    .finish = roofline_finish,
    .end = roofline_end,
};
