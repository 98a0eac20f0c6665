/* paths.h: locates the objects that are injected into targets: next to the running binary, in a build tree or a
 * prefix. */
#ifndef SONDE_RUN_PATHS_H
#define SONDE_RUN_PATHS_H

#include <stddef.h>

/* The absolute path of an injected object ("libsonde-cpu.so"). -ENOENT: the message lists the places searched. */
int sonde_paths_object(char *out, size_t out_b, const char *name);

#endif
