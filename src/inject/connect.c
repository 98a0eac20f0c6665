/* connect.c: connects once a process, maps the pool, and closes the connection again (connect.h).
 *
 * What is asked later goes through a connection of its own, so that the program never finds a descriptor that it did
 * not open. The calls are points where a thread may be cancelled, which must not happen inside a hook.
 */
#include "inject/connect.h"

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

#define TRIES 20              /* times that connecting is tried: descriptors may be used up for a while */
#define ROOM_B (512ull << 20) /* address space that must be left where it is limited */

#pragma weak pthread_setcancelstate

uint32_t inject_connect_flags;

static char socket_name[96];
static struct {
	struct sonde_ring_pool *pool;
	size_t size_b;
} mapped; /* also the parent's, in a forked child */

/* glibc before 2.33 has no such function. */
int fstat(int fd, struct stat *out)
{
	return (int)syscall(SYS_fstat, fd, out);
}

int inject_connect_name(void)
{
	const char *name = getenv(SONDE_LINK_ENV);
	if (!name || !*name || strlen(name) >= sizeof(socket_name))
		return 0;
	memcpy(socket_name, name, strlen(name) + 1);
	return 1;
}

/* By the system call: mmap() may be the program's or a sanitizer's, which allocates, or is not ready yet. */
void *inject_connect_page(size_t size_b)
{
	size_t page_b = (size_b + 4095) & ~(size_t)4095;
	void *page = (void *)syscall(SYS_mmap, NULL, page_b, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (page == MAP_FAILED)
		return NULL;
	if (!syscall(SYS_madvise, page, page_b, MADV_WIPEONFORK))
		return page;
	syscall(SYS_munmap, page, page_b);
	return NULL;
}

static int forbid_cancelling(void)
{
	int before = 0;
	if (pthread_setcancelstate)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static void allow_cancelling(int before)
{
	if (pthread_setcancelstate)
		pthread_setcancelstate(before, &before);
}

/* --- the pool ---------------------------------------------------------------------------------------------------- */

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
	int forbidden = !prctl(PR_GET_TSC, &tsc) && tsc == PR_TSC_SIGSEGV;
	return inject_connect_flags | (forbidden ? SONDE_LINK_NO_CYCLES : 0);
}

static int connect_once(struct sonde_process *process)
{
	if (mapped.pool)
		munmap(mapped.pool, mapped.size_b);
	mapped.pool = NULL;
	if (!has_room())
		return -ENOMEM;
	int code = sonde_link_connect(process, socket_name, link_flags());
	if (code)
		return code;
	close(process->fd);
	process->fd = 0;
	mapped.pool = atomic_load(&process->pool);
	mapped.size_b = process->pool_b;
	return 0;
}

struct sonde_ring_pool *inject_connect_pool(struct inject_link *link)
{
	struct sonde_process *process = &link->process;
	uint32_t state = SONDE_PROCESS_NEW;
	if (atomic_compare_exchange_strong(&process->state, &state, SONDE_PROCESS_SETUP)) {
		int before = forbid_cancelling();
		int code = connect_once(process);
		allow_cancelling(before);
		int again = (code == -EMFILE || code == -ENFILE) && ++link->tries < TRIES;
		atomic_store(&process->state, !code ? SONDE_PROCESS_ON : again ? SONDE_PROCESS_NEW : SONDE_PROCESS_OFF);
	}
	if (atomic_load(&process->state) != SONDE_PROCESS_ON)
		return NULL;
	struct sonde_ring_pool *pool = atomic_load(&process->pool);
	if (!atomic_load(&pool->closed))
		return pool;
	atomic_store(&process->state, SONDE_PROCESS_OFF);
	return NULL;
}

/* --- other messages ---------------------------------------------------------------------------------------------- */

/* A fresh connection, or −1. */
static int open_connection(int flags)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t name_b = strlen(socket_name);
	memcpy(address.sun_path + 1, socket_name, name_b);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
	if (fd < 0)
		return -1;
	socklen_t address_b = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + name_b);
	if (!connect(fd, (struct sockaddr *)&address, address_b))
		return fd;
	int code = errno;
	close(fd);
	errno = code;
	return -1;
}

void inject_connect_send(const void *message, size_t size_b)
{
	int before = forbid_cancelling();
	int fd = open_connection(SOCK_NONBLOCK);
	if (fd >= 0 && size_b)
		send(fd, message, size_b, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (fd >= 0)
		close(fd);
	allow_cancelling(before);
}

int inject_connect_is_gone(void)
{
	int before = forbid_cancelling();
	errno = 0;
	int fd = open_connection(SOCK_NONBLOCK), gone = fd < 0 && errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	allow_cancelling(before);
	return gone;
}

static int receive(int from, void *answer, size_t answer_b, int *fd)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {answer, answer_b};
	struct msghdr header = {
	    .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	ssize_t got;
	do
		got = recvmsg(from, &header, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	struct cmsghdr *head = CMSG_FIRSTHDR(&header);
	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(head), sizeof(*fd));
	if ((size_t)got == answer_b)
		return 0;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return -EPROTO;
}

int inject_connect_ask(const void *question, size_t question_b, void *answer, size_t answer_b, int *fd, int wait_s)
{
	struct timeval timeout = {wait_s, 0};
	int before = forbid_cancelling(), code = -ECONNREFUSED;
	int link = open_connection(0);
	*fd = -1;
	if (link >= 0) {
		setsockopt(link, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
		code = send(link, question, question_b, MSG_NOSIGNAL) < 0 ? -errno : 0;
		code = code ? code : receive(link, answer, answer_b, fd);
		close(link);
	}
	allow_cancelling(before);
	return code;
}
