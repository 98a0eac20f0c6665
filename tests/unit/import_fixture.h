/* import_fixture.h: imports a file with given bytes, and reads the recording. */
#ifndef SONDE_TESTS_IMPORT_FIXTURE_H
#define SONDE_TESTS_IMPORT_FIXTURE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import/import.h"
#include "session/session.h"
#include "util/error.h"

struct imported {
	char from[40], to[40];
	struct sonde_import_result result;
	struct sonde_session *session;
};

static inline void import_paths(struct imported *imported, const void *bytes, size_t size_b)
{
	*imported = (struct imported){.from = "/tmp/sonde-import-from-XXXXXX", .to = "/tmp/sonde-import-to-XXXXXX"};
	int in = mkstemp(imported->from), out = mkstemp(imported->to);
	assert_true(in >= 0 && out >= 0);
	assert_int_equal(write(in, bytes, size_b), (ssize_t)size_b);
	close(in);
	close(out);
}

/* The error of the import; the recording is open when it is 0. */
static inline int import_bytes(struct imported *imported, const void *bytes, size_t size_b, const char *type)
{
	import_paths(imported, bytes, size_b);
	FILE *out = fopen(imported->to, "r+");
	assert_non_null(out);
	struct sonde_import_options options = {
	    .path = imported->from, .type = type, .fd = fileno(out), .name = imported->to};
	int rc = sonde_import(&imported->result, &options);
	fclose(out);
	if (!rc)
		assert_int_equal(sonde_session_open(&imported->session, imported->to, NULL), 0);
	return rc;
}

static inline int import_text(struct imported *imported, const char *text)
{
	return import_bytes(imported, text, strlen(text), NULL);
}

static inline void import_close(struct imported *imported)
{
	if (imported->session)
		sonde_session_close(imported->session);
	sonde_import_result_fini(&imported->result);
	unlink(imported->from);
	unlink(imported->to);
}

/* The import fails with that error and a sentence that has the words. */
static inline void import_fails(const void *bytes, size_t size_b, int error, const char *words)
{
	struct imported imported;
	int got = import_bytes(&imported, bytes, size_b, NULL);
	if (got != error || !strstr(sonde_error_text(), words))
		fail_msg("%d '%s' instead of %d '%s'", got, sonde_error_text(), error, words);
	import_close(&imported);
}

static inline int import_notes(const struct imported *imported, const char *words)
{
	for (size_t i = 0; i < imported->result.note_count; i++)
		if (strstr(imported->result.notes[i], words))
			return 1;
	return 0;
}

/* Samples of a stack, written "outer;inner", and their time. */
static inline void stack_name(const struct sonde_session *session, uint32_t node, char *out, size_t max_b)
{
	char names[32][256];
	int depth = 0;
	for (uint32_t at = node; at && depth < 32;) {
		const struct sonde_node *row = sonde_session_node(session, at);
		const struct sonde_frame *frame = sonde_session_frame(session, row->frame);
		for (uint32_t i = 0; i < frame->location_count && depth < 32; i++) {
			const struct sonde_function *function =
			    sonde_session_function(session, frame->locations[i].function);
			snprintf(names[depth++], sizeof names[0], "%s", function ? function->name : "?");
		}
		at = row->parent;
	}
	*out = 0;
	while (depth--)
		snprintf(out + strlen(out), max_b - strlen(out), "%s%s", *out ? ";" : "", names[depth]);
}

static inline uint64_t samples_of(struct sonde_session *session, const char *stack, uint64_t *ns)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	uint64_t count = 0;
	char name[4096];
	*ns = 0;
	assert_int_equal(sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_SAMPLES), 0);
	while (sonde_cursor_next(cursor, &batch) > 0)
		for (size_t i = 0; i < batch->count; i++) {
			stack_name(session, batch->samples.stack[i], name, sizeof name);
			if (stack && strcmp(name, stack))
				continue;
			count++;
			*ns += batch->samples.weight_ns[i];
		}
	sonde_cursor_close(cursor);
	return count;
}

static inline void assert_samples(struct sonde_session *session, const char *stack, uint64_t count, uint64_t ns)
{
	uint64_t got_ns, got = samples_of(session, stack, &got_ns);
	if (got != count || got_ns != ns)
		fail_msg("%s: %llu samples, %llu ns instead of %llu, %llu", stack ? stack : "all",
			 (unsigned long long)got, (unsigned long long)got_ns, (unsigned long long)count,
			 (unsigned long long)ns);
}

static inline const struct sonde_source_row *source_of(const struct sonde_session *session, const char *name)
{
	for (size_t i = 0; i < sonde_session_source_count(session); i++)
		if (!strcmp(sonde_session_source(session, i)->name, name))
			return sonde_session_source(session, i);
	return NULL;
}

#endif
