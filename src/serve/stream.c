/* stream.c: a FILE stream that writes to a bounded buffer. */
#include "serve/stream.h"

#include <errno.h>

#include "util/error.h"

static ssize_t stream_write(void *cookie, const char *data, size_t size_b)
{
	return sonde_buf_append(cookie, data, size_b) ? 0 : (ssize_t)size_b;
}

FILE *sonde_stream_open(struct sonde_buf *out)
{
	FILE *stream = fopencookie(out, "w", (cookie_io_functions_t){.write = stream_write});
	if (!stream)
		sonde_error(ENOMEM, "out of memory for an answer");
	return stream;
}

int sonde_stream_close(FILE *stream, struct sonde_buf *out, int code)
{
	int bad = fclose(stream) || sonde_buf_error(out);
	if (code || !bad)
		return code;
	return sonde_error(EFBIG, "the answer is larger than %zu MB: ask for fewer sections, or set a limit",
			   out->max_b >> 20);
}
