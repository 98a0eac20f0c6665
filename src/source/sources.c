/* sources.c: the list of sources, from sources.def. */
#include "source/source.h"

#define SONDE_SOURCE(name, file) &sonde_source_##name,
const struct sonde_source *const sonde_sources[] = {
#include "source/sources.def"
    NULL,
};

const size_t sonde_source_count = sizeof sonde_sources / sizeof *sonde_sources - 1;
