/* link.c: the target's end of the socket to the recorder (format/link.h).
 *
 * A recorder may take seconds to answer, because it is single-threaded and some of its work is long; but a stopped
 * (SIGSTOP, debugger) or dead recorder must not block the program. So waiting is done in steps, and after each step
 * without an answer the recorder's state is read from /proc, which any user may do. A recorder found stopped twice in a
 * row is no longer waited for; twice, because Ctrl-Z stops the recorder and the program one after the other. If its
 * state is not visible (another pid namespace, hidepid) it counts as busy. Rejected: a heartbeat in the pool, which a
 * single thread cannot keep up during long work in libraries. Steps are counted instead of time, because no steps pass
 * while the program itself is stopped.
 *
 * The descriptor is moved above 200, out of the way of programs that close or count on their low descriptors. A program
 * may close it all the same and reuse the number: before each use it must still be the socket that we created.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "runtime/runtime.h"

#define FD_LOWEST 200
#define STEP_US 150000
#define STOPPED_STEPS 2
/* A signal handler inside a foreign program waits less. */
#define ANSWER_STEPS (SONDE_RUNTIME_CLIENT == SONDE_LINK_CPU ? 1u : 33u)

static int fd_is(int fd, dev_t dev, ino_t ino)
{
	struct stat now;
	return fd > 0 && !fstat(fd, &now) && now.st_dev == dev && now.st_ino == ino;
}

static int link_is_ours(const struct sonde_process *process)
{
	return fd_is(process->fd, process->fd_dev, process->fd_ino);
}

/* A forked child must close its copy, which would keep the connection open after the parent's death. */
static int made_fd;
static dev_t made_dev;
static ino_t made_ino;

void sonde_link_forget(void)
{
	if (fd_is(made_fd, made_dev, made_ino))
		syscall(SYS_close, made_fd); /* raw system call: no libc bookkeeping in a child of raw clone */
	made_fd = 0;
}

/* --- the recorder's state ----------------------------------------------------------------------------------------- */

/* State letter in /proc ('T', 't': stopped; 'Z', 'X': dead); 0 = not visible. */
static char state_of(pid_t pid)
{
	char path[32] = "/proc/", digits[12], text[128], state = 0;
	size_t at = strlen(path), count = 0;
	for (unsigned left = (unsigned)pid; left || !count; left /= 10)
		digits[count++] = (char)('0' + left % 10);
	while (count)
		path[at++] = digits[--count];
	memcpy(path + at, "/stat", sizeof("/stat"));
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	long got = syscall(SYS_read, fd, text, sizeof(text));
	close(fd);
	for (long i = 0; i + 2 < got; i++) /* a process name may contain parentheses: the last one ends it */
		if (text[i] == ')')
			state = text[i + 2];
	return state;
}

int sonde_link_is_stopped(pid_t recorder)
{
	char state = recorder > 0 ? state_of(recorder) : 0;
	return state == 'T' || state == 't' || state == 'Z' || state == 'X';
}

static int has_peer(int fd, struct ucred *out)
{
	socklen_t out_b = sizeof(*out);
	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, out, &out_b);
}

pid_t sonde_link_peer(int fd)
{
	struct ucred peer;
	return has_peer(fd, &peer) && (peer.uid == geteuid() || !peer.uid) ? peer.pid : -1;
}

void sonde_link_step(int fd)
{
	struct timeval step = {0, STEP_US};
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &step, sizeof(step));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &step, sizeof(step));
}

unsigned sonde_link_steps(unsigned seconds)
{
	return seconds * (1000000 / STEP_US + 1);
}

ssize_t sonde_link_receive(int fd, unsigned steps, void *message, size_t size_b, int *out_fd)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {message, size_b};
	struct msghdr header = {
	    .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	pid_t recorder = sonde_link_peer(fd);
	unsigned stopped = 0;
	ssize_t got;
	for (;;) {
		got = recvmsg(fd, &header, MSG_CMSG_CLOEXEC);
		if (got >= 0)
			break;
		if (errno == EINTR) /* also after we were stopped ourselves */
			continue;
		if (errno != EAGAIN || --steps == 0)
			return -errno;
		stopped = sonde_link_is_stopped(recorder) ? stopped + 1 : 0;
		if (stopped == STOPPED_STEPS)
			return -EHOSTDOWN;
	}
	struct cmsghdr *head = CMSG_FIRSTHDR(&header);
	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS && out_fd)
		memcpy(out_fd, CMSG_DATA(head), sizeof(*out_fd));
	return got;
}

/* --- connecting ---------------------------------------------------------------------------------------------------*/

static char *write_part(char *out, const char *part, size_t part_b)
{
	memcpy(out, part, part_b);
	return out + part_b;
}

/* Start of the number that follows a dot and ends at `end`; NULL = none. */
static const char *number_before(const char *start, const char *end)
{
	const char *at = end;
	while (at > start && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return at > start && at[-1] == '.' && at < end ? at : NULL;
}

static socklen_t abstract_address(struct sockaddr_un *out, const char *name)
{
	size_t name_b = strlen(name);
	if (name_b >= sizeof(out->sun_path) - 1)
		return 0;
	write_part(out->sun_path + 1, name, name_b);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + name_b);
}

static socklen_t path_address(struct sockaddr_un *out, const char *directory, const char *name)
{
	size_t directory_b = strlen(directory), name_b = strlen(name);
	if (directory_b + name_b >= sizeof(out->sun_path))
		return 0;
	write_part(write_part(out->sun_path, directory, directory_b), name, name_b);
	return sizeof(*out);
}

static socklen_t descriptor_address(struct sockaddr_un *out, const char *name)
{
	const char *end = name + strlen(name), *fd = number_before(name, end);
	const char *pid = fd ? number_before(name, fd - 1) : NULL;
	if (!pid || (size_t)(end - pid) + sizeof("/proc//fd/") > sizeof(out->sun_path))
		return 0;
	char *to = write_part(out->sun_path, "/proc/", strlen("/proc/"));
	to = write_part(to, pid, (size_t)(fd - 1 - pid));
	to = write_part(to, "/fd/", strlen("/fd/"));
	write_part(to, fd, (size_t)(end - fd));
	return sizeof(*out);
}

socklen_t sonde_link_address(struct sockaddr_un *out, const char *name, unsigned way)
{
	static const char directories[][12] = SONDE_LINK_DIRECTORIES;
	enum { PATHS = sizeof(directories) / sizeof(*directories) };
	_Static_assert(SONDE_LINK_WAYS == PATHS + 2, "each directory is a way");
	*out = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (way == 0)
		return abstract_address(out, name);
	return way <= PATHS ? path_address(out, directories[way - 1], name) : descriptor_address(out, name);
}

int sonde_link_is_nobody(int code)
{
	return code == -ECONNREFUSED || code == -ENOENT;
}

static int connect_whole(int fd, const struct sockaddr_un *address, socklen_t address_b)
{
	int failed;
	do
		failed = connect(fd, (const struct sockaddr *)address, address_b);
	while (failed && errno == EINTR);
	return failed ? -errno : 0;
}

/* Tries the recorder's addresses one after another; if all fail, returns the error of the first. */
static int connect_any(int fd, const char *name)
{
	struct sockaddr_un address;
	socklen_t address_b = sonde_link_address(&address, name, 0);
	int code = address_b ? connect_whole(fd, &address, address_b) : -ENAMETOOLONG;
	for (unsigned way = 1; sonde_link_is_nobody(code) && way < SONDE_LINK_WAYS; way++) {
		address_b = sonde_link_address(&address, name, way);
		if (address_b && !connect_whole(fd, &address, address_b))
			return 0;
	}
	return code;
}

static int socket_open(const char *name)
{
	int low = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (low < 0)
		return -errno;
	/* Raw system call: fcntl is compiled to fcntl64 here, which musl does not have. */
	int fd = (int)syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, FD_LOWEST);
	if (fd < 0)
		fd = (int)syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, 3);
	close(low);
	if (fd < 0)
		return -errno;
	/* Waiting for space in the recorder's queue takes as long as waiting for an answer. */
	struct timeval timeout = {ANSWER_STEPS * STEP_US / 1000000, ANSWER_STEPS * STEP_US % 1000000};
	sonde_link_step(fd);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	int code = connect_any(fd, name);
	if (!code && sonde_link_peer(fd) >= 0)
		return fd;
	code = code ? code : -EPERM;
	close(fd);
	return code;
}

static ssize_t send_whole(int fd, const void *message, size_t size_b)
{
	ssize_t sent;
	do
		sent = send(fd, message, size_b, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

/* 64 KB alignment: an address in a chunk gives its offset in the chunk. */
static struct sonde_ring_pool *map_aligned(int fd, size_t size_b)
{
	size_t span_b = size_b + SONDE_RING_CHUNK_B;
	char *span = mmap(NULL, span_b, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (span == MAP_FAILED)
		return NULL;
	size_t skip_b = (SONDE_RING_CHUNK_B - (size_t)((uintptr_t)span % SONDE_RING_CHUNK_B)) % SONDE_RING_CHUNK_B;
	void *pool = mmap(span + skip_b, size_b, PROT_NONE, MAP_SHARED | MAP_FIXED, fd, 0);
	if (pool != MAP_FAILED) /* after mlockall(MCL_FUTURE) it would be resident as a whole, and counted as locked */
		munlock(pool, size_b);
	if (pool == MAP_FAILED || mprotect(pool, size_b, PROT_READ | PROT_WRITE)) {
		munmap(span, span_b);
		return NULL;
	}
	if (skip_b)
		munmap(span, skip_b);
	munmap(span + skip_b + size_b, SONDE_RING_CHUNK_B - skip_b);
	return pool;
}

static int welcome(struct sonde_process *process, int fd)
{
	struct sonde_link_welcome answer = {.status = -EPROTO};
	int pool_fd = -1;
	ssize_t got = sonde_link_receive(fd, ANSWER_STEPS, &answer, sizeof(answer), &pool_fd);
	int code = got < 0 ? (int)got : answer.status;
	if (!code && (got != sizeof(answer) || answer.head.type != SONDE_LINK_WELCOME || pool_fd < 0 ||
		      answer.pool_b < sonde_ring_pool_b(1)))
		code = -EPROTO;
	struct sonde_ring_pool *pool = NULL;
	if (!code && !(pool = map_aligned(pool_fd, (size_t)answer.pool_b)))
		code = -errno;
	if (!code && (pool->magic != SONDE_RING_MAGIC || pool->version != SONDE_RING_VERSION ||
		      sonde_ring_pool_b(pool->chunk_count) > answer.pool_b))
		code = -EPROTO;
	if (pool_fd >= 0)
		close(pool_fd);
	if (code && pool)
		munmap(pool, (size_t)answer.pool_b);
	if (code)
		return code;
	process->pool_b = answer.pool_b;
	atomic_store(&process->pool, pool);
	return 0;
}

int sonde_link_connect(struct sonde_process *process, const char *name, uint32_t flags)
{
	int fd = socket_open(name);
	if (fd < 0)
		return fd;
	struct sonde_link_hello hello = {.head = {SONDE_LINK_HELLO, SONDE_LINK_VERSION}, .flags = flags};
	hello.pid = (uint32_t)getpid();
	hello.tid = (uint32_t)syscall(SYS_gettid);
	hello.client = SONDE_RUNTIME_CLIENT;
	ssize_t exe_b = readlink("/proc/self/exe", hello.exe, sizeof(hello.exe) - 1);
	hello.exe[exe_b > 0 ? exe_b : 0] = 0;
	int code = (int)send_whole(fd, &hello, sizeof(hello));
	if (!code)
		code = welcome(process, fd);
	struct stat made;
	if (!code && fstat(fd, &made))
		code = -errno;
	if (code) {
		close(fd);
		return code;
	}
	process->fd = fd;
	process->fd_dev = made.st_dev;
	process->fd_ino = made.st_ino;
	made_fd = fd;
	made_dev = made.st_dev;
	made_ino = made.st_ino;
	return 0;
}

int sonde_link_send(struct sonde_process *process, const void *message, size_t size_b)
{
	return link_is_ours(process) ? (int)send_whole(process->fd, message, size_b) : -EBADF;
}

int sonde_link_check(struct sonde_process *process)
{
	if (atomic_load(&process->mode) != SONDE_MODE_LINK)
		return 0;
	if (!link_is_ours(process))
		return -EBADF;
	char byte;
	ssize_t got = recv(process->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR) ? -EPIPE : 0;
}

int sonde_link_is_peer_stopped(const struct sonde_process *process)
{
	struct ucred peer; /* trusted since the connection was made: only the calls that sonde.h lists for sandboxes */
	return atomic_load(&process->mode) == SONDE_MODE_LINK && link_is_ours(process) && has_peer(process->fd, &peer) &&
	       sonde_link_is_stopped(peer.pid);
}

/* One query at a time; returns the size of the answer, or a negative errno. Answers to abandoned queries arrive first
 * and are discarded. */
static ssize_t ask(struct sonde_process *process, const void *question, size_t question_b, void *out, size_t out_b)
{
	struct timespec step = {0, 100000};
	while (atomic_exchange(&process->asking, 1))
		nanosleep(&step, NULL);
	int is_stopped = process->unanswered && sonde_link_is_stopped(sonde_link_peer(process->fd));
	ssize_t got = is_stopped ? -EHOSTDOWN : sonde_link_send(process, question, question_b);
	process->unanswered += !got;
	while (!got && process->unanswered) {
		got = sonde_link_receive(process->fd, ANSWER_STEPS, out, out_b, NULL);
		process->unanswered -= got >= 0;
		got = process->unanswered && got > 0 ? 0 : got;
	}
	atomic_store(&process->asking, 0);
	return got;
}

int sonde_link_ask_blocks(struct sonde_process *process, const struct sonde_link_blocks_question *question,
			  struct sonde_link_blocks *out)
{
	ssize_t got = ask(process, question, sizeof(*question), out, sizeof(*out));
	if (got < 0)
		return (int)got;
	return got == sizeof(*out) && out->head.type == SONDE_LINK_BLOCKS ? 0 : -EPROTO;
}

int sonde_link_ask(struct sonde_process *process, const struct sonde_link_query *query, struct sonde_link_answer *out)
{
	ssize_t got = ask(process, query, sizeof(*query), out, sizeof(*out));
	size_t head_b = offsetof(struct sonde_link_answer, row);
	if (got < (ssize_t)head_b || out->head.type != SONDE_LINK_ANSWER || out->rows > SONDE_LINK_ROWS)
		return got < 0 ? (int)got : -EPROTO;
	return (size_t)got < head_b + out->rows * sizeof(out->row[0]) ? -EPROTO : 0;
}
