/* operations.c: names and operations, each reported once (opencl/opencl.h).
 *
 * The table is bounded, because a program may launch one kernel with a new size each time. Once it is half full, new
 * operations are reported by name alone. It has its own mutex, since reporting to libsonde calls no driver.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "inject/opencl/opencl.h"

enum { NAMES = 8192, OPERATIONS = 32768, OPERATIONS_WHOLE = 16384 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const char *names[NAMES];
static uint32_t name_count;
static struct {
	struct sonde_operation_info info;
	uint32_t number, generation; /* empty: of another generation, initially 0 */
} operations[OPERATIONS];
static uint32_t operation_count, generation = 1;

const char *opencl_name(const char *text)
{
	const char *found = NULL;
	uint32_t at = (uint32_t)sonde_hash_bytes(text, strlen(text)) & (NAMES - 1);
	pthread_mutex_lock(&mutex);
	while (names[at] && strcmp(names[at], text) != 0)
		at = (at + 1) & (NAMES - 1);
	if (!names[at] && name_count < NAMES / 2 && (names[at] = strdup(text)))
		name_count++;
	found = names[at];
	pthread_mutex_unlock(&mutex);
	return found;
}

/* Includes everything that distinguishes operations; names are unique, so their addresses are compared. */
static uint64_t hash_of(const struct sonde_operation_info *info)
{
	uint64_t hash = sonde_hash_pair((uint64_t)(uintptr_t)info->name,
					info->kind | (uint64_t)info->from << 32 | (uint64_t)info->to << 40);
	for (int i = 0; i < 3; i++)
		hash = sonde_hash_pair(hash, info->grid[i] | (uint64_t)info->block[i] << 32);
	return sonde_hash_pair(hash, info->static_shared_b | (uint64_t)info->local_b << 32);
}

static int is_same(const struct sonde_operation_info *a, const struct sonde_operation_info *b)
{
	return a->name == b->name && a->kind == b->kind && a->from == b->from && a->to == b->to &&
	       !memcmp(a->grid, b->grid, sizeof(a->grid)) && !memcmp(a->block, b->block, sizeof(a->block)) &&
	       a->static_shared_b == b->static_shared_b && a->local_b == b->local_b;
}

static int is_there(uint32_t at)
{
	return operations[at].generation == generation;
}

/* Called with the mutex. 0: not reported. */
static uint32_t number_of(const struct sonde_operation_info *info, uint32_t most)
{
	uint32_t at = (uint32_t)hash_of(info) & (OPERATIONS - 1);
	while (is_there(at) && !is_same(&operations[at].info, info))
		at = (at + 1) & (OPERATIONS - 1);
	if (is_there(at))
		return operations[at].number;
	uint32_t number = operation_count < most ? sonde_operation_add(info) : 0;
	if (number) {
		operations[at].info = *info;
		operations[at].number = number;
		operations[at].generation = generation;
		operation_count++;
	}
	return number;
}

uint32_t opencl_operation(const struct sonde_operation_info *info)
{
	pthread_mutex_lock(&mutex);
	uint32_t number = number_of(info, OPERATIONS_WHOLE);
	if (!number && operation_count >= OPERATIONS_WHOLE) {
		const struct sonde_operation_info plain = {
		    .kind = info->kind, .name = info->name, .from = info->from, .to = info->to};
		number = number_of(&plain, OPERATIONS - OPERATIONS / 4);
	}
	pthread_mutex_unlock(&mutex);
	return number;
}

/* Forgets all operations in a forked child, which has numbers of its own; does not touch the pages of the table. */
void opencl_operations_forget(void)
{
	pthread_mutex_init(&mutex, NULL);
	generation++;
	operation_count = 0;
}
