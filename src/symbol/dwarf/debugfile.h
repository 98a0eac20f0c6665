/* debugfile.h: the separate file with a module's debug information. */
#ifndef SONDE_SYMBOL_DWARF_DEBUGFILE_H
#define SONDE_SYMBOL_DWARF_DEBUGFILE_H

#include "symbol/elf.h"

struct sonde_debugfile_options {
	const char *root; /* before the system's debug folder, looked into first; or NULL */
	int debuginfod;   /* ask servers too */
};

/* By build-id, then by .gnu_debuglink, then from a server. -ENOENT: none. `out` has the module's build-id. */
int sonde_debugfile_open(struct sonde_elf *out, const struct sonde_elf *module,
			 const struct sonde_debugfile_options *options);

#endif
