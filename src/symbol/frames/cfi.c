/* cfi.c: returns a module's call-frame table: mapped from the cache, or else compiled, stored and mapped.
 *
 * A table without a cache file is in an anonymous mapping of the same layout, so that callers close both kinds in the
 * same way.
 */
#include "symbol/frames/cfi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/cache.h"
#include "symbol/frames/cfi_entries.h"
#include "symbol/frames/cfi_program.h"
#include "util/error.h"

_Static_assert(sizeof((struct sonde_unwind_file *)NULL)->build_id >= SONDE_BUILD_ID_MAX_B,
	       "build-id in an unwind file");

static struct sonde_cache_key cache_key(const struct sonde_elf *file)
{
	return (struct sonde_cache_key){file->build_id, file->build_id_b, "unwind"};
}

int sonde_cfi_open_cached(struct sonde_unwind_table *out, const struct sonde_elf *file)
{
	struct sonde_cache_key key = cache_key(file);
	int fd = sonde_cache_read(&key);
	if (fd < 0)
		return fd;
	int rc = sonde_unwind_table_map(out, fd, file->build_id, file->build_id_b);
	close(fd);
	return rc;
}

static struct sonde_unwind_file head_of(const struct sonde_unwind_table *table, const struct sonde_cache_key *key)
{
	struct sonde_unwind_file head = {
	    .version = SONDE_UNWIND_FILE_VERSION,
	    .base = table->base,
	    .count = table->count,
	    .build_id_b = (uint8_t)key->build_id_b,
	    .check = sonde_unwind_table_check(table->rows, table->count, table->expressions_b),
	    .expressions_b = table->expressions_b,
	};
	memcpy(head.magic, SONDE_UNWIND_FILE_MAGIC, sizeof head.magic);
	memcpy(head.build_id, key->build_id, key->build_id_b);
	return head;
}

/* Size of the rows and expressions. */
static size_t size_of(const struct sonde_unwind_table *table)
{
	return table->count * sizeof *table->rows + table->expressions_b;
}

static void store(const struct sonde_elf *file, const struct sonde_unwind_table *table)
{
	struct sonde_cache_key key = cache_key(file);
	struct sonde_unwind_file head = head_of(table, &key);
	head.arch = file->machine;
	sonde_cache_write(&key, &head, sizeof head, table->rows, size_of(table));
}

int sonde_cfi_share(const struct sonde_unwind_table *table, const uint8_t *build_id, size_t build_id_b)
{
	struct sonde_cache_key key = {build_id, build_id_b, "unwind"};
	int fd = build_id_b ? sonde_cache_read(&key) : -1;
	if (fd >= 0)
		return fd;
	struct sonde_unwind_file head = head_of(table, &key);
	size_t rows_b = size_of(table);
	fd = memfd_create("sonde-unwind", MFD_CLOEXEC);
	if (fd < 0)
		return -1;
	if (write(fd, &head, sizeof head) == (ssize_t)sizeof head && write(fd, table->rows, rows_b) == (ssize_t)rows_b)
		return fd;
	close(fd);
	return -1;
}

static int keep_in_memory(struct sonde_unwind_table *out, const struct sonde_unwind_table *table)
{
	size_t size_b = size_of(table);
	void *memory = mmap(NULL, size_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return sonde_error(errno, "no memory for %zu call-frame rows", table->count);
	memcpy(memory, table->rows, size_b);
	*out = *table;
	out->rows = memory;
	out->mapping = memory;
	out->mapping_b = size_b;
	sonde_unwind_table_index(out);
	return 0;
}

static int compile(struct sonde_unwind_table *out, const struct sonde_elf *file,
		   const struct sonde_cfi_machine *machine)
{
	struct sonde_cfi_entries entries;
	struct sonde_cfi_rows rows = {0};
	int rc = sonde_cfi_entries_read(&entries, file);
	if (rc)
		return rc;
	rc = sonde_cfi_compile(&rows, &entries, machine);
	struct sonde_unwind_table table = {
	    .rows = rows.rows, .count = rows.count, .expressions_b = rows.expressions_b, .base = entries.base};
	sonde_cfi_entries_free(&entries);
	if (rc)
		return rc;
	*out = (struct sonde_unwind_table){.base = table.base};
	/* An empty table is not stored, because it may come from a debug file, which has the module's build-id but no
	 * contents of .eh_frame. */
	if (rows.count) {
		store(file, &table);
		if (sonde_cfi_open_cached(out, file))
			rc = keep_in_memory(out, &table);
	}
	free(rows.rows);
	return rc;
}

int sonde_cfi_open(struct sonde_unwind_table *out, const struct sonde_elf *file)
{
	const struct sonde_cfi_machine *machine = sonde_cfi_machine_find(file->machine);
	if (!machine || !file->class64)
		return sonde_error(ENOTSUP, "%s: call-frame tables of machine type %u are not supported", file->path,
				   file->machine);
	return sonde_cfi_open_cached(out, file) ? compile(out, file, machine) : 0;
}
