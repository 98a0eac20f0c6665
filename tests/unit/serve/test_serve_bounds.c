/* test_serve_bounds.c: the server's limits: cached answers and answers waiting to be sent, waiting requests, clients
 * that went away, pages that read slowly, headers that never arrive. The request handler is the test's own. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "recording.h"
#include "serve/request_handler.h"
#include "serve/http/guard.h"
#include "serve/http/listen.h"
#include "util/error.h"

#define START RECORDING_START_NS
#define MS 1000000ull
#define SENT_MAX_B ((size_t)256 << 20)

enum { PATIENCE_MS = 20000, WAITING = 4 };

/* --- replies that are kept ---------------------------------------------------------------------------------------- */

static void keep(struct sonde_cache *cache, const char *key, size_t size_b)
{
	struct MHD_Response *reply =
	    MHD_create_response_from_buffer(1, (void *)(uintptr_t) "x", MHD_RESPMEM_PERSISTENT);
	assert_non_null(reply);
	sonde_cache_take(cache, key, reply, size_b);
}

static void what_is_kept_is_bounded_in_bytes(void **state)
{
	struct sonde_cache cache = {.max_b = 1000};
	(void)state;
	keep(&cache, "a", 400);
	keep(&cache, "b", 400);
	keep(&cache, "too large", 1001);
	assert_null(sonde_cache_find(&cache, "too large"));
	assert_int_equal(cache.size_b, 800);
	assert_non_null(sonde_cache_find(&cache, "a"));
	keep(&cache, "c", 300); /* b was requested longest ago */
	assert_null(sonde_cache_find(&cache, "b"));
	assert_non_null(sonde_cache_find(&cache, "a"));
	assert_int_equal(cache.size_b, 700);
	keep(&cache, "a", 300); /* is there: what came first stays */
	assert_int_equal(cache.size_b, 700);
	keep(&cache, "all", 1000);
	assert_int_equal(cache.size_b, 1000);
	assert_null(sonde_cache_find(&cache, "a"));
	assert_null(sonde_cache_find(&cache, "c"));
	sonde_cache_fini(&cache);
	assert_int_equal(cache.size_b, 0);
}

static void what_is_kept_is_bounded_in_number(void **state)
{
	struct sonde_cache cache = {.max_b = 1 << 20};
	char key[16];
	(void)state;
	for (int i = 0; i < SONDE_CACHE_ROWS + 10; i++) {
		snprintf(key, sizeof key, "%d", i);
		keep(&cache, key, 1);
	}
	assert_int_equal(cache.size_b, SONDE_CACHE_ROWS);
	assert_null(sonde_cache_find(&cache, "9"));
	assert_non_null(sonde_cache_find(&cache, "10"));
	sonde_cache_fini(&cache);
}

/* --- questions that wait ------------------------------------------------------------------------------------------ */

struct task {
	struct sonde_work work; /* first */
	sem_t begun, goes_on;
	int runs, is_late;
};

static void run_task(struct sonde_work *work, int late)
{
	struct task *task = (struct task *)work;
	task->runs++;
	task->is_late = late;
	sem_post(&task->begun);
	if (!late)
		sem_wait(&task->goes_on);
}

static void init_task(struct task *task)
{
	*task = (struct task){.work.run = run_task};
	assert_int_equal(sem_init(&task->begun, 0, 0), 0);
	assert_int_equal(sem_init(&task->goes_on, 0, 0), 0);
}

static void questions_that_wait_are_bounded(void **state)
{
	struct sonde_worker *worker;
	struct task tasks[4];
	(void)state;
	for (size_t i = 0; i < 4; i++)
		init_task(&tasks[i]);
	assert_int_equal(sonde_worker_new(&worker, 2), 0);
	assert_int_equal(sonde_worker_put(worker, &tasks[0].work), 0);
	sem_wait(&tasks[0].begun); /* is worked on, and does not wait any more */
	assert_int_equal(sonde_worker_put(worker, &tasks[1].work), 0);
	assert_int_equal(sonde_worker_put(worker, &tasks[2].work), 0);
	assert_int_equal(sonde_worker_put(worker, &tasks[3].work), -EBUSY);
	assert_int_equal(sonde_worker_end(worker, 1), -EBUSY);
	assert_int_equal(sonde_worker_put(worker, &tasks[3].work), -EBUSY); /* no more are accepted */
	sem_post(&tasks[0].goes_on);
	assert_int_equal(sonde_worker_end(worker, PATIENCE_MS), 0);
	assert_int_equal(tasks[0].is_late, 0);
	for (size_t i = 1; i < 3; i++) {
		assert_int_equal(tasks[i].runs, 1);
		assert_int_equal(tasks[i].is_late, 1);
	}
	assert_int_equal(tasks[3].runs, 0);
	sonde_worker_free(worker);
}

/* --- heads that do not come --------------------------------------------------------------------------------------- */

static int is_truncated(int fd, int within_ms)
{
	struct pollfd socket = {.fd = fd, .events = POLLIN};
	char byte;
	return poll(&socket, 1, within_ms) > 0 && read(fd, &byte, 1) == 0;
}

/* If there are too many silent connections, the oldest is closed, so that the server always waits for the newest. */
static void the_oldest_silence_makes_way(void **state)
{
	struct sonde_header_timeouts *timeouts;
	int pairs[5][2];
	struct pollfd ends;
	(void)state;
	assert_int_equal(sonde_header_timeouts_new(&timeouts, 3), 0);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]), 0);
		/* a repeated request counts from then on, however long it takes */
		sonde_header_timeouts_begin(timeouts, pairs[i][0], PATIENCE_MS * (5u - (unsigned)i));
	}
	for (int i = 0; i < 5; i++) {
		ends = (struct pollfd){.fd = pairs[i][1], .events = POLLRDHUP};
		assert_int_equal(poll(&ends, 1, 0), i < 2);
	}
	sonde_header_timeouts_end(timeouts, pairs[2][0]); /* it is being answered: no other takes its place */
	sonde_header_timeouts_begin(timeouts, pairs[0][0], PATIENCE_MS);
	ends = (struct pollfd){.fd = pairs[3][1], .events = POLLRDHUP};
	assert_int_equal(poll(&ends, 1, 0), 0);
	sonde_header_timeouts_free(timeouts);
	for (int i = 0; i < 5; i++) {
		close(pairs[i][0]);
		close(pairs[i][1]);
	}
}

static void late_heads_are_cut_off(void **state)
{
	struct sonde_header_timeouts *timeouts;
	int late[2], came[2], gone[2], again[2];
	(void)state;
	assert_int_equal(sonde_header_timeouts_new(&timeouts, 8), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, (int *[]){late, came, gone, again}[i]), 0);
	sonde_header_timeouts_begin(timeouts, again[0], PATIENCE_MS);
	sonde_header_timeouts_begin(timeouts, again[0], 50); /* the last holds */
	sonde_header_timeouts_begin(timeouts, came[0], 50);
	sonde_header_timeouts_end(timeouts, came[0]);
	sonde_header_timeouts_begin(timeouts, gone[0], 50);
	sonde_header_timeouts_end(timeouts, gone[0]);
	sonde_header_timeouts_begin(timeouts, late[0], 100);
	assert_true(is_truncated(late[1], PATIENCE_MS));
	assert_true(is_truncated(again[1], PATIENCE_MS));
	assert_false(is_truncated(came[1], 0));
	assert_false(is_truncated(gone[1], 0));
	sonde_header_timeouts_end(timeouts, late[0]); /* too late, and harmless */
	sonde_header_timeouts_free(timeouts);
	for (int i = 0; i < 8; i++)
		close((int[]){late[0], late[1], came[0], came[1], gone[0], gone[1], again[0], again[1]}[i]);
}

/* --- a desk ------------------------------------------------------------------------------------------------------- */

static char path[64];
static struct recording recording;
static struct sonde_guard guard;
static struct sonde_listen bound;
static struct sonde_request_handler handler;
static struct MHD_Daemon *daemon_of;

static void write_recording(void)
{
	snprintf(path, sizeof path, "/tmp/sonde-test-bounds-%d.sonde", (int)getpid());
	recording_open(&recording, path);
	uint32_t process = recording_process(&recording, 100, 0, "app", START);
	recording_thread(&recording, process, 100, "first", START);
	recording_module(&recording, "/usr/bin/prog", 0);
	uint32_t leaf = recording_call(&recording, 0, 1, "main", 10);
	for (uint64_t i = 1; i < 20; i++)
		recording_sample(&recording, (struct recording_sample){START + i * MS, 1, leaf, MS, 0});
	recording_flush(&recording);
}

static int begin(int is_live)
{
	const struct sonde_session_options options = {.no_symbols = 1, .growing = is_live};
	write_recording();
	if (!is_live)
		recording_close(&recording, START + 100 * MS, 0);
	memset(&handler, 0, sizeof handler);
	bound = (struct sonde_listen){.host = "127.0.0.1", .fd = -1};
	assert_int_equal(sonde_listen_open(&bound), 0);
	sonde_guard_init(&guard, bound.host, bound.port, 1, NULL);
	handler.access = (struct sonde_access_check){&guard, &bound};
	handler.cache.max_b = 1 << 20;
	assert_int_equal(sonde_session_open(&handler.runs[0], path, &options), 0);
	assert_int_equal(sonde_page_init(&handler.page, NULL), 0);
	assert_int_equal(sonde_growth_init(&handler.growth, &handler.runs[0], is_live), 0);
	assert_int_equal(sonde_original_init(&handler.originals[0], path, is_live), 0);
	assert_int_equal(sonde_header_timeouts_new(&handler.timeouts, 32), 0);
	assert_int_equal(sonde_worker_new(&handler.worker, WAITING), 0);
	handler.growth.worker = handler.worker;
	daemon_of = MHD_start_daemon(
	    MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
	    sonde_request_handler_handle, &handler, MHD_OPTION_LISTEN_SOCKET, bound.fd, MHD_OPTION_URI_LOG_CALLBACK,
	    sonde_request_handler_begin, &handler, MHD_OPTION_NOTIFY_COMPLETED, sonde_request_handler_end, &handler,
	    MHD_OPTION_NOTIFY_CONNECTION, sonde_request_handler_connection, &handler, MHD_OPTION_END);
	assert_non_null(daemon_of);
	return 0;
}

static int begin_whole(void **state)
{
	(void)state;
	return begin(0);
}

static int begin_live(void **state)
{
	(void)state;
	return begin(1);
}

static void end_handler(void)
{
	assert_int_equal(sonde_worker_end(handler.worker, PATIENCE_MS), 0);
	if (handler.growth.events)
		sonde_events_end(handler.growth.events);
	MHD_stop_daemon(daemon_of);
	sonde_worker_free(handler.worker);
	sonde_header_timeouts_free(handler.timeouts);
	sonde_cache_fini(&handler.cache);
	sonde_growth_fini(&handler.growth);
	sonde_page_fini(&handler.page);
	sonde_original_fini(&handler.originals[0]);
	sonde_session_close(handler.runs[0]);
}

static int end_whole(void **state)
{
	(void)state;
	end_handler();
	unlink(path);
	return 0;
}

static int end_live(void **state)
{
	(void)state;
	end_handler();
	recording_close(&recording, START + 100 * MS, 0);
	unlink(path);
	return 0;
}

/* A request on a connection of its own; `room_b`: socket buffer, 0 = the default. */
static int ask(const char *target, int room_b)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	char text[512];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (room_b)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room_b, sizeof room_b);
	address.sin_port = htons((uint16_t)bound.port);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	int text_b = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost:%u\r\nConnection: close\r\n\r\n",
			      target, bound.port);
	assert_int_equal(write(fd, text, (size_t)text_b), text_b);
	return fd;
}

static char heard[1 << 16];

/* All that is answered, and its status. */
static int answered(const char *target)
{
	int fd = ask(target, 0), status = 0;
	size_t heard_b = 0;
	for (;;) {
		struct pollfd socket = {.fd = fd, .events = POLLIN};
		assert_int_equal(poll(&socket, 1, PATIENCE_MS), 1);
		ssize_t got = read(fd, heard + heard_b, sizeof heard - 1 - heard_b);
		if (got <= 0)
			break;
		heard_b += (size_t)got;
	}
	heard[heard_b] = '\0';
	close(fd);
	assert_int_equal(sscanf(heard, "HTTP/1.1 %d", &status), 1);
	return status;
}

static int becomes(size_t sent_b)
{
	for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += 5) {
		if (atomic_load(&handler.sent_b) == sent_b)
			return 1;
		usleep(5000);
	}
	return 0;
}

/* --- answers that wait to be sent --------------------------------------------------------------------------------- */

static void answers_that_wait_are_bounded(void **state)
{
	static const char tiles[] = "/api/tiles?lanes=0&from=0&to=100000000&width=500"; /* which are not kept */
	(void)state;
	assert_int_equal(answered(tiles), 200);
	assert_true(becomes(0)); /* what was sent does not count any more */
	atomic_store(&handler.sent_b, SENT_MAX_B);
	assert_int_equal(answered(tiles), 503);
	assert_non_null(strstr(heard, "256 MB of answers are waiting to be sent"));
	assert_non_null(strstr(heard, "\r\nRetry-After: 1\r\n"));
	atomic_store(&handler.sent_b, SENT_MAX_B + 1);
	assert_int_equal(answered("/api/recording"), 503);
	atomic_store(&handler.sent_b, SENT_MAX_B - 40); /* no answer is so short */
	assert_int_equal(answered(tiles), 503);
	assert_non_null(strstr(heard, "too large to add"));
	assert_int_equal(atomic_load(&handler.sent_b), SENT_MAX_B - 40);
	atomic_store(&handler.sent_b, SENT_MAX_B - (1 << 20));
	assert_int_equal(answered(tiles), 200);
	assert_true(becomes(SENT_MAX_B - (1 << 20)));
	atomic_store(&handler.sent_b, 0);
	assert_int_equal(answered("/api/recording"), 200); /* is kept, and counts as long as that */
	assert_true(atomic_load(&handler.sent_b) > 0);
	assert_int_equal(atomic_load(&handler.sent_b), handler.cache.size_b);
}

/* --- askers that went away ---------------------------------------------------------------------------------------- */

/* Sends requests until one is refused, which happens when the maximum number is waiting. */
static size_t ask_until_refused(const char *target, int *fds, size_t most)
{
	for (size_t count = 1; count <= most; count++) {
		fds[count - 1] = ask(target, 0);
		for (size_t i = 0; i < count; i++) {
			struct pollfd socket = {.fd = fds[i], .events = POLLIN};
			if (poll(&socket, 1, 20) <= 0)
				continue;
			ssize_t got = read(fds[i], heard, sizeof heard - 1);
			heard[got > 0 ? got : 0] = '\0';
			return count;
		}
	}
	return 0;
}

/* While the worker is busy with something else. */
static void who_has_gone_is_not_computed_for(void **state)
{
	static const char lanes[] = "/api/lanes";
	struct task busy, last;
	int fds[4 * WAITING];
	(void)state;
	init_task(&busy);
	init_task(&last);
	assert_int_equal(sonde_worker_put(handler.worker, &busy.work), 0);
	sem_wait(&busy.begun);
	size_t count = ask_until_refused(lanes, fds, 4 * WAITING);
	assert_true(count > WAITING);
	assert_non_null(strstr(heard, "HTTP/1.1 503"));
	assert_non_null(strstr(heard, "too many requests at once"));
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	sem_post(&busy.goes_on);
	while (sonde_worker_put(handler.worker, &last.work))
		usleep(1000);
	sem_wait(&last.begun); /* all earlier ones have been handled */
	assert_null(sonde_session_kept(handler.runs[0], SONDE_KEPT_TILES)->data);
	sem_post(&last.goes_on);
	assert_int_equal(answered(lanes), 200);
	assert_non_null(sonde_session_kept(handler.runs[0], SONDE_KEPT_TILES)->data);
}

/* --- pages that read slowly --------------------------------------------------------------------------------------- */

static void slow_pages_miss_states_but_never_the_last(void **state)
{
	enum { STATES = 20000, FILL_B = 2000 };
	char line[SONDE_EVENTS_MESSAGE_B], fill[FILL_B + 1], last[32];
	int fd = ask("/api/events", 4096), seen = 0;
	long before = -1;
	(void)state;
	memset(fill, 'x', FILL_B);
	fill[FILL_B] = '\0';
	while (!sonde_events_count(handler.growth.events))
		usleep(1000);
	for (long i = 0; i < STATES; i++) {
		snprintf(line, sizeof line, "{\"fill\":\"%s\",\"state\":%ld}", fill, i);
		sonde_events_publish(handler.growth.events, line);
	}
	snprintf(last, sizeof last, "\"state\":%d}", STATES - 1);
	FILE *stream = fdopen(fd, "r");
	assert_non_null(stream);
	char text[SONDE_EVENTS_MESSAGE_B + 64];
	while (fgets(text, sizeof text, stream)) {
		const char *at = strstr(text, "\"state\":");
		if (!at)
			continue;
		long now = strtol(at + strlen("\"state\":"), NULL, 10);
		assert_true(now > before);
		before = now;
		seen++;
		if (strstr(text, last))
			break;
	}
	assert_int_equal(before, STATES - 1);
	assert_true(seen < STATES); /* 40 MB wait nowhere */
	fclose(stream);
	for (int waited_ms = 0; sonde_events_count(handler.growth.events); waited_ms += 5) {
		assert_true(waited_ms < PATIENCE_MS);
		usleep(5000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_kept_is_bounded_in_bytes),
	    cmocka_unit_test(what_is_kept_is_bounded_in_number),
	    cmocka_unit_test(questions_that_wait_are_bounded),
	    cmocka_unit_test(late_heads_are_cut_off),
	    cmocka_unit_test(the_oldest_silence_makes_way),
	    cmocka_unit_test_setup_teardown(answers_that_wait_are_bounded, begin_whole, end_whole),
	    cmocka_unit_test_setup_teardown(who_has_gone_is_not_computed_for, begin_whole, end_whole),
	    cmocka_unit_test_setup_teardown(slow_pages_miss_states_but_never_the_last, begin_live, end_live),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
