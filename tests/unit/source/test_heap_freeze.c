/* test_heap_freeze.c: a thread in a wait that a stop would disturb is not stopped, and is counted once it runs on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "source/heap/freeze.h"

/* Waits for a byte with a timeout, twice: exit code 0 when it got both. */
static void wait_for_bytes(int end)
{
	char byte;
	for (int i = 0; i < 2; i++)
		if (recv(end, &byte, 1, 0) != 1)
			_exit(1);
	_exit(0);
}

/* Until the process waits in a call. */
static void await_call(pid_t pid, long call)
{
	char path[64], line[256];
	snprintf(path, sizeof path, "/proc/%d/syscall", (int)pid);
	for (int i = 0; i < 10000; i++) {
		FILE *file = fopen(path, "re");
		assert_non_null(file);
		int got = fgets(line, sizeof line, file) != NULL;
		fclose(file);
		if (got && *line >= '0' && *line <= '9' && strtol(line, NULL, 10) == call)
			return;
		usleep(1000);
	}
	fail_msg("it never waited");
}

static void a_thread_in_a_call_is_left_there(void **unused)
{
	(void)unused;
#ifdef __SANITIZE_THREAD__
	skip(); /* the sanitizer has a thread of its own in the child */
#endif
	int ends[2], status;
	struct timeval timeout = {100, 0};
	struct sonde_heap_late late = {0};
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout), 0);
	pid_t pid = fork();
	if (!pid)
		wait_for_bytes(ends[0]);
	await_call(pid, SYS_recvfrom);
	struct sonde_heap_threads threads = {.pid = pid, .late = &late};
	assert_int_equal(sonde_heap_freeze(&threads, 0), 0);
	assert_int_equal(threads.count, 1);
	assert_int_equal(threads.left, 1);
	sonde_heap_freeze_check(&threads);
	assert_int_equal(threads.left, 1); /* it is where it was */
	assert_int_equal(threads.running, 0);
	assert_int_equal(write(ends[1], "ab", 2), 2);
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	sonde_heap_freeze_check(&threads);
	assert_int_equal(threads.left, 0);
	assert_int_equal(threads.running, 1);
	sonde_heap_freeze_check(&threads);
	assert_int_equal(threads.running, 1); /* once */
	sonde_heap_thaw(&threads);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_thread_in_a_call_is_left_there)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
