/* slices.c: answers queries for single slices of the timeline: slices by name, arrows between threads, the critical
 * path (docs/UI.md). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "serve/answer/answer.h"
#include "serve/answer/timeline.h"
#include "util/error.h"

enum { LIMIT = 1000, LIMIT_MAX = 100000 };

/* Parameters common to all of these queries. */
struct requested {
	struct sonde_tiles *tiles;
	struct sonde_tile_view view;
	uint64_t limit;
};

static int take(struct requested *requested, struct sonde_session *session, const struct sonde_params *params,
		const char *const *known)
{
	requested->limit = LIMIT;
	int rc = sonde_params_check(params, known);
	rc = rc ? rc : sonde_timeline_view(session, params, &requested->view);
	rc = rc ? rc : sonde_timeline_number(params, "limit", LIMIT_MAX, &requested->limit);
	return rc ? rc : sonde_timeline_get(session, 0, &requested->tiles);
}

/* Writes a time relative to the start of the recording. */
static void put_time(struct sonde_json *json, const char *key, const struct sonde_session *session, uint64_t time_ns)
{
	uint64_t start_ns = sonde_session_run(session)->start_ns;
	sonde_json_key(json, key);
	sonde_json_int(json, (int64_t)(time_ns - start_ns));
}

/* --- by name ------------------------------------------------------------------------------------------------------ */

/* Parses name indexes: "3,17"; -EINVAL, -ENOMEM. */
static int take_names(const struct sonde_tiles *tiles, const char *value, uint8_t **out)
{
	size_t count = sonde_tiles_name_count(tiles);
	uint8_t *names = calloc(count + 1, 1);
	if (!names)
		return sonde_error(ENOMEM, "out of memory for %zu names", count);
	const char *at = value;
	while (*at) {
		char *end = NULL;
		unsigned long name = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : 0;
		if (!end || (*end && (*end != ',' || !end[1])) || name >= count) {
			free(names);
			return sonde_error(EINVAL,
					   "names are indexes into the names of /api/lanes, below %zu, not '%.100s'",
					   count, at);
		}
		names[name] = 1;
		at = *end ? end + 1 : end;
	}
	*out = names;
	return 0;
}

static int put_finds(const struct sonde_session *session, const struct sonde_tile_finds *finds, struct sonde_buf *out)
{
	struct sonde_json json;
	if (!sonde_answer_begin(&json, out, 0))
		return -ENOMEM;
	sonde_json_put_known(&json, "count", finds->is_whole, finds->of);
	sonde_json_put_array(&json, "slices");
	for (size_t i = 0; i < finds->count; i++) {
		const struct sonde_tile_found *found = &finds->all[i];
		sonde_json_object(&json);
		sonde_json_put_uint(&json, "lane", found->lane);
		put_time(&json, "start", session, found->from_ns);
		sonde_json_put_uint(&json, "length", found->to_ns - found->from_ns);
		sonde_json_put_uint(&json, "name", found->name);
		sonde_json_end(&json);
	}
	sonde_json_end(&json);
	return sonde_answer_end(&json, out);
}

int sonde_answer_find(struct sonde_session *session, const struct sonde_params *params, struct sonde_buf *out)
{
	static const char *const known[] = {"names", "from", "to", "shortest", "longest", "thread", "limit", NULL};
	const char *value = sonde_params_get(params, "names");
	struct sonde_tile_search search = {.longest_ns = INT64_MAX};
	struct sonde_tile_finds finds = {0};
	struct requested requested;
	uint8_t *names = NULL;
	uint64_t thread = 0;
	int rc = take(&requested, session, params, known);
	rc = rc ? rc : sonde_timeline_number(params, "shortest", INT64_MAX, &search.shortest_ns);
	rc = rc ? rc : sonde_timeline_number(params, "longest", INT64_MAX, &search.longest_ns);
	rc = rc ? rc : sonde_timeline_number(params, "thread", UINT32_MAX, &thread);
	if (!rc && (!value || !*value))
		rc = sonde_error(EINVAL, "which slices? names=INDEX,INDEX of the names of /api/lanes");
	rc = rc ? rc : take_names(requested.tiles, value, &names);
	if (!rc) {
		search.names = names;
		search.from_ns = requested.view.from_ns;
		search.to_ns = requested.view.to_ns;
		search.limit = requested.limit;
		search.thread = (uint32_t)thread;
		rc = sonde_tiles_find(requested.tiles, &search, &finds);
	}
	rc = rc ? rc : put_finds(session, &finds, out);
	sonde_tile_finds_fini(&finds);
	free(names);
	return rc;
}

/* --- rows of a time range ----------------------------------------------------------------------------------------- */

/* A list of rows within a time range, up to a limit, and the number of further ones. */
struct rows {
	const char *key, *what; /* key of the list; name for error messages */
	size_t row_b;
	/* returns the number of rows; `out` has capacity for the limit */
	size_t (*choose)(const struct requested *requested, void *out, size_t *of);
	void (*put)(struct sonde_json *json, const struct sonde_session *session, const void *row);
};

static int put_rows(const struct rows *rows, struct sonde_session *session, const struct sonde_params *params,
		    struct sonde_buf *out)
{
	static const char *const known[] = {"from", "to", "limit", NULL};
	struct requested requested;
	struct sonde_json json;
	size_t of;
	int rc = take(&requested, session, params, known);
	if (rc)
		return rc;
	char *chosen = malloc((requested.limit + 1) * rows->row_b);
	if (!chosen || !sonde_answer_begin(&json, out, 0)) {
		free(chosen);
		return sonde_error(ENOMEM, "out of memory for %s", rows->what);
	}
	size_t count = rows->choose(&requested, chosen, &of);
	sonde_json_put_array(&json, rows->key);
	for (size_t i = 0; i < count; i++) {
		sonde_json_object(&json);
		rows->put(&json, session, chosen + i * rows->row_b);
		sonde_json_end(&json);
	}
	sonde_json_end(&json);
	sonde_json_put_uint(&json, "omitted", of - count);
	free(chosen);
	return sonde_answer_end(&json, out);
}

static size_t choose_arrows(const struct requested *requested, void *out, size_t *of)
{
	return sonde_tiles_arrows(requested->tiles, &requested->view, requested->limit, out, of);
}

static void put_arrow(struct sonde_json *json, const struct sonde_session *session, const void *row)
{
	const struct sonde_tile_arrow *arrow = row;
	sonde_json_put_text(json, "kind", arrow->kind);
	sonde_json_put_uint(json, "from_lane", arrow->from_lane);
	put_time(json, "from", session, arrow->from_ns);
	sonde_json_put_uint(json, "to_lane", arrow->to_lane);
	put_time(json, "to", session, arrow->to_ns);
}

static size_t choose_steps(const struct requested *requested, void *out, size_t *of)
{
	return sonde_tiles_steps(requested->tiles, &requested->view, requested->limit, out, of);
}

static void put_step(struct sonde_json *json, const struct sonde_session *session, const void *row)
{
	const struct sonde_tile_step *step = row;
	put_time(json, "start", session, step->from_ns);
	sonde_json_put_uint(json, "length", step->to_ns - step->from_ns);
	sonde_json_put_uint(json, "name", step->name);
	sonde_json_put_uint(json, "thread", step->thread);
	sonde_json_put_known(json, "lane", step->lane != UINT32_MAX, step->lane);
}

int sonde_answer_arrows(struct sonde_session *session, const struct sonde_params *params, struct sonde_buf *out)
{
	static const struct rows arrows = {"arrows", "arrows", sizeof(struct sonde_tile_arrow), choose_arrows,
					   put_arrow};
	return put_rows(&arrows, session, params, out);
}

int sonde_answer_path(struct sonde_session *session, const struct sonde_params *params, struct sonde_buf *out)
{
	static const struct rows steps = {"steps", "the critical path", sizeof(struct sonde_tile_step), choose_steps,
					  put_step};
	return put_rows(&steps, session, params, out);
}
