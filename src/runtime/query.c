/* query.c: queries about this process's zones and pools, answered by the drainer, and the summary built from them.
 *
 * The drainer drains before it answers, so that an answer covers everything that ended before the query.
 */
#include <errno.h>
#include <string.h>

#include "runtime/runtime.h"
#include "runtime/table.h"

_Static_assert(SONDE_NAME_B == SONDE_LINK_NAME_B, "names fit");

static int ask(uint32_t what, const char *name, uint32_t limit, double quantile, struct sonde_link_answer *out)
{
	struct sonde_process *process = sonde_process_get();
	if (!process || !atomic_load(&process->pool))
		return SONDE_ERR_OFF;
	struct sonde_link_query query = {.head = {SONDE_LINK_QUERY, SONDE_LINK_VERSION}, .what = what, .limit = limit};
	query.quantile = quantile;
	size_t name_b = name ? strlen(name) : 0;
	if (name_b >= sizeof(query.name))
		return SONDE_ERR_ARGUMENT;
	memcpy(query.name, name ? name : "", name_b);
	int saved = errno;
	int code = atomic_load(&process->mode) == SONDE_MODE_SELF ? sonde_self_ask(&query, out)
								  : sonde_link_ask(process, &query, out);
	errno = saved;
	return code ? SONDE_ERR_RECORDER : SONDE_OK;
}

static void stats_from(const struct sonde_link_row *row, struct sonde_stats *out)
{
	memset(out, 0, sizeof(*out));
	memcpy(out->name, row->name, sizeof(out->name));
	out->name[sizeof(out->name) - 1] = 0;
	out->count = row->count;
	out->total_ns = row->total_ns;
	out->self_ns = row->self_ns;
	out->min_ns = row->min_ns;
	out->max_ns = row->max_ns;
	out->flop = row->flop;
	out->bytes = row->bytes;
	out->items = row->items;
	sonde_table_moments(out, row->sum_ns, row->square_ns);
}

static int ask_one(uint32_t what, const char *name, double quantile, struct sonde_link_row *out)
{
	struct sonde_link_answer answer;
	int code = ask(what, name, 1, quantile, &answer);
	if (code)
		return code;
	if (!answer.rows)
		return SONDE_ERR_UNKNOWN;
	*out = answer.row[0];
	return SONDE_OK;
}

int sonde_stats_of(const char *name, struct sonde_stats *out)
{
	struct sonde_link_row row;
	if (!name || !out)
		return SONDE_ERR_ARGUMENT;
	int code = ask_one(SONDE_LINK_BY_NAME, name, 0.5, &row);
	if (!code)
		stats_from(&row, out);
	return code;
}

int sonde_percentile(const char *name, double quantile, uint64_t *out_ns)
{
	struct sonde_link_row row;
	if (!name || !out_ns || !(quantile >= 0 && quantile <= 1))
		return SONDE_ERR_ARGUMENT;
	int code = ask_one(SONDE_LINK_BY_NAME, name, quantile, &row);
	if (!code)
		*out_ns = row.quantile_ns;
	return code;
}

int sonde_last(struct sonde_stats *out)
{
	struct sonde_link_row row;
	if (!out)
		return SONDE_ERR_ARGUMENT;
	int code = ask_one(SONDE_LINK_LAST, NULL, 0.5, &row);
	if (!code)
		stats_from(&row, out);
	return code;
}

int sonde_has_results(void)
{
	struct sonde_link_row row;
	return ask_one(SONDE_LINK_LAST, NULL, 0.5, &row) == SONDE_OK;
}

int sonde_top(struct sonde_stats *rows, size_t count)
{
	struct sonde_link_answer answer;
	if (!rows && count)
		return SONDE_ERR_ARGUMENT;
	int code = ask(SONDE_LINK_TOP, NULL, count < SONDE_LINK_ROWS ? (uint32_t)count : SONDE_LINK_ROWS, 0.5, &answer);
	if (code)
		return code;
	for (uint32_t i = 0; i < answer.rows && i < count; i++)
		stats_from(&answer.row[i], &rows[i]);
	return (int)answer.rows;
}

int sonde_pool_stats_of(const char *name, struct sonde_pool_stats *out)
{
	struct sonde_link_blocks_question question = {.head = {SONDE_LINK_BLOCKS, SONDE_LINK_VERSION}};
	struct sonde_link_blocks blocks = {.status = 0};
	size_t name_b = name ? strlen(name) : 0;
	if (!out || (name && !name_b) || name_b >= sizeof(question.name))
		return SONDE_ERR_ARGUMENT;
	struct sonde_process *process = sonde_process_get();
	int saved = errno;
	if (process && atomic_load(&process->state) == SONDE_PROCESS_NEW) /* a forked child after its hooks */
		(void)sonde_process_pool(process);
	errno = saved;
	if (!process || !atomic_load(&process->pool))
		return SONDE_ERR_OFF;
	memcpy(question.name, name ? name : "", name_b);
	int code = atomic_load(&process->mode) == SONDE_MODE_SELF ? sonde_self_ask_blocks(&question, &blocks)
								  : sonde_link_ask_blocks(process, &question, &blocks);
	errno = saved;
	if (code)
		return SONDE_ERR_RECORDER;
	if (blocks.status)
		return SONDE_ERR_UNKNOWN;
	*out = (struct sonde_pool_stats){blocks.live_b,      blocks.live_blocks, blocks.peak_b,
					 blocks.peak_blocks, blocks.begun_b,     blocks.begun_blocks};
	return SONDE_OK;
}

int sonde_print_summary(int fd)
{
	struct sonde_stats rows[SONDE_LINK_ROWS];
	int count = sonde_top(rows, SONDE_LINK_ROWS);
	if (count < 0)
		return count;
	int saved = errno;
	sonde_table_print(fd, rows, (size_t)count, sonde_lost());
	errno = saved;
	return SONDE_OK;
}
