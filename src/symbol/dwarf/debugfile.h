/* debugfile.h: finds the separate file that contains a module's debug information. */
#ifndef SONDE_SYMBOL_DWARF_DEBUGFILE_H
#define SONDE_SYMBOL_DWARF_DEBUGFILE_H

#include "symbol/elf.h"

struct sonde_debugfile_options {
	const char *root; /* searched before the system's debug folder; or NULL */
	int debuginfod;   /* also query debuginfod servers */
};

/* Searches by build-id, then by .gnu_debuglink, then on a server. -ENOENT: none found. `out` has the module's
 * build-id. */
int sonde_debugfile_open(struct sonde_elf *out, const struct sonde_elf *module,
			 const struct sonde_debugfile_options *options);

#endif
