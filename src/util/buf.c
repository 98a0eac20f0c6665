/* buf.c: a buffer whose capacity doubles up to a maximum. */
#include "util/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "util/error.h"

void sonde_buf_init(struct sonde_buf *buf, size_t max_b)
{
	*buf = (struct sonde_buf){.max_b = max_b};
}

void sonde_buf_fini(struct sonde_buf *buf)
{
	free(buf->data);
	*buf = (struct sonde_buf){.max_b = buf->max_b};
}

void sonde_buf_clear(struct sonde_buf *buf)
{
	buf->len_b = 0;
	buf->error = 0;
}

static int reserve(struct sonde_buf *buf, size_t size_b)
{
	if (buf->error)
		return buf->error;
	if (size_b <= buf->cap_b - buf->len_b)
		return 0;
	if (size_b > buf->max_b - buf->len_b)
		return buf->error = sonde_error(E2BIG, "a buffer would grow past its maximum of %zu bytes", buf->max_b);
	size_t cap_b = buf->cap_b ? buf->cap_b : 256;
	while (cap_b - buf->len_b < size_b)
		cap_b *= 2;
	if (cap_b > buf->max_b)
		cap_b = buf->max_b;
	uint8_t *data = realloc(buf->data, cap_b);
	if (!data)
		return buf->error = sonde_error(ENOMEM, "out of memory for a buffer of %zu bytes", cap_b);
	buf->data = data;
	buf->cap_b = cap_b;
	return 0;
}

void *sonde_buf_extend(struct sonde_buf *buf, size_t size_b)
{
	if (reserve(buf, size_b))
		return NULL;
	void *at = buf->data + buf->len_b;
	buf->len_b += size_b;
	return at;
}

int sonde_buf_append(struct sonde_buf *buf, const void *data, size_t size_b)
{
	if (!size_b)
		return buf->error;
	void *at = sonde_buf_extend(buf, size_b);
	if (!at)
		return buf->error;
	memcpy(at, data, size_b);
	return 0;
}

int sonde_buf_text(struct sonde_buf *buf, const char *text)
{
	return sonde_buf_append(buf, text, strlen(text));
}

int sonde_buf_printf(struct sonde_buf *buf, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0)
		return buf->error = sonde_error(EINVAL, "a text could not be formatted");
	if (reserve(buf, (size_t)len + 1))
		return buf->error;
	va_start(args, format);
	vsnprintf((char *)buf->data + buf->len_b, (size_t)len + 1, format, args);
	va_end(args);
	buf->len_b += (size_t)len;
	return 0;
}

const char *sonde_buf_string(struct sonde_buf *buf)
{
	return sonde_buf_append(buf, "", 1) ? "" : (const char *)buf->data;
}

int sonde_buf_varint(struct sonde_buf *buf, uint64_t value)
{
	uint8_t bytes[SONDE_VARINT_MAX_B];
	return sonde_buf_append(buf, bytes, (size_t)(sonde_varint_put(bytes, value) - bytes));
}
