/* stat_json.c: `sonde stat --json`: the rows of stat_figures.def as nested keys, and the machine's disks and
 * interfaces.
 *
 * What readers may rely on changes only with VERSION; keys may be added. Times are in seconds, bytes as they are,
 * shares as ratios.
 */
#include <string.h>
#include <sys/wait.h>

#include "analyze/machine.h"
#include "cli/stat_show.h"
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
	sonde_json_key(json, key);
	if (sum)
		sonde_json_uint(json, sonde_series_whole(sonde_machine_change(sum)));
	else
		sonde_json_null(json);
}

static void put_objects(struct sonde_json *json, const struct sonde_series_sums *sums, enum sonde_machine_kind kind)
{
	struct sonde_machine_object objects[SONDE_MACHINE_OBJECTS_MAX];
	size_t count = sonde_machine_objects(sums, kind, objects);
	int is_disk = kind == SONDE_MACHINE_DISKS;
	sonde_json_key(json, is_disk ? "disks" : "interfaces");
	sonde_json_array(json);
	for (size_t i = 0; i < count; i++) {
		double busy = sonde_machine_share(objects[i].busy);
		sonde_json_object(json);
		sonde_json_put_text(json, "name", objects[i].name);
		put_bytes(json, is_disk ? "read_b" : "received_b", objects[i].in);
		put_bytes(json, is_disk ? "written_b" : "sent_b", objects[i].out);
		if (is_disk) {
			sonde_json_key(json, "busy");
			if (busy < 0)
				sonde_json_null(json);
			else
				sonde_json_real(json, busy);
		}
		sonde_json_end(json);
	}
	sonde_json_end(json);
}

/* The figures of a group, from `first` on; where the next group begins. */
static enum sonde_stat put_group(struct sonde_json *json, const struct sonde_stat_show *show, enum sonde_stat first)
{
	const char *group = sonde_stat_row(first)->group;
	enum sonde_stat end = first;
	int absent = 0;
	sonde_json_key(json, group);
	sonde_json_object(json);
	for (; end < SONDE_STAT_COUNT && strcmp(sonde_stat_row(end)->group, group) == 0; end++) {
		sonde_json_key(json, sonde_stat_row(end)->key);
		put_cell(json, sonde_stat_row(end)->unit, &show->figures->cell[end]);
		absent += !sonde_stat_known(show->figures, end);
	}
	if (strcmp(group, "system") == 0)
		put_objects(json, show->sums, SONDE_MACHINE_DISKS);
	if (strcmp(group, "network") == 0)
		put_objects(json, show->sums, SONDE_MACHINE_NETWORKS);
	if (absent) {
		sonde_json_key(json, "absent");
		sonde_json_object(json);
		for (enum sonde_stat i = first; i < end; i++)
			if (!sonde_stat_known(show->figures, i))
				sonde_json_put_text(json, sonde_stat_row(i)->key, show->figures->cell[i].text);
		sonde_json_end(json);
	}
	sonde_json_end(json);
	return end;
}

static void put_number_or_null(struct sonde_json *json, const char *key, int known, int value)
{
	sonde_json_key(json, key);
	if (known)
		sonde_json_int(json, value);
	else
		sonde_json_null(json);
}

void sonde_stat_json(const struct sonde_stat_show *show, FILE *out)
{
	struct sonde_json json;
	int status = show->status, known = status != -1;
	sonde_json_init(&json, out, 1);
	sonde_json_object(&json);
	sonde_json_put_text(&json, "schema", "sonde-stat");
	sonde_json_put_uint(&json, "version", VERSION);
	sonde_json_put_text(&json, "command", show->attached ? NULL : show->command);
	put_number_or_null(&json, "attached_pid", show->attached, show->attached);
	put_number_or_null(&json, "exit_code", known && WIFEXITED(status), WEXITSTATUS(status));
	put_number_or_null(&json, "signal", known && WIFSIGNALED(status), WTERMSIG(status));
	sonde_json_put_text(&json, "error", show->error);
	sonde_json_key(&json, "cpu_is_at_least");
	sonde_json_bool(&json, show->figures->at_least);
	for (enum sonde_stat i = 0; i < SONDE_STAT_COUNT;)
		i = put_group(&json, show, i);
	sonde_json_end(&json);
}
