/* energy.c: energy of the run, measured or modelled: idle energy, each process's share of the rest, devices by their
 * own counters, and grams of CO₂e if an intensity was given.
 *
 * Every row names the method behind its figure. If the time is too short for the meters, there is no figure. No country
 * is assumed: without an intensity, there are joules and a note on how to get grams.
 */
#include "analyze/resource/energy_rates.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/columns.h"
#include "analyze/contents.h"
#include "analyze/resource/carbon.h"
#include "analyze/marks.h"
#include "analyze/window.h"
#include "analyze/words.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20 };
#define UJ_A_J 1e6
#define IDLE_MUCH 0.3 /* share of the energy above which idle energy is noted */
#define TITLE "Energy"

enum { WHAT, HOW, ENERGY, LOW, HIGH, WATTS, GRAMS, COVERED, LONGEST, READINGS, COLUMNS };
enum {
	PROCESS,
	PROCESS_HOW,
	CPU,
	SHARE,
	PROCESS_ENERGY,
	PROCESS_LOW,
	PROCESS_HIGH,
	PROCESS_GRAMS,
	PID,
	PROCESS_COLUMNS
};

static const struct sonde_column meter_columns[COLUMNS] = {
    [WHAT] = {"meter", "meter", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [HOW] = {"how", "how", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [ENERGY] = {"energy_j", "energy", SONDE_UNIT_JOULES, SONDE_BASIS_MEASURED, 0, 0},
    [LOW] = {"energy_low_j", "at least", SONDE_UNIT_JOULES, SONDE_BASIS_ESTIMATED, 0, 1},
    [HIGH] = {"energy_high_j", "at most", SONDE_UNIT_JOULES, SONDE_BASIS_ESTIMATED, 0, 1},
    [WATTS] = {"mean_w", "mean W", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [GRAMS] = {"gco2e_g", "CO₂e", SONDE_UNIT_GRAMS, SONDE_BASIS_ESTIMATED, 0, 1},
    [COVERED] = {"covered_ns", "read over", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 3},
    [LONGEST] = {"longest_ns", "longest gap", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 2},
    [READINGS] = {"readings", "readings", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 4},
};

static const struct sonde_column process_columns[PROCESS_COLUMNS] = {
    [PROCESS] = {SONDE_COLUMN_KEY(energy_processes, process), "process", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [PROCESS_HOW] = {"how", "how", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [CPU] = {"cpu_ns", "CPU time", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [SHARE] = {"share", "of all", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 2},
    [PROCESS_ENERGY] = {SONDE_COLUMN_KEY(energy_processes, energy_j), "energy", SONDE_UNIT_JOULES,
			SONDE_BASIS_ESTIMATED, 0, 0},
    [PROCESS_LOW] = {"energy_low_j", "at least", SONDE_UNIT_JOULES, SONDE_BASIS_ESTIMATED, 0, 0},
    [PROCESS_HIGH] = {"energy_high_j", "at most", SONDE_UNIT_JOULES, SONDE_BASIS_ESTIMATED, 0, 0},
    [PROCESS_GRAMS] = {"gco2e_g", "CO₂e", SONDE_UNIT_GRAMS, SONDE_BASIS_ESTIMATED, 0, 1},
    [PID] = {"pid", "pid", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 3},
};

struct intensity {
	int is_known;
	double g_kwh;
	char whose[96]; /* "France, 2023: …" */
};

struct energy {
	struct sonde_session *session;
	struct sonde_pass_options options;
	struct sonde_energy_points points;
	struct sonde_energy_sums sums;
	struct intensity intensity;
};

static int energy_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct energy *energy = state;
	energy->session = session;
	energy->options = *options;
	return sonde_energy_points_init(&energy->points, session);
}

static void energy_end(void *state)
{
	struct energy *energy = state;
	sonde_energy_points_fini(&energy->points);
	sonde_energy_sums_fini(&energy->sums);
}

/* A recording without energy needs no chunks. */
static uint32_t energy_wants(const void *state)
{
	return sonde_energy_points_has(&((const struct energy *)state)->points) ? 1u << SONDE_CHUNK_SERIES : 0;
}

static int energy_feed(void *state, const struct sonde_batch *batch)
{
	struct energy *energy = state;
	return sonde_energy_points_feed(&energy->points, batch);
}

/* --- intensity --------------------------------------------------------------------------------------------------- */

static void take_grams(struct intensity *out, const char *text)
{
	if (!text || out->is_known || sonde_carbon_parse(text, &out->g_kwh))
		return;
	out->is_known = 1;
	snprintf(out->whose, sizeof out->whose, "as given");
}

static void take_country(struct intensity *out, const char *code)
{
	const struct sonde_carbon_row *row = code && !out->is_known ? sonde_carbon_find(code) : NULL;
	if (!row)
		return;
	out->is_known = 1;
	out->g_kwh = row->g_kwh;
	snprintf(out->whose, sizeof out->whose, "%s, average of %d", row->name, row->year);
}

/* The report's option takes precedence over the recording's. */
static void choose_intensity(struct energy *energy)
{
	take_grams(&energy->intensity, energy->options.carbon_intensity);
	take_country(&energy->intensity, energy->options.country);
	take_grams(&energy->intensity, sonde_session_info(energy->session, "option.carbon_intensity"));
	take_country(&energy->intensity, sonde_session_info(energy->session, "option.country"));
}

static void note_intensity(const struct energy *energy, struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_carbon_row *least, *most, *world = sonde_carbon_find("WORLD");
	if (energy->intensity.is_known && !strcmp(energy->intensity.whose, "as given")) {
		sonde_report_note(report, section, 0, "CO2e: J ÷ 3,600,000 × %.4g g/kWh, as given",
				  energy->intensity.g_kwh);
		return;
	}
	if (energy->intensity.is_known) {
		sonde_report_note(
		    report, section, 0,
		    "CO2e: J ÷ 3,600,000 × %.4g g/kWh (%s, life cycle; Ember and Our World in Data, CC BY 4.0)",
		    energy->intensity.g_kwh, energy->intensity.whose);
		return;
	}
	sonde_carbon_extremes(&least, &most);
	sonde_report_note(
	    report, section, 0,
	    "grams of CO2e need --country CODE or --carbon-intensity G (world: %.0f in %d; %.0f, %s, to %.0f, %s)",
	    world->g_kwh, world->year, least->g_kwh, least->name, most->g_kwh, most->name);
}

static struct sonde_cell grams_cell(const struct energy *energy, double uj)
{
	if (!energy->intensity.is_known)
		return sonde_cell_absent("no carbon intensity was given: --country or --carbon-intensity");
	return sonde_cell_real(sonde_carbon_g(uj, energy->intensity.g_kwh), 0);
}

/* --- meters ------------------------------------------------------------------------------------------------------ */

static double least(const double *cases)
{
	return cases[SONDE_ENERGY_LOW] < cases[SONDE_ENERGY_HIGH] ? cases[SONDE_ENERGY_LOW] : cases[SONDE_ENERGY_HIGH];
}

static double most(const double *cases)
{
	return cases[SONDE_ENERGY_LOW] > cases[SONDE_ENERGY_HIGH] ? cases[SONDE_ENERGY_LOW] : cases[SONDE_ENERGY_HIGH];
}

static struct sonde_cell watts_cell(double uj, uint64_t time_ns)
{
	return time_ns ? sonde_cell_real(uj * 1e3 / (double)time_ns, 0) : sonde_cell_absent("no time");
}

/* Adds a row for one figure with three cases; if all are equal, it was measured. */
static void cases_add(const struct energy *energy, const char *what, const char *how, const double *cases,
		      struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	uint64_t time_ns = energy->sums.to_ns - energy->sums.from_ns;
	row[WHAT] = sonde_cell_text(what);
	row[HOW] = sonde_cell_text(how);
	row[ENERGY] = sonde_cell_real(cases[SONDE_ENERGY_LIKELY] / UJ_A_J, 0);
	row[LOW] = row[HIGH] = sonde_cell_absent("measured");
	if (most(cases) > least(cases)) {
		row[LOW] = sonde_cell_real(least(cases) / UJ_A_J, 0);
		row[HIGH] = sonde_cell_real(most(cases) / UJ_A_J, 0);
	}
	row[WATTS] = watts_cell(cases[SONDE_ENERGY_LIKELY], time_ns);
	row[GRAMS] = grams_cell(energy, cases[SONDE_ENERGY_LIKELY]);
	row[COVERED] = sonde_cell_int(time_ns);
	row[LONGEST] = row[READINGS] = sonde_cell_absent("the sum has no readings of its own");
}

/* Why a meter has no figure; NULL if it has one. */
static const char *why_none(const struct sonde_energy_meter *meter)
{
	return meter->covered_ns < SONDE_ENERGY_LEAST_NS ? "too short to measure: read for less than a second"
	       : meter->uj > 0                           ? NULL
							 : "the counter does not advance";
}

static void meter_add(const struct energy *energy, const struct sonde_energy_meter *meter, int is_added,
		      struct sonde_report *report, struct sonde_section *section)
{
	const char *what = is_added ? meter->name : sonde_report_text(report, "%s (not added)", meter->name);
	struct sonde_cell *row = sonde_report_row(report, section);
	const char *why = why_none(meter);
	row[WHAT] = sonde_cell_text(what);
	row[HOW] = sonde_cell_text(why ? "unavailable" : "measured");
	row[ENERGY] = why ? sonde_cell_absent(why) : sonde_cell_real(meter->uj / UJ_A_J, 0);
	row[LOW] = row[HIGH] = sonde_cell_absent("measured");
	row[WATTS] = why ? sonde_cell_absent(why) : watts_cell(meter->uj, meter->covered_ns);
	row[GRAMS] = why ? sonde_cell_absent(why) : grams_cell(energy, meter->uj);
	row[COVERED] = sonde_cell_int(meter->covered_ns);
	row[LONGEST] = sonde_cell_int(meter->longest_ns);
	row[READINGS] = sonde_cell_int(meter->readings);
}

/* Adds the devices' own counters: they are measured whether or not the CPU energy is, and are never added to it. */
static void devices_add(const struct energy *energy, struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_energy_sums *sums = &energy->sums;
	for (size_t i = 0; i < sums->device_count; i++)
		meter_add(energy, &sums->devices[i], 0, report, section);
}

static void meters_add(const struct energy *energy, struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_energy_sums *sums = &energy->sums;
	for (size_t i = 0; i < sums->meter_count; i++)
		meter_add(energy, &sums->meters[i], sums->meters[i].is_package, report, section);
	if (sums->fit.name)
		cases_add(energy, "a model of the server", "modelled", sums->uj, report, section);
	else if (sums->package_count > 1)
		cases_add(energy, "all packages", "measured", sums->uj, report, section);
	devices_add(energy, report, section);
}

static void note_idle(const struct energy *energy, struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_energy_sums *sums = &energy->sums;
	double share = least(sums->idle_uj) / (sums->fit.name ? least(sums->uj) : sums->uj[SONDE_ENERGY_LIKELY]);
	if (!sums->fit.name)
		sonde_report_note(report, section, 0,
				  "idle power: %.3g W (lowest second) to %.3g W (from utilisation); to narrow it, "
				  "idle for a second first",
				  sums->idle_w[SONDE_ENERGY_HIGH], sums->idle_w[SONDE_ENERGY_LOW]);
	if (share > IDLE_MUCH)
		sonde_report_note(report, section, 0,
				  "idling took at least %.0f %% of the energy, with CPUs busy for %.0f %% of "
				  "their time: shorten the run",
				  share * 100, sums->busy * 100);
}

/* Why nothing was measured, as reported by the source. */
static const char *why_modelled(const struct energy *energy)
{
	const struct sonde_source_row *row = sonde_session_source_named(energy->session, "energy");
	return row && *row->detail ? row->detail : "no meter was read";
}

static void note_model(const struct energy *energy, struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_energy_fit *fit = &energy->sums.fit;
	sonde_report_note(report, section, 1, "modelled, not measured: %s", why_modelled(energy));
	sonde_report_note(
	    report, section, 0,
	    "the model: %s%s, %.2f–%.2f W idle, %.2f–%.2f W busy per CPU (SPECpower); %u CPU%s%s, %.0f %% busy",
	    fit->is_generic ? "a processor missing from the table, so a generic range: " : "", fit->name,
	    fit->idle_w[SONDE_ENERGY_LOW], fit->idle_w[SONDE_ENERGY_HIGH], fit->full_w[SONDE_ENERGY_LOW],
	    fit->full_w[SONDE_ENERGY_HIGH], fit->cpus, sonde_plural(fit->cpus),
	    fit->is_virtual ? " of this virtual machine only" : "", energy->sums.busy * 100);
}

/* Notes the devices whose counters were read, and why others have no figure. */
static void note_read(const struct energy *energy, struct sonde_report *report, struct sonde_section *section)
{
	sonde_report_note(
	    report, section, 0,
	    "GPUs: by their drivers' counters, all programs; not part of the energy of processors and processes");
	for (size_t i = 0; i < energy->sums.device_count; i++) {
		const char *why = why_none(&energy->sums.devices[i]);
		if (why)
			sonde_report_note(report, section, 1, "%s: %s", energy->sums.devices[i].name, why);
	}
}

/* Notes what the figures of devices are, or why there are none. */
static void note_devices(const struct energy *energy, struct sonde_report *report, struct sonde_section *section)
{
	if (energy->sums.device_count) {
		note_read(energy, report, section);
		return;
	}
	const struct sonde_source_row *nvml = sonde_session_source_named(energy->session, "nvml");
	if (nvml && *nvml->detail)
		sonde_report_note(report, section, 0, "GPUs: unavailable: %s", nvml->detail);
	else
		sonde_report_note(
		    report, section, 0,
		    "GPUs: unavailable: none with an energy counter was read (NVIDIA: libnvidia-ml.so.1)");
}

static void notes_add(const struct energy *energy, struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_energy_sums *sums = &energy->sums;
	if (sums->fit.name)
		note_model(energy, report, section);
	for (size_t i = 0; i < sums->meter_count; i++)
		if (!sums->meters[i].is_package && !strncmp(sums->meters[i].name, "dram", 4)) {
			sonde_report_note(report, section, 0,
					  "dram is not added: on some processors the package includes it");
			break;
		}
	for (size_t i = 0; i < sonde_session_lost_count(energy->session); i++) {
		const struct sonde_lost *lost = sonde_session_lost(energy->session, i);
		if (!strcmp(lost->source, "energy"))
			sonde_report_note(report, section, 1, "not counted, %llu time%s: %s",
					  (unsigned long long)lost->count, sonde_plural(lost->count), lost->cause);
	}
	note_intensity(energy, report, section);
	note_devices(energy, report, section);
}

/* --- processes --------------------------------------------------------------------------------------------------- */

static struct sonde_cell *process_row(const struct energy *energy, const char *name, const double *cases, double cpu_ns,
				      struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	row[PROCESS] = sonde_cell_label(name, SONDE_ENERGY_ROW_PROCESS);
	row[PROCESS_HOW] = sonde_cell_text(energy->sums.fit.name ? "modelled" : "estimated");
	row[CPU] = cpu_ns >= 0 ? sonde_cell_int((uint64_t)(cpu_ns + 0.5)) : sonde_cell_absent("none, or unknown");
	row[SHARE] = sonde_cell_real(cases[SONDE_ENERGY_LIKELY] / energy->sums.uj[SONDE_ENERGY_LIKELY], 0);
	row[PROCESS_ENERGY] = sonde_cell_real(cases[SONDE_ENERGY_LIKELY] / UJ_A_J, 0);
	row[PROCESS_LOW] = sonde_cell_real(least(cases) / UJ_A_J, 0);
	row[PROCESS_HIGH] = sonde_cell_real(most(cases) / UJ_A_J, 0);
	row[PROCESS_GRAMS] = grams_cell(energy, cases[SONDE_ENERGY_LIKELY]);
	row[PID] = sonde_cell_absent("no process");
	return row;
}

static void share_add(const struct energy *energy, const struct sonde_energy_share *share, struct sonde_report *report,
		      struct sonde_section *section)
{
	const struct sonde_process *process = sonde_session_process(energy->session, share->process);
	struct sonde_cell *row = process_row(energy, *process->command ? process->command : process->name, share->uj,
					     share->cpu_ns, report, section);
	row[PID] = sonde_cell_int(process->pid);
}

/* Adds everything without a row of its own: other programs, processes beyond the limit or too short for a figure; and
 * idle energy. */
static void remainder_add(const struct energy *energy, const struct sonde_energy_share *left,
			  struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_energy_sums *sums = &energy->sums;
	double cases[SONDE_ENERGY_CASES];
	for (size_t c = 0; c < SONDE_ENERGY_CASES; c++)
		cases[c] = sums->remainder_uj[c] + left->uj[c];
	struct sonde_cell *row = process_row(
	    energy, "", cases, sums->has_clock ? sums->remainder_cpu_ns + left->cpu_ns : -1, report, section);
	row[PROCESS] =
	    sonde_cell_label(sums->has_clock ? "all else" : "work of unknown processes", SONDE_ENERGY_ROW_REMAINDER);
	row = process_row(energy, "", sums->idle_uj, -1, report, section);
	row[PROCESS] = sonde_cell_label("idle", SONDE_ENERGY_ROW_IDLE);
}

static void processes_add(const struct energy *energy, struct sonde_report *report)
{
	const struct sonde_energy_sums *sums = &energy->sums;
	size_t limit = energy->options.limit ? energy->options.limit : DEFAULT_ROWS, shown = 0, too_short = 0, more = 0;
	struct sonde_energy_share left = {0};
	const struct sonde_column *columns =
	    sonde_energy_columns(&energy->sums, report, process_columns, PROCESS_COLUMNS);
	struct sonde_section *section =
	    sonde_report_table(report, "energy_processes", "Energy by process", columns, PROCESS_COLUMNS);
	for (size_t i = 0; i < sums->share_count; i++) {
		const struct sonde_energy_share *share = &sums->shares[i];
		if (!share->too_short && shown < limit) {
			share_add(energy, share, report, section);
			shown++;
			continue;
		}
		too_short += share->too_short != 0;
		more += !share->too_short;
		left.cpu_ns += share->cpu_ns;
		for (size_t c = 0; c < SONDE_ENERGY_CASES; c++)
			left.uj[c] += share->uj[c];
	}
	remainder_add(energy, &left, report, section);
	section->table.omitted = more;
	if (too_short)
		sonde_report_note(
		    report, section, 0,
		    "%zu process%s too short to measure (under 1 s, or 100 ms of CPU time): counted in \"all else\"",
		    too_short, sonde_word(too_short, " was", "es were"));
	note_idle(energy, report, section);
	if (!sums->has_clock) {
		sonde_report_note(report, section, 1, "no shares of processes: system CPU time was not recorded");
		return;
	}
	sonde_report_note(report, section, 0,
			  "each second's energy above idle is split by CPU time; caches, memory and wide "
			  "vectors are ignored");
}

/* --- the pass ---------------------------------------------------------------------------------------------------- */

/* True if CPU energy should have been measured or modelled. */
static int was_requested(const struct energy *energy)
{
	return sonde_session_source_named(energy->session, "energy") || energy->sums.meter_count ||
	       sonde_session_info(energy->session, "energy.model");
}

/* Adds a section that explains why there is no CPU figure; devices may still have figures. */
static void say_nothing(const struct energy *energy, struct sonde_report *report)
{
	int has_devices = energy->sums.device_count > 0;
	struct sonde_section *section =
	    sonde_report_table(report, "energy", TITLE, has_devices ? meter_columns : NULL, has_devices ? COLUMNS : 0);
	devices_add(energy, report, section);
	if (has_devices)
		note_devices(energy, report, section);
	if (has_devices)
		note_intensity(energy, report, section);
	if (has_devices && !was_requested(energy)) {
		sonde_report_note(report, section, 0, "processors were not recorded: sonde record --energy");
		return;
	}
	sonde_report_note(report, section, 1, "%s", energy->sums.why);
	if (!energy->sums.meter_count)
		sonde_report_note(report, section, 1, "not measured: %s", why_modelled(energy));
}

static int energy_finish(void *state, struct sonde_report *report)
{
	struct energy *energy = state;
	struct sonde_window window = sonde_window_of(energy->session, &energy->options);
	if (!sonde_energy_points_has(&energy->points))
		return sonde_pass_nothing(&energy->options, report, "energy", TITLE,
					  "energy was not recorded: sonde record --energy");
	int rc = sonde_energy_points_finish(&energy->points);
	if (rc == 0)
		rc = sonde_energy_sums_init(&energy->sums, &energy->points, window.from_ns, window.to_ns);
	if (rc)
		return rc;
	choose_intensity(energy);
	if (!energy->sums.is_known) {
		say_nothing(energy, report);
		return 0;
	}
	const struct sonde_column *columns = sonde_energy_columns(&energy->sums, report, meter_columns, COLUMNS);
	struct sonde_section *section = sonde_report_table(report, "energy", TITLE, columns, COLUMNS);
	meters_add(energy, report, section);
	notes_add(energy, report, section);
	processes_add(energy, report);
	return 0;
}

const struct sonde_pass sonde_pass_energy = {
    .name = "energy",
    .needs = SONDE_NEEDS(ENERGY),
    .has = sonde_has_energy,
    .title = "energy by meter or model, and by process; grams of CO2e",
    .types = 1u << SONDE_CHUNK_SERIES,
    .standard = 1,
    .state_b = sizeof(struct energy),
    .begin = energy_begin,
    .wants = energy_wants,
    .feed = energy_feed,
    .finish = energy_finish,
    .end = energy_end,
};
