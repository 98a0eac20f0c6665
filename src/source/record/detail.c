/* detail.c: the detail of a source's record (record/detail.h). */
#include "source/record/detail.h"

#include <stdarg.h>
#include <stdio.h>

static void append(struct sonde_detail *detail, const char *format, va_list arguments)
{
	size_t left_b = sizeof detail->text - detail->used;
	int more_b = vsnprintf(detail->text + detail->used, left_b, format, arguments);
	detail->used += more_b < 0 ? 0 : (size_t)more_b < left_b ? (size_t)more_b : left_b - 1;
}

void sonde_detail_add(struct sonde_detail *detail, const char *format, ...)
{
	va_list arguments;
	if (detail->used)
		sonde_detail_more(detail, "; ");
	va_start(arguments, format);
	append(detail, format, arguments);
	va_end(arguments);
}

void sonde_detail_more(struct sonde_detail *detail, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	append(detail, format, arguments);
	va_end(arguments);
}
