/* maps.h: symbols from text files: /proc/kallsyms and /tmp/perf-PID.map. */
#ifndef SONDE_SYMBOL_MAPS_H
#define SONDE_SYMBOL_MAPS_H

#include "symbol/names.h"

/* On failure `out` keeps its memory: call sonde_names_fini() in any case. */
int sonde_maps_kernel(struct sonde_names *out, const char *path);
int sonde_maps_perf(struct sonde_names *out, const char *path);

#endif
