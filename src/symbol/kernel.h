/* kernel.h: the kernel's symbols: from the cache, or from /proc/kallsyms and then cached for this boot. */
#ifndef SONDE_SYMBOL_KERNEL_H
#define SONDE_SYMBOL_KERNEL_H

#include "symbol/names.h"

/* Gets the names. -EPERM if the kernel hides addresses. `must_read`: read the kernel's list even if this boot's is
 * cached. */
int sonde_kernel_names(struct sonde_name_table *out, int must_read);

#endif
