/* io_stdio.c: streams of the C library whose bytes are known: io_stdio MODE DIRECTORY. Its output is always the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "no_inline.h"

enum { LINES = 10000, LINE_B = 9, THREADS = 100 };

static const char *directory;
static char block[1 << 16];

static FILE *stream(const char *name, const char *mode)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/%s", directory, name);
	FILE *file = fopen(path, mode);
	if (!file)
		abort();
	return file;
}

static NO_INLINE void print_lines(FILE *file)
{
	for (int i = 0; i < LINES; i++)
		fprintf(file, "%08d\n", i);
}

/* --- bytes that are known ---------------------------------------------------------------------------------------- */

/* Writes streams with buffers of all kinds, which are flushed in all ways; their names say which. */
static void writes(void)
{
	FILE *file = stream("printed", "w");
	print_lines(file);
	fclose(file);
	file = stream("large", "w");
	for (int i = 0; i < 10; i++)
		fwrite(block, 1, sizeof block, file);
	fclose(file);
	file = stream("unbuffered", "w");
	setvbuf(file, NULL, _IONBF, 0);
	for (int i = 0; i < 100; i++)
		fputs("0123456789", file);
	fclose(file);
	file = stream("lines", "w");
	setvbuf(file, NULL, _IOLBF, 4096);
	for (int i = 0; i < 100; i++)
		fputs("012345678\n", file);
	fclose(file);
	file = stream("chars", "w");
	for (int i = 0; i < 5000; i++) {
		putc('x', file);
		putc_unlocked('y', file);
		if (i % 1000 == 999)
			fflush(file);
	}
	fclose(file);
	file = stream("wide", "w");
	for (int i = 0; i < LINES; i++)
		fwprintf(file, L"%08d\n", i);
	fclose(file);
	file = stream("descriptor", "w");
	for (int i = 0; i < 100; i++)
		dprintf(fileno(file), "%08d\n", i);
	fclose(file);
	file = stream("first", "w");
	fputs("12345", file);
	char path[4096];
	snprintf(path, sizeof path, "%s/second", directory);
	file = freopen(path, "w", file);
	fputs("1234567", file);
	fclose(file);
	stream("left", "w"); /* exit() flushes it */
	for (int i = 0; i < 50; i++)
		fputs("0123456789", stream("left-open", "a"));
}

static NO_INLINE size_t read_lines(FILE *file)
{
	char line[64];
	size_t size_b = 0;
	while (fgets(line, sizeof line, file))
		size_b += strlen(line);
	return size_b;
}

/* The file "printed" of writes(), by each way. */
static void reads(void)
{
	char *line = NULL;
	size_t line_b = 0, sum_b = 0;
	int number, got;
	wchar_t wide[64];
	FILE *file = stream("printed", "r");
	printf("fgets %zu", read_lines(file));
	fclose(file);
	file = stream("printed-2", "r");
	while ((got = getc_unlocked(file)) != EOF)
		sum_b++;
	printf(" getc %zu", sum_b);
	fclose(file);
	file = stream("printed-3", "r");
	for (sum_b = 0; (got = (int)getline(&line, &line_b, file)) > 0;)
		sum_b += (size_t)got;
	printf(" getline %zu", sum_b);
	fclose(file);
	free(line);
	file = stream("printed-4", "r");
	for (sum_b = 0; fscanf(file, "%d", &number) == 1;)
		sum_b += (size_t)number;
	printf(" fscanf %zu", sum_b);
	fclose(file);
	file = stream("printed-5", "r");
	printf(" fread %zu", fread(block, 1, sizeof block, file));
	fseek(file, 9, SEEK_SET);
	printf(" again %zu", fread(block, 1, 9, file));
	printf(" %.8s\n", block);
	fclose(file);
	file = stream("printed-6", "r");
	for (sum_b = 0; fgetws(wide, 64, file);)
		sum_b += wcslen(wide);
	printf("fgetws %zu\n", sum_b);
	fclose(file);
}

static ssize_t cookie_write(void *cookie, const char *from, size_t size_b)
{
	(void)from;
	*(size_t *)cookie += size_b;
	return (ssize_t)size_b;
}

/* None of these has a descriptor. */
static void custom(void)
{
	char *text = NULL;
	size_t text_b = 0, cookie_b = 0;
	cookie_io_functions_t functions = {.write = cookie_write};
	FILE *file = open_memstream(&text, &text_b);
	print_lines(file);
	fclose(file);
	printf("memory %zu", text_b);
	file = fmemopen(text, text_b, "r");
	printf(" read %zu", read_lines(file));
	fclose(file);
	file = fopencookie(&cookie_b, "w", functions);
	print_lines(file);
	fclose(file);
	printf(" cookie %zu\n", cookie_b);
	free(text);
}

/* --- what must be as without us ---------------------------------------------------------------------------------- */

static void failing(void)
{
	FILE *full = fopen("/dev/full", "w"), *file;
	errno = 0;
	fprintf(full, "lost");
	int code = fflush(full);
	printf("full %d errno %d error %d", code, errno, ferror(full) != 0);
	memset(block, 'x', sizeof block);
	errno = 0;
	size_t wrote = fwrite(block, 1, sizeof block, full);
	printf(" fwrite %zu errno %d", wrote, errno);
	errno = 0;
	code = fclose(full);
	printf(" fclose %d errno %d", code, errno);
	file = stream("closed", "w");
	fputs("lost", file);
	close(fileno(file));
	errno = 0;
	code = fclose(file);
	printf(" closed %d errno %d", code, errno);
	errno = 0;
	printf(" none %d errno %d", fopen("/nonexistent/x", "r") != NULL, errno);
	file = fopen("/", "r");
	errno = 0;
	code = getc(file);
	printf(" directory %d errno %d", code, errno);
	fclose(file);
	file = popen("cat >/dev/null; exit 3", "w");
	errno = 7;
	fputs("child", file);
	printf(" errno %d", errno);
	code = pclose(file);
	printf(" child %d\n", WEXITSTATUS(code));
}

static FILE *storms;

static void on_storm(int number)
{
	int saved = errno;
	(void)number;
	FILE *file = fopen("/dev/zero", "r");
	if (!file || fread(block, 1, 64, file) != 64 || fclose(file) || fputs("tick\n", storms) == EOF)
		abort();
	errno = saved;
}

/* fopen() in a handler may meet the C library's own lock: it interrupts what takes none of its locks. */
static void storm(void)
{
	struct sigaction action = {.sa_handler = on_storm, .sa_flags = SA_RESTART};
	struct itimerval timer = {{0, 500}, {0, 500}};
	int fd = open("/dev/zero", O_RDONLY);
	char byte;
	storms = stream("storms", "w");
	setvbuf(storms, NULL, _IONBF, 0);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (int i = 0; i < 200000; i++)
		if (read(fd, &byte, 1) != 1)
			abort();
	timer = (struct itimerval){{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &timer, NULL);
	printf("storms %d\n", ftell(storms) >= 0);
}

static void *print_much(void *shared)
{
	FILE *file = tmpfile();
	for (int i = 0; i < 200; i++) {
		fprintf(shared, "%08d\n", i);
		fprintf(file, "%08d\n", i);
	}
	rewind(file);
	size_t size_b = read_lines(file);
	fclose(file);
	return size_b == 200 * LINE_B ? shared : NULL;
}

static void crowd(void)
{
	pthread_t threads[THREADS];
	FILE *shared = stream("shared", "w");
	void *result;
	int right = 0;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, print_much, shared))
			abort();
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &result);
		right += result == shared;
	}
	fflush(shared);
	printf("right %d size %ld\n", right, ftell(shared));
}

/* Forks with a full buffer, which both processes then write. */
static void forks(void)
{
	FILE *file = stream("both", "w");
	fputs("before\n", file);
	pid_t child = fork();
	if (!child) {
		fputs("child\n", file);
		fclose(file);
		fputs("child's output\n", stdout);
		exit(4);
	}
	int status;
	waitpid(child, &status, 0);
	fputs("parent\n", file);
	fclose(file);
	char line[32];
	file = stream("both", "r");
	printf("status %d", WEXITSTATUS(status));
	while (fgets(line, sizeof line, file))
		printf(" %.*s", (int)strlen(line) - 1, line);
	fclose(file);
	putchar('\n');
}

static void at_end(void)
{
	printf("at the end\n");
}

__attribute__((destructor)) static void destroyed(void)
{
	printf("in a destructor\n");
}

static void ends(void)
{
	atexit(at_end);
	printf("first\n");
}

static void closed(void)
{
	close(1);
	printf("nobody reads this\n");
	errno = 0;
	int code = fflush(stdout);
	fprintf(stderr, "closed %d errno %d\n", code, errno);
}

/* Locks of C11, one waits for the other. */
static mtx_t c11_lock;
static cnd_t c11_condition;
static int c11_state;

static NO_INLINE int wait_for_c11(void *nothing)
{
	(void)nothing;
	mtx_lock(&c11_lock);
	c11_state |= 2;
	mtx_unlock(&c11_lock);
	return 5;
}

static NO_INLINE int wait_for_signal(void *nothing)
{
	(void)nothing;
	mtx_lock(&c11_lock);
	while (!(c11_state & 1))
		cnd_wait(&c11_condition, &c11_lock);
	mtx_unlock(&c11_lock);
	return 6;
}

static void c11(void)
{
	struct timespec rest = {0, 50000000}, past = {1, 0};
	thrd_t threads[2];
	int results[2];
	mtx_init(&c11_lock, mtx_timed);
	cnd_init(&c11_condition);
	thrd_create(&threads[1], wait_for_signal, NULL);
	thrd_sleep(&rest, NULL);
	mtx_lock(&c11_lock);
	thrd_create(&threads[0], wait_for_c11, NULL);
	printf("busy %d", mtx_trylock(&c11_lock) == thrd_busy);
	printf(" late %d", mtx_timedlock(&c11_lock, &past) == thrd_timedout);
	thrd_sleep(&rest, NULL);
	c11_state |= 1;
	cnd_signal(&c11_condition);
	mtx_unlock(&c11_lock);
	thrd_join(threads[0], &results[0]);
	thrd_join(threads[1], &results[1]);
	mtx_lock(&c11_lock);
	printf(" waited %d", cnd_timedwait(&c11_condition, &c11_lock, &past) == thrd_timedout);
	mtx_unlock(&c11_lock);
	printf(" results %d %d state %d\n", results[0], results[1], c11_state);
}

static void *write_timed(void *lock)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 60;
	int code = pthread_rwlock_timedwrlock(lock, &until);
	if (!code)
		pthread_rwlock_unlock(lock);
	return code ? lock : NULL;
}

static void timed(void)
{
	static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
	struct timespec rest = {0, 50000000}, past = {1, 0}, bad = {1, -1};
	pthread_t thread;
	void *failed;
	printf("bad %d", pthread_rwlock_timedrdlock(&lock, &bad) == EINVAL);
	printf(" free %d", pthread_rwlock_timedrdlock(&lock, &past));
	pthread_create(&thread, NULL, write_timed, &lock);
	nanosleep(&rest, NULL);
	printf(" late %d", pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &past) == ETIMEDOUT);
	printf(" bad clock %d", pthread_rwlock_clockrdlock(&lock, CLOCK_PROCESS_CPUTIME_ID, &past) == EINVAL);
	pthread_rwlock_unlock(&lock);
	pthread_join(thread, &failed);
	printf(" failed %d\n", failed != NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {{"writes", writes}, {"reads", reads}, {"custom", custom}, {"failing", failing},
		     {"storm", storm},   {"crowd", crowd}, {"forks", forks},   {"ends", ends},
		     {"closed", closed}, {"c11", c11},     {"timed", timed}};
	setlocale(LC_ALL, "C");
	for (size_t i = 0; argc > 2 && i < sizeof modes / sizeof *modes; i++) {
		if (strcmp(argv[1], modes[i].name))
			continue;
		directory = argv[2];
		modes[i].run();
		return 0;
	}
	fprintf(stderr, "usage: io_stdio writes|reads|custom|… DIRECTORY\n");
	return 2;
}
