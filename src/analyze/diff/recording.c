/* recording.c: extracts the figures of one recording (diff/recording.h). */
#include "analyze/diff/recording.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/cpu/cputime.h"
#include "analyze/diff/machines.h"
#include "analyze/zone/durations.h"
#include "util/error.h"

#define DECODE_MAX 20000000u /* begins and ends: above this, computing medians would dominate */

/* Copies texts of the session to the recording. */
static int keep_texts(struct sonde_diff_recording *recording, struct sonde_diff_figures *figures)
{
	for (size_t i = 0; i < figures->count; i++) {
		struct sonde_diff_figure *row = &figures->row[i];
		row->name = sonde_arena_strndup(&recording->arena, row->name, strlen(row->name));
		row->module = sonde_arena_strndup(&recording->arena, row->module, strlen(row->module));
		if (!row->name || !row->module)
			return sonde_error(ENOMEM, "out of memory for %zu names", figures->count);
	}
	sonde_diff_figures_join(figures);
	return 0;
}

/* --- zones ------------------------------------------------------------------------------------------------------- */

static int durations_read(struct sonde_durations *durations, size_t sites, const uint32_t *first,
			  struct sonde_session *session)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int got, code = sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_ZONES);
	if (code)
		return code;
	/* unreadable chunks are noted for the whole comparison */
	while (!code && (got = sonde_cursor_next(cursor, &batch)) != 0) {
		code = got == -ENOMEM ? got : 0;
		for (size_t i = 0; got > 0 && !code && i < batch->count; i++) {
			uint32_t site = batch->zones.site[i] < sites ? batch->zones.site[i] : 0;
			if (!(batch->zones.flags[i] & SONDE_ZONE_UNFINISHED) &&
			    sonde_durations_add(&durations[first[site]], batch->zones.dur_ns[i]))
				code = sonde_error(ENOMEM, "out of memory for zones");
		}
	}
	sonde_cursor_close(cursor);
	return code;
}

/* Maps each site to the first one with its name. */
static int first_sites(uint32_t *first, const struct sonde_session *session, size_t sites)
{
	struct sonde_diff_figures names = {0};
	int code = 0;
	for (uint32_t id = 1; !code && id < sites; id++) {
		const struct sonde_site *site = sonde_session_site(session, id);
		struct sonde_diff_figure row = {.name = site->name, .module = "", .value = {id}};
		if (site->kind == SONDE_SITE_ZONE)
			code = sonde_diff_figure_put(&names, &row);
	}
	if (names.count)
		qsort(names.row, names.count, sizeof *names.row, sonde_diff_figure_by_name);
	for (size_t i = 0, begin = 0; i < names.count; i++) {
		begin = strcmp(names.row[begin].name, names.row[i].name) ? i : begin;
		first[(uint32_t)names.row[i].value[0]] = (uint32_t)names.row[begin].value[0];
	}
	free(names.row);
	return code;
}

static int medians_read(struct sonde_diff_figures *zones, struct sonde_session *session, size_t sites)
{
	struct sonde_durations *durations = calloc(sites, sizeof *durations);
	uint32_t *first = calloc(sites, sizeof *first);
	int code = durations && first ? 0 : sonde_error(ENOMEM, "out of memory for zones");
	code = code ? code : first_sites(first, session, sites);
	code = code ? code : durations_read(durations, sites, first, session);
	for (uint32_t id = 1; !code && id < sites; id++) {
		if (!durations[id].count)
			continue;
		struct sonde_diff_figure *row = (struct sonde_diff_figure *)(uintptr_t)sonde_diff_figure_find(
		    zones, sonde_session_site(session, id)->name, "");
		struct sonde_cell median = sonde_durations_quantile(&durations[id], 0.5);
		if (row && median.kind != SONDE_CELL_ABSENT)
			row->value[SONDE_DIFF_MEDIAN] =
			    median.kind == SONDE_CELL_INT ? (double)median.integer : median.real;
	}
	for (size_t i = 0; durations && i < sites; i++)
		sonde_durations_fini(&durations[i]);
	free(durations);
	free(first);
	return code;
}

int sonde_diff_recording_zones(struct sonde_diff_recording *out, struct sonde_session *session)
{
	size_t sites = sonde_session_site_count(session) + 1;
	struct sonde_zone_stat *stats = calloc(sites, sizeof *stats);
	int code = stats ? sonde_session_zone_stats(session, stats) : sonde_error(ENOMEM, "out of memory for zones");
	if (stats && code != -ENOMEM) /* unreadable chunks are skipped, which is noted */
		code = 0;
	for (uint32_t id = 1; !code && id < sites; id++) {
		const struct sonde_site *site = sonde_session_site(session, id);
		struct sonde_diff_figure row = {.name = site->name, .module = ""};
		if (site->kind != SONDE_SITE_ZONE || !stats[id].count)
			continue;
		row.value[SONDE_DIFF_SELF] = (double)stats[id].self_ns;
		row.value[SONDE_DIFF_TOTAL] = (double)stats[id].total_ns;
		row.value[SONDE_DIFF_COUNT] = (double)stats[id].count;
		row.value[SONDE_DIFF_MEDIAN] = NAN;
		code = sonde_diff_figure_put(&out->zones, &row);
	}
	free(stats);
	out->has_zones = out->zones.count != 0;
	code = code ? code : keep_texts(out, &out->zones);
	if (!code && out->has_zones && sonde_session_event_count(session, SONDE_CHUNK_ZONES) <= DECODE_MAX)
		code = medians_read(&out->zones, session, sites);
	return code;
}

/* --- the whole --------------------------------------------------------------------------------------------------- */

static void totals_read(struct sonde_diff_recording *out, const struct sonde_session *session)
{
	const struct sonde_run *run = sonde_session_run(session);
	const struct sonde_cpu_time cpu = sonde_cpu_time_of(session, 0);
	uint64_t peak_b = 0;
	for (int i = 0; i < SONDE_DIFF_TOTALS; i++)
		out->total[i] = NAN;
	for (uint32_t id = 1; id <= sonde_session_process_count(session); id++) {
		uint64_t of_b = sonde_session_process(session, id)->peak_rss_b;
		peak_b = of_b > peak_b ? of_b : peak_b;
	}
	if (peak_b)
		out->total[SONDE_DIFF_PEAK_RSS] = (double)peak_b;
	out->closed = run->closed;
	out->start_ns = run->start_ns;
	if (!run->closed)
		return;
	out->total[SONDE_DIFF_WALL] = (double)run->wall_ns;
	if (!cpu.known || cpu.at_least) /* a lower bound cannot be compared */
		return;
	out->total[SONDE_DIFF_CPU] = (double)cpu.ns;
	out->total[SONDE_DIFF_USER] = (double)cpu.user_ns;
	out->total[SONDE_DIFF_SYSTEM] = (double)cpu.system_ns;
}

static int host_read(struct sonde_diff_recording *out, const struct sonde_session *session)
{
	const char *boot = sonde_session_info(session, "host.boot_id");
	out->boot = sonde_arena_printf(&out->arena, "%s", boot ? boot : "");
	for (size_t i = 0; i < sonde_machine_key_count && i < SONDE_DIFF_HOST_KEYS; i++) {
		const char *value = sonde_session_info(session, sonde_machine_keys[i].key);
		out->host[i] = value ? sonde_arena_printf(&out->arena, "%s", value) : NULL;
	}
	return out->boot ? 0 : sonde_error(ENOMEM, "out of memory for a recording");
}

int sonde_diff_recording_read(struct sonde_diff_recording *out, struct sonde_session *session)
{
	*out = (struct sonde_diff_recording){0};
	sonde_arena_init(&out->arena);
	totals_read(out, session);
	out->damaged_b = sonde_session_damaged_b(session) + sonde_session_run(session)->skipped_chunks;
	for (size_t i = 0; i < sonde_session_lost_count(session); i++)
		out->lost += sonde_session_lost(session, i)->count;
	int code = host_read(out, session);
	code = code ? code : sonde_diff_recording_zones(out, session);
	code = code ? code : sonde_diff_iterations_of(&out->iterations, session);
	code = code ? code : keep_texts(out, &out->iterations);
	code = code ? code : sonde_diff_functions_of(&out->functions, &out->sampled_ns, session);
	return code ? code : keep_texts(out, &out->functions);
}

void sonde_diff_recording_fini(struct sonde_diff_recording *recording)
{
	free(recording->zones.row);
	free(recording->iterations.row);
	free(recording->functions.row);
	sonde_arena_fini(&recording->arena);
	*recording = (struct sonde_diff_recording){0};
}
