/* energy_sums.c: computes windows, idle power and shares (resource/energy_sums.h). Power is in W = nJ / ns, energy in
 * µJ. */
#include "analyze/resource/energy_sums.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/metric.h"
#include "util/error.h"

enum { WINDOWS_MOST = 4096 };
#define MOST_W 1000.0     /* plausible maximum for a package */
#define BUSY_DIFFERS 0.05 /* minimum difference in utilisation for a line through two windows */
#define WHOLE 0.999
#define NJ_A_UJ 1000.0

struct window {
	uint64_t from_ns, to_ns;
	double uj[SONDE_ENERGY_CASES], idle_uj[SONDE_ENERGY_CASES];
	double busy_ns, busy; /* CPU time, and utilisation */
	uint64_t covered_ns;  /* by all packages together */
	int is_whole;         /* all meters cover the whole window */
};

struct sums_state {
	struct sonde_energy_sums *sums;
	const struct sonde_energy_points *points;
	struct window *windows;
	size_t count;
	double *cpu_ns; /* CPU time of the processes in a window, in the order of the shares */
};

static double rise(const struct sonde_energy_points *points, uint32_t series, const struct window *window)
{
	const struct sonde_energy_track *track = &points->tracks[series];
	return series ? sonde_energy_track_at(track, window->to_ns) - sonde_energy_track_at(track, window->from_ns) : 0;
}

/* --- meters ------------------------------------------------------------------------------------------------------ */

static struct sonde_energy_meter *meter_named(struct sonde_energy_sums *sums, const char *name)
{
	for (size_t i = 0; i < sums->meter_count; i++)
		if (!strcmp(sums->meters[i].name, name))
			return &sums->meters[i];
	struct sonde_energy_meter *meter = &sums->meters[sums->meter_count++];
	*meter = (struct sonde_energy_meter){.name = name, .is_package = !strncmp(name, "package", 7)};
	sums->package_count += meter->is_package != 0;
	return meter;
}

static int is_energy(const struct sonde_energy_points *points, uint32_t id)
{
	const struct sonde_series *series = sonde_session_series(points->session, id);
	return points->same[id] == id && strcmp(series->name, sonde_metric_row(SONDE_METRIC_ENERGY)->name) == 0;
}

/* Meters that are summed up come first. */
static int compare_meters(const void *left, const void *right)
{
	const struct sonde_energy_meter *a = left, *b = right;
	return a->is_package != b->is_package ? b->is_package - a->is_package : strcmp(a->name, b->name);
}

static void meter_add(struct sonde_energy_meter *meter, const struct sums_state *state, uint32_t id)
{
	const struct sonde_energy_track *track = &state->points->tracks[id];
	struct window all = {.from_ns = state->sums->from_ns, .to_ns = state->sums->to_ns};
	meter->uj += rise(state->points, id, &all);
	meter->covered_ns += sonde_energy_track_covers_ns(track, all.from_ns, all.to_ns);
	meter->readings += track->readings;
	meter->longest_ns = track->longest_ns > meter->longest_ns ? track->longest_ns : meter->longest_ns;
}

static struct sonde_energy_meter *device_named(struct sonde_energy_sums *sums, const char *name)
{
	for (size_t i = 0; i < sums->device_count; i++)
		if (!strcmp(sums->devices[i].name, name))
			return &sums->devices[i];
	struct sonde_energy_meter *device = &sums->devices[sums->device_count++];
	*device = (struct sonde_energy_meter){.name = name};
	return device;
}

static int read_meters(struct sums_state *state)
{
	struct sonde_energy_sums *sums = state->sums;
	sums->meters = calloc(state->points->count + 1, sizeof *sums->meters);
	sums->devices = calloc(state->points->count + 1, sizeof *sums->devices);
	if (!sums->meters || !sums->devices)
		return sonde_error(ENOMEM, "out of memory for %zu meters", state->points->count);
	for (uint32_t id = 1; id <= state->points->count; id++) {
		const struct sonde_series *series = sonde_session_series(state->points->session, id);
		if (state->points->same[id] != id || !state->points->tracks[id].count)
			continue;
		if (is_energy(state->points, id))
			meter_add(meter_named(sums, series->object), state, id);
		else if (!strcmp(series->name, sonde_metric_row(SONDE_METRIC_DEVICE_ENERGY)->name))
			meter_add(device_named(sums, series->object), state, id);
	}
	qsort(sums->meters, sums->meter_count, sizeof *sums->meters, compare_meters);
	return 0;
}

static void measure(const struct sums_state *state, struct window *window)
{
	double uj = 0;
	for (uint32_t id = 1; id <= state->points->count; id++) {
		const char *object = sonde_session_series(state->points->session, id)->object;
		if (!is_energy(state->points, id) || strncmp(object, "package", 7) != 0)
			continue;
		uj += rise(state->points, id, window);
		window->covered_ns +=
		    sonde_energy_track_covers_ns(&state->points->tracks[id], window->from_ns, window->to_ns);
	}
	double all_ns = (double)state->sums->package_count * (double)(window->to_ns - window->from_ns);
	window->is_whole = (double)window->covered_ns >= WHOLE * all_ns; /* meters are read one after another */
	for (size_t i = 0; i < SONDE_ENERGY_CASES; i++)
		window->uj[i] = uj;
}

/* --- the model --------------------------------------------------------------------------------------------------- */

static int read_watts(const struct sonde_session *session, const char *key, double *out)
{
	const char *text = sonde_session_info(session, key);
	unsigned low, likely, high;
	if (!text || sscanf(text, "%u %u %u", &low, &likely, &high) != 3 || low > likely || likely > high)
		return 0;
	out[SONDE_ENERGY_LOW] = low / 1e3;
	out[SONDE_ENERGY_LIKELY] = likely / 1e3;
	out[SONDE_ENERGY_HIGH] = high / 1e3;
	return 1;
}

static int read_fit(struct sonde_energy_fit *out, const struct sonde_session *session)
{
	const char *cpus = sonde_session_info(session, "energy.model_cpus");
	out->cpus = cpus ? (unsigned)strtoul(cpus, NULL, 10) : 0;
	if (!out->cpus || !read_watts(session, "energy.model_idle_mw", out->idle_w) ||
	    !read_watts(session, "energy.model_full_mw", out->full_w))
		return 0;
	out->is_generic = sonde_session_info(session, "energy.model_generic") != NULL;
	out->is_virtual = sonde_session_info(session, "energy.model_virtual") != NULL;
	out->name = sonde_session_info(session, "energy.model");
	return out->name != NULL;
}

static void model(const struct sums_state *state, struct window *window)
{
	const struct sonde_energy_fit *fit = &state->sums->fit;
	double cpu_ns = (double)fit->cpus * (double)(window->to_ns - window->from_ns);
	for (size_t i = 0; i < SONDE_ENERGY_CASES; i++) {
		window->idle_uj[i] = cpu_ns * fit->idle_w[i] / NJ_A_UJ;
		window->uj[i] = cpu_ns * (fit->idle_w[i] + window->busy * (fit->full_w[i] - fit->idle_w[i])) / NJ_A_UJ;
	}
	window->covered_ns = window->to_ns - window->from_ns;
	window->is_whole = 1;
}

/* --- utilisation ------------------------------------------------------------------------------------------------- */

static void look_at_clocks(const struct sums_state *state, struct window *window)
{
	const uint32_t *machine = state->points->machine;
	double all_ns = 0;
	for (size_t i = 0; i < sizeof state->points->machine / sizeof *machine; i++)
		all_ns += rise(state->points, machine[i], window);
	window->busy_ns = rise(state->points, machine[SONDE_ENERGY_USER], window) +
			  rise(state->points, machine[SONDE_ENERGY_SYSTEM], window);
	window->busy = all_ns > 0 ? window->busy_ns / all_ns : 0;
}

static int has_clock(const struct sonde_energy_points *points)
{
	const uint32_t *machine = points->machine;
	return points->tracks[machine[SONDE_ENERGY_USER]].count > 1 &&
	       points->tracks[machine[SONDE_ENERGY_SYSTEM]].count > 1 &&
	       points->tracks[machine[SONDE_ENERGY_IDLE]].count > 1;
}

/* --- idle power -------------------------------------------------------------------------------------------------- */

/* Summed over all packages. */
static double power_w(const struct sonde_energy_sums *sums, const struct window *window)
{
	return window->uj[SONDE_ENERGY_LIKELY] * NJ_A_UJ * (double)sums->package_count / (double)window->covered_ns;
}

static void bound_idle(struct sums_state *state)
{
	struct sonde_energy_sums *sums = state->sums;
	const struct window *lowest = NULL;
	double mean_w = 0, mean_busy = 0, whole = 0;
	for (size_t i = 0; i < state->count; i++) {
		const struct window *window = &state->windows[i];
		if (!window->is_whole)
			continue;
		mean_w += power_w(sums, window);
		mean_busy += window->busy;
		whole++;
		if (!lowest || power_w(sums, window) < power_w(sums, lowest))
			lowest = window;
	}
	if (!lowest)
		return;
	double high_w = power_w(sums, lowest), low_w = 0, differs = mean_busy / whole - lowest->busy;
	if (sums->has_clock) {
		double least_w = high_w - lowest->busy * MOST_W * (double)sums->package_count;
		if (differs >= BUSY_DIFFERS)
			low_w = high_w - lowest->busy * (mean_w / whole - high_w) / differs;
		low_w = least_w > low_w ? least_w : low_w;
	}
	sums->idle_w[SONDE_ENERGY_LOW] = low_w > 0 ? low_w : 0;
	sums->idle_w[SONDE_ENERGY_HIGH] = high_w;
	sums->idle_w[SONDE_ENERGY_LIKELY] = (sums->idle_w[SONDE_ENERGY_LOW] + high_w) / 2;
}

static void take_idle(const struct sums_state *state, struct window *window)
{
	double packages = (double)state->sums->package_count;
	for (size_t i = 0; i < SONDE_ENERGY_CASES; i++) {
		double uj = state->sums->idle_w[i] * (double)window->covered_ns / packages / NJ_A_UJ;
		window->idle_uj[i] = uj < window->uj[i] ? uj : window->uj[i];
	}
}

/* --- shares ------------------------------------------------------------------------------------------------------ */

static double cpu_of(const struct sonde_energy_points *points, uint32_t process, const struct window *window)
{
	return rise(points, points->of_process[process][0], window) +
	       rise(points, points->of_process[process][1], window);
}

static void share_window(struct sums_state *state, const struct window *window)
{
	struct sonde_energy_sums *sums = state->sums;
	double known_ns = 0, busy_ns = window->busy_ns;
	for (size_t i = 0; i < sums->share_count; i++) {
		state->cpu_ns[i] = cpu_of(state->points, sums->shares[i].process, window);
		known_ns += state->cpu_ns[i];
	}
	busy_ns = known_ns > busy_ns ? known_ns : busy_ns; /* the clocks do not tick at the same time */
	sums->remainder_cpu_ns += busy_ns - known_ns;
	for (size_t c = 0; c < SONDE_ENERGY_CASES; c++) {
		double work_uj = window->uj[c] - window->idle_uj[c], given_uj = 0;
		for (size_t i = 0; i < sums->share_count && busy_ns > 0; i++) {
			double uj = work_uj * state->cpu_ns[i] / busy_ns;
			sums->shares[i].uj[c] += uj;
			given_uj += uj;
		}
		sums->remainder_uj[c] += work_uj - given_uj;
	}
}

static int compare_shares(const void *left, const void *right)
{
	const struct sonde_energy_share *a = left, *b = right;
	if (a->uj[SONDE_ENERGY_LIKELY] != b->uj[SONDE_ENERGY_LIKELY])
		return a->uj[SONDE_ENERGY_LIKELY] < b->uj[SONDE_ENERGY_LIKELY] ? 1 : -1;
	return (a->process > b->process) - (a->process < b->process);
}

/* Finds the processes that used CPU time in the selected part. */
static int find_processes(struct sums_state *state)
{
	struct sonde_energy_sums *sums = state->sums;
	struct window all = {.from_ns = sums->from_ns, .to_ns = sums->to_ns};
	sums->shares = calloc(state->points->process_count + 1, sizeof *sums->shares);
	state->cpu_ns = calloc(state->points->process_count + 1, sizeof *state->cpu_ns);
	if (!sums->shares || !state->cpu_ns)
		return sonde_error(ENOMEM, "out of memory for %zu processes", state->points->process_count);
	for (uint32_t id = 1; id <= state->points->process_count; id++) {
		const struct sonde_process *process = sonde_session_process(state->points->session, id);
		double cpu_ns = cpu_of(state->points, id, &all);
		if (!(cpu_ns > 0))
			continue;
		uint64_t from_ns = process->start_ns > all.from_ns ? process->start_ns : all.from_ns;
		uint64_t to_ns = process->end_ns && process->end_ns < all.to_ns ? process->end_ns : all.to_ns;
		struct sonde_energy_share *share = &sums->shares[sums->share_count++];
		*share = (struct sonde_energy_share){.process = id, .cpu_ns = cpu_ns};
		share->life_ns = to_ns > from_ns ? to_ns - from_ns : 0;
		share->too_short = share->life_ns < SONDE_ENERGY_LEAST_NS || cpu_ns < (double)SONDE_ENERGY_LEAST_CPU_NS;
	}
	return 0;
}

/* --- all of it --------------------------------------------------------------------------------------------------- */

static int cut(struct sums_state *state)
{
	struct sonde_energy_sums *sums = state->sums;
	uint64_t time_ns = sums->to_ns - sums->from_ns;
	state->count = (size_t)(time_ns / SONDE_ENERGY_LEAST_NS);
	state->count = state->count > WINDOWS_MOST ? WINDOWS_MOST : state->count;
	state->windows = calloc(state->count + 1, sizeof *state->windows);
	if (!state->windows)
		return sonde_error(ENOMEM, "out of memory for %zu seconds of energy", state->count);
	for (size_t i = 0; i < state->count; i++) {
		struct window *window = &state->windows[i];
		window->from_ns = sums->from_ns + time_ns / state->count * i;
		window->to_ns = i + 1 == state->count ? sums->to_ns : sums->from_ns + time_ns / state->count * (i + 1);
		look_at_clocks(state, window);
		if (sums->fit.name)
			model(state, window);
		else
			measure(state, window);
	}
	return 0;
}

static void add_up(struct sums_state *state)
{
	struct sonde_energy_sums *sums = state->sums;
	for (size_t i = 0; i < state->count; i++) {
		struct window *window = &state->windows[i];
		if (!sums->fit.name)
			take_idle(state, window);
		for (size_t c = 0; c < SONDE_ENERGY_CASES; c++) {
			sums->uj[c] += window->uj[c];
			sums->idle_uj[c] += window->idle_uj[c];
			sums->remainder_uj[c] += sums->has_clock ? 0 : window->uj[c] - window->idle_uj[c];
		}
		sums->busy += window->busy / (double)state->count;
		if (sums->has_clock)
			share_window(state, window);
	}
	qsort(sums->shares, sums->share_count, sizeof *sums->shares, compare_shares);
}

/* Limits the time to that between the first and the last reading of a package: nothing is known outside of it. */
static void clip(struct sums_state *state)
{
	struct sonde_energy_sums *sums = state->sums;
	uint64_t first_ns = UINT64_MAX, last_ns = 0;
	for (uint32_t id = 1; id <= state->points->count; id++) {
		const struct sonde_energy_track *track = &state->points->tracks[id];
		const char *object = sonde_session_series(state->points->session, id)->object;
		if (!is_energy(state->points, id) || !track->count || strncmp(object, "package", 7) != 0)
			continue;
		if (track->points[0].time_ns < first_ns)
			first_ns = track->points[0].time_ns;
		if (track->points[track->count - 1].time_ns > last_ns)
			last_ns = track->points[track->count - 1].time_ns;
	}
	if (first_ns > sums->from_ns && first_ns < sums->to_ns)
		sums->from_ns = first_ns;
	if (last_ns < sums->to_ns && last_ns > sums->from_ns)
		sums->to_ns = last_ns;
}

/* Why there is no figure; NULL if one is possible. */
static const char *reason(const struct sums_state *state)
{
	const struct sonde_energy_sums *sums = state->sums;
	double uj = 0;
	if (sums->to_ns - sums->from_ns < SONDE_ENERGY_LEAST_NS)
		return "too short to measure: energy counters and CPU times are coarse, so it takes a second";
	if (sums->fit.name)
		return sums->has_clock ? NULL
				       : "the model needs the system's CPU time, which this recording does not have";
	for (size_t i = 0; i < sums->meter_count; i++)
		uj += sums->meters[i].is_package ? sums->meters[i].uj : 0;
	if (!sums->package_count)
		return "no processor energy meter was read";
	return uj > 0 ? NULL : "the processors' energy counters do not advance, as in some virtual machines";
}

int sonde_energy_sums_init(struct sonde_energy_sums *sums, const struct sonde_energy_points *points, uint64_t from_ns,
			   uint64_t to_ns)
{
	struct sums_state state = {.sums = sums, .points = points};
	*sums = (struct sonde_energy_sums){.from_ns = from_ns, .to_ns = to_ns, .has_clock = has_clock(points)};
	int rc = read_meters(&state);
	if (sums->package_count)
		clip(&state);
	if (rc == 0 && !sums->meter_count && !read_fit(&sums->fit, points->session))
		sums->fit.name = NULL;
	const char *why = rc ? NULL : reason(&state);
	if (why)
		snprintf(sums->why, sizeof sums->why, "%s", why);
	if (rc || why)
		return rc;
	sums->is_known = 1;
	for (size_t c = 0; c < SONDE_ENERGY_CASES; c++)
		sums->idle_w[c] = sums->fit.name ? sums->fit.cpus * sums->fit.idle_w[c] : 0;
	rc = cut(&state);
	if (rc == 0 && !sums->fit.name)
		bound_idle(&state);
	if (rc == 0)
		rc = find_processes(&state);
	if (rc == 0)
		add_up(&state);
	free(state.windows);
	free(state.cpu_ns);
	return rc;
}

void sonde_energy_sums_fini(struct sonde_energy_sums *sums)
{
	free(sums->meters);
	free(sums->devices);
	free(sums->shares);
	*sums = (struct sonde_energy_sums){0};
}
