/* utf8.h: decodes untrusted bytes one character at a time. */
#ifndef SONDE_UTIL_UTF8_H
#define SONDE_UTIL_UTF8_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_UTF8_INVALID UINT32_MAX

/* Decodes the character at `text` (NUL-terminated, not at its end) into *code, or SONDE_UTF8_INVALID for a byte that
 * starts no valid sequence (overlong, surrogate, truncated). Returns the number of bytes consumed, ≥ 1. */
size_t sonde_utf8_next(const char *text, uint32_t *code);

#endif
