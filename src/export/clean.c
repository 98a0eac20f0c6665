/* clean.c: escaping by character, and widths as the C library defines them.
 *
 * wcwidth() depends on the locale, and a library must not change the program's locale. So this thread switches to a
 * UTF-8 locale of our own during the call.
 */
#include "export/clean.h"

#include <inttypes.h>
#include <locale.h>
#include <pthread.h>
#include <string.h>
#include <wchar.h>

#include "util/utf8.h"

static locale_t utf8_locale;

static void make_locale(void)
{
	utf8_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/* Returns the width in columns; -1 if the character is not visible. */
static int width_of(uint32_t code)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	if (code < 0x7f)
		return code >= 0x20 ? 1 : -1;
	pthread_once(&once, make_locale);
	if (!utf8_locale)
		return 1;
	locale_t before = uselocale(utf8_locale);
	int width = wcwidth((wchar_t)code);
	uselocale(before);
	return width;
}

/* Characters that reorder, hide or split text, though some of them count as visible. */
static int deceives(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
	    {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},     {0x115f, 0x1160},
	    {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},   {0x3164, 0x3164},
	    {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe007f},
	};
	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return 1;
	return 0;
}

static size_t escape(struct sonde_buf *out, uint32_t code, unsigned char byte)
{
	size_t before = out->len_b;
	if (code == '\n' || code == '\t' || code == '\r')
		sonde_buf_printf(out, "\\%c", code == '\n' ? 'n' : code == '\t' ? 't' : 'r');
	else if (code == SONDE_UTF8_INVALID || code < 0x80)
		sonde_buf_printf(out, "\\x%02x", byte);
	else
		sonde_buf_printf(out, "\\u{%" PRIx32 "}", code);
	return out->len_b - before;
}

static const char *ellipsis(int ascii)
{
	return ascii ? "..." : "…";
}

size_t sonde_clean(struct sonde_buf *out, const char *text, int ascii)
{
	size_t columns = 0;
	for (size_t n = 0; *text; n++) {
		if (n == SONDE_CLEAN_MAX) {
			sonde_buf_text(out, ellipsis(ascii));
			return columns + (ascii ? 3 : 1);
		}
		uint32_t code;
		size_t len = sonde_utf8_next(text, &code);
		int width =
		    code == SONDE_UTF8_INVALID || deceives(code) || (ascii && code > 0x7e) ? -1 : width_of(code);
		if (width < 0) {
			columns += escape(out, code, (unsigned char)*text);
		} else {
			sonde_buf_append(out, text, len);
			columns += (size_t)width;
		}
		text += len;
	}
	return columns;
}

size_t sonde_clean_columns(const char *text)
{
	size_t columns = 0;
	while (*text) {
		uint32_t code;
		text += sonde_utf8_next(text, &code);
		int width = width_of(code);
		columns += width > 0 ? (size_t)width : 0;
	}
	return columns;
}

/* The length in bytes of the longest prefix of `text` that fits in *columns; sets *columns to its width. */
static size_t head_within(const char *text, size_t *columns)
{
	size_t at = 0, used = 0;
	while (text[at]) {
		uint32_t code;
		size_t len = sonde_utf8_next(text + at, &code);
		int width = width_of(code);
		if (width > 0 && used + (size_t)width > *columns)
			break;
		used += width > 0 ? (size_t)width : 0;
		at += len;
	}
	*columns = used;
	return at;
}

size_t sonde_clean_head(struct sonde_buf *out, const char *text, size_t columns)
{
	sonde_buf_append(out, text, head_within(text, &columns));
	return columns;
}

enum { CAPACITY = 3 };

size_t sonde_clean_cut(struct sonde_buf *out, const char *text, size_t columns, int ascii)
{
	size_t start = out->len_b;
	size_t whole = sonde_clean(out, text, ascii);
	if (whole <= columns ||
	    sonde_buf_append(out, "\0\0\0", CAPACITY)) /* NUL, and space if the ellipsis is longer than the gap */
		return whole;
	const char *full = (const char *)out->data + start;
	size_t mark = ascii ? 3 : 1;
	if (columns < mark + 2) { /* too narrow for a head and a tail */
		size_t used = columns;
		out->len_b = start + head_within(full, &used);
		return used;
	}
	size_t head = (columns - mark + 1) / 2, skip = whole - (columns - mark - head);
	size_t head_b = head_within(full, &head);
	size_t skipped = skip;
	size_t skip_b = head_within(full, &skipped);
	if (skipped < skip) { /* the cut is in the middle of a wide character */
		uint32_t code;
		skip_b += sonde_utf8_next(full + skip_b, &code);
		skipped += 2;
	}
	size_t tail_b = out->len_b - CAPACITY - start - skip_b, mark_b = strlen(ellipsis(ascii));
	char *to = (char *)out->data + start + head_b;
	memmove(to + mark_b, full + skip_b, tail_b);
	memcpy(to, ellipsis(ascii), mark_b);
	out->len_b = start + head_b + mark_b + tail_b;
	return head + mark + whole - skipped;
}

const char *sonde_clean_text(struct sonde_buf *scratch, const char *text)
{
	sonde_buf_clear(scratch);
	sonde_clean(scratch, text, 0);
	return sonde_buf_string(scratch);
}

void sonde_clean_markup(FILE *out, const char *text)
{
	for (; *text; text++) {
		const char *entity = *text == '<'    ? "&lt;"
				     : *text == '>'  ? "&gt;"
				     : *text == '&'  ? "&amp;"
				     : *text == '"'  ? "&quot;"
				     : *text == '\'' ? "&#39;"
						     : NULL;
		if (entity)
			fputs(entity, out);
		else
			putc(*text, out);
	}
}
