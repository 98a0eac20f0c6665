/* base64.h: base64 encoding (RFC 4648), with padding, in one line. */
#ifndef SONDE_EXPORT_HTML_BASE64_H
#define SONDE_EXPORT_HTML_BASE64_H

#include <stddef.h>
#include <stdio.h>

void sonde_base64_write(const void *data, size_t size_b, FILE *out);

static inline size_t sonde_base64_size(size_t size_b)
{
	return (size_b + 2) / 3 * 4;
}

#endif
