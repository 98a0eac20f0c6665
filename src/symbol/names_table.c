/* names_table.c: packs names into a block, maps such blocks from the cache, and searches them.
 *
 * A block is a header, the entries, then the texts. Sizes are checked when a file is mapped, and an entry's text when
 * it is requested. The checksum of the body detects disk damage (such as a file of zeros after a crash) from a sample
 * of its words: hashing the kernel's 4 MB would cost more than all lookups of a recording.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "symbol/names.h"
#include "util/error.h"
#include "util/search.h"

#define MAGIC "SONDENAM"
#define VERSION 1
#define LOOK_BACK 16 /* ranges searched backwards; they may nest: labels in assembly, code that a JIT reused */
#define COUNT_MAX ((uint64_t)64 << 20)
#define SAMPLES 256

struct head {
	char magic[8];
	uint32_t version, reserved;
	uint64_t source;
	uint64_t count, texts_b;
	uint64_t check;
};

_Static_assert(sizeof(struct head) % sizeof(uint64_t) == 0, "entries are aligned");

static uint64_t check_samples(const uint8_t *data, size_t size_b)
{
	size_t step = size_b / SAMPLES + 1;
	uint64_t hash = size_b;
	for (size_t at = 0; at + sizeof hash <= size_b; at += step) {
		uint64_t word;
		memcpy(&word, data + at, sizeof word);
		hash = sonde_hash_pair(hash, word);
	}
	return hash;
}

static void point_into(struct sonde_name_table *table, const struct head *head)
{
	const uint8_t *body = (const uint8_t *)table->memory + sizeof *head;
	table->entries = (const struct sonde_name_entry *)(const void *)body;
	table->count = head->count;
	table->texts = (const char *)body + head->count * sizeof *table->entries;
	table->texts_b = head->texts_b;
}

static size_t texts_size_b(const struct sonde_names *names)
{
	size_t size_b = 1;
	for (size_t i = 0; i < names->count; i++)
		size_b += strlen(names->items[i].text) + 1;
	return size_b;
}

static void copy_names(uint8_t *body, const struct sonde_names *names)
{
	struct sonde_name_entry *entry = (struct sonde_name_entry *)(void *)body;
	char *texts = (char *)(entry + names->count);
	uint32_t at = 1;
	texts[0] = 0;
	for (size_t i = 0; i < names->count; i++, entry++) {
		const struct sonde_name *name = &names->items[i];
		size_t len_b = strlen(name->text);
		entry->start = name->start;
		entry->size_b = name->size_b < UINT32_MAX ? (uint32_t)name->size_b : UINT32_MAX;
		entry->text = at;
		memcpy(texts + at, name->text, len_b + 1);
		at += (uint32_t)len_b + 1;
	}
}

int sonde_name_table_pack(struct sonde_name_table *out, const struct sonde_names *names)
{
	struct head head = {.magic = MAGIC, .version = VERSION, .count = names->count, .texts_b = texts_size_b(names)};
	size_t body_b = names->count * sizeof(struct sonde_name_entry) + head.texts_b;
	if (head.texts_b > UINT32_MAX)
		return sonde_error(E2BIG, "more than 4 GB of symbol names");
	struct sonde_name_table table = {.memory_b = sizeof head + body_b};
	table.memory = mmap(NULL, table.memory_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (table.memory == MAP_FAILED)
		return sonde_error(ENOMEM, "no memory for %zu symbols", names->count);
	copy_names((uint8_t *)table.memory + sizeof head, names);
	head.check = check_samples((uint8_t *)table.memory + sizeof head, body_b);
	memcpy(table.memory, &head, sizeof head);
	point_into(&table, &head);
	*out = table;
	return 0;
}

void sonde_name_table_fini(struct sonde_name_table *table)
{
	if (table->memory)
		munmap(table->memory, table->memory_b);
	*table = (struct sonde_name_table){0};
}

const struct sonde_name_entry *sonde_name_table_find(const struct sonde_name_table *table, uint64_t address)
{
	size_t next = SONDE_SEARCH(i, 0, table->count, table->entries[i].start <= address);
	for (size_t back = 0; next && back < LOOK_BACK; back++, next--) {
		const struct sonde_name_entry *entry = &table->entries[next - 1];
		if (address - entry->start < entry->size_b || (!entry->size_b && !back))
			return entry;
	}
	return NULL;
}

const char *sonde_name_table_text(const struct sonde_name_table *table, const struct sonde_name_entry *entry)
{
	return entry->text < table->texts_b ? table->texts + entry->text : "";
}

static int is_head_ok(const struct head *head, uint64_t body_b)
{
	return !memcmp(head->magic, MAGIC, sizeof head->magic) && head->version == VERSION && head->count < COUNT_MAX &&
	       head->texts_b && head->texts_b <= UINT32_MAX &&
	       head->count * sizeof(struct sonde_name_entry) + head->texts_b == body_b;
}

static int map_table(struct sonde_name_table *out, int fd, uint64_t source)
{
	struct stat facts;
	if (fstat(fd, &facts) || facts.st_size < (off_t)sizeof(struct head))
		return -EBADMSG;
	struct sonde_name_table table = {.memory_b = (size_t)facts.st_size};
	table.memory = mmap(NULL, table.memory_b, PROT_READ, MAP_PRIVATE, fd, 0);
	if (table.memory == MAP_FAILED)
		return -errno;
	struct head head;
	memcpy(&head, table.memory, sizeof head);
	const uint8_t *body = (const uint8_t *)table.memory + sizeof head;
	size_t body_b = table.memory_b - sizeof head;
	int rc =
	    is_head_ok(&head, body_b) && !body[body_b - 1] && check_samples(body, body_b) == head.check ? 0 : -EBADMSG;
	if (!rc && head.source != source)
		rc = -ENOENT;
	if (rc) {
		sonde_name_table_fini(&table);
		return rc;
	}
	uint64_t written_ns = (uint64_t)facts.st_mtim.tv_sec * 1000000000u + (uint64_t)facts.st_mtim.tv_nsec;
	uint64_t now_ns = sonde_clock_read_ns(CLOCK_REALTIME);
	table.age_ns = now_ns > written_ns ? now_ns - written_ns : 1;
	point_into(&table, &head);
	*out = table;
	return 0;
}

int sonde_name_table_load(struct sonde_name_table *out, const struct sonde_cache_key *key, uint64_t source)
{
	int fd = sonde_cache_read(key);
	if (fd < 0)
		return fd;
	int rc = map_table(out, fd, source);
	close(fd);
	return rc;
}

int sonde_name_table_store(const struct sonde_name_table *table, const struct sonde_cache_key *key, uint64_t source)
{
	struct head head;
	memcpy(&head, table->memory, sizeof head);
	head.source = source;
	return sonde_cache_write(key, &head, sizeof head, (const uint8_t *)table->memory + sizeof head,
				 table->memory_b - sizeof head);
}
