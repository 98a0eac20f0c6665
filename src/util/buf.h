/* buf.h: a byte buffer that grows up to a fixed maximum.
 *
 * Errors are sticky: after a failed call every later one fails too, so a writer checks once at the end
 * (sonde_buf_error()). Not thread-safe.
 */
#ifndef SONDE_UTIL_BUF_H
#define SONDE_UTIL_BUF_H

#include <stddef.h>
#include <stdint.h>

struct sonde_buf {
	uint8_t *data;
	size_t len_b;
	size_t cap_b;
	size_t max_b;
	int error; /* 0 or a negative errno */
};

/* `max_b`: the maximum size. */
void sonde_buf_init(struct sonde_buf *buf, size_t max_b);
void sonde_buf_fini(struct sonde_buf *buf);
void sonde_buf_clear(struct sonde_buf *buf);

/* Appends size_b uninitialised bytes and returns them; NULL if that would exceed the maximum or memory runs out. */
void *sonde_buf_extend(struct sonde_buf *buf, size_t size_b);
int sonde_buf_append(struct sonde_buf *buf, const void *data, size_t size_b);
int sonde_buf_text(struct sonde_buf *buf, const char *text);
int sonde_buf_printf(struct sonde_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
int sonde_buf_varint(struct sonde_buf *buf, uint64_t value);

/* Appends a NUL and returns the text, valid until the buffer changes; "" after an error. */
const char *sonde_buf_string(struct sonde_buf *buf);

static inline int sonde_buf_error(const struct sonde_buf *buf)
{
	return buf->error;
}

#endif
