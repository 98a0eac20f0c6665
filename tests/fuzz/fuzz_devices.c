/* fuzz_devices.c: libFuzzer target: any bytes are a recording, and everything about its devices is requested: every
 * section, every format that shows devices, SQL over their tables.
 *
 * Inputs of even length get the checksums that their bytes have, as in fuzz_reader.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/pass.h"
#include "export/format.h"
#include "mend.h"
#include "query/query.h"
#include "session/session.h"

#define CHECK(promise)                                                                                \
	do {                                                                                          \
		if (!(promise)) {                                                                     \
			fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #promise); \
			abort();                                                                      \
		}                                                                                     \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_b);

static volatile uint64_t sink;

static void render(const struct sonde_report *report, struct sonde_session *session, FILE *out)
{
	const struct sonde_format_options options = {.width = 100, .session = session};
	for (size_t i = 0; i < sonde_format_count; i++)
		if (sonde_formats[i]->render && !sonde_formats[i]->binary)
			sonde_formats[i]->render(report, &options, out);
}

/* Each by itself, so that one that gives up hides no other; of all, and of a part of the time. */
static void report_all(struct sonde_session *session, FILE *out)
{
	static const char *const what_if[] = {"copy=upload,speed=inf", "kernel=beta,speed=4"};
	const struct sonde_run *run = sonde_session_run(session);
	struct sonde_pass_options options = {.requested = 1, .limit = 20, .what_if = what_if, .what_ifs = 2};
	for (int part = 0; part < 2; part++) {
		options.selection.from_ns = part ? run->start_ns + run->wall_ns / 3 : 0;
		options.selection.to_ns = part ? run->start_ns + run->wall_ns / 2 + 1 : 0;
		for (size_t i = 0; i < sonde_pass_count; i++) {
			struct sonde_report *report;
			CHECK(!sonde_report_new(&report));
			if (!sonde_pass_run(session, &sonde_passes[i], 1, &options, report))
				render(report, session, out);
			sonde_report_free(report);
		}
	}
}

static void export_all(struct sonde_session *session, FILE *out)
{
	const struct sonde_format_options options = {0};
	for (size_t i = 0; i < sonde_format_count; i++)
		if (sonde_formats[i]->export)
			sonde_formats[i]->export(session, &options, out);
}

static void ask_all(struct sonde_session *session)
{
	static const char *const questions[] = {
	    "select * from devices",
	    "select * from queues",
	    "select * from operations",
	    "select * from activities",
	    "select * from call_stacks",
	    "select * from points join series on series.id = points.series_id",
	    "select kind, count(*), sum(dur_ns), max(size_b) from activities where start_ns > 1000 group by 1",
	    "select * from activities join call_stacks using (correlation) limit 1000",
	};
	const struct sonde_query_limits limits = {.timeout_ns = 1000000000, .memory_b = 64 << 20};
	struct sonde_query *query;
	if (sonde_query_open(&query, session, &limits))
		return;
	for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
		struct sonde_query_value value;
		CHECK(!sonde_query_start(query, questions[i]));
		while (sonde_query_next(query) == 1)
			for (size_t column = 0; column < sonde_query_columns(query); column++) {
				sonde_query_value(query, column, &value);
				sink += value.kind == SONDE_QUERY_STRING ? strlen(value.text) : (uint64_t)value.integer;
			}
	}
	sonde_query_close(query);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_b)
{
	const struct sonde_session_options options = {.no_symbols = 1};
	struct sonde_session *session;
	char path[64];
	uint8_t *copy = malloc(size_b + 1);
	FILE *out = fopen("/dev/null", "w");
	int fd = memfd_create("recording", MFD_CLOEXEC);
	CHECK(copy && out && fd >= 0);
	memcpy(copy, bytes, size_b);
	if (size_b % 2 == 0)
		mend_checksums(copy, size_b);
	CHECK(write(fd, copy, size_b) == (ssize_t)size_b);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (!sonde_session_open(&session, path, &options)) {
		report_all(session, out);
		export_all(session, out);
		ask_all(session);
		sonde_session_close(session);
	}
	close(fd);
	fclose(out);
	free(copy);
	return 0;
}
