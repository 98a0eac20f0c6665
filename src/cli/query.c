/* query.c: `sonde query`: SQL over a recording.
 *
 * The result covers what the recording contains: lost or unreadable data is reported on standard error.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/words.h"
#include "cli/common/command.h"
#include "cli/common/output.h"
#include "cli/common/progress.h"
#include "cli/query_print.h"
#include "cli/common/reading.h"
#include "query/query.h"
#include "session/session.h"

struct request {
	const char *words[2];
	size_t word_count;
	const char *format, *output;
	int tables, force, quiet;
	struct sonde_query_limits limits;
	struct sonde_session_options session;
};

#define FORMATS "text|csv|json|jsonl"
#define FLAG(member) SONDE_FLAG(offsetof(struct request, member))

static const struct sonde_option options[] = {
    {"tables", 0, NULL, "list tables and columns, with units and meanings", FLAG(tables)},
    {"format", 'f', FORMATS, "output format (default: text)", SONDE_TEXT(offsetof(struct request, format))},
    {"output", 'o', "FILE", "output file; - is the standard output", SONDE_TEXT(offsetof(struct request, output))},
    {"timeout", 0, "TIME", "time limit (default: 60s)",
     SONDE_TIME(offsetof(struct request, limits.timeout_ns), 1000000)},
    {"memory", 0, "SIZE", "memory limit for sorting and grouping (default: 1G)",
     SONDE_SIZE(offsetof(struct request, limits.memory_b), 1 << 20)},
    {"no-symbols", 0, NULL, "use only the symbols in the recording", FLAG(session.no_symbols)},
    {"force", 0, NULL, "overwrite FILE", FLAG(force)},
    {"quiet", 'q', NULL, "print only errors", FLAG(quiet)},
    {0},
};

static int found(void *context, const struct sonde_option *option, const char *value)
{
	struct request *request = context;
	(void)option;
	if (request->word_count < 2) {
		request->words[request->word_count++] = value;
		return 0;
	}
	return sonde_command_wrong("query",
				   "expected one recording and one statement; put quotes around the statement");
}

/* Returns the exit code for a kind of error. */
static int exit_code(int error)
{
	return error == -EINVAL || error == -EEXIST      ? SONDE_EXIT_USAGE
	       : error == -ETIMEDOUT || error == -ENOMEM ? SONDE_EXIT_INCONCLUSIVE
							 : SONDE_EXIT_UNREADABLE;
}

/* Reports damaged bytes and unreadable chunks, if any. */
static void say_unread(uint64_t damaged_b, uint64_t chunks)
{
	char bytes[32] = "", whole[32] = "";
	if (damaged_b)
		snprintf(bytes, sizeof bytes, "%llu byte%s", (unsigned long long)damaged_b, sonde_plural(damaged_b));
	if (chunks)
		snprintf(whole, sizeof whole, "%llu chunk%s", (unsigned long long)chunks, sonde_plural(chunks));
	fprintf(stderr, "sonde query: %s%s%s of the recording could not be read, so the answer is incomplete\n", bytes,
		damaged_b && chunks ? " and " : "", whole);
}

/* Reports what is missing from the result. */
static void say_missing(const struct sonde_session *session, int is_incomplete)
{
	const struct sonde_run *run = sonde_session_run(session);
	uint64_t lost = 0, damaged_b = sonde_session_damaged_b(session);
	for (size_t i = 0; i < sonde_session_lost_count(session); i++)
		lost += sonde_session_lost(session, i)->count;
	if (lost)
		fprintf(stderr, "sonde query: %llu events were lost while recording: see table lost\n",
			(unsigned long long)lost);
	if (damaged_b || run->skipped_chunks)
		say_unread(damaged_b, run->skipped_chunks);
	else if (is_incomplete)
		fprintf(stderr, "sonde query: invalid chunks were skipped\n");
}

/* Runs the statement and prints its rows. 0 or a negative errno. */
static int answer(const struct request *request, struct sonde_session *session, const char *sql,
		  const struct sonde_query_format *format)
{
	struct sonde_query *query;
	struct sonde_output output;
	int code = sonde_query_open(&query, session, &request->limits);
	if (code)
		return code;
	code = sonde_query_start(query, sql);
	if (!code)
		code = sonde_output_open(&output, request->output, request->force);
	if (!code)
		code = sonde_output_close(&output, format->print(query, output.file));
	if (!code && !request->quiet)
		say_missing(session, sonde_query_missing(query));
	sonde_query_close(query);
	return code;
}

static int is_file(const char *word)
{
	struct stat status;
	return stat(word, &status) == 0;
}

/* Finds the recording and the statement among the words. 0 or an exit code. */
static int choose(const struct request *request, char *newest, size_t newest_b, const char **file, const char **sql)
{
	size_t count = request->word_count;
	if (!count || (count == 1 && is_file(request->words[0])))
		return sonde_command_wrong("query",
					   "no statement; try 'SELECT zone, sum(calls) FROM zone_stats GROUP BY "
					   "zone', or --tables for the list of tables");
	*file = request->words[0];
	*sql = request->words[count - 1];
	if (count == 2)
		return 0;
	if (sonde_output_newest(newest, newest_b) < 0)
		return sonde_command_complain("query", SONDE_EXIT_USAGE);
	*file = newest;
	return 0;
}

static int run_query(const struct request *request, const struct sonde_query_format *format)
{
	char newest[PATH_MAX];
	const char *file = NULL, *sql = NULL;
	struct sonde_session *session;
	int code = choose(request, newest, sizeof newest, &file, &sql);
	if (code)
		return code;
	if (!request->quiet)
		sonde_progress_begin(
		    "sonde: reading the recording and looking up symbols; --no-symbols skips the lookup\n");
	code = sonde_reading_open(&session, file, &request->session);
	sonde_progress_end();
	if (code < 0)
		return sonde_command_complain("query", SONDE_EXIT_UNREADABLE);
	code = answer(request, session, sql, format);
	if (code)
		code = sonde_command_complain("query", exit_code(code));
	sonde_session_close(session);
	return code;
}

static int run(int argc, char **argv)
{
	struct request request = {.format = "text",
				  .limits = {.timeout_ns = UINT64_C(60000000000), .memory_b = UINT64_C(1000000000)}};
	struct sonde_parse parse = {.command = sonde_command_find("query"), .found = found, .context = &request};
	int code = sonde_command_parse(&parse, argc, argv);
	if (code || parse.done)
		return code;
	if (request.tables)
		return sonde_query_print_tables() ? sonde_command_complain("query", SONDE_EXIT_INCONCLUSIVE)
						  : SONDE_EXIT_OK;
	const struct sonde_query_format *format = sonde_query_format_find(request.format);
	if (format)
		return run_query(&request, format);
	return sonde_command_wrong("query", "unknown format '%s': use " FORMATS, request.format);
}

const struct sonde_command sonde_command_query = {
    .name = "query",
    .title = "query a recording with SQL",
    .usage = "[options] [FILE] 'SELECT …'",
    .options = options,
    .examples = "sonde query --tables\n"
		"sonde query 'SELECT zone, sum(self_ns) FROM zone_stats GROUP BY zone'\n"
		"sonde query -f csv -o zones.csv app.sonde 'SELECT * FROM zones'\n",
    .manual = sonde_query_manual,
    .run = run,
};
