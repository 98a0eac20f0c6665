/* json.c: `sonde stat --json`: the rows of analyze/resource/stat_figures.def as nested keys, and the system's disks and
 * interfaces; for repeated runs each run and their statistics.
 *
 * Keys that readers rely on change only with VERSION; keys may be added. Times are in seconds, sizes in bytes, shares
 * as ratios.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analyze/resource/machine_sums.h"
#include "analyze/resource/machine_devices.h"
#include "cli/common/figures.h"
#include "cli/stat/show.h"
#include "util/json.h"

enum { VERSION = 1 };

static void put_cell(struct sonde_json *json, enum sonde_unit unit, const struct sonde_cell *cell)
{
	if (cell->kind == SONDE_CELL_ABSENT)
		sonde_json_null(json);
	else if (cell->kind == SONDE_CELL_REAL)
		sonde_json_real(json, cell->real);
	else if (unit == SONDE_UNIT_NS)
		sonde_json_real(json, (double)cell->integer / 1e9);
	else
		sonde_json_uint(json, cell->integer);
}

static void put_bytes(struct sonde_json *json, const char *key, const struct sonde_series_sum *sum)
{
	sonde_json_put_known(json, key, sum != NULL, sum ? sonde_series_whole(sonde_machine_change(sum)) : 0);
}

static void put_real(struct sonde_json *json, const char *key, double value)
{
	sonde_json_put_real(json, key, value < 0 ? NAN : value);
}

static void put_objects(struct sonde_json *json, const struct sonde_series_sums *sums, enum sonde_machine_kind kind)
{
	struct sonde_machine_object objects[SONDE_MACHINE_OBJECTS_MAX];
	size_t count = sonde_machine_objects(sums, kind, objects);
	int is_disk = kind == SONDE_MACHINE_DISKS;
	sonde_json_put_array(json, is_disk ? "disks" : "interfaces");
	for (size_t i = 0; i < count; i++) {
		double busy = sonde_machine_share(objects[i].busy);
		sonde_json_object(json);
		sonde_json_put_text(json, "name", objects[i].name);
		put_bytes(json, is_disk ? "read_b" : "received_b", objects[i].in);
		put_bytes(json, is_disk ? "written_b" : "sent_b", objects[i].out);
		if (is_disk)
			put_real(json, "busy", busy);
		sonde_json_end(json);
	}
	sonde_json_end(json);
}

static void put_devices(struct sonde_json *json, const struct sonde_series_sums *sums)
{
	const char *names[SONDE_MACHINE_DEVICES_MAX];
	size_t count = sonde_machine_devices(sums, names);
	sonde_json_put_array(json, "devices");
	for (size_t i = 0; i < count; i++) {
		struct sonde_machine_device device;
		sonde_machine_device_of(&device, sums, names[i]);
		sonde_json_object(json);
		sonde_json_put_text(json, "name", device.name);
		put_real(json, "utilization", device.busy);
		put_real(json, "utilization_max", device.busy_most);
		put_real(json, "memory_peak_b", device.memory_most_b);
		put_real(json, "memory_total_b", device.memory_all_b);
		put_real(json, "process_memory_peak_b", device.own_most_b);
		sonde_json_end(json);
	}
	sonde_json_end(json);
}

/* Writes the figures of a group, starting at `first`; returns the start of the next group. */
static enum sonde_stat put_group(struct sonde_json *json, const struct sonde_stat_show *show,
				 const struct sonde_stat_figures *figures, enum sonde_stat first)
{
	const char *group = sonde_stat_row(first)->group;
	enum sonde_stat end = first;
	int absent = 0;
	sonde_json_put_object(json, group);
	for (; end < SONDE_STAT_COUNT && strcmp(sonde_stat_row(end)->group, group) == 0; end++) {
		sonde_json_key(json, sonde_stat_row(end)->key);
		put_cell(json, sonde_stat_row(end)->unit, &figures->cell[end]);
		absent += !sonde_stat_known(figures, end);
	}
	if (show->sums && strcmp(group, "system") == 0)
		put_objects(json, show->sums, SONDE_MACHINE_DISKS);
	if (show->sums && strcmp(group, "network") == 0)
		put_objects(json, show->sums, SONDE_MACHINE_NETWORKS);
	if (show->sums && strcmp(group, "device") == 0)
		put_devices(json, show->sums);
	if (absent) {
		sonde_json_put_object(json, "absent");
		for (enum sonde_stat i = first; i < end; i++)
			if (!sonde_stat_known(figures, i))
				sonde_json_put_text(json, sonde_stat_row(i)->key, figures->cell[i].text);
		sonde_json_end(json);
	}
	sonde_json_end(json);
	return end;
}

static void put_status(struct sonde_json *json, int status)
{
	int known = status != -1;
	sonde_json_put_known(json, "exit_code", known && WIFEXITED(status), (uint64_t)WEXITSTATUS(status));
	sonde_json_put_known(json, "signal", known && WIFSIGNALED(status), (uint64_t)WTERMSIG(status));
}

static void put_figures(struct sonde_json *json, const struct sonde_stat_show *show,
			const struct sonde_stat_figures *figures)
{
	sonde_json_put_bool(json, "cpu_is_at_least", figures->at_least);
	sonde_json_put_bool(json, "process_count_is_at_least", figures->count_at_least);
	for (enum sonde_stat i = 0; i < SONDE_STAT_COUNT;)
		i = put_group(json, show, figures, i);
}

/* --- repeated runs ----------------------------------------------------------------------------------------------- */

static void put_outliers(struct sonde_json *json, const struct sonde_stat_runs *runs, enum sonde_stat figure,
			 const struct sonde_spread *spread)
{
	sonde_json_put_array(json, "outliers");
	for (size_t i = 0; i < runs->count; i++)
		if (sonde_stat_known(&runs->run[i].figures, figure) &&
		    sonde_spread_is_outlier(spread, sonde_stat_value(&runs->run[i].figures, figure)))
			sonde_json_uint(json, i + 1);
	sonde_json_end(json);
}

static void put_spread(struct sonde_json *json, const struct sonde_stat_runs *runs, enum sonde_stat figure,
		       double *values)
{
	const struct sonde_stat_row *row = sonde_stat_row(figure);
	struct sonde_spread spread;
	sonde_stat_runs_spread(&spread, runs, figure, values);
	sonde_json_put_object(json, row->key);
	sonde_figures_spread_json(json, row->unit, &spread);
	put_outliers(json, runs, figure, &spread);
	sonde_json_end(json);
}

static void put_summary(struct sonde_json *json, const struct sonde_stat_runs *runs)
{
	double *values = calloc(runs->count + 1, sizeof *values);
	const char *group = "";
	sonde_json_put_object(json, "summary");
	for (int i = 0; values && i < SONDE_STAT_COUNT; i++) {
		const struct sonde_stat_row *row = sonde_stat_row((enum sonde_stat)i);
		if (strcmp(row->group, group) != 0) {
			if (*group)
				sonde_json_end(json);
			group = row->group;
			sonde_json_put_object(json, group);
		}
		put_spread(json, runs, (enum sonde_stat)i, values);
	}
	if (*group)
		sonde_json_end(json);
	sonde_json_end(json);
	free(values);
}

static void put_runs(struct sonde_json *json, const struct sonde_stat_show *show)
{
	const struct sonde_stat_runs *runs = show->runs;
	sonde_json_put_uint(json, "warmups", runs->warmups);
	sonde_json_put_array(json, "runs");
	for (size_t i = 0; i < runs->count; i++) {
		sonde_json_object(json);
		put_status(json, runs->run[i].status);
		put_figures(json, show, &runs->run[i].figures);
		sonde_json_end(json);
	}
	sonde_json_end(json);
	put_summary(json, runs);
}

/* --- all of it --------------------------------------------------------------------------------------------------- */

void sonde_stat_json(const struct sonde_stat_show *show, FILE *out)
{
	struct sonde_json json;
	sonde_json_init(&json, out, 1);
	sonde_json_object(&json);
	sonde_json_put_text(&json, "schema", "sonde-stat");
	sonde_json_put_uint(&json, "version", VERSION);
	sonde_json_put_text(&json, "command", show->attached ? NULL : show->command);
	sonde_json_put_known(&json, "attached_pid", show->attached != 0, (uint64_t)show->attached);
	put_status(&json, show->status);
	sonde_json_put_text(&json, "error", show->error);
	if (show->runs)
		put_runs(&json, show);
	else
		put_figures(&json, show, show->figures);
	sonde_json_end(&json);
}
