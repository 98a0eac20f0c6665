/* files.c: hooks of calls on descriptors (--io): each one is recorded, with the bytes read or written.
 *
 * A descriptor is identified when first used after it was opened (wait/names.c); calls that open or close a descriptor
 * only clear the table entry of its number. So a child that shares its parent's memory (vfork) leaves no wrong entries
 * behind. Each list below has calls of one form, and generates their function pointers, their lookup and their hooks.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "inject/hook/bounds.h"
#include "inject/hook/caller.h"
#include "inject/hook/likely.h"
#include "inject/hook/machine.h"
#include "inject/wait/waits.h"

#define EXPORT __attribute__((visibility("default")))

#pragma weak dirfd

/* Calls on the descriptor `fd`: result, name, parameters, arguments, kind, and the number of bytes, computed from
 * `result`. */
#define CALLS(CALL)                                                                                                   \
	CALL(ssize_t, read, (int fd, void *to, size_t size_b), (fd, to, size_b), READ, result)                        \
	CALL(ssize_t, __read_chk, (int fd, void *to, size_t size_b, size_t has_b), (fd, to, size_b, has_b), READ,     \
	     result)                                                                                                  \
	CALL(ssize_t, pread, (int fd, void *to, size_t size_b, off_t at), (fd, to, size_b, at), READ, result)         \
	CALL(ssize_t, pread64, (int fd, void *to, size_t size_b, off_t at), (fd, to, size_b, at), READ, result)       \
	CALL(ssize_t, __pread_chk, (int fd, void *to, size_t size_b, off_t at, size_t has_b),                         \
	     (fd, to, size_b, at, has_b), READ, result)                                                               \
	CALL(ssize_t, __pread64_chk, (int fd, void *to, size_t size_b, off_t at, size_t has_b),                       \
	     (fd, to, size_b, at, has_b), READ, result)                                                               \
	CALL(ssize_t, readv, (int fd, const struct iovec *to, int count), (fd, to, count), READ, result)              \
	CALL(ssize_t, preadv, (int fd, const struct iovec *to, int count, off_t at), (fd, to, count, at), READ,       \
	     result)                                                                                                  \
	CALL(ssize_t, preadv64, (int fd, const struct iovec *to, int count, off_t at), (fd, to, count, at), READ,     \
	     result)                                                                                                  \
	CALL(ssize_t, write, (int fd, const void *from, size_t size_b), (fd, from, size_b), WRITE, result)            \
	CALL(ssize_t, pwrite, (int fd, const void *from, size_t size_b, off_t at), (fd, from, size_b, at), WRITE,     \
	     result)                                                                                                  \
	CALL(ssize_t, pwrite64, (int fd, const void *from, size_t size_b, off_t at), (fd, from, size_b, at), WRITE,   \
	     result)                                                                                                  \
	CALL(ssize_t, writev, (int fd, const struct iovec *from, int count), (fd, from, count), WRITE, result)        \
	CALL(ssize_t, pwritev, (int fd, const struct iovec *from, int count, off_t at), (fd, from, count, at), WRITE, \
	     result)                                                                                                  \
	CALL(ssize_t, pwritev64, (int fd, const struct iovec *from, int count, off_t at), (fd, from, count, at),      \
	     WRITE, result)                                                                                           \
	CALL(int, fsync, (int fd), (fd), SYNC, 0)                                                                     \
	CALL(int, fdatasync, (int fd), (fd), SYNC, 0)                                                                 \
	CALL(int, syncfs, (int fd), (fd), SYNC, 0)                                                                    \
	CALL(int, connect, (int fd, const struct sockaddr *to, socklen_t to_b), (fd, to, to_b), CONNECT, 0)           \
	CALL(ssize_t, send, (int fd, const void *from, size_t size_b, int flags), (fd, from, size_b, flags), SEND,    \
	     result)                                                                                                  \
	CALL(ssize_t, sendto,                                                                                         \
	     (int fd, const void *from, size_t size_b, int flags, const struct sockaddr *to, socklen_t to_b),         \
	     (fd, from, size_b, flags, to, to_b), SEND, result)                                                       \
	CALL(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags), SEND, result) \
	CALL(ssize_t, recv, (int fd, void *to, size_t size_b, int flags), (fd, to, size_b, flags), RECEIVE, result)   \
	CALL(ssize_t, __recv_chk, (int fd, void *to, size_t size_b, size_t has_b, int flags),                         \
	     (fd, to, size_b, has_b, flags), RECEIVE, result)                                                         \
	CALL(ssize_t, recvfrom,                                                                                       \
	     (int fd, void *to, size_t size_b, int flags, struct sockaddr *from, socklen_t *from_b),                  \
	     (fd, to, size_b, flags, from, from_b), RECEIVE, result)                                                  \
	CALL(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags), RECEIVE, result)    \
	CALL(ssize_t, preadv2, (int fd, const struct iovec *to, int count, off_t at, int flags),                      \
	     (fd, to, count, at, flags), READ, result)                                                                \
	CALL(ssize_t, preadv64v2, (int fd, const struct iovec *to, int count, off64_t at, int flags),                 \
	     (fd, to, count, at, flags), READ, result)                                                                \
	CALL(ssize_t, pwritev2, (int fd, const struct iovec *from, int count, off_t at, int flags),                   \
	     (fd, from, count, at, flags), WRITE, result)                                                             \
	CALL(ssize_t, pwritev64v2, (int fd, const struct iovec *from, int count, off64_t at, int flags),              \
	     (fd, from, count, at, flags), WRITE, result)                                                             \
	CALL(int, sync_file_range, (int fd, off64_t at, off64_t size_b, unsigned flags), (fd, at, size_b, flags),     \
	     SYNC, 0)                                                                                                 \
	CALL(int, sendmmsg, (int fd, struct mmsghdr *messages, unsigned count, int flags),                            \
	     (fd, messages, count, flags), SEND, messages_b(messages, result))                                        \
	CALL(int, recvmmsg, (int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout),  \
	     (fd, messages, count, flags, timeout), RECEIVE, messages_b(messages, result))

/* Calls that copy from one descriptor to another. */
#define COPIES(CALL)                                                                                                   \
	CALL(ssize_t, sendfile, (int to, int from, off_t *at, size_t size_b), (to, from, at, size_b))                  \
	CALL(ssize_t, sendfile64, (int to, int from, off64_t *at, size_t size_b), (to, from, at, size_b))              \
	CALL(ssize_t, copy_file_range, (int from, off64_t *at, int to, off64_t *to_at, size_t size_b, unsigned flags), \
	     (from, at, to, to_at, size_b, flags))                                                                     \
	CALL(ssize_t, splice, (int from, off64_t *at, int to, off64_t *to_at, size_t size_b, unsigned flags),          \
	     (from, at, to, to_at, size_b, flags))

/* Calls that return a descriptor and may block: with the kind. */
#define OPENERS(CALL)                                                                                                \
	CALL(int, __open_2, (const char *path, int flags), (path, flags), OPEN)                                      \
	CALL(int, __open64_2, (const char *path, int flags), (path, flags), OPEN)                                    \
	CALL(int, __openat_2, (int at, const char *path, int flags), (at, path, flags), OPEN)                        \
	CALL(int, __openat64_2, (int at, const char *path, int flags), (at, path, flags), OPEN)                      \
	CALL(int, creat, (const char *path, mode_t mode), (path, mode), OPEN)                                        \
	CALL(int, creat64, (const char *path, mode_t mode), (path, mode), OPEN)                                      \
	CALL(int, accept, (int of, struct sockaddr *from, socklen_t *from_b), (of, from, from_b), CONNECT)           \
	CALL(int, accept4, (int of, struct sockaddr *from, socklen_t *from_b, int flags), (of, from, from_b, flags), \
	     CONNECT)

/* Like OPENERS, for calls that have a mode after the flags if a file may be created. */
#define MODE_OPENERS(CALL)                                                                     \
	CALL(int, open, (const char *path, int flags, ...), (path, flags, mode))               \
	CALL(int, open64, (const char *path, int flags, ...), (path, flags, mode))             \
	CALL(int, openat, (int at, const char *path, int flags, ...), (at, path, flags, mode)) \
	CALL(int, openat64, (int at, const char *path, int flags, ...), (at, path, flags, mode))

/* Calls that return a descriptor without blocking. */
#define GIVERS(CALL)                                                                      \
	CALL(int, socket, (int family, int type, int protocol), (family, type, protocol)) \
	CALL(int, dup, (int fd), (fd))                                                    \
	CALL(int, dup2, (int fd, int to), (fd, to))                                       \
	CALL(int, dup3, (int fd, int to, int flags), (fd, to, flags))                     \
	CALL(int, epoll_create, (int size), (size))                                       \
	CALL(int, epoll_create1, (int flags), (flags))                                    \
	CALL(int, eventfd, (unsigned value, int flags), (value, flags))                   \
	CALL(int, timerfd_create, (int clock, int flags), (clock, flags))                 \
	CALL(int, memfd_create, (const char *name, unsigned flags), (name, flags))        \
	CALL(int, inotify_init1, (int flags), (flags))

/* Calls that return two descriptors in `fds`. */
#define PAIRS(CALL)                                             \
	CALL(int, pipe, (int fds[2]), (fds))                    \
	CALL(int, pipe2, (int fds[2], int flags), (fds, flags)) \
	CALL(int, socketpair, (int family, int type, int protocol, int fds[2]), (family, type, protocol, fds))

/* Calls with hand-written hooks. */
#define OTHERS(CALL)                                                                                       \
	CALL(int, msync, (void *at, size_t size_b, int flags), )                                           \
	CALL(void *, mmap, (void *at, size_t size_b, int protection, int flags, int fd, off_t offset), )   \
	CALL(void *, mmap64, (void *at, size_t size_b, int protection, int flags, int fd, off_t offset), ) \
	CALL(void *, sonde_heap_mmap, (HOOK_HEAP_MMAP), )                                                  \
	CALL(int, close, (int fd), )                                                                       \
	CALL(int, close_range, (unsigned first, unsigned last, int flags), )                               \
	CALL(void, closefrom, (int first), )                                                               \
	CALL(int, closedir, (DIR * directory), )

#define ALL(CALL) CALLS(CALL) COPIES(CALL) OPENERS(CALL) MODE_OPENERS(CALL) GIVERS(CALL) PAIRS(CALL) OTHERS(CALL)

#define MEMBER(type, name, parameters, ...) type(*name) parameters;
static struct {
	ALL(MEMBER)
} next;

#define FIND(type, name, ...) INJECT_NEXT(next.name, #name);
static __attribute__((noinline)) void find_all(void)
{
	ALL(FIND)
}

__attribute__((constructor)) static void wait_files_begin(void)
{
	find_all();
}

static inline uint64_t began(void)
{
	return wait_wanted & SONDE_WAIT_WHAT_IO ? wait_now() : 0;
}

/* Failed calls count too: they take time. */
__attribute__((noinline)) void wait_tell(uint64_t began_at, enum sonde_wait_kind kind, int fd, int64_t amount,
					 const struct hook_caller *caller)
{
	uint64_t ended = wait_now();
	struct wait_call call = {.began = began_at, .kind = kind, .amount = amount > 0 ? (uint64_t)amount : 0};
	int saved = errno;
	call.object = wait_object_of(fd);
	errno = saved;
	wait_record_until(&call, ended, caller);
}

/* Handles a call before the functions are known, or of a function that the C library lacks. */
#define NEEDS(type, name)             \
	if (!WAIT_KNOWN(next.name)) { \
		errno = ENOSYS;       \
		return (type)-1;      \
	}

/* Start of a hook, after its declaration: some functions are not declared in any header. */
#define BEGIN(type, name, parameters) \
	EXPORT type name parameters;  \
	EXPORT type name parameters   \
	{                             \
		NEEDS(type, name)

/* --- calls on a descriptor --------------------------------------------------------------------------------------- */

static inline int64_t messages_b(const struct mmsghdr *messages, int count)
{
	int64_t sum_b = 0;
	for (int i = 0; i < count; i++)
		sum_b += messages[i].msg_len;
	return sum_b;
}

#define HOOK(type, name, parameters, arguments, what, amount)                   \
	BEGIN(type, name, parameters)                                           \
	uint64_t began_at = began();                                            \
	type result = next.name arguments;                                      \
	if (likely(!began_at))                                                  \
		return result;                                                  \
	struct hook_caller caller = HOOK_CALLER();                              \
	wait_tell(began_at, SONDE_WAIT_##what, fd, (int64_t)(amount), &caller); \
	return result;                                                          \
	}

CALLS(HOOK)

/* --- from one descriptor to another ------------------------------------------------------------------------------ */

/* Both descriptors are recorded; the duration belongs to the read. */
static __attribute__((noinline)) void record_copy(uint64_t began_at, int from, int to, ssize_t amount,
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

#define COPY(type, name, parameters, arguments)           \
	BEGIN(type, name, parameters)                     \
	uint64_t began_at = began();                      \
	type result = next.name arguments;                \
	if (likely(!began_at))                            \
		return result;                            \
	struct hook_caller caller = HOOK_CALLER();        \
	record_copy(began_at, from, to, result, &caller); \
	return result;                                    \
	}

COPIES(COPY)

/* --- new descriptors --------------------------------------------------------------------------------------------- */

#define GIVER(type, name, parameters, arguments) \
	BEGIN(type, name, parameters)            \
	int given = next.name arguments;         \
	wait_object_forget(given);               \
	return given;                            \
	}

GIVERS(GIVER)

#define OPENED(kind)                                                       \
	wait_object_forget(given);                                         \
	if (unlikely(began_at)) {                                          \
		struct hook_caller caller = HOOK_CALLER();                 \
		wait_tell(began_at, SONDE_WAIT_##kind, given, 0, &caller); \
	}                                                                  \
	return given;                                                      \
	}

#define OPENER(type, name, parameters, arguments, kind) \
	BEGIN(type, name, parameters)                   \
	uint64_t began_at = began();                    \
	int given = next.name arguments;                \
	OPENED(kind)

OPENERS(OPENER)

/* The mode argument exists only if a file may be created. */
static mode_t mode_of(int flags, va_list *more)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(*more, mode_t) : 0;
}

#define MODE_OPENER(type, name, parameters, arguments) \
	BEGIN(type, name, parameters)                  \
	va_list more;                                  \
	va_start(more, flags);                         \
	mode_t mode = mode_of(flags, &more);           \
	va_end(more);                                  \
	uint64_t began_at = began();                   \
	int given = next.name arguments;               \
	OPENED(OPEN)

MODE_OPENERS(MODE_OPENER)

#define PAIR(type, name, parameters, arguments) \
	BEGIN(type, name, parameters)           \
	int code = next.name arguments;         \
	if (!code) {                            \
		wait_object_forget(fds[0]);     \
		wait_object_forget(fds[1]);     \
	}                                       \
	return code;                            \
	}

PAIRS(PAIR)

/* --- files in memory --------------------------------------------------------------------------------------------- */

EXPORT int msync(void *at, size_t size_b, int flags)
{
	NEEDS(int, msync)
	uint64_t began_at = began();
	int code = next.msync(at, size_b, flags);
	if (likely(!began_at))
		return code;
	struct wait_call call = {
	    .began = began_at, .kind = SONDE_WAIT_SYNC, .object = wait_object_called("(mapped memory)")};
	struct hook_caller caller = HOOK_CALLER();
	wait_record(&call, &caller);
	return code;
}

static void *map_directly(void *at, size_t size_b, int protection, int flags, int fd, off_t offset)
{
	return (void *)inject_machine_direct(SYS_mmap, (long)at, (long)size_b, protection, flags, fd, /* NOLINT */
					     offset);
}

/* The start time if the mapping is to be recorded, else 0. Mappings by our own code are not: unwind tables are mapped
 * files, too. */
static inline uint64_t began_mapping(int flags, const struct hook_caller *caller)
{
	return flags & MAP_ANONYMOUS || inject_bounds_have(caller->pc) ? 0 : began();
}

/* A mapped file is read without any call that could be hooked, so only the mapping is recorded. An allocator may map
 * memory before the functions are known. If the next function is an allocation hook, it is passed the caller. */
#define MMAP(name)                                                                                            \
	EXPORT void *name(void *at, size_t size_b, int protection, int flags, int fd, off_t offset)           \
	{                                                                                                     \
		if (!WAIT_KNOWN(next.name))                                                                   \
			return map_directly(at, size_b, protection, flags, fd, offset);                       \
		struct hook_caller caller = HOOK_CALLER();                                                    \
		uint64_t began_at = began_mapping(flags, &caller);                                            \
		void *mapped = unlikely(next.sonde_heap_mmap)                                                 \
				   ? next.sonde_heap_mmap(at, size_b, protection, flags, fd, offset, &caller) \
				   : next.name(at, size_b, protection, flags, fd, offset);                    \
		if (unlikely(began_at))                                                                       \
			wait_tell(began_at, SONDE_WAIT_MAP, fd, 0, &caller);                                  \
		return mapped;                                                                                \
	}

MMAP(mmap)
MMAP(mmap64)

/* --- closed descriptors ------------------------------------------------------------------------------------------ */

/* The descriptor is forgotten before the call, because another thread may get the number at once. EBADF is not
 * recorded: some programs close all possible numbers. */
EXPORT int close(int fd)
{
	NEEDS(int, close)
	uint64_t began_at = began();
	uint32_t object = wait_object_known(fd);
	wait_object_forget(fd);
	int code = next.close(fd);
	if (likely(!began_at) || (code && errno == EBADF))
		return code;
	struct wait_call call = {.began = began_at, .kind = SONDE_WAIT_CLOSE, .object = object};
	struct hook_caller caller = HOOK_CALLER();
	wait_record(&call, &caller);
	return code;
}

EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	NEEDS(int, close_range)
	wait_object_forget_range(first, last);
	return next.close_range(first, last, flags);
}

EXPORT void closefrom(int first)
{
	if (!WAIT_KNOWN(next.closefrom))
		return;
	wait_object_forget_range(first < 0 ? 0 : (unsigned)first, ~0u);
	next.closefrom(first);
}

EXPORT int closedir(DIR *directory)
{
	NEEDS(int, closedir)
	uintptr_t there = (uintptr_t)directory; /* the C library rejects invalid arguments */
	if (wait_wanted & SONDE_WAIT_WHAT_IO && there && dirfd)
		wait_object_forget(dirfd(directory));
	return next.closedir(directory);
}
