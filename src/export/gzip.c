/* gzip.c: zlib's deflate with a gzip header without time and name, so that equal input gives equal output. */
#include "export/gzip.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#include "util/error.h"

enum { WINDOW_GZIP = 15 + 16, MEMORY_LEVEL = 8, OUT_B = 64 << 10, IN_MAX_B = 1 << 30 };

struct sonde_gzip {
	z_stream stream;
	FILE *file;
	unsigned char out[OUT_B];
};

int sonde_gzip_open(struct sonde_gzip **out, FILE *file)
{
	struct sonde_gzip *gzip = calloc(1, sizeof *gzip);
	if (!gzip)
		return sonde_error(ENOMEM, "out of memory for compression");
	gzip->file = file;
	if (deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_GZIP, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(gzip);
		return sonde_error(ENOMEM, "zlib failed to start");
	}
	*out = gzip;
	return 0;
}

static int run(struct sonde_gzip *gzip, int flush)
{
	int rc;
	do {
		gzip->stream.next_out = gzip->out;
		gzip->stream.avail_out = OUT_B;
		rc = deflate(&gzip->stream, flush);
		if (rc == Z_STREAM_ERROR)
			return sonde_error(EIO, "zlib failed to compress");
		fwrite(gzip->out, 1, OUT_B - gzip->stream.avail_out, gzip->file);
	} while (gzip->stream.avail_out == 0 || (flush == Z_FINISH && rc != Z_STREAM_END));
	return 0;
}

int sonde_gzip_write(struct sonde_gzip *gzip, const void *data, size_t size_b)
{
	const unsigned char *from = data;
	int rc = 0;
	while (size_b && !rc) {
		size_t part = size_b < IN_MAX_B ? size_b : IN_MAX_B;
		gzip->stream.next_in = (unsigned char *)(uintptr_t)from;
		gzip->stream.avail_in = (unsigned)part;
		rc = run(gzip, Z_NO_FLUSH);
		from += part;
		size_b -= part;
	}
	return rc;
}

int sonde_gzip_close(struct sonde_gzip *gzip)
{
	if (!gzip)
		return 0;
	gzip->stream.avail_in = 0;
	int rc = run(gzip, Z_FINISH);
	deflateEnd(&gzip->stream);
	free(gzip);
	return rc;
}

static ssize_t write_cookie(void *cookie, const char *data, size_t size_b)
{
	return sonde_gzip_write(cookie, data, size_b) ? 0 : (ssize_t)size_b;
}

static int close_cookie(void *cookie)
{
	return sonde_gzip_close(cookie) ? EOF : 0;
}

int sonde_gzip_stream(FILE **out, FILE *file)
{
	struct sonde_gzip *gzip;
	int rc = sonde_gzip_open(&gzip, file);
	if (rc)
		return rc;
	*out = fopencookie(gzip, "w", (cookie_io_functions_t){.write = write_cookie, .close = close_cookie});
	if (*out)
		return 0;
	sonde_gzip_close(gzip);
	return sonde_error(ENOMEM, "out of memory for compression");
}
