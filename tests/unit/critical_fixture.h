/* critical_fixture.h: recordings whose critical paths are known to the ms, and the checks of these paths. */
#ifndef SONDE_TESTS_CRITICAL_FIXTURE_H
#define SONDE_TESTS_CRITICAL_FIXTURE_H

#include "analyze/critical/names.h"
#include "analyze/critical/replay.h"
#include "analyze_fixture.h"
#include "sections.h"

#define IN SONDE_SWITCH_IN
#define BLOCKS SONDE_SWITCH_OUT_BLOCKED
#define PREEMPTED SONDE_SWITCH_OUT_PREEMPTED

/* --- what is made ------------------------------------------------------------------------------------------------- */

static inline void at(struct recording *r, uint64_t ms, uint32_t thread, enum sonde_switch_kind kind)
{
	recording_switch_on(r, START + ms * MS, thread, kind, (int)thread - 1);
}

static inline void call(struct recording *r, uint32_t thread, enum sonde_wait_kind kind, uint64_t from_ms,
			uint64_t to_ms, uint32_t object, uint32_t other)
{
	recording_wait(r, (struct recording_wait){.start_ns = START + from_ms * MS,
						  .dur_ns = (to_ms - from_ms) * MS,
						  .thread = thread,
						  .other = other,
						  .kind = kind,
						  .object = object});
}

static inline uint32_t worker(struct recording *r, const char *name, uint32_t tid, uint64_t from_ms, uint64_t to_ms)
{
	uint32_t id = recording_thread(r, 1, tid, name, START + from_ms * MS);
	recording_thread_end(r, id, START + to_ms * MS, 0);
	return id;
}

/* Runs 10 ms, begins two workers that run 30 and 60, joins both in turn, runs 10 more. */
static inline void fork_join(struct recording *r, int with_names)
{
	simple_open(r);
	uint32_t fast = worker(r, "fast", 101, 10, 40), slow = worker(r, "slow", 102, 10, 70);
	at(r, 0, 1, IN);
	recording_switch_woken(r, START + 10 * MS, fast, 1, 0, 1);
	recording_switch_woken(r, START + 10 * MS, slow, 2, 0, 1);
	at(r, 10, 1, BLOCKS);
	at(r, 40, 1, IN);
	at(r, 40, 1, BLOCKS);
	at(r, 70, 1, IN);
	call(r, 1, SONDE_WAIT_JOIN, 10, 40, 0, with_names ? fast : 0);
	call(r, 1, SONDE_WAIT_JOIN, 40, 70, 0, with_names ? slow : 0);
	recording_thread_end(r, 1, START + 80 * MS, 0);
	recording_process_end(r, 1, START + 80 * MS, 0, 0);
	recording_close(r, START + 80 * MS, 0);
}

/* --- what is looked at -------------------------------------------------------------------------------------------- */

struct looked {
	struct sonde_session *session;
	struct sonde_report *report;
	struct sonde_critical critical;
	struct sonde_critical_path path;
	struct sonde_critical_elements elements;
};

static inline uint64_t span_of(const struct looked *looked)
{
	return looked->critical.to_ns - looked->critical.from_ns;
}

/* The span in ms with something faster; NULL = nothing. */
static inline uint64_t replayed_ns(const struct sonde_critical *critical, const char *first, const char *second)
{
	struct sonde_critical_scale scales[2];
	struct sonde_critical_outcome outcome;
	size_t count = second ? 2 : first ? 1 : 0;
	for (size_t i = 0; i < count; i++)
		assert_int_equal(sonde_critical_scale_parse(&scales[i], i ? second : first), 0);
	assert_int_equal(sonde_critical_replay(&outcome, critical, scales, count), 0);
	assert_true(outcome.is_found);
	return outcome.span_ns;
}

/* Whatever the recording, elements are the span to the ns, steps follow each other, and the run once more is as long as
 * it was. */
static inline struct looked look(const struct sonde_pass_options *options)
{
	struct looked looked = {0};
	uint64_t sum_ns = 0;
	assert_int_equal(sonde_session_open(&looked.session, path, NULL), 0);
	assert_int_equal(sonde_report_new(&looked.report), 0);
	assert_int_equal(sonde_critical_read(&looked.critical, looked.session, options), 0);
	assert_int_equal(sonde_critical_walk(&looked.path, &looked.critical), 0);
	assert_int_equal(sonde_critical_elements_find(&looked.elements, &looked.critical, &looked.path, looked.report),
			 0);
	for (size_t i = 0; i < looked.elements.count; i++)
		sum_ns += looked.elements.rows[i].ns;
	assert_int_equal(sum_ns, span_of(&looked));
	for (size_t i = 0; i < looked.path.count; i++)
		assert_true(looked.path.steps[i].from_ns < sonde_critical_step_end(&looked.path, i));
	if (looked.path.count)
		assert_int_equal(looked.path.steps[0].from_ns, looked.path.from_ns);
	assert_int_equal(replayed_ns(&looked.critical, NULL, NULL), span_of(&looked));
	assert_int_equal(replayed_ns(&looked.critical, "thread=prog,speed=1", NULL), span_of(&looked));
	return looked;
}

static inline void look_away(struct looked *looked)
{
	sonde_critical_elements_fini(&looked->elements);
	sonde_critical_path_fini(&looked->path);
	sonde_critical_fini(&looked->critical);
	sonde_report_free(looked->report);
	sonde_session_close(looked->session);
}

/* ms of an element; 0 = there is none. */
static inline uint64_t ms_of(const struct looked *looked, const char *kind, const char *name)
{
	for (size_t i = 0; i < looked->elements.count; i++)
		if (!strcmp(looked->elements.rows[i].kind, kind) && !strcmp(looked->elements.rows[i].name, name))
			return looked->elements.rows[i].ns / MS;
	return 0;
}

#endif
