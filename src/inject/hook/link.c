/* link.c: runtime/link.c with raw system calls.
 *
 * The functions that it calls may be replaced by the program or a sanitizer, and then lock, allocate or not be ready:
 * in a hook or a signal handler, a thread sanitizer's connect() would wait for ever.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "inject/hook/machine.h"

static int direct_int(long number, long a, long b, long c, long d, long e)
{
	return (int)inject_machine_direct(number, a, b, c, d, e, 0);
}

#define CALL(number, a, b, c, d, e, f) \
	inject_machine_direct(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define CALL_INT(number, a, b, c, d, e) direct_int(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))
#define CALL_ANY(number, a, b, c, d, e, f, ...) CALL(number, a, b, c, d, e, f)
#define syscall(...) CALL_ANY(__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define socket(family, type, protocol) CALL_INT(SYS_socket, family, type, protocol, 0, 0)
#define connect(fd, address, address_b) CALL_INT(SYS_connect, fd, address, address_b, 0, 0)
#define getsockopt(fd, level, name, value, value_b) CALL_INT(SYS_getsockopt, fd, level, name, value, value_b)
#define setsockopt(fd, level, name, value, value_b) CALL_INT(SYS_setsockopt, fd, level, name, value, value_b)
#define send(fd, message, size_b, flags) CALL(SYS_sendto, fd, message, size_b, flags, 0, 0)
#define recv(fd, message, size_b, flags) CALL(SYS_recvfrom, fd, message, size_b, flags, 0, 0)
#define recvmsg(fd, header, flags) CALL(SYS_recvmsg, fd, header, flags, 0, 0, 0)
#define close(fd) CALL_INT(SYS_close, fd, 0, 0, 0, 0)
#define readlink(path, out, out_b) CALL(SYS_readlinkat, AT_FDCWD, path, out, out_b, 0, 0)
#define fstat(fd, out) CALL_INT(SYS_fstat, fd, out, 0, 0, 0)
#define mmap(at, size_b, protection, flags, fd, offset) \
	((void *)CALL(SYS_mmap, at, size_b, protection, flags, fd, offset)) /* NOLINT: an address, or −1 */
#define munmap(at, size_b) CALL_INT(SYS_munmap, at, size_b, 0, 0, 0)
#define munlock(at, size_b) CALL_INT(SYS_munlock, at, size_b, 0, 0, 0)
#define mprotect(at, size_b, protection) CALL_INT(SYS_mprotect, at, size_b, protection, 0, 0)
#define getpid() (pid_t) CALL(SYS_getpid, 0, 0, 0, 0, 0, 0)
#define geteuid() (uid_t) CALL(SYS_geteuid, 0, 0, 0, 0, 0, 0)
#define nanosleep(time, left) CALL_INT(SYS_nanosleep, time, left, 0, 0, 0)

#include "runtime/link.c" /* NOLINT: the same code */
