/* session_fixture.h: shared by the tests of sessions: a folder of their own, and short functions for reading. */
#ifndef SONDE_TESTS_SESSION_FIXTURE_H
#define SONDE_TESTS_SESSION_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "recording.h"
#include "session/session.h"

static char folder[] = "/tmp/sonde-test-session-XXXXXX";
static char path[64];
static const struct sonde_session_options plain = {.no_symbols = 1};

/* For cmocka, before all tests and after them. */
static inline int enter(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof path, "%s/a.sonde", folder);
	return 0;
}

static inline int leave(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

static inline struct sonde_session *opened(void)
{
	struct sonde_session *session;
	assert_int_equal(sonde_session_open(&session, path, &plain), 0);
	return session;
}

/* Next batch, which must be of `type`. */
static inline const struct sonde_batch *next(struct sonde_cursor *cursor, uint32_t type)
{
	const struct sonde_batch *batch;
	assert_int_equal(sonde_cursor_next(cursor, &batch), 1);
	assert_int_equal(batch->type, type);
	return batch;
}

static inline struct sonde_cursor *cursor_over(struct sonde_session *session, uint32_t type)
{
	struct sonde_cursor *cursor;
	assert_int_equal(sonde_cursor_open(&cursor, session, 1u << type), 0);
	return cursor;
}

static inline void expect_end(struct sonde_cursor *cursor)
{
	const struct sonde_batch *batch;
	assert_int_equal(sonde_cursor_next(cursor, &batch), 0);
	sonde_cursor_close(cursor);
}

#endif
