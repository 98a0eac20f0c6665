/* zones.c: zones of an attempt's runs: recorded, summed by name, kept in the journal (try/zones.h).
 *
 * Recording zones has overhead, so these runs are separate from those whose times are compared. Both sides are recorded
 * interleaved (ABBA), and each zone has one value per run: its total time over all threads, as in `sonde report
 * --section zones`. A failed run, or a run whose recording lacks zones or bytes, would look faster; such runs are
 * dropped, and there is no verdict.
 */
#include "cli/try/zones.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/shell.h"
#include "run/signals.h"
#include "run/timed.h"
#include "session/session.h"
#include "util/error.h"

static int out_of_memory(void)
{
	return sonde_error(ENOMEM, "out of memory for zones");
}

/* --- sums -------------------------------------------------------------------------------------------------------- */

static int zone_init(struct sonde_try_zone *zone, const char *name, size_t runs)
{
	*zone = (struct sonde_try_zone){.name = strdup(name)};
	for (int side = 0; side < SONDE_SIDES; side++)
		zone->ns[side] = calloc(runs + 1, sizeof *zone->ns[side]);
	return zone->name && zone->ns[SONDE_CANDIDATE] && zone->ns[SONDE_BASELINE] ? 0 : -ENOMEM;
}

static void zone_fini(struct sonde_try_zone *zone)
{
	free(zone->name);
	for (int side = 0; side < SONDE_SIDES; side++)
		free(zone->ns[side]);
}

/* Finds the zone of that name, or creates it. *out NULL and result 0: there are too many zones. */
static int zone_of(struct sonde_try_zones *zones, const char *name, struct sonde_try_zone **out)
{
	*out = NULL;
	for (size_t i = 0; i < zones->count; i++)
		if (!strcmp(zones->zone[i].name, name)) {
			*out = &zones->zone[i];
			return 0;
		}
	if (zones->count == SONDE_TRY_ZONES_MOST) {
		zones->left_out++;
		return 0;
	}
	struct sonde_try_zone *grown = realloc(zones->zone, (zones->count + 1) * sizeof *grown);
	if (!grown)
		return -ENOMEM;
	zones->zone = grown;
	if (zone_init(&grown[zones->count], name, zones->runs)) {
		zone_fini(&grown[zones->count]);
		return -ENOMEM;
	}
	*out = &grown[zones->count++];
	return 0;
}

void sonde_try_zones_fini(struct sonde_try_zones *zones)
{
	for (size_t i = 0; i < zones->count; i++)
		zone_fini(&zones->zone[i]);
	free(zones->zone);
	*zones = (struct sonde_try_zones){0};
}

/* --- one run ----------------------------------------------------------------------------------------------------- */

static int check_end(int status)
{
	if (!status)
		return 0;
	return sonde_error(EIO, "the command ended with %s %d while zones were recorded",
			   WIFSIGNALED(status) ? "signal" : "exit code",
			   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* Checks that nothing is missing, because missing data would look like saved time. */
int sonde_try_zones_check(struct sonde_session *session)
{
	const struct sonde_run *run = sonde_session_run(session);
	uint64_t lost = sonde_session_lost_of(session, "zones");
	if (lost)
		return sonde_error(EIO, "a run's recording lost %llu events of zones: times would be too short",
				   (unsigned long long)lost);
	if (!run->closed)
		return sonde_error(EIO, "a run's recording is incomplete");
	if (sonde_session_damaged_b(session) || run->skipped_chunks || run->skipped_records)
		return sonde_error(EIO, "part of a run's recording cannot be read");
	return run->status > 0 ? check_end(run->status) : 0;
}

static int take_recording(struct sonde_try_zones *zones, const char *path, enum sonde_versus_side side, size_t run)
{
	struct sonde_session *session;
	int code = sonde_session_open(&session, path, &(struct sonde_session_options){.no_symbols = 1});
	if (code)
		return code;
	size_t sites = sonde_session_site_count(session);
	struct sonde_zone_stat *stats = calloc(sites + 1, sizeof *stats);
	code = stats ? sonde_session_zone_stats(session, stats) : out_of_memory();
	/* only now, because damage is found while the recording is read */
	code = code ? code : sonde_try_zones_check(session);
	for (uint32_t id = 1; !code && id <= sites; id++) {
		const struct sonde_site *site = sonde_session_site(session, id);
		struct sonde_try_zone *zone;
		if (!stats[id].count || !site)
			continue;
		code = zone_of(zones, site->name, &zone) ? out_of_memory() : 0;
		if (code || !zone)
			continue;
		zone->calls[side] += stats[id].count;
		zone->ns[side][run] += (double)stats[id].total_ns;
	}
	free(stats);
	sonde_session_close(session);
	return code;
}

/* Returns the words of the command that records a run: one sample per second and no symbols, because only zones are
 * used. */
static char **record_words(char *path, char **words)
{
	static const char *const before[] = {"/proc/self/exe", "record", "-q", "-f", "-F", "1", "--no-symbols", "-o"};
	enum { BEFORE = sizeof before / sizeof *before };
	size_t count = 0;
	while (words[count])
		count++;
	char **out = calloc(BEFORE + count + 3, sizeof *out);
	if (!out)
		return NULL;
	for (size_t i = 0; i < BEFORE; i++)
		out[i] = (char *)(uintptr_t)before[i];
	out[BEFORE] = path;
	out[BEFORE + 1] = (char *)(uintptr_t) "--";
	for (size_t i = 0; i < count; i++)
		out[BEFORE + 2 + i] = words[i];
	return out;
}

struct place {
	char path[4096];
	int null_in, null_out;
	const char *prepare;
};

static int record(struct sonde_try_zones *zones, struct place *place, char **words, enum sonde_versus_side side,
		  size_t run)
{
	struct sonde_timed timed = {0};
	char **argv = record_words(place->path, words);
	int code = place->prepare ? sonde_shell_prepare(place->prepare) : 0;
	if (!code && !sonde_signals_quits())
		code = argv ? sonde_timed_run(&timed, argv, place->null_in, place->null_out) : out_of_memory();
	free(argv);
	if (sonde_signals_quits())
		return sonde_error(EINTR, "interrupted while zones were recorded");
	code = code ? code : check_end(timed.status);
	code = code ? code : take_recording(zones, place->path, side, run);
	return code ? code : truncate(place->path, 0) ? -errno : 0;
}

static int record_all(struct sonde_try_zones *zones, struct place *place, char **candidate, char **baseline)
{
	char **words[SONDE_SIDES] = {[SONDE_CANDIDATE] = candidate, [SONDE_BASELINE] = baseline};
	int code = 0;
	for (size_t run = 0; !code && run < zones->runs; run++)
		for (int turn = 0; !code && turn < SONDE_SIDES; turn++) {
			enum sonde_versus_side side = (size_t)turn == run % 2 ? SONDE_BASELINE : SONDE_CANDIDATE;
			if (words[side])
				code = record(zones, place, words[side], side, run);
		}
	return code;
}

int sonde_try_zones_measure(struct sonde_try_zones *out, char **candidate, char **baseline, size_t runs,
			    const char *prepare)
{
	const char *folder = getenv("TMPDIR");
	struct place place = {.prepare = prepare};
	*out = (struct sonde_try_zones){.runs = runs, .has_baseline = baseline != NULL};
	snprintf(place.path, sizeof place.path, "%s/sonde-try-XXXXXX", folder && *folder ? folder : "/tmp");
	int fd = mkstemp(place.path);
	if (fd < 0)
		return sonde_error(errno, "%s: %s", place.path, strerror(errno));
	close(fd);
	place.null_in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	place.null_out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int code = place.null_in < 0 || place.null_out < 0 ? sonde_error(errno, "/dev/null: %s", strerror(errno))
							   : record_all(out, &place, candidate, baseline);
	if (place.null_in >= 0)
		close(place.null_in);
	if (place.null_out >= 0)
		close(place.null_out);
	unlink(place.path);
	if (code)
		sonde_try_zones_fini(out);
	return code;
}

/* --- the journal ------------------------------------------------------------------------------------------------- */

static const char *const sides[SONDE_SIDES] = {[SONDE_CANDIDATE] = "candidate", [SONDE_BASELINE] = "baseline"};

void sonde_try_zones_put(struct sonde_json *json, const struct sonde_try_zones *zones)
{
	if (!zones->runs)
		return;
	sonde_json_put_object(json, "zones");
	sonde_json_put_uint(json, "runs", zones->runs);
	sonde_json_put_uint(json, "left_out", zones->left_out);
	sonde_json_put_bool(json, "has_baseline", zones->has_baseline);
	sonde_json_put_array(json, "zones");
	for (size_t i = 0; i < zones->count; i++) {
		const struct sonde_try_zone *zone = &zones->zone[i];
		sonde_json_object(json);
		sonde_json_put_text(json, "name", zone->name);
		for (int side = 0; side < SONDE_SIDES; side++) {
			if (side == SONDE_BASELINE && !zones->has_baseline)
				continue;
			char key[32];
			snprintf(key, sizeof key, "%s_calls", sides[side]);
			sonde_json_put_uint(json, key, zone->calls[side]);
			snprintf(key, sizeof key, "%s_ns", sides[side]);
			sonde_json_put_array(json, key);
			for (size_t run = 0; run < zones->runs; run++)
				sonde_json_uint(json, (uint64_t)zone->ns[side][run]);
			sonde_json_end(json);
		}
		sonde_json_end(json);
	}
	sonde_json_end(json);
	sonde_json_end(json);
}

static int read_zone(struct sonde_try_zones *zones, const json_t *root)
{
	const char *name = json_string_value(json_object_get(root, "name"));
	struct sonde_try_zone *zone;
	int code = name ? zone_of(zones, name, &zone) : -EBADMSG;
	for (int side = 0; !code && zone && side < SONDE_SIDES; side++) {
		char key[32];
		snprintf(key, sizeof key, "%s_calls", sides[side]);
		zone->calls[side] = (uint64_t)json_integer_value(json_object_get(root, key));
		snprintf(key, sizeof key, "%s_ns", sides[side]);
		const json_t *values = json_object_get(root, key);
		for (size_t run = 0; run < zones->runs; run++) {
			double ns = json_number_value(json_array_get(values, run));
			zone->ns[side][run] = ns > 0 ? ns : 0;
		}
	}
	return code;
}

int sonde_try_zones_read(struct sonde_try_zones *out, const json_t *root)
{
	const json_t *rows = json_object_get(root, "zones");
	json_int_t runs = json_integer_value(json_object_get(root, "runs"));
	int code = 0;
	*out = (struct sonde_try_zones){0};
	if (!root)
		return 0;
	if (runs < 1 || runs > SONDE_TRY_ZONE_RUNS_MOST)
		return -EBADMSG;
	out->runs = (size_t)runs;
	out->left_out = (uint64_t)json_integer_value(json_object_get(root, "left_out"));
	out->has_baseline = json_is_true(json_object_get(root, "has_baseline"));
	for (size_t i = 0; !code && i < json_array_size(rows); i++)
		code = read_zone(out, json_array_get(rows, i));
	if (code)
		sonde_try_zones_fini(out);
	return code;
}
