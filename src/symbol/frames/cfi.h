/* cfi.h: call-frame tables of a module: from the cache, or compiled from its ELF file and cached by build-id. */
#ifndef SONDE_SYMBOL_FRAMES_CFI_H
#define SONDE_SYMBOL_FRAMES_CFI_H

#include "symbol/elf.h"
#include "unwind/table.h"

/* Opens the table of `file`. A module without any call-frame information gives a table of 0 rows. Hostile files give
 * -EBADMSG. The cache ($XDG_CACHE_HOME/sonde or ~/.cache/sonde) is used when it can be written and the module has a
 * build-id; else the table lives in memory alone. Close with sonde_unwind_table_unmap(). Thread-safe. */
int sonde_cfi_open(struct sonde_unwind_table *out, const struct sonde_elf *file);

/* The same from the cache alone, which takes microseconds; -ENOENT or another error when it is not there. */
int sonde_cfi_open_cached(struct sonde_unwind_table *out, const struct sonde_elf *file);

/* A descriptor of a file that holds an open table of `file`'s build-id, for another process to map: the cache's, or one
 * in memory; -1 when there is no memory. The caller closes it. */
int sonde_cfi_share(const struct sonde_unwind_table *table, const uint8_t *build_id, size_t build_id_b);

#endif
