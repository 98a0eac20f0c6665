/* error.c: the thread-local message behind sonde_error(). Messages are printed on terminals and may contain untrusted
 * names of files and their contents, so control characters and characters that reorder text are replaced by question
 * marks. */
#include "util/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/utf8.h"

static _Thread_local char text[1024];

static int is_harmful(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code <= 0x9f) || (code >= 0x200b && code <= 0x200f) ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f);
}

static void make_harmless(char *at)
{
	uint32_t code;
	for (size_t taken; *at; at += taken) {
		taken = sonde_utf8_next(at, &code);
		if (is_harmful(code))
			memset(at, '?', taken);
	}
}

int sonde_error(int code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	make_harmless(text);
	return -code;
}

const char *sonde_error_text(void)
{
	return text;
}
