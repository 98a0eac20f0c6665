/* cfi.h: call-frame tables of modules: from the cache, or compiled from the ELF file and cached by build-id. */
#ifndef SONDE_SYMBOL_FRAMES_CFI_H
#define SONDE_SYMBOL_FRAMES_CFI_H

#include "symbol/elf.h"
#include "unwind/table.h"

/* Opens the table of `file`. For a module without call-frame information, the table has 0 rows; for a hostile file,
 * returns -EBADMSG. The cache ($XDG_CACHE_HOME/sonde or ~/.cache/sonde) is used if it is writable and the module has a
 * build-id; otherwise the table exists only in memory. Close with sonde_unwind_table_unmap(). Thread-safe. */
int sonde_cfi_open(struct sonde_unwind_table *out, const struct sonde_elf *file);

/* Opens a cached table only, which takes microseconds; -ENOENT or another error if there is none. */
int sonde_cfi_open_cached(struct sonde_unwind_table *out, const struct sonde_elf *file);

/* Returns a descriptor of a file that contains an open table, so that another process can map it: the cache file of the
 * build-id, or a memory file; -1 if out of memory. The caller closes it. */
int sonde_cfi_share(const struct sonde_unwind_table *table, const uint8_t *build_id, size_t build_id_b);

#endif
