/* connect.c: connects once per process, maps the pool, and closes the connection again (hook/connect.h).
 *
 * Later requests use a new connection each, so the program never finds a descriptor that it did not open. (A child that
 * another thread forks during a request has the request's descriptor until it executes or ends. The recorder tolerates
 * that.)
 *
 * If address space is limited (ulimit -v), we take at most an eighth of what is left, since the program's needs are
 * unknown; the process then gets a smaller pool, or none.
 */
#include "inject/hook/connect.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "inject/hook/machine.h"

#define TRIES 20 /* attempts to connect: descriptors may be exhausted for a while */
#define SHARE 8  /* we take at most one part in SHARE of the remaining address space */
#define STATM_SIZE 0u
#define STATM_DATA 5u
#define SMALLEST_POOL 6u /* log2 of its chunks */

uint32_t inject_connect_flags;
uint32_t inject_connect_quiet;

static char socket_name[96];
static struct {
	struct sonde_ring_pool *pool;
	size_t size_b;
} mapped;                   /* may also be the parent's, in a forked child that inherits it */
static pid_t recorder;      /* 0 = unknown */
static _Atomic int stopped; /* pid of the recorder while it was found stopped: no requests are sent */

/* glibc before 2.33 does not export this function. */
int fstat(int fd, struct stat *out)
{
	return inject_machine_call(SYS_fstat, fd, (long)out, 0, 0, 0, 0) ? -1 : 0;
}

const char *inject_connect_env(const char *name)
{
	size_t name_b = strlen(name);
	for (char **entry = environ; entry && *entry; entry++)
		if (!strncmp(*entry, name, name_b) && (*entry)[name_b] == '=')
			return *entry + name_b + 1;
	return NULL;
}

/* Raw system calls: no cancellation point, and no function of the program or a sanitizer, which may allocate or not be
 * ready yet. Returns a result or a negative errno. */
static long call(long number, long a, long b, long c, long d)
{
	return inject_machine_call(number, a, b, c, d, 0, 0);
}

void inject_connect_close(int fd)
{
	call(SYS_close, fd, 0, 0, 0);
}

int inject_connect_name(void)
{
	const char *name = inject_connect_env(SONDE_LINK_ENV);
	if (!name || !*name || strlen(name) >= sizeof(socket_name))
		return 0;
	memcpy(socket_name, name, strlen(name) + 1);
	return 1;
}

int inject_connect_is_named(const char *name, size_t most_b)
{
	size_t name_b = strlen(socket_name);
	return name_b < most_b && !memcmp(name, socket_name, name_b + 1);
}

/* --- memory ------------------------------------------------------------------------------------------------------ */

static uint64_t page_b(void)
{
	uint64_t size_b = getauxval(AT_PAGESZ);
	return size_b ? size_b : 4096;
}

/* A field of /proc/self/statm, in pages; 0 = unreadable. */
static uint64_t read_used(unsigned field)
{
	uint64_t pages = 0;
	char text[128];
	int fd = (int)call(SYS_openat, AT_FDCWD, (long)"/proc/self/statm", O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	long got = call(SYS_read, fd, (long)text, sizeof(text), 0);
	inject_connect_close(fd);
	for (long i = 0; i < got; i++)
		if (text[i] == ' ')
			field--;
		else if (!field)
			pages = pages * 10 + (uint64_t)(text[i] - '0');
	return pages;
}

/* Bytes that a resource limit leaves of the quantity in field `used` of statm; UINT64_MAX = unlimited. */
static uint64_t left_of(int limit_kind, unsigned used)
{
	uint64_t limit[2] = {0, 0}, pages;
	if (call(SYS_prlimit64, 0, limit_kind, 0, (long)limit) || limit[0] == UINT64_MAX)
		return UINT64_MAX;
	pages = read_used(used);
	return pages && limit[0] / page_b() > pages ? limit[0] - pages * page_b() : 0;
}

uint64_t inject_connect_left_b(void)
{
	return left_of(RLIMIT_AS, STATM_SIZE);
}

/* Private writable memory counts towards both limits; statm includes stacks, which the second limit does not count. */
int inject_connect_spares(uint64_t size_b)
{
	return inject_connect_left_b() / SHARE >= size_b && left_of(RLIMIT_DATA, STATM_DATA) / SHARE >= size_b;
}

void *inject_connect_page(size_t size_b)
{
	size_t whole_b = (size_b + page_b() - 1) & ~(page_b() - 1);
	long page = inject_machine_call(SYS_mmap, 0, (long)whole_b, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (page < 0 && page >= -4095)
		return NULL;
	if (!call(SYS_madvise, page, (long)whole_b, MADV_WIPEONFORK, 0))
		return (void *)page;
	call(SYS_munmap, page, (long)whole_b, 0, 0);
	return NULL;
}

/* --- the pool ---------------------------------------------------------------------------------------------------- */

/* Pools are mapped lazily but count as address space. Sets the flags that request a pool of a suitable size; −1: no
 * room. */
static int size_flags(uint32_t *out)
{
	uint64_t left_b = inject_connect_left_b();
	uint32_t most = SMALLEST_POOL;
	*out = 0;
	if (left_b == UINT64_MAX)
		return 0;
	if (left_b / SHARE < sonde_ring_pool_b(1u << SMALLEST_POOL))
		return -1;
	while ((2u << most) <= SONDE_RING_MAX_CHUNKS && left_b / SHARE / 2 >= sonde_ring_pool_b(2u << most))
		most++;
	*out = most << SONDE_LINK_SIZE_SHIFT;
	return 0;
}

static uint32_t link_flags(void)
{
	int tsc = PR_TSC_ENABLE;
	int forbidden = !call(SYS_prctl, PR_GET_TSC, (long)&tsc, 0, 0) && tsc == PR_TSC_SIGSEGV;
	return inject_connect_flags | (forbidden ? SONDE_LINK_NO_CYCLES : 0);
}

static int connect_once(struct sonde_process *process)
{
	if (mapped.pool)
		call(SYS_munmap, (long)mapped.pool, (long)mapped.size_b, 0, 0);
	mapped.pool = NULL;
	uint32_t size;
	if (size_flags(&size))
		return -ENOMEM;
	int code = sonde_link_connect(process, socket_name, link_flags() | size);
	if (code)
		return code;
	recorder = sonde_link_peer(process->fd);
	inject_connect_close(process->fd);
	process->fd = 0;
	struct sonde_ring_pool *pool = atomic_load(&process->pool);
	/* A child that has dropped privileges must not be able to read the later contents of its parent's stack. */
	if (SONDE_RUNTIME_CLIENT == SONDE_LINK_CPU &&
	    !call(SYS_madvise, (long)pool, (long)process->pool_b, MADV_DONTFORK, 0))
		return 0;
	mapped.pool = pool;
	mapped.size_b = process->pool_b;
	return 0;
}

/* The state after an attempt: a stopped recorder may delay the process at most twice. */
static enum sonde_process_state state_after(struct inject_link *link, int code)
{
	if (!code)
		return SONDE_PROCESS_ON;
	if ((code == -EMFILE || code == -ENFILE) && ++link->tries < TRIES)
		return SONDE_PROCESS_NEW;
	if (code != -EAGAIN || !inject_connect_quiet || link->unanswered++)
		return SONDE_PROCESS_OFF;
	link->quiet = inject_connect_quiet;
	return SONDE_PROCESS_NEW;
}

/* Connects, and stores the result and the new state. No cancellation point, because inject/hook/link.c makes raw system
 * calls. */
static void set_up(struct inject_link *link)
{
	link->code = connect_once(&link->process);
	atomic_store(&link->process.state, state_after(link, link->code));
}

struct sonde_ring_pool *inject_connect_pool(struct inject_link *link)
{
	struct sonde_process *process = &link->process;
	uint32_t state = SONDE_PROCESS_NEW, quiet = link->quiet;
	if (quiet) {
		link->quiet = quiet - 1; /* concurrent decrements may count as one */
		return NULL;
	}
	if (atomic_compare_exchange_strong(&process->state, &state, SONDE_PROCESS_SETUP))
		set_up(link);
	if (atomic_load(&process->state) != SONDE_PROCESS_ON)
		return NULL;
	struct sonde_ring_pool *pool = atomic_load(&process->pool);
	if (!atomic_load(&pool->closed))
		return pool;
	atomic_store(&process->state, SONDE_PROCESS_OFF);
	return NULL;
}

void inject_connect_ring(struct sonde_ring_pool *pool)
{
	if (!atomic_exchange(&pool->doorbell, 1))
		inject_connect_send(NULL, 0);
}

/* --- other messages ---------------------------------------------------------------------------------------------- */

/* A new connection, or a negative errno. */
static int open_connection(int flags)
{
	struct sockaddr_un address;
	int fd = (int)call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0, 0);
	if (fd < 0)
		return fd;
	long address_b = (long)sonde_link_address(&address, socket_name, 0);
	sonde_link_step(fd);
	int code = (int)call(SYS_connect, fd, (long)&address, address_b, 0);
	int first = code;
	for (unsigned way = 1; code && sonde_link_is_nobody(first) && way < SONDE_LINK_WAYS; way++) {
		address_b = (long)sonde_link_address(&address, socket_name, way);
		if (address_b && !call(SYS_connect, fd, (long)&address, address_b, 0))
			code = 0;
	}
	if (!code)
		return fd;
	inject_connect_close(fd);
	return code;
}

static int send_message(int fd, const void *message, size_t size_b, int flags)
{
	return (int)call(SYS_sendto, fd, (long)message, (long)size_b, MSG_NOSIGNAL | flags);
}

void inject_connect_send(const void *message, size_t size_b)
{
	int fd = open_connection(SOCK_NONBLOCK);
	if (fd < 0)
		return;
	if (size_b)
		send_message(fd, message, size_b, MSG_DONTWAIT);
	inject_connect_close(fd);
}

int inject_connect_is_gone(void)
{
	return recorder > 0 && call(SYS_kill, recorder, 0, 0, 0) == -ESRCH;
}

int inject_connect_is_refused(void)
{
	int fd = open_connection(SOCK_NONBLOCK);
	if (fd >= 0)
		inject_connect_close(fd);
	return fd == -ECONNREFUSED;
}

int inject_connect_is_back(void)
{
	int was = atomic_load(&stopped);
	return was && !sonde_link_is_stopped(was) && atomic_compare_exchange_strong(&stopped, &was, 0);
}

static int ask(int link, const void *question, size_t question_b, void *answer, size_t answer_b, int *fd,
	       unsigned steps)
{
	int sent = send_message(link, question, question_b, 0);
	if (sent < 0)
		return sent;
	ssize_t got = sonde_link_receive(link, steps, answer, answer_b, fd);
	if (got == (ssize_t)answer_b)
		return 0;
	if (*fd >= 0)
		inject_connect_close(*fd);
	*fd = -1;
	return got < 0 ? (int)got : -EPROTO;
}

int inject_connect_ask(const void *question, size_t question_b, void *answer, size_t answer_b, int *fd, int wait_s)
{
	int saved = errno, was = atomic_load(&stopped);
	*fd = -1;
	if (was && sonde_link_is_stopped(was))
		return -EHOSTDOWN;
	unsigned steps = sonde_link_steps((unsigned)wait_s);
	int link = open_connection(0), code = link;
	while (link == -EAGAIN && --steps && !sonde_link_is_stopped(recorder)) /* the recorder's queue is full */
		link = code = open_connection(0);
	pid_t requested = link < 0 ? recorder : sonde_link_peer(link);
	if (link >= 0)
		code = requested < 0 ? -EPERM : ask(link, question, question_b, answer, answer_b, fd, steps);
	if (code == -EAGAIN && sonde_link_is_stopped(requested))
		code = -EHOSTDOWN;
	if (code == -EHOSTDOWN)
		atomic_store(&stopped, requested);
	if (link >= 0)
		inject_connect_close(link);
	errno = saved;
	return code;
}
