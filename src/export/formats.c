/* formats.c: the registry of output formats: rows from formats.def. */
#include "export/format.h"

#include <string.h>

#define SONDE_FORMAT(name, ...) extern const struct sonde_format sonde_format_##name;
#include "export/formats.def"
#undef SONDE_FORMAT

#define SONDE_FORMAT(name, ...) &sonde_format_##name,
const struct sonde_format *const sonde_formats[] = {
#include "export/formats.def"
};
#undef SONDE_FORMAT

const size_t sonde_format_count = sizeof sonde_formats / sizeof *sonde_formats;

const struct sonde_format *sonde_format_find(const char *name)
{
	for (size_t i = 0; i < sonde_format_count; i++)
		if (!strcmp(sonde_formats[i]->name, name))
			return sonde_formats[i];
	return NULL;
}
