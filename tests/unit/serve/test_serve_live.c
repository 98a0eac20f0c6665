/* test_serve_live.c: a server whose recording grows: a bounded number of pages is notified, also of the end; a page
 * that disconnects is noticed. The pages are sockets of the test. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
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
#include "serve/events.h"
#include "serve/server.h"
#include "util/error.h"

#define START RECORDING_START_NS
#define MS 1000000ull
#define PATIENCE_MS 10000

static char path[64];
static struct recording recording;
static uint32_t leaf;
static struct sonde_server *server;

static void sample(uint64_t after_ms)
{
	recording_sample(&recording, (struct recording_sample){START + after_ms * MS, 1, leaf, MS, 0});
	recording_flush(&recording);
}

static int begin(void **state)
{
	struct sonde_session *session;
	(void)state;
	snprintf(path, sizeof path, "/tmp/sonde-test-live-%d.sonde", (int)getpid());
	recording_open(&recording, path);
	uint32_t process = recording_process(&recording, 100, 0, "app", START);
	recording_thread(&recording, process, 100, "first", START);
	recording_module(&recording, "/usr/bin/prog", 0);
	leaf = recording_call(&recording, 0, 1, "main", 10);
	sample(1);
	assert_int_equal(
	    sonde_session_open(&session, path, &(struct sonde_session_options){.no_symbols = 1, .growing = 1}), 0);
	assert_int_equal(sonde_server_open(&server, &(struct sonde_server_options){.port = 0}), 0);
	assert_int_equal(sonde_server_begin(server, session, 1), 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	assert_int_equal(sonde_server_stop(server), 0);
	recording_close(&recording, START + 100 * MS, 0);
	unlink(path);
	return 0;
}

/* --- a page ------------------------------------------------------------------------------------------------------- */

static int ask(const char *target, const char *more)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	char text[512];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	address.sin_port = htons((uint16_t)sonde_server_port(server));
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	int text_b = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost:%u\r\n%s\r\n", target,
			      sonde_server_port(server), more);
	assert_int_equal(write(fd, text, (size_t)text_b), text_b);
	return fd;
}

static char heard[65536];

/* Reads until the words have come, while the server is called as its owner calls it. */
static int hears(int fd, const char *words)
{
	size_t heard_b = 0;
	for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += 10) {
		struct pollfd socket = {.fd = fd, .events = POLLIN};
		sonde_server_tick(server);
		if (poll(&socket, 1, 10) <= 0)
			continue;
		ssize_t got = read(fd, heard + heard_b, sizeof heard - 1 - heard_b);
		if (got <= 0)
			return 0;
		heard_b += (size_t)got;
		heard[heard_b] = '\0';
		if (strstr(heard, words))
			return 1;
	}
	print_message("heard: %s\n", heard);
	return 0;
}

static int are_open(size_t pages)
{
	for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += 10) {
		if (sonde_server_tick(server) == pages)
			return 1;
		usleep(10000);
	}
	return 0;
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

static void pages_are_told(void **state)
{
	int page = ask("/api/events", "");
	(void)state;
	assert_true(hears(page, "\"events\":1,\"ended\":null}"));
	sample(2);
	assert_true(hears(page, "\"events\":2,\"ended\":null}"));
	sample(3);
	sample(4);
	assert_true(hears(page, "\"events\":4,\"ended\":null}"));
	close(page);
	assert_true(are_open(0));
}

static void their_number_is_bounded(void **state)
{
	int pages[SONDE_EVENTS_PAGES_MAX];
	(void)state;
	for (size_t i = 0; i < SONDE_EVENTS_PAGES_MAX; i++) {
		pages[i] = ask("/api/events", "");
		assert_true(hears(pages[i], "event: grown"));
	}
	int more = ask("/api/events", "");
	assert_true(hears(more, "HTTP/1.1 503"));
	close(more);
	assert_true(are_open(SONDE_EVENTS_PAGES_MAX));
	close(pages[3]);
	assert_true(are_open(SONDE_EVENTS_PAGES_MAX - 1));
	pages[3] = ask("/api/events", "");
	assert_true(hears(pages[3], "event: grown"));
	for (size_t i = 0; i < SONDE_EVENTS_PAGES_MAX; i++)
		close(pages[i]);
	assert_true(are_open(0));
}

static void others_are_not(void **state)
{
	int cross = ask("/api/events", "Sec-Fetch-Site: cross-site\r\n");
	(void)state;
	assert_true(hears(cross, "HTTP/1.1 403"));
	close(cross);
	int body = ask("/api/events", "Content-Length: 5\r\n");
	assert_true(hears(body, "HTTP/1.1 413"));
	close(body);
}

/* Requested and disconnected: whatever happens to it, the next client is answered. */
static void who_left_is_not_waited_for(void **state)
{
	(void)state;
	for (int i = 0; i < 40; i++)
		close(ask("/api/report?section=functions,calltree,summary", ""));
	int answered = 0;
	for (int tries = 0; tries < 100 && !answered; tries++) { /* it stays queued for a while */
		int page = ask("/api/report?section=functions", "");
		answered = hears(page, "HTTP/1.1 ") && strstr(heard, "HTTP/1.1 200") != NULL;
		close(page);
		usleep(20000);
	}
	assert_true(answered);
}

static void the_end_is_told(void **state)
{
	int page = ask("/api/events", "");
	(void)state;
	assert_true(hears(page, "\"ended\":null}"));
	sonde_server_end(server, "It was \"enough\".");
	assert_true(hears(page, "\"ended\":\"It was \\\"enough\\\".\"}"));
	int late = ask("/api/events", "");
	assert_true(hears(late, "enough"));
	close(late);
	close(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(pages_are_told, begin, end),
	    cmocka_unit_test_setup_teardown(their_number_is_bounded, begin, end),
	    cmocka_unit_test_setup_teardown(others_are_not, begin, end),
	    cmocka_unit_test_setup_teardown(who_left_is_not_waited_for, begin, end),
	    cmocka_unit_test_setup_teardown(the_end_is_told, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
