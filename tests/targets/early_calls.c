/* early_calls.c: calls each function of early_calls.def once. */
#include "early_calls.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define PAGE_B 4096

/* Functions that headers declare only for _FORTIFY_SOURCE, or not at all. */
ssize_t __read_chk(int fd, void *to, size_t size_b, size_t has_b);
ssize_t __pread_chk(int fd, void *to, size_t size_b, off_t at, size_t has_b);
ssize_t __pread64_chk(int fd, void *to, size_t size_b, off64_t at, size_t has_b);
ssize_t __recv_chk(int fd, void *to, size_t size_b, size_t has_b, int flags);
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int at, const char *path, int flags);
int __openat64_2(int at, const char *path, int flags);
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t has_b);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *signals,
		size_t has_b);
sighandler_t bsd_signal(int number, sighandler_t handler);
sighandler_t __sysv_signal(int number, sighandler_t handler);

/* Functions that older C libraries lack: weak, and not called if they are missing. */
#pragma weak close_range
#pragma weak closefrom
#pragma weak epoll_pwait2
#pragma weak pthread_mutex_clocklock
#pragma weak pthread_cond_clockwait
#pragma weak pthread_rwlock_clockrdlock
#pragma weak pthread_rwlock_clockwrlock
#pragma weak pthread_clockjoin_np
#pragma weak sem_clockwait

/* --- arguments --------------------------------------------------------------------------------------------------- */

static _Alignas(PAGE_B) char page[PAGE_B];
static struct iovec part = {page, 1};
static struct msghdr message;
static struct mmsghdr messages;
static const struct timespec no_time, far_time = {INT32_MAX, 0};
static struct timeval no_interval;
static struct epoll_event event;
static struct sigaction action;
static stack_t stack;
static sigset_t signals, no_signals, one_signal;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_spinlock_t spinlock;
static sem_t semaphore;
static mtx_t c11_mutex;
static cnd_t c11_condition;
static pthread_t thread;
static thrd_t c11_thread;
static void *block;
static int fds[2];
static DIR *volatile no_directory;
static const char nowhere[] = "/nowhere/at/all";
static char *const arguments[] = {(char *)(uintptr_t)nowhere, NULL};

static long opened(int fd)
{
	return fd < 0 ? -1 : close(fd);
}

static long mapped(void *at)
{
	return at == MAP_FAILED ? -1 : munmap(at, PAGE_B);
}

static long freed(void *at)
{
	int is_there = at != NULL;
	free(at);
	return is_there ? 0 : -1;
}

static long closed(FILE *stream)
{
	return stream ? fclose(stream) : -1;
}

static void on_signal(int number)
{
	(void)number;
}

/* Blocks SIGUSR2 and makes it pending for the thread. */
static int signalled(void (*handler)(int))
{
	struct sigaction wanted = {.sa_handler = handler ? handler : SIG_DFL};
	return sigaction(SIGUSR2, &wanted, NULL) || sigprocmask(SIG_BLOCK, &one_signal, NULL) ||
	       early_call(SYS_tgkill, early_call(SYS_getpid, 0, 0, 0, 0), early_call(SYS_gettid, 0, 0, 0, 0), SIGUSR2,
			  0);
}

/* Pauses, with a timer that signals repeatedly, so that one signal comes during the pause. */
static long paused(void)
{
	struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
	struct sigaction wanted = {.sa_handler = on_signal}, before;
	sigaction(SIGALRM, &wanted, &before);
	setitimer(ITIMER_REAL, &often, NULL);
	long result = pause() == -1 && errno == EINTR ? 0 : -1;
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &before, NULL);
	return result;
}

static void *run(void *unused)
{
	return unused;
}

static int run_c11(void *unused)
{
	(void)unused;
	return 0;
}

static long begun(pthread_t *out)
{
	return pthread_create(out, NULL, run, NULL);
}

static int is_set;

static void *set_condition(void *unused)
{
	pthread_mutex_lock(&mutex);
	is_set = 1;
	pthread_cond_signal(&condition);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static long waited_for_condition(void)
{
	pthread_t setter;
	is_set = 0;
	pthread_mutex_lock(&mutex);
	if (pthread_create(&setter, NULL, set_condition, NULL))
		return -1;
	while (!is_set)
		pthread_cond_wait(&condition, &mutex);
	pthread_mutex_unlock(&mutex);
	return pthread_join(setter, NULL);
}

static int set_c11_condition(void *unused)
{
	(void)unused;
	mtx_lock(&c11_mutex);
	is_set = 1;
	cnd_signal(&c11_condition);
	return mtx_unlock(&c11_mutex);
}

static long waited_for_c11_condition(void)
{
	thrd_t setter;
	is_set = 0;
	mtx_lock(&c11_mutex);
	if (thrd_create(&setter, set_c11_condition, NULL) != thrd_success)
		return -1;
	while (!is_set)
		cnd_wait(&c11_condition, &c11_mutex);
	mtx_unlock(&c11_mutex);
	return thrd_join(setter, NULL);
}

static void prepare(void)
{
	memset(&one_signal, 0, sizeof one_signal);
	*(unsigned long *)(void *)&one_signal = 1ul << (SIGUSR2 - 1);
	message = (struct msghdr){.msg_iov = &part, .msg_iovlen = 1};
	messages.msg_hdr = message;
	pthread_barrier_init(&barrier, NULL, 1);
	pthread_spin_init(&spinlock, 0);
	sem_init(&semaphore, 0, 0);
	mtx_init(&c11_mutex, mtx_timed);
	cnd_init(&c11_condition);
}

/* --- calls ------------------------------------------------------------------------------------------------------- */

static void note(const char *name, long result)
{
	int rc = errno;
	if (result == 0)
		return;
	early_say(" ");
	early_say(name);
	early_say(result < 0 ? "=-1:" : "=");
	early_say_number(result < 0 ? rc : result);
}

#define MAKE(name, call)                   \
	do {                               \
		if (!(name))               \
			break;             \
		errno = 0;                 \
		note(#name, (long)(call)); \
		calls++;                   \
	} while (0);
#define SKIP(name, call)

#pragma GCC diagnostic ignored "-Waddress"

#define ENDS SKIP

void early_calls_first(const char *where)
{
	long calls = 0;
	prepare();
#define UNDER MAKE
#define LATER SKIP
#define OUTSIDE SKIP
#include "early_calls.def"
#undef LATER
	early_say_end(where, calls);
}

void early_calls_under(const char *where)
{
	long calls = 0;
	prepare();
#define LATER MAKE
#include "early_calls.def"
#undef UNDER
#undef LATER
#undef OUTSIDE
	early_say_end(where, calls);
}

void early_calls_outside(const char *where)
{
	long calls = 0;
	prepare();
#define UNDER SKIP
#define LATER SKIP
#define OUTSIDE MAKE
#include "early_calls.def"
	early_say_end(where, calls);
}

void early_calls_second(const char *where)
{
	early_calls_under(where);
}
