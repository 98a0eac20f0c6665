/* kernel.h: the kernel's symbols: from the cache, or from /proc/kallsyms and cached for this boot. */
#ifndef SONDE_SYMBOL_KERNEL_H
#define SONDE_SYMBOL_KERNEL_H

#include "symbol/names.h"

/* -EPERM where addresses are hidden. `must_read`: the kernel's own list, even if one of this boot is cached. */
int sonde_kernel_names(struct sonde_name_table *out, int must_read);

#endif
