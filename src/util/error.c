/* error.c: the thread-local sentence behind sonde_error(). */
#include "util/error.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char text[1024];

int sonde_error(int code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return -code;
}

const char *sonde_error_text(void)
{
	return text;
}
