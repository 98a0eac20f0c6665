/* query_fixture.h: a query over the recording of session_fixture.h, and its answers as one text. */
#ifndef SONDE_TESTS_QUERY_FIXTURE_H
#define SONDE_TESTS_QUERY_FIXTURE_H

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "query/query.h"
#include "session_fixture.h"
#include "util/error.h"

static struct sonde_session *session;
static struct sonde_query *query;
static char answer_text[1 << 16];

/* Skips the test where SQLite is not installed. */
static inline void query_open(const struct sonde_query_limits *limits)
{
	session = opened();
	int rc = sonde_query_open(&query, session, limits);
	if (rc == -ENOSYS)
		skip();
	assert_int_equal(rc, 0);
}

static inline void query_close(void)
{
	sonde_query_close(query);
	sonde_session_close(session);
}

static inline void put_value(char *out, size_t out_b, size_t i)
{
	struct sonde_query_value value;
	sonde_query_value(query, i, &value);
	if (value.kind == SONDE_QUERY_NULL)
		snprintf(out, out_b, "NULL");
	else if (value.kind == SONDE_QUERY_INT)
		snprintf(out, out_b, "%" PRId64, value.integer);
	else if (value.kind == SONDE_QUERY_FLOAT)
		snprintf(out, out_b, "%.15g", value.real);
	else
		snprintf(out, out_b, "%.*s", (int)value.text_b, value.text);
}

/* Values with a comma between them, rows with a semicolon. */
static inline const char *answer(const char *sql)
{
	size_t used = 0;
	int code = sonde_query_start(query, sql);
	if (code)
		fail_msg("%s: %s", sql, sonde_error_text());
	*answer_text = '\0';
	for (int row = 0; (code = sonde_query_next(query)) > 0; row++)
		for (size_t i = 0; i < sonde_query_columns(query) && used + 512 < sizeof answer_text; i++) {
			used += (size_t)snprintf(answer_text + used, 2, "%s", i ? "," : row ? ";" : "");
			put_value(answer_text + used, 500, i);
			used += strlen(answer_text + used);
		}
	if (code)
		fail_msg("%s: %s", sql, sonde_error_text());
	return answer_text;
}

static inline void expect(const char *sql, const char *expected)
{
	static char copy[sizeof answer_text]; /* `expected` may be the answer before */
	snprintf(copy, sizeof copy, "%s", expected);
	assert_string_equal(answer(sql), copy);
}

#endif
