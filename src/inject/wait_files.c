/* wait_files.c: calls on descriptors (--io): every one is told, with what it read or wrote.
 *
 * What a descriptor is, is read when it is used first after it was opened (wait_names.c): who opens or closes one only
 * forgets what that number was. A child that shares its parent's memory (vfork) so leaves nothing wrong behind.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "inject/waits.h"

#define EXPORT __attribute__((visibility("default")))

#pragma weak fileno
#pragma weak dirfd

/* One a call on a descriptor, whose result is bytes, or not: result, name, parameters, arguments, kind, whether it is.
 */
#define CALLS(CALL)                                                                                                    \
	CALL(ssize_t, read, (int fd, void *to, size_t size_b), (fd, to, size_b), READ, 1)                              \
	CALL(ssize_t, __read_chk, (int fd, void *to, size_t size_b, size_t has_b), (fd, to, size_b, has_b), READ, 1)   \
	CALL(ssize_t, pread, (int fd, void *to, size_t size_b, off_t at), (fd, to, size_b, at), READ, 1)               \
	CALL(ssize_t, pread64, (int fd, void *to, size_t size_b, off_t at), (fd, to, size_b, at), READ, 1)             \
	CALL(ssize_t, __pread_chk, (int fd, void *to, size_t size_b, off_t at, size_t has_b),                          \
	     (fd, to, size_b, at, has_b), READ, 1)                                                                     \
	CALL(ssize_t, __pread64_chk, (int fd, void *to, size_t size_b, off_t at, size_t has_b),                        \
	     (fd, to, size_b, at, has_b), READ, 1)                                                                     \
	CALL(ssize_t, readv, (int fd, const struct iovec *to, int count), (fd, to, count), READ, 1)                    \
	CALL(ssize_t, preadv, (int fd, const struct iovec *to, int count, off_t at), (fd, to, count, at), READ, 1)     \
	CALL(ssize_t, preadv64, (int fd, const struct iovec *to, int count, off_t at), (fd, to, count, at), READ, 1)   \
	CALL(ssize_t, write, (int fd, const void *from, size_t size_b), (fd, from, size_b), WRITE, 1)                  \
	CALL(ssize_t, pwrite, (int fd, const void *from, size_t size_b, off_t at), (fd, from, size_b, at), WRITE, 1)   \
	CALL(ssize_t, pwrite64, (int fd, const void *from, size_t size_b, off_t at), (fd, from, size_b, at), WRITE, 1) \
	CALL(ssize_t, writev, (int fd, const struct iovec *from, int count), (fd, from, count), WRITE, 1)              \
	CALL(ssize_t, pwritev, (int fd, const struct iovec *from, int count, off_t at), (fd, from, count, at), WRITE,  \
	     1)                                                                                                        \
	CALL(ssize_t, pwritev64, (int fd, const struct iovec *from, int count, off_t at), (fd, from, count, at),       \
	     WRITE, 1)                                                                                                 \
	CALL(int, fsync, (int fd), (fd), SYNC, 0)                                                                      \
	CALL(int, fdatasync, (int fd), (fd), SYNC, 0)                                                                  \
	CALL(int, syncfs, (int fd), (fd), SYNC, 0)                                                                     \
	CALL(int, connect, (int fd, const struct sockaddr *to, socklen_t to_b), (fd, to, to_b), CONNECT, 0)            \
	CALL(ssize_t, send, (int fd, const void *from, size_t size_b, int flags), (fd, from, size_b, flags), SEND, 1)  \
	CALL(ssize_t, sendto,                                                                                          \
	     (int fd, const void *from, size_t size_b, int flags, const struct sockaddr *to, socklen_t to_b),          \
	     (fd, from, size_b, flags, to, to_b), SEND, 1)                                                             \
	CALL(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags), SEND, 1)       \
	CALL(ssize_t, recv, (int fd, void *to, size_t size_b, int flags), (fd, to, size_b, flags), RECEIVE, 1)         \
	CALL(ssize_t, __recv_chk, (int fd, void *to, size_t size_b, size_t has_b, int flags),                          \
	     (fd, to, size_b, has_b, flags), RECEIVE, 1)                                                               \
	CALL(ssize_t, recvfrom,                                                                                        \
	     (int fd, void *to, size_t size_b, int flags, struct sockaddr *from, socklen_t *from_b),                   \
	     (fd, to, size_b, flags, from, from_b), RECEIVE, 1)                                                        \
	CALL(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags), RECEIVE, 1)

/* Those that give out a descriptor which was another thing before, without waiting. */
#define GIVERS(CALL)                                                                 \
	CALL(socket, (int family, int type, int protocol), (family, type, protocol)) \
	CALL(dup, (int fd), (fd))                                                    \
	CALL(dup2, (int fd, int to), (fd, to))                                       \
	CALL(dup3, (int fd, int to, int flags), (fd, to, flags))                     \
	CALL(epoll_create, (int size), (size))                                       \
	CALL(epoll_create1, (int flags), (flags))                                    \
	CALL(eventfd, (unsigned value, int flags), (value, flags))                   \
	CALL(timerfd_create, (int clock, int flags), (clock, flags))                 \
	CALL(memfd_create, (const char *name, unsigned flags), (name, flags))        \
	CALL(inotify_init1, (int flags), (flags))

#define MEMBER(result, name, parameters, arguments, kind, is_amount) result(*name) parameters;
#define GIVER_MEMBER(name, parameters, arguments) int(*name) parameters;
static struct {
	CALLS(MEMBER)
	GIVERS(GIVER_MEMBER)
	ssize_t (*sendfile)(int, int, off_t *, size_t);
	ssize_t (*sendfile64)(int, int, off64_t *, size_t);
	ssize_t (*copy_file_range)(int, off64_t *, int, off64_t *, size_t, unsigned);
	ssize_t (*splice)(int, off64_t *, int, off64_t *, size_t, unsigned);
	int (*open)(const char *, int, ...);
	int (*open64)(const char *, int, ...);
	int (*openat)(int, const char *, int, ...);
	int (*openat64)(int, const char *, int, ...);
	int (*__open_2)(const char *, int);
	int (*__open64_2)(const char *, int);
	int (*creat)(const char *, mode_t);
	int (*creat64)(const char *, mode_t);
	int (*accept)(int, struct sockaddr *, socklen_t *);
	int (*accept4)(int, struct sockaddr *, socklen_t *, int);
	int (*pipe)(int[2]);
	int (*pipe2)(int[2], int);
	int (*socketpair)(int, int, int, int[2]);
	int (*close)(int);
	int (*close_range)(unsigned, unsigned, int);
	void (*closefrom)(int);
	int (*fclose)(FILE *);
	int (*pclose)(FILE *);
	int (*closedir)(DIR *);
	void *last; /* not NULL: they are known */
} next;

#define ROW(result, name, parameters, arguments, kind, is_amount) {#name, &next.name},
#define GIVER_ROW(name, parameters, arguments) {#name, &next.name},
#define OTHER_ROW(name)           \
	{                         \
#name, &next.name \
	}
static const struct wait_next rows[] = {
    CALLS(ROW) GIVERS(GIVER_ROW) OTHER_ROW(sendfile),
    OTHER_ROW(sendfile64),
    OTHER_ROW(copy_file_range),
    OTHER_ROW(splice),
    OTHER_ROW(open),
    OTHER_ROW(open64),
    OTHER_ROW(openat),
    OTHER_ROW(openat64),
    OTHER_ROW(__open_2),
    OTHER_ROW(__open64_2),
    OTHER_ROW(creat),
    OTHER_ROW(creat64),
    OTHER_ROW(accept),
    OTHER_ROW(accept4),
    OTHER_ROW(pipe),
    OTHER_ROW(pipe2),
    OTHER_ROW(socketpair),
    OTHER_ROW(close),
    OTHER_ROW(close_range),
    OTHER_ROW(closefrom),
    OTHER_ROW(fclose),
    OTHER_ROW(pclose),
    OTHER_ROW(closedir),
    {"read", &next.last},
};

static inline int is_known(void)
{
	return likely(next.last != NULL) || wait_find(rows, sizeof(rows) / sizeof(*rows));
}

__attribute__((constructor)) static void wait_files_begin(void)
{
	is_known();
}

static inline uint64_t began(void)
{
	return wait_wanted & SONDE_WAIT_WHAT_IO ? wait_now() : 0;
}

/* Also of a call that failed: it took its time. */
static __attribute__((noinline)) void tell(uint64_t began_at, enum sonde_wait_kind kind, int fd, int64_t amount,
					   const struct hook_caller *caller)
{
	uint64_t ended = wait_now();
	struct wait_call call = {.began = began_at, .kind = kind, .amount = amount > 0 ? (uint64_t)amount : 0};
	int saved = errno;
	call.object = wait_object_of(fd);
	errno = saved;
	wait_record_until(&call, ended, caller);
}

#define MISSING(type)            \
	{                        \
		errno = ENOSYS;  \
		return (type)-1; \
	}

/* --- calls on a descriptor --------------------------------------------------------------------------------------- */

#define HOOK(type, name, parameters, arguments, what, is_amount)                                   \
	EXPORT type name parameters;                                                               \
	EXPORT type name parameters                                                                \
	{                                                                                          \
		if (unlikely(!is_known()) || unlikely(!next.name))                                 \
			MISSING(type)                                                              \
		uint64_t began_at = began();                                                       \
		type result = next.name arguments;                                                 \
		if (likely(!began_at))                                                             \
			return result;                                                             \
		struct hook_caller caller = HOOK_CALLER();                                         \
		tell(began_at, SONDE_WAIT_##what, fd, (is_amount) ? (int64_t)result : 0, &caller); \
		return result;                                                                     \
	}

CALLS(HOOK)

/* --- from one descriptor to another ------------------------------------------------------------------------------ */

/* Both are told; the time that it took is the reader's. */
static __attribute__((noinline)) void tell_copy(uint64_t began_at, int from, int to, ssize_t amount,
						const struct hook_caller *caller)
{
	uint64_t ended = wait_now();
	int saved = errno;
	struct wait_call call = {
	    .began = began_at, .kind = SONDE_WAIT_READ, .amount = amount > 0 ? (uint64_t)amount : 0};
	call.object = wait_object_of(from);
	wait_record_until(&call, ended, caller);
	call.kind = SONDE_WAIT_WRITE;
	call.began = ended;
	call.object = wait_object_of(to);
	wait_record_until(&call, ended, caller);
	errno = saved;
}

#define COPY(name, parameters, arguments)                          \
	EXPORT ssize_t name parameters;                            \
	EXPORT ssize_t name parameters                             \
	{                                                          \
		if (unlikely(!is_known()) || unlikely(!next.name)) \
			MISSING(ssize_t)                           \
		uint64_t began_at = began();                       \
		ssize_t result = next.name arguments;              \
		if (likely(!began_at))                             \
			return result;                             \
		struct hook_caller caller = HOOK_CALLER();         \
		tell_copy(began_at, from, to, result, &caller);    \
		return result;                                     \
	}

COPY(sendfile, (int to, int from, off_t *at, size_t size_b), (to, from, at, size_b))
COPY(sendfile64, (int to, int from, off64_t *at, size_t size_b), (to, from, at, size_b))
COPY(copy_file_range, (int from, off64_t *at, int to, off64_t *to_at, size_t size_b, unsigned flags),
     (from, at, to, to_at, size_b, flags))
COPY(splice, (int from, off64_t *at, int to, off64_t *to_at, size_t size_b, unsigned flags),
     (from, at, to, to_at, size_b, flags))

/* --- descriptors that come --------------------------------------------------------------------------------------- */

#define GIVER_HOOK(name, parameters, arguments)                    \
	EXPORT int name parameters;                                \
	EXPORT int name parameters                                 \
	{                                                          \
		if (unlikely(!is_known()) || unlikely(!next.name)) \
			MISSING(int)                               \
		int given = next.name arguments;                   \
		wait_object_forget(given);                         \
		return given;                                      \
	}

GIVERS(GIVER_HOOK)

/* The mode is there when a file may be made. */
static mode_t mode_of(int flags, va_list *more)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(*more, mode_t) : 0;
}

#define OPENED(kind)                                               \
	wait_object_forget(fd);                                    \
	if (unlikely(began_at)) {                                  \
		struct hook_caller caller = HOOK_CALLER();         \
		tell(began_at, SONDE_WAIT_##kind, fd, 0, &caller); \
	}                                                          \
	return fd;

#define OPEN(name)                                                 \
	EXPORT int name(const char *path, int flags, ...)          \
	{                                                          \
		va_list more;                                      \
		va_start(more, flags);                             \
		mode_t mode = mode_of(flags, &more);               \
		va_end(more);                                      \
		if (unlikely(!is_known()) || unlikely(!next.name)) \
			MISSING(int)                               \
		uint64_t began_at = began();                       \
		int fd = next.name(path, flags, mode);             \
		OPENED(OPEN)                                       \
	}

#define OPEN_AT(name)                                              \
	EXPORT int name(int at, const char *path, int flags, ...)  \
	{                                                          \
		va_list more;                                      \
		va_start(more, flags);                             \
		mode_t mode = mode_of(flags, &more);               \
		va_end(more);                                      \
		if (unlikely(!is_known()) || unlikely(!next.name)) \
			MISSING(int)                               \
		uint64_t began_at = began();                       \
		int fd = next.name(at, path, flags, mode);         \
		OPENED(OPEN)                                       \
	}

#define OPEN_PLAIN(name, parameters, arguments, kind)              \
	EXPORT int name parameters;                                \
	EXPORT int name parameters                                 \
	{                                                          \
		if (unlikely(!is_known()) || unlikely(!next.name)) \
			MISSING(int)                               \
		uint64_t began_at = began();                       \
		int fd = next.name arguments;                      \
		OPENED(kind)                                       \
	}

OPEN(open)
OPEN(open64)
OPEN_AT(openat)
OPEN_AT(openat64)
OPEN_PLAIN(__open_2, (const char *path, int flags), (path, flags), OPEN)
OPEN_PLAIN(__open64_2, (const char *path, int flags), (path, flags), OPEN)
OPEN_PLAIN(creat, (const char *path, mode_t mode), (path, mode), OPEN)
OPEN_PLAIN(creat64, (const char *path, mode_t mode), (path, mode), OPEN)
OPEN_PLAIN(accept, (int of, struct sockaddr *from, socklen_t *from_b), (of, from, from_b), CONNECT)
OPEN_PLAIN(accept4, (int of, struct sockaddr *from, socklen_t *from_b, int flags), (of, from, from_b, flags), CONNECT)

#define PAIR(name, parameters, arguments)                          \
	EXPORT int name parameters;                                \
	EXPORT int name parameters                                 \
	{                                                          \
		if (unlikely(!is_known()) || unlikely(!next.name)) \
			MISSING(int)                               \
		int code = next.name arguments;                    \
		if (!code) {                                       \
			wait_object_forget(fds[0]);                \
			wait_object_forget(fds[1]);                \
		}                                                  \
		return code;                                       \
	}

PAIR(pipe, (int fds[2]), (fds))
PAIR(pipe2, (int fds[2], int flags), (fds, flags))
PAIR(socketpair, (int family, int type, int protocol, int fds[2]), (family, type, protocol, fds))

/* --- and go ------------------------------------------------------------------------------------------------------ */

EXPORT int close(int fd)
{
	if (unlikely(!is_known()) || unlikely(!next.close))
		MISSING(int)
	uint64_t began_at = began();
	uint32_t object = wait_object_known(fd);
	wait_object_forget(fd); /* before: another thread may get the number at once */
	int code = next.close(fd);
	if (likely(!began_at) || (code && errno == EBADF)) /* some close all numbers that there could be */
		return code;
	struct wait_call call = {.began = began_at, .kind = SONDE_WAIT_CLOSE, .object = object};
	struct hook_caller caller = HOOK_CALLER();
	wait_record(&call, &caller);
	return code;
}

EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	if (unlikely(!is_known()) || unlikely(!next.close_range))
		MISSING(int)
	wait_object_forget_range(first, last);
	return next.close_range(first, last, flags);
}

EXPORT void closefrom(int first)
{
	if (unlikely(!is_known()) || unlikely(!next.closefrom))
		return;
	wait_object_forget_range(first < 0 ? 0 : (unsigned)first, ~0u);
	next.closefrom(first);
}

/* The C library closes those itself. */
static void forget_stream(FILE *stream)
{
	int saved = errno;
	if (wait_wanted & SONDE_WAIT_WHAT_IO && fileno)
		wait_object_forget(fileno(stream));
	errno = saved;
}

EXPORT int fclose(FILE *stream)
{
	if (unlikely(!is_known()) || unlikely(!next.fclose))
		MISSING(int)
	forget_stream(stream);
	return next.fclose(stream);
}

EXPORT int pclose(FILE *stream)
{
	if (unlikely(!is_known()) || unlikely(!next.pclose))
		MISSING(int)
	forget_stream(stream);
	return next.pclose(stream);
}

EXPORT int closedir(DIR *directory)
{
	if (unlikely(!is_known()) || unlikely(!next.closedir))
		MISSING(int)
	uintptr_t there = (uintptr_t)directory; /* what is no directory is the C library's to refuse */
	if (wait_wanted & SONDE_WAIT_WHAT_IO && there && dirfd)
		wait_object_forget(dirfd(directory));
	return next.closedir(directory);
}
