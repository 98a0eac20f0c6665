/* names.c: identifies descriptors: finds the object to which calls on a descriptor refer.
 *
 * Descriptors are looked up by number in a table, which calls that open and close descriptors maintain; the first call
 * on an unknown descriptor reads its name once from /proc. Objects are identified by name: two descriptors of one file
 * are one object.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/hash.h"
#include "inject/hook/connect.h"
#include "inject/hook/likely.h"
#include "inject/hook/machine.h"
#include "inject/hook/process.h"
#include "inject/hook/sandbox.h"
#include "inject/hook/slots.h"
#include "inject/wait/waits.h"

#define DESCRIPTORS 4096u
#define SLOT_BITS 13

/* Reads as zeros in a forked child. */
struct names {
	_Atomic uint32_t objects[DESCRIPTORS]; /* numbers of objects, by descriptor; 0 = unknown */
	inject_slot slots[1u << SLOT_BITS];
};

static _Atomic(struct names *) names;

static struct names *table(void)
{
	struct names *there = atomic_load_explicit(&names, memory_order_acquire), *made;
	if (likely(there != NULL) || !inject_calls_begin())
		return there;
	made = inject_connect_spares(sizeof(*made)) ? inject_connect_page(sizeof(*made)) : NULL;
	inject_calls_end();
	if (!made || atomic_compare_exchange_strong(&names, &there, made))
		return made;
	return there; /* our own allocation stays unused */
}

static uint32_t object_named(struct names *all, const char *name)
{
	static const struct {
		const char *start;
		enum sonde_object_kind kind;
	} kinds[] = {{"socket:", SONDE_OBJECT_SOCKET}, {"pipe:", SONDE_OBJECT_PIPE}, {"/", SONDE_OBJECT_FILE}};
	enum sonde_object_kind kind = SONDE_OBJECT_OTHER;
	uint64_t hash = sonde_hash_bytes(name, strnlen(name, SONDE_WAIT_NAME_MAX_B));
	uint32_t number = 0;
	inject_slot *slot = inject_slots_claim(all->slots, SLOT_BITS, hash, &number);
	if (number)
		return number;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && kind == SONDE_OBJECT_OTHER; i++)
		if (!strncmp(name, kinds[i].start, strlen(kinds[i].start)))
			kind = kinds[i].kind;
	number = wait_object(kind, 0, name);
	if (number)
		inject_slots_set(slot, hash, number);
	return number;
}

/* "/proc/self/fd/" and the number. */
static void write_link(char *out, int fd)
{
	static const char start[] = "/proc/self/fd/";
	char digits[16];
	size_t count = 0;
	memcpy(out, start, sizeof(start) - 1);
	out += sizeof(start) - 1;
	do
		digits[count++] = (char)('0' + fd % 10);
	while (fd /= 10);
	while (count)
		*out++ = digits[--count];
	*out = '\0';
}

/* Reads the descriptor's name and returns its object. If there is a name (*is_its), the caller keeps the object for
 * later calls on this number, until the descriptor changes. Otherwise the object stands for the reason why there is
 * none, and is used for this call only. A child that shares its parent's memory (vfork) has descriptors of its own. */
static uint32_t object_read(struct names *all, int fd, int *is_its)
{
	char link[40], name[SONDE_WAIT_NAME_MAX_B + 1];
	pid_t owner = hook_process ? hook_process->sandbox.pid : 0;
	long got = 0;
	if (!inject_calls_begin())
		return 0;
	write_link(link, fd);
	if (!owner || owner == inject_machine_call(SYS_getpid, 0, 0, 0, 0, 0, 0))
		got = inject_machine_call(SYS_readlinkat, AT_FDCWD, (long)link, (long)name, sizeof(name) - 1, 0, 0);
	inject_calls_end();
	*is_its = got > 0;
	if (got == 0)
		return object_named(all, "(descriptors of vfork children)");
	if (got < 0)
		return object_named(all, "(descriptors closed, or not in /proc)");
	name[got] = '\0';
	return object_named(all, name);
}

uint32_t wait_object_of(int fd)
{
	struct names *all = table();
	int is_kept = fd >= 0 && (uint32_t)fd < DESCRIPTORS, is_its = 0;
	if (unlikely(!all))
		return 0;
	if (unlikely(fd < 0))
		return object_named(all, "(no descriptor)");
	uint32_t object = is_kept ? atomic_load_explicit(&all->objects[fd], memory_order_relaxed) : 0;
	if (likely(object))
		return object;
	object = object_read(all, fd, &is_its);
	if (object && is_kept && is_its)
		atomic_store_explicit(&all->objects[fd], object, memory_order_relaxed);
	return object;
}

uint32_t wait_object_called(const char *name)
{
	struct names *all = table();
	return all ? object_named(all, name) : 0;
}

uint32_t wait_object_known(int fd)
{
	struct names *all = atomic_load_explicit(&names, memory_order_acquire);
	return all && fd >= 0 && (uint32_t)fd < DESCRIPTORS
		   ? atomic_load_explicit(&all->objects[fd], memory_order_relaxed)
		   : 0;
}

void wait_object_forget(int fd)
{
	struct names *all = atomic_load_explicit(&names, memory_order_acquire);
	if (all && fd >= 0 && (uint32_t)fd < DESCRIPTORS)
		atomic_store_explicit(&all->objects[fd], 0, memory_order_relaxed);
}

void wait_object_forget_range(unsigned first, unsigned last)
{
	for (unsigned fd = first; fd <= last && fd < DESCRIPTORS; fd++)
		wait_object_forget((int)fd);
}
