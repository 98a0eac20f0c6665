/* test_runtime.c: target programs with known zones, seen through the zones source.
 *
 * ZONE_TARGET and ZONE_PLUGIN are paths given by the build.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fold/clockfit.h"
#include "source/target/channel_state.h"
#include "zones_recorder.h"

static int run_target(struct zones_run *run, const struct sonde_record_options *options, const char *command,
		      const char *argument)
{
	char *argv[] = {(char *)(uintptr_t)ZONE_TARGET, (char *)(uintptr_t)command, (char *)(uintptr_t)argument, NULL};
	zones_start(run, options, argv);
	return zones_finish(run);
}

/* Nothing is ever wrong with what arrives. */
static void assert_sound(const struct zones_run *run)
{
	assert_int_equal(run->recorder->backwards, 0);
	assert_int_equal(run->recorder->unknown_sites, 0);
}

static void pairs_arrive(void **state)
{
	(void)state;
	struct sonde_record_options options = {.on_full = SONDE_ON_FULL_BLOCK};
	struct zones_run run;
	assert_int_equal(run_target(&run, &options, "pairs", "50000"), 0);
	assert_int_equal(zones_find(run.recorder, "outer")->ended, 50000);
	assert_int_equal(zones_find(run.recorder, "inner")->ended, 100000);
	assert_true(zones_find(run.recorder, "outer")->total_ns >= zones_find(run.recorder, "inner")->total_ns);
	assert_int_equal(run.recorder->zone_events, 300000);
	assert_int_equal(run.recorder->unmatched, 0);
	assert_int_equal(zones_lost(run.recorder, NULL), 0);
	assert_sound(&run);
	zones_free(&run);
}

static void assert_event(struct zones_run *run, uint32_t type, const char *text, double value)
{
	const struct zones_event *event = NULL;
	assert_int_not_equal(zones_events(run->recorder, type, &event), 0);
	if (text)
		assert_string_equal(event->text, text);
	else
		assert_true(event->value == value);
}

static void every_kind_of_event_arrives(void **state)
{
	(void)state;
	struct zones_run run;
	assert_int_equal(run_target(&run, NULL, "everything", NULL), 0);
	assert_event(&run, SONDE_EVENT_THREAD_NAME, "chief", 0);
	assert_event(&run, SONDE_EVENT_ZONE_NAME, "select 1", 0);
	assert_event(&run, SONDE_EVENT_WORK, NULL, 321);
	assert_event(&run, SONDE_EVENT_ARG, "path/", 0);
	assert_int_equal(zones_events(run.recorder, SONDE_EVENT_ARG, NULL), 3);
	assert_event(&run, SONDE_EVENT_INSTANT, "why", 0);
	assert_int_equal(zones_events(run.recorder, SONDE_EVENT_INSTANT, NULL), 2);
	assert_event(&run, SONDE_EVENT_MESSAGE, "hello", 0);
	assert_event(&run, SONDE_EVENT_SNAPSHOT, "loaded", 0);
	assert_event(&run, SONDE_EVENT_GAUGE, NULL, 0.5);
	assert_event(&run, SONDE_EVENT_COUNT, NULL, 10);
	assert_event(&run, SONDE_EVENT_SPAN_BEGIN, NULL, 42);
	assert_event(&run, SONDE_EVENT_SPAN_END, NULL, 42);
	assert_event(&run, SONDE_EVENT_ITERATION, NULL, 32);
	assert_event(&run, SONDE_EVENT_POOL_TAKE, "chunks", 0);
	assert_event(&run, SONDE_EVENT_POOL_TAKE, NULL, 400);
	assert_event(&run, SONDE_EVENT_POOL_GIVE, NULL, 0);
	assert_int_equal(zones_events(run.recorder, SONDE_EVENT_POOL_GIVE, NULL), 1); /* NULL is nothing */
	double counters = 0;
	for (uint64_t i = 0; i < run.recorder->event_count; i++)
		if (run.recorder->events[i].type == SONDE_EVENT_COUNTER && run.recorder->events[i].value > counters)
			counters = run.recorder->events[i].value;
	assert_true(counters == 1000);
	assert_int_equal(run.recorder->histogram_count, 1);
	assert_int_equal(run.recorder->histograms[0].count, 1001);
	assert_int_equal(run.recorder->histograms[0].sum, 1000 * 1001 * 501);
	assert_int_equal(run.recorder->histograms[0].min, 1000);
	assert_int_equal(run.recorder->histograms[0].max, 1001000);
	assert_in_range(run.recorder->histograms[0].p50, 501000 - 501000 / 256, 501000 + 501000 / 256);
	assert_int_equal(zones_find(run.recorder, "first")->ended, 1);
	assert_int_equal(zones_find(run.recorder, "second")->ended, 1);
	assert_sound(&run);
	zones_free(&run);
}

static void mismatched_ends_are_errors(void **state)
{
	(void)state;
	struct zones_run run;
	assert_int_equal(run_target(&run, NULL, "mismatch", NULL), 0);
	assert_int_equal(zones_events(run.recorder, SONDE_EVENT_MISMATCH, NULL), 3);
	assert_event(&run, SONDE_EVENT_MISMATCH, "macro", 0);
	assert_int_equal(zones_find(run.recorder, "a")->ended, 1);
	assert_int_equal(zones_find(run.recorder, "b")->ended, 1);
	assert_int_equal(run.recorder->unmatched, 0);
	zones_free(&run);
}

/* Nothing is drained while the target runs: two chunks fill up, the others are dropped, and every event is accounted
 * for. */
static void drops_are_counted_exactly(void **state)
{
	(void)state;
	struct sonde_record_options options = {.buffer_b = 2 * 65536, .on_full = SONDE_ON_FULL_DROP};
	struct zones_run run;
	char *argv[] = {(char *)(uintptr_t)ZONE_TARGET, "flood", "100000", NULL};
	int status = -1;
	zones_start(&run, &options, argv);
	while (!sonde_channel_connected(run.channel))
		zones_round(&run, 5);
	waitpid(run.pid, &status, 0);
	sonde_channel_drain(run.channel, 1);
	assert_int_equal(status, 0);
	uint64_t lost = zones_lost(run.recorder, "ring full");
	assert_true(lost > 100000);
	assert_int_equal(lost, zones_lost(run.recorder, NULL));
	assert_true(zones_find(run.recorder, "flood")->ended >= 8000);
	assert_int_equal(run.recorder->zone_events + lost, 200002);
	assert_int_equal(run.recorder->unmatched, 0);
	assert_sound(&run);
	zones_free(&run);
}

static void overwriting_keeps_the_newest(void **state)
{
	(void)state;
	struct sonde_record_options options = {.buffer_b = 4 * 65536, .on_full = SONDE_ON_FULL_OVERWRITE};
	struct zones_run run;
	char *argv[] = {(char *)(uintptr_t)ZONE_TARGET, "flood", "100000", NULL};
	int status = -1;
	zones_start(&run, &options, argv);
	while (!sonde_channel_connected(run.channel))
		zones_round(&run, 5);
	waitpid(run.pid, &status, 0);
	sonde_channel_drain(run.channel, 1);
	assert_int_equal(status, 0);
	uint64_t lost = zones_lost(run.recorder, "overwritten");
	assert_true(lost > 0);
	/* At each gap the source ends what was open before it: "all", and perhaps a zone in it. */
	assert_in_range(lost + run.recorder->zone_events, 200002, 200012);
	assert_in_range(run.recorder->unmatched, 0,
			8); /* one a gap, of which the first round may see some, and "all" */
	assert_sound(&run);
	zones_free(&run);
}

static void blocking_loses_nothing(void **state)
{
	(void)state;
	struct sonde_record_options options = {.buffer_b = 3 * 65536, .on_full = SONDE_ON_FULL_BLOCK};
	struct zones_run run;
	assert_int_equal(run_target(&run, &options, "two", "200000"), 0);
	assert_int_equal(zones_lost(run.recorder, NULL), 0);
	assert_int_equal(zones_find(run.recorder, "flood")->ended, 400000);
	assert_int_equal(zones_find(run.recorder, "all")->ended, 2);
	assert_int_equal(run.recorder->unmatched, 0);
	assert_sound(&run);
	zones_free(&run);
}

static void sleep_us(long us)
{
	struct timespec remainder = {0, us * 1000};
	nanosleep(&remainder, NULL);
}

static void one_kill(unsigned seed)
{
	struct sonde_record_options options = {.buffer_b = 16 * 65536, .on_full = SONDE_ON_FULL_BLOCK};
	struct zones_run run;
	int shared = memfd_create("published", 0);
	assert_int_equal(ftruncate(shared, 4096), 0);
	_Atomic uint64_t *published = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
	char number[16];
	snprintf(number, sizeof(number), "%d", shared);
	char *argv[] = {(char *)(uintptr_t)ZONE_TARGET, "killed", number, NULL};
	zones_start(&run, &options, argv);
	while (!*published)
		zones_round(&run, 1);
	for (unsigned i = 0; i < seed % 4; i++)
		zones_round(&run, 0);
	sleep_us((long)(seed * 7919 % 1000));
	kill(run.pid, SIGKILL);
	zones_finish(&run);
	uint64_t arrived = run.recorder->zone_events;
	/* A kill between the event and its count leaves one more event than counted; never fewer. */
	assert_in_range(arrived, *published, *published + 1);
	assert_int_equal(zones_lost(run.recorder, NULL), 0);
	assert_sound(&run);
	zones_free(&run);
	munmap((void *)published, 4096);
	close(shared);
}

static void kills_lose_nothing(void **state)
{
	(void)state;
	unsigned rounds = getenv("SONDE_LONG") ? 1000 : 200;
	for (unsigned i = 0; i < rounds; i++)
		one_kill(i + 1);
}

static void forked_children_record(void **state)
{
	(void)state;
	struct zones_run run;
	assert_int_equal(run_target(&run, NULL, "fork", NULL), 0);
	assert_int_equal(run.recorder->process_count, 4);
	assert_int_equal(zones_find(run.recorder, "outer")->ended, 40);
	assert_int_equal(zones_find(run.recorder, "inner")->ended, 80);
	assert_int_equal(zones_find(run.recorder, "around fork")->ended, 3);
	assert_int_equal(run.recorder->unmatched, 0);
	assert_sound(&run);
	zones_free(&run);
}

static void many_short_threads_fit(void **state)
{
	(void)state;
	struct sonde_record_options options = {.buffer_b = 64 * 65536};
	struct zones_run run;
	assert_int_equal(run_target(&run, &options, "churn", "5000"), 0);
	assert_int_equal(zones_lost(run.recorder, NULL), 0);
	assert_int_equal(zones_find(run.recorder, "short")->ended, 5000);
	assert_int_equal(run.recorder->thread_count, 5000);
	zones_free(&run);
}

static void closed_libraries_leave_their_names(void **state)
{
	(void)state;
	struct zones_run run;
	assert_int_equal(run_target(&run, NULL, "plugin", ZONE_PLUGIN), 0);
	assert_int_equal(zones_find(run.recorder, "in the plugin")->ended, 50);
	assert_int_equal(run.recorder->site_count, 1);
	zones_free(&run);
}

/* The last value of a counter. */
static uint64_t counted(const struct zones_run *run, const char *name)
{
	double value = 0;
	for (uint64_t i = 0; i < run->recorder->event_count && i < EVENTS_MAX; i++) {
		const struct zones_event *event = &run->recorder->events[i];
		if (event->type == SONDE_EVENT_COUNTER && !strcmp(run->recorder->sites[event->site].name, name))
			value = event->value;
	}
	return (uint64_t)value;
}

static void zones_in_signal_handlers_nest(void **state)
{
	(void)state;
	struct sonde_record_options options = {.on_full = SONDE_ON_FULL_BLOCK};
	struct zones_run run;
	assert_int_equal(run_target(&run, &options, "signals", "2000"), 0);
	uint64_t handled = counted(&run, "handled"), rounds = counted(&run, "rounds");
	uint64_t lost = zones_lost(run.recorder, NULL);
	assert_true(handled >= 2000);
	assert_int_equal(lost % 2, 0);
	assert_int_equal(zones_lost(run.recorder, "ring full"), 0);
	assert_int_equal(zones_find(run.recorder, "handler")->ended + lost / 2, handled);
	assert_int_equal(zones_find(run.recorder, "interrupted")->ended, rounds);
	assert_int_equal(run.recorder->unmatched, 0);
	assert_sound(&run);
	zones_free(&run);
}

/* A handler after each instruction of events around the end of a chunk. */
static void handlers_at_each_instruction_lose_nothing(void **state)
{
	(void)state;
	struct sonde_record_options options = {.on_full = SONDE_ON_FULL_BLOCK};
	struct zones_run run;
	int code = run_target(&run, &options, "steps", NULL);
	if (code == 77) {
		zones_free(&run);
		skip();
	}
	assert_int_equal(code, 0);
	uint64_t lost = zones_lost(run.recorder, NULL), handled = counted(&run, "handled");
	assert_in_range(handled, 500, 6 * 300);
	assert_int_equal(zones_lost(run.recorder, "ring full"), 0);
	assert_int_equal(zones_find(run.recorder, "handler")->ended + lost / 2, handled);
	assert_in_range(zones_find(run.recorder, "stepped")->ended, counted(&run, "rounds"), handled + 6);
	assert_int_equal(zones_find(run.recorder, "next")->ended, zones_find(run.recorder, "stepped")->ended);
	assert_int_equal(run.recorder->unmatched, 0);
	assert_sound(&run);
	zones_free(&run);
}

/* A zone is recorded or left out as a whole, whatever its handler has interrupted. */
static void zones_inside_the_slow_path_are_whole(void **state)
{
	(void)state;
	struct sonde_record_options options = {.on_full = SONDE_ON_FULL_BLOCK};
	struct zones_run run;
	assert_int_equal(run_target(&run, &options, "inside", NULL), 0);
	uint64_t ended = zones_find(run.recorder, "known")->ended;
	if (sonde_clockfit_usable())
		assert_in_range(ended, 4000, 4999);
	else
		assert_int_equal(ended, 2); /* where the clock is read, every event takes the slow path */
	assert_int_equal(zones_lost(run.recorder, NULL), 2 * (5002 - ended) + 2);
	assert_int_equal(zones_find(run.recorder, "new")->begun, 0);
	assert_int_equal(zones_find(run.recorder, "hidden")->ended, 1);
	assert_int_equal(zones_find(run.recorder, "around")->ended, 1);
	assert_int_equal(run.recorder->unmatched, 0);
	assert_event(&run, SONDE_EVENT_GAUGE, NULL, 1);
	assert_sound(&run);
	zones_free(&run);
}

static void pauses_keep_nesting(void **state)
{
	(void)state;
	struct zones_run run;
	assert_int_equal(run_target(&run, NULL, "pause", NULL), 0);
	assert_int_equal(zones_find(run.recorder, "outer")->ended, 12);
	assert_int_equal(zones_find(run.recorder, "kept")->ended, 1);
	assert_int_equal(zones_find(run.recorder, "across")->ended, 1);
	assert_int_equal(run.recorder->unmatched, 0);
	zones_free(&run);
}

static void closing_all_descriptors_loses_nothing(void **state)
{
	(void)state;
	struct sonde_record_options options = {.buffer_b = 4 << 20};
	struct zones_run run;
	assert_int_equal(run_target(&run, &options, "closed", NULL), 0);
	assert_int_equal(zones_find(run.recorder, "outer")->ended, 5010);
	assert_int_equal(run.recorder->unmatched, 0);
	zones_free(&run);
}

static void programs_can_ask(void **state)
{
	(void)state;
	struct zones_run run;
	assert_int_equal(run_target(&run, NULL, "query", NULL), 0);
	zones_free(&run);
}

static void executed_programs_connect_again(void **state)
{
	(void)state;
	struct zones_run run;
	assert_int_equal(run_target(&run, NULL, "exec", ZONE_TARGET), 0);
	assert_int_equal(zones_find(run.recorder, "outer")->ended, 7);
	assert_int_equal(sonde_channel_connected(run.channel), 2);
	zones_free(&run);
}

struct told {
	int opened, closed;
};

static void count_opened(void *context, pid_t pid, uint32_t clock)
{
	(void)pid;
	(void)clock;
	((struct told *)context)->opened++;
}

static void count_closed(void *context, pid_t pid)
{
	(void)pid;
	((struct told *)context)->closed++;
}

static void refused_processes_are_counted(void **state)
{
	(void)state;
	struct zones_run run;
	char *argv[] = {(char *)(uintptr_t)ZONE_TARGET, (char *)(uintptr_t) "pairs", (char *)(uintptr_t) "10", NULL};
	zones_start(&run, NULL, argv);
	run.channel->connections_max = 0;
	assert_int_equal(zones_finish(&run), 0);
	assert_int_equal(sonde_channel_connected(run.channel), 0);
	assert_int_equal(zones_lost(run.recorder, "processes that are not recorded: too many are connected at once"),
			 1);
	assert_int_equal(zones_lost(run.recorder, NULL), 1);
	zones_free(&run);
}

/* The zones source is one listener of the channel; later ones are notified of the same processes. */
static void all_listeners_are_told(void **state)
{
	(void)state;
	struct zones_run run;
	struct told told[3] = {{0}};
	struct sonde_channel_listener listeners[4];
	char *argv[] = {(char *)(uintptr_t)ZONE_TARGET, "exec", (char *)(uintptr_t)ZONE_TARGET, NULL};
	zones_start(&run, NULL, argv);
	for (size_t i = 0; i < 3; i++) {
		listeners[i] = (struct sonde_channel_listener){
		    .context = &told[i], .opened = count_opened, .closed = count_closed};
		assert_int_equal(sonde_channel_listen(run.channel, SONDE_LINK_ZONES, &listeners[i]), 0);
	}
	assert_int_equal(sonde_channel_listen(run.channel, SONDE_LINK_ZONES, &listeners[3]), -ENOSPC);
	sonde_channel_ignore(run.channel, &listeners[1]);
	assert_int_equal(zones_finish(&run), 0);
	assert_int_equal(zones_find(run.recorder, "outer")->ended, 7);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(told[i].opened, i == 1 ? 0 : 2);
		assert_int_equal(told[i].closed, i == 1 ? 0 : 2);
	}
	zones_free(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(pairs_arrive),
	    cmocka_unit_test(every_kind_of_event_arrives),
	    cmocka_unit_test(mismatched_ends_are_errors),
	    cmocka_unit_test(drops_are_counted_exactly),
	    cmocka_unit_test(overwriting_keeps_the_newest),
	    cmocka_unit_test(blocking_loses_nothing),
	    cmocka_unit_test(kills_lose_nothing),
	    cmocka_unit_test(forked_children_record),
	    cmocka_unit_test(many_short_threads_fit),
	    cmocka_unit_test(closed_libraries_leave_their_names),
	    cmocka_unit_test(zones_in_signal_handlers_nest),
	    cmocka_unit_test(handlers_at_each_instruction_lose_nothing),
	    cmocka_unit_test(zones_inside_the_slow_path_are_whole),
	    cmocka_unit_test(pauses_keep_nesting),
	    cmocka_unit_test(closing_all_descriptors_loses_nothing),
	    cmocka_unit_test(programs_can_ask),
	    cmocka_unit_test(executed_programs_connect_again),
	    cmocka_unit_test(refused_processes_are_counted),
	    cmocka_unit_test(all_listeners_are_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
