/* utf8.c: strict decoding: a byte that RFC 3629 does not allow counts as one invalid byte. */
#include "util/utf8.h"

size_t sonde_utf8_next(const char *text, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *at = (const unsigned char *)text;
	size_t len = at[0] < 0x80 ? 1 : at[0] < 0xc0 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf8 ? 4 : 0;
	*code = SONDE_UTF8_INVALID;
	if (len == 0)
		return 1;
	uint32_t value = len == 1 ? at[0] : at[0] & (0xffu >> (len + 1));
	for (size_t i = 1; i < len; i++) {
		if ((at[i] & 0xc0) != 0x80) /* also catches the terminating NUL */
			return 1;
		value = value << 6 | (at[i] & 0x3f);
	}
	if (value < least[len] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
		return 1;
	*code = value;
	return len;
}
