/* base64.c: encodes bytes as base64. */
#include "export/html/base64.h"

#include <stdint.h>

enum { PART_B = 3 * 1024 };

void sonde_base64_write(const void *data, size_t size_b, FILE *out)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *at = data;
	char text[PART_B / 3 * 4];
	for (size_t left_b = size_b; left_b;) {
		size_t part_b = left_b < PART_B ? left_b : PART_B, length = 0;
		for (size_t i = 0; i < part_b; i += 3) {
			uint32_t bits = (uint32_t)at[i] << 16;
			bits |= i + 1 < part_b ? (uint32_t)at[i + 1] << 8 : 0;
			bits |= i + 2 < part_b ? at[i + 2] : 0;
			text[length++] = letters[bits >> 18];
			text[length++] = letters[bits >> 12 & 63];
			text[length++] = i + 1 < part_b ? letters[bits >> 6 & 63] : '=';
			text[length++] = i + 2 < part_b ? letters[bits & 63] : '=';
		}
		fwrite(text, 1, length, out);
		at += part_b;
		left_b -= part_b;
	}
}
