/* blocked_names.c: descriptors as /proc/PID/fd names them, addresses as symbol tables do: the names that hooks give.
 *
 * A number is given to another file as soon as it is closed: its name is read at each wait, and the object found by it.
 */
#include "source/blocked_names.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "format/wait.h"

#define OBJECTS_MAX 65536u

void sonde_blocked_names_init(struct sonde_blocked_names *names, struct sonde_recorder *recorder)
{
	*names = (struct sonde_blocked_names){.recorder = recorder};
}

void sonde_blocked_names_fini(struct sonde_blocked_names *names)
{
	sonde_map_fini(&names->objects);
}

/* Once there are too many nothing is named that was not before. */
static uint32_t add(struct sonde_blocked_names *names, uint64_t hash, const struct sonde_recorder_object *object)
{
	if (names->objects.count >= OBJECTS_MAX)
		return 0;
	uint32_t id = sonde_recorder_object(names->recorder, object);
	return id && !sonde_map_set(&names->objects, hash, id) ? id : 0;
}

static enum sonde_object_kind kind_of(const char *name)
{
	return *name == '/'                   ? SONDE_OBJECT_FILE
	       : !strncmp(name, "socket:", 7) ? SONDE_OBJECT_SOCKET
	       : !strncmp(name, "pipe:", 5)   ? SONDE_OBJECT_PIPE
					      : SONDE_OBJECT_OTHER;
}

uint32_t sonde_blocked_names_descriptor(struct sonde_blocked_names *names, uint32_t process, int proc_fd,
					uint64_t descriptor)
{
	char link[32], name[SONDE_WAIT_NAME_MAX_B + 1];
	if (descriptor > INT_MAX)
		return 0;
	snprintf(link, sizeof link, "fd/%d", (int)descriptor);
	ssize_t got = readlinkat(proc_fd, link, name, sizeof name - 1);
	if (got <= 0)
		return 0;
	name[got] = '\0';
	uint64_t hash = sonde_hash_pair(process, sonde_hash_bytes(name, (size_t)got));
	uint32_t known = sonde_map_find(&names->objects, hash, NULL, NULL);
	struct sonde_recorder_object object = {.process = process, .kind = kind_of(name), .name = name};
	return known ? known : add(names, hash, &object);
}

uint32_t sonde_blocked_names_address(struct sonde_blocked_names *names, uint32_t process,
				     struct sonde_lock_names *locks, uint64_t address)
{
	char name[SONDE_LOCK_NAME_MAX_B] = "";
	uint64_t hash = sonde_hash_pair(process, ~address);
	uint32_t known = sonde_map_find(&names->objects, hash, NULL, NULL);
	if (known || !address)
		return known;
	sonde_lock_names_get(locks, address, name);
	struct sonde_recorder_object object = {
	    .process = process, .kind = SONDE_OBJECT_LOCK, .name = *name ? name : NULL, .address = address};
	return add(names, hash, &object);
}
