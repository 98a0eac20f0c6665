/* process.c: whether this process is sampled, its link to the recorder, its beginning and end.
 *
 * A process connects in its first tick, so that the many that end before it cost next to nothing. A recorder that is
 * stopped may hold it up twice, for 150 ms; then it is not sampled. The connection is closed again once the pool is
 * mapped: the program finds no descriptor that it did not open. A process that ends unconnected says what it used and
 * who it was, in one message that nobody answers.
 *
 * The record lies on a page that a forked child reads as zeros: it finds state NEW and connects for itself. A child of
 * vfork shares all memory with its parent but has another pid: it must change nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "inject/inject.h"

#define TRIES 20              /* ticks at which connecting is tried: descriptors may be used up for a while */
#define QUIET_TICKS 25        /* before the second and last try to reach a recorder that does not answer */
#define ROOM_B (512ull << 20) /* address space that must be left where it is limited */
#define RATE_DEFAULT_HZ 1000
#define STACK_MAX_B 57344u /* of the 64 KB of a chunk */

#pragma weak pthread_setcancelstate
#pragma weak pthread_atfork
#pragma weak __register_atfork
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *handle);

struct inject_settings inject_settings = {1000000000u / RATE_DEFAULT_HZ, STACK_MAX_B};

static char socket_name[96];
struct inject_record *inject_record;
static uint64_t filters; /* of seccomp, that the recorder is under itself */
static int has_filters;  /* it says so */
static struct {
	struct sonde_ring_pool *pool;
	size_t size_b;
} mapped; /* also the parent's, in a forked child */

int inject_is_on(void)
{
	return inject_record && !inject_sandbox_is_on() && atomic_load(&inject_record->link.state) != SONDE_PROCESS_OFF;
}

struct sonde_process *inject_process(void)
{
	return inject_record ? &inject_record->link : NULL;
}

/* glibc before 2.33 has no such function. */
int fstat(int fd, struct stat *out)
{
	return (int)syscall(SYS_fstat, fd, out);
}

/* --- connecting ------------------------------------------------------------------------------------------------ */

/* Pools are mapped lazily, but count as address space. */
static int has_room(void)
{
	struct rlimit limit;
	char text[64] = "";
	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return 1;
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t got = read(fd, text, sizeof(text) - 1);
	close(fd);
	uint64_t pages = 0;
	for (ssize_t i = 0; i < got && text[i] >= '0' && text[i] <= '9'; i++)
		pages = pages * 10 + (uint64_t)(text[i] - '0');
	return pages && limit.rlim_cur / 4096 > pages + ROOM_B / 4096;
}

static uint32_t link_flags(void)
{
	int tsc = PR_TSC_ENABLE;
	return !prctl(PR_GET_TSC, &tsc) && tsc == PR_TSC_SIGSEGV ? SONDE_LINK_NO_CYCLES : 0;
}

static void forget_parent(void)
{
	if (mapped.pool)
		munmap(mapped.pool, mapped.size_b);
	mapped.pool = NULL;
}

static int connect_once(struct sonde_process *link)
{
	forget_parent();
	if (!has_room())
		return -ENOMEM;
	int code = sonde_link_connect(link, socket_name, link_flags());
	if (code)
		return code;
	close(link->fd);
	link->fd = 0;
	mapped.pool = atomic_load(&link->pool);
	mapped.size_b = link->pool_b;
	return 0;
}

/* The calls below are points where a thread may be cancelled; a signal handler must not be. */
static void set_up(void)
{
	struct sonde_process *link = &inject_record->link;
	int before = 0;
	if (pthread_setcancelstate)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	int code = connect_once(link);
	if (pthread_setcancelstate)
		pthread_setcancelstate(before, &before);
	int again = (code == -EMFILE || code == -ENFILE) && ++inject_record->tries < TRIES;
	if (code == -EAGAIN && !inject_record->unanswered++) {
		inject_record->quiet_ticks = QUIET_TICKS;
		again = 1;
	}
	atomic_store(&link->state, !code ? SONDE_PROCESS_ON : again ? SONDE_PROCESS_NEW : SONDE_PROCESS_OFF);
}

struct sonde_ring_pool *inject_pool(void)
{
	struct sonde_process *link = &inject_record->link;
	uint32_t state = SONDE_PROCESS_NEW;
	uint32_t left = inject_record->quiet_ticks;
	if (left) {
		inject_record->quiet_ticks = left - 1; /* threads that count at once count as one */
		return NULL;
	}
	if (atomic_compare_exchange_strong(&link->state, &state, SONDE_PROCESS_SETUP))
		set_up();
	if (atomic_load(&link->state) != SONDE_PROCESS_ON)
		return NULL;
	struct sonde_ring_pool *pool = atomic_load(&link->pool);
	if (!atomic_load(&pool->closed))
		return pool;
	atomic_store(&link->state, SONDE_PROCESS_OFF);
	return NULL;
}

/* --- the end --------------------------------------------------------------------------------------------------- */

/* Sends a message without waiting for anybody; size 0: none, the connection alone wakes the recorder. */
static void send_alone(const void *message, size_t size_b)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t name_b = strlen(socket_name);
	memcpy(address.sun_path + 1, socket_name, name_b);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	socklen_t address_b = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + name_b);
	if (!connect(fd, (struct sockaddr *)&address, address_b) && size_b)
		send(fd, message, size_b, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

void inject_process_ring(struct sonde_ring_pool *pool)
{
	int before = 0;
	if (atomic_exchange(&pool->doorbell, 1))
		return;
	if (pthread_setcancelstate)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	send_alone(NULL, 0);
	if (pthread_setcancelstate)
		pthread_setcancelstate(before, &before);
}

static void say_good_bye(uint64_t cpu_ns)
{
	struct sonde_link_farewell message = {.head = {SONDE_LINK_FAREWELL, SONDE_LINK_VERSION}};
	message.pid = (uint32_t)getpid();
	message.parent = (uint32_t)getppid();
	message.start_ns = inject_record->start_ns;
	message.cpu_ns = cpu_ns;
	prctl(PR_GET_NAME, message.name);
	send_alone(&message, sizeof(message));
}

__attribute__((noinline)) static void say_end(void)
{
	struct inject_record *record = inject_record;
	int saved = errno;
	if (inject_self.pid != record->pid || atomic_exchange(&record->ended, 1))
		return;
	uint32_t state = atomic_load(&record->link.state);
	uint64_t cpu_ns = sonde_clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
	inject_thread_end(cpu_ns);
	if (state == SONDE_PROCESS_NEW || (state == SONDE_PROCESS_OFF && record->unanswered))
		say_good_bye(cpu_ns);
	errno = saved;
}

/* A child that shares our memory may have no thread-local storage at all (Chromium's, when it changes its root): first
 * of all it must be told apart. */
void inject_process_end(void)
{
	if (inject_sandbox_is_childs() || !inject_calls_begin())
		return;
	if (inject_record->pid == getpid())
		say_end();
	inject_calls_end();
}

/* It connects when it has not yet: the recorder shall know who it is, and that it lives on. */
void inject_process_leave(void)
{
	struct inject_thread *thread = &inject_self;
	if (!inject_calls_begin())
		return;
	if (thread->tid && !thread->busy && !atomic_exchange(&inject_record->ended, 1)) {
		thread->busy = 1;
		inject_pool();
		thread->busy = 0;
		thread->leaves = 1;
		inject_thread_end(sonde_clock_read_ns(CLOCK_PROCESS_CPUTIME_ID));
	}
	inject_calls_end();
}

/* --- the beginning --------------------------------------------------------------------------------------------- */

static uint64_t read_number(const char **text)
{
	uint64_t value = 0;
	for (; **text >= '0' && **text <= '9' && value < 1000000000u; (*text)++)
		value = value * 10 + (uint64_t)(**text - '0');
	while (**text == ' ')
		(*text)++;
	return value;
}

/* The name of the recorder's socket is there, and CPU timers are wanted. */
static int read_environment(void)
{
	const char *name = getenv(SONDE_LINK_ENV), *wanted = getenv(INJECT_ENV);
	if (!name || !wanted || !*name || strlen(name) >= sizeof(socket_name))
		return 0;
	memcpy(socket_name, name, strlen(name) + 1);
	uint64_t rate_hz = read_number(&wanted), stack_b = read_number(&wanted);
	if (rate_hz)
		inject_settings.period_ns = 1000000000u / rate_hz;
	has_filters = *wanted >= '0' && *wanted <= '9';
	filters = read_number(&wanted);
	if (stack_b)
		inject_settings.stack_b = (uint32_t)(stack_b < STACK_MAX_B ? stack_b : STACK_MAX_B);
	return 1;
}

static struct inject_record *new_record(void)
{
	size_t size_b = (sizeof(struct inject_record) + 4095) & ~(size_t)4095;
	void *page = mmap(NULL, size_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return NULL;
	if (!madvise(page, size_b, MADV_WIPEONFORK))
		return page;
	munmap(page, size_b);
	return NULL;
}

/* A forked child goes on with one thread. */
static void child_begin(void)
{
	int saved = errno;
	struct inject_thread *thread = &inject_self;
	struct inject_stack stack = {thread->stack_low, thread->stack_end};
	if (!inject_calls_begin())
		return;
	pid_t pid = getpid();
	if (thread->pid != pid) {
		inject_record->pid = pid;
		inject_record->start_ns = sonde_clock_now_ns();
		inject_thread_begin(&stack);
	}
	inject_calls_end();
	errno = saved;
}

static void begin(void)
{
	struct inject_stack stack = inject_stack_main();
	if (!read_environment() || (has_filters && inject_sandbox_is_inherited(filters)))
		return;
	struct inject_record *record = new_record();
	if (!record)
		return;
	inject_thread_init();
	if (inject_dispositions_take())
		return;
	record->pid = getpid();
	record->start_ns = sonde_clock_now_ns();
	inject_record = record;
	if (__register_atfork)
		__register_atfork(NULL, NULL, child_begin, NULL);
	else if (pthread_atfork)
		pthread_atfork(NULL, NULL, child_begin);
	inject_thread_begin(&stack);
}

__attribute__((constructor)) static void inject_begin(void)
{
	int saved = errno;
	inject_sandbox_init();
	begin();
	errno = saved;
}

__attribute__((destructor)) static void inject_end(void)
{
	inject_process_end();
}
