/* import.h: any bytes are imported as one format; the recording that comes of it opens and is read. */
#ifndef SONDE_TESTS_FUZZ_IMPORT_H
#define SONDE_TESTS_FUZZ_IMPORT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "import/import.h"
#include "util/error.h"
#include "walk.h"

static inline void import_fuzz(const char *format, const char *type, const uint8_t *bytes, size_t size_b)
{
	char from[40], to[40];
	int in = memfd_create("in", MFD_CLOEXEC), out = memfd_create("out", MFD_CLOEXEC);
	if (in < 0 || out < 0 || write(in, bytes, size_b) != (ssize_t)size_b)
		abort();
	snprintf(from, sizeof from, "/proc/self/fd/%d", in);
	snprintf(to, sizeof to, "/proc/self/fd/%d", out);
	struct sonde_import_options options = {.path = from, .format = format, .type = type, .fd = out, .name = "out"};
	struct sonde_import_result result = {0};
	int rc = sonde_import(&result, &options);
	if (rc && !*sonde_error_text())
		abort();
	if (!rc && walk(to, NULL))
		abort();
	sonde_import_result_fini(&result);
	close(in);
	close(out);
}

#endif
