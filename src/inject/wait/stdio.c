/* stdio.c: reads and writes of the C library's streams (printf, fread, std::FILE) (--io).
 *
 * glibc's streams enter the kernel by internal names that cannot be interposed. Streams reach these functions through
 * tables, one per kind of stream, which the loader has made read-only. Our functions replace _IO_file_read,
 * _IO_file_write and _IO_file_close in these tables. So every call that reaches the kernel is recorded with its bytes,
 * whichever function of the program caused it, including getc() as a macro and the flush in exit(); buffered operations
 * cost nothing. Streams without a descriptor (fopencookie, fmemopen, open_memstream) have other functions, and so does
 * closing a popen() stream. Rejected: hooks of the fifty functions that may flush a buffer, which would slow down each
 * putc() and would miss both the macros and the flush at exit.
 *
 * A table is recognised by two adjacent entries: nothing else in the C library has these two addresses next to each
 * other. If there is no such table (in another C library), nothing is changed.
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "inject/hook/caller.h"
#include "inject/hook/likely.h"
#include "inject/hook/machine.h"
#include "inject/hook/objects.h"
#include "inject/hook/process.h"
#include "inject/wait/waits.h"

#define EXPORT __attribute__((visibility("default")))
#define AFTER_READ 1u /* offsets of the other functions in a table: read, write, seek, close */
#define AFTER_SEEK 3u

#pragma weak fileno

typedef ssize_t (*call_read)(FILE *, void *, ssize_t);
typedef ssize_t (*call_write)(FILE *, const void *, ssize_t);
typedef int (*call_close)(FILE *);

static struct {
	call_read read;
	call_write write;
	call_close close;
	int is_in_place; /* our functions are in the tables */
	FILE *(*fopen)(const char *, const char *);
	FILE *(*fopen64)(const char *, const char *);
	FILE *(*freopen)(const char *, const char *, FILE *);
	FILE *(*freopen64)(const char *, const char *, FILE *);
	int (*pclose)(FILE *);
	int (*fclose)(FILE *);
} next;

static __attribute__((noinline)) void find_all(void)
{
	INJECT_NEXT(next.read, "_IO_file_read");
	INJECT_NEXT(next.write, "_IO_file_write");
	INJECT_NEXT(next.close, "_IO_file_close");
	INJECT_NEXT(next.fopen, "fopen");
	INJECT_NEXT(next.fopen64, "fopen64");
	INJECT_NEXT(next.freopen, "freopen");
	INJECT_NEXT(next.freopen64, "freopen64");
	INJECT_NEXT(next.pclose, "pclose");
	INJECT_NEXT(next.fclose, "fclose");
}

static inline uint64_t began(void)
{
	return wait_wanted & SONDE_WAIT_WHAT_IO ? wait_now() : 0;
}

/* The stream's descriptor; -1 = it has none, or I/O is not recorded. */
static int descriptor_of(FILE *stream)
{
	if (!(wait_wanted & SONDE_WAIT_WHAT_IO) || !stream || !fileno)
		return -1;
	int saved = errno, fd = fileno(stream);
	errno = saved;
	return fd;
}

/* --- in the tables ----------------------------------------------------------------------------------------------- */

static ssize_t stream_read(FILE *stream, void *to, ssize_t size_b)
{
	uint64_t began_at = began();
	ssize_t result = next.read(stream, to, size_b);
	if (likely(!began_at))
		return result;
	struct hook_caller caller = HOOK_CALLER();
	wait_tell(began_at, SONDE_WAIT_READ, descriptor_of(stream), result, &caller);
	return result;
}

/* Bytes written before an error count: the result includes them. */
static ssize_t stream_write(FILE *stream, const void *from, ssize_t size_b)
{
	uint64_t began_at = began();
	ssize_t result = next.write(stream, from, size_b);
	if (likely(!began_at))
		return result;
	struct hook_caller caller = HOOK_CALLER();
	wait_tell(began_at, SONDE_WAIT_WRITE, descriptor_of(stream), result, &caller);
	return result;
}

/* Replaces _IO_file_close: does what the hook of close() does. */
static int stream_close(FILE *stream)
{
	uint64_t began_at = began();
	int fd = descriptor_of(stream);
	uint32_t object = wait_object_known(fd);
	wait_object_forget(fd);
	int code = next.close(stream);
	if (likely(!began_at))
		return code;
	struct wait_call call = {.began = began_at, .kind = SONDE_WAIT_CLOSE, .object = object};
	struct hook_caller caller = HOOK_CALLER();
	wait_record(&call, &caller);
	return code;
}

/* The C library's relocated read-only data (RELRO), and the whole pages of it that the loader has protected. */
struct protected
{
	uintptr_t from, to, first_page, end_page, page_b;
};

static int is_its(const struct dl_phdr_info *info, uintptr_t address)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		if (part->p_type == PT_LOAD && address - info->dlpi_addr - part->p_vaddr < part->p_memsz)
			return 1;
	}
	return 0;
}

static int find_protected(struct dl_phdr_info *info, size_t info_b, void *data)
{
	struct protected *out = data;
	(void)info_b;
	if (!is_its(info, (uintptr_t)next.read))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		if (part->p_type != PT_GNU_RELRO)
			continue;
		out->from = info->dlpi_addr + part->p_vaddr;
		out->to = out->from + part->p_memsz;
		out->first_page = out->from & ~(out->page_b - 1);
		out->end_page = out->to & ~(out->page_b - 1);
	}
	return 1;
}

/* True if a function table starts at this word. */
static int is_table(const uintptr_t *word)
{
	return word[0] == (uintptr_t)next.read && word[AFTER_READ] == (uintptr_t)next.write;
}

static void put(uintptr_t *word, uintptr_t function)
{
	__atomic_store_n(word, function, __ATOMIC_RELEASE); /* other threads may be calling through it */
}

/* Counts the tables; `into`: also installs our functions. */
static unsigned walk_tables(const struct protected *where, int into)
{
	uintptr_t *word = (uintptr_t *)where->from, *end = (uintptr_t *)where->to - AFTER_SEEK; /* NOLINT */
	unsigned count = 0;
	for (; word < end; word++) {
		if (!is_table(word))
			continue;
		count++;
		if (!into)
			continue;
		put(word, (uintptr_t)stream_read);
		put(word + AFTER_READ, (uintptr_t)stream_write);
		if (word[AFTER_SEEK] == (uintptr_t)next.close)
			put(word + AFTER_SEEK, (uintptr_t)stream_close);
	}
	return count;
}

static int protect(const struct protected *where, int protection)
{
	uintptr_t size_b = where->end_page - where->first_page;
	return !size_b ||
	       !inject_machine_call(SYS_mprotect, (long)where->first_page, (long)size_b, protection, 0, 0, 0);
}

__attribute__((constructor)) static void wait_stdio_begin(void)
{
	struct protected where = {.page_b = getauxval(AT_PAGESZ) ? getauxval(AT_PAGESZ) : 4096};
	if (!hook_process_init() || !(wait_wanted & SONDE_WAIT_WHAT_IO))
		return;
	find_all();
	if (!next.read || !next.write || !next.close || !inject_objects_each(find_protected, &where) || !where.from ||
	    !walk_tables(&where, 0) || !protect(&where, PROT_READ | PROT_WRITE))
		return;
	walk_tables(&where, 1);
	next.is_in_place = 1;
	protect(&where, PROT_READ);
}

/* --- opening and closing streams --------------------------------------------------------------------------------- */

#define NEEDS(failed, name)           \
	if (!WAIT_KNOWN(next.name)) { \
		errno = ENOSYS;       \
		return failed;        \
	}

#define OPENED()                                              \
	int fd = descriptor_of(stream);                       \
	if (fd >= 0)                                          \
		wait_object_forget(fd);                       \
	if (likely(!began_at) || fd < 0)                      \
		return stream;                                \
	struct hook_caller caller = HOOK_CALLER();            \
	wait_tell(began_at, SONDE_WAIT_OPEN, fd, 0, &caller); \
	return stream;

#define FOPEN(name)                                           \
	EXPORT FILE *name(const char *path, const char *mode) \
	{                                                     \
		NEEDS(NULL, name)                             \
		uint64_t began_at = began();                  \
		FILE *stream = next.name(path, mode);         \
		OPENED()                                      \
	}

/* The descriptor's number is forgotten: the C library closes it without a visible call. */
#define FREOPEN(name)                                                     \
	EXPORT FILE *name(const char *path, const char *mode, FILE *from) \
	{                                                                 \
		NEEDS(NULL, name)                                         \
		uint64_t began_at = began();                              \
		int before = descriptor_of(from);                         \
		FILE *stream = next.name(path, mode, from);               \
		if (before >= 0)                                          \
			wait_object_forget(before);                       \
		OPENED()                                                  \
	}

FOPEN(fopen)
FOPEN(fopen64)
FREOPEN(freopen)
FREOPEN(freopen64)

/* Forgets the object of the stream's descriptor, which the C library is about to close without a visible call. */
static void forget_stream(FILE *stream)
{
	int fd = descriptor_of(stream);
	if (fd >= 0)
		wait_object_forget(fd);
}

EXPORT int fclose(FILE *stream)
{
	NEEDS(-1, fclose)
	if (!next.is_in_place)
		forget_stream(stream);
	return next.fclose(stream);
}

/* Waits for the child process. */
EXPORT int pclose(FILE *stream)
{
	NEEDS(-1, pclose)
	struct wait_call call = {.began = wait_wanted & SONDE_WAIT_WHAT_LOCKS ? wait_now() : 0,
				 .kind = SONDE_WAIT_CHILD};
	forget_stream(stream);
	int code = next.pclose(stream);
	if (likely(!call.began))
		return code;
	struct hook_caller caller = HOOK_CALLER();
	wait_record(&call, &caller);
	return code;
}
