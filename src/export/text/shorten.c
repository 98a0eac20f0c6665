/* shorten.c: splits a C++ name at the brackets of its outermost level: "type scope::name<…>(…) const".
 *
 * The last parameter list is the function's. Brackets after the word operator are part of the name, and so is
 * "(anonymous namespace)". A name without a parameter list (C, Rust, Go) has no type in front.
 */
#include "export/text/shorten.h"

#include <string.h>

#include "export/clean.h"

enum { NAME_MAX_B = 1 << 16 };

struct parts {
	const char *scope;     /* begin of the scopes, after the return type */
	const char *own;       /* begin of the function's own name, the last component */
	const char *arguments; /* begin of the parameter list, or the end of the text */
	const char *end;
};

/* Returns the position after `at`, or after an operator's symbol if one begins there. */
static const char *step(const char *begin, const char *at)
{
	static const char word[] = "operator", unnamed[] = "(anonymous namespace)";
	size_t word_b = sizeof word - 1;
	int is_word = at == begin || strchr(" :&*", at[-1]);
	if (is_word && !strncmp(at, word, word_b) && at[word_b] && !strchr("_", at[word_b])) {
		at += word_b;
		if (!strncmp(at, "()", 2))
			return at + 2;
		return at + strcspn(at, "("); /* "operator<", "operator new", "operator unsigned int" */
	}
	if (!strncmp(at, unnamed, sizeof unnamed - 1))
		return at + sizeof unnamed - 1;
	return at + 1;
}

static struct parts take_apart(const char *name)
{
	struct parts parts = {.scope = name, .own = name, .end = name + strlen(name)};
	const char *type_end = NULL, *own = name, *next;
	int depth = 0;
	parts.arguments = parts.end;
	for (const char *at = name; *at; at = next) {
		next = step(name, at);
		int is_sign = next > at + 1;
		if (!is_sign && *at == '(' && depth == 0 && at > name) {
			parts.arguments = at;
			parts.own = own;
			parts.scope = type_end ? type_end : name;
		}
		if (!is_sign && strchr("<({[", *at))
			depth++;
		else if (!is_sign && strchr(">)}]", *at) && depth && !(at > name && at[-1] == '-'))
			depth--;
		else if (!is_sign && depth == 0 && *at == ' ' && parts.arguments == parts.end)
			own = type_end = at + 1;
		else if (!is_sign && depth == 0 && at[0] == ':' && at[1] == ':')
			own = at + 2;
	}
	if (parts.arguments == parts.end)
		parts.own = own == type_end ? name : own;
	return parts;
}

/* Copies the text up to `end`, with "<…>" for template arguments of the outermost level. */
static void put_without_templates(struct sonde_buf *out, const char *text, const char *end, const char *mark)
{
	int depth = 0;
	for (const char *next; text < end; text = next) {
		next = step(text, text);
		int is_sign = next > text + 1;
		next = next < end ? next : end;
		if (!is_sign && *text == '>' && depth && --depth == 0)
			sonde_buf_text(out, mark);
		if (!depth)
			sonde_buf_append(out, text, (size_t)(next - text));
		depth += !is_sign && *text == '<';
	}
}

/* Writes the name; the higher the level, the more is omitted: level 0 omits only the arguments. */
static int put_level(struct sonde_buf *out, const char *name, int level, const char *mark)
{
	struct parts parts = take_apart(name);
	const char *from = level == 0 ? name : level == 3 ? parts.own : parts.scope;
	if (level == 3 && parts.own != parts.scope)
		sonde_buf_printf(out, "%s::", mark);
	if (level < 2)
		sonde_buf_append(out, from, (size_t)(parts.arguments - from));
	else
		put_without_templates(out, from, parts.arguments, mark);
	if (parts.arguments < parts.end)
		sonde_buf_printf(out, "(%s)", mark);
	return sonde_buf_append(out, "", 1);
}

size_t sonde_shorten_name(struct sonde_buf *out, const char *name, size_t columns, int ascii)
{
	struct sonde_buf shorter;
	size_t used = 0;
	int found = sonde_clean_columns(name) <= columns || strlen(name) > NAME_MAX_B / 2;
	const char *best = name;
	sonde_buf_init(&shorter, NAME_MAX_B);
	for (int level = 0; level < 4 && !found; level++) {
		sonde_buf_clear(&shorter);
		if (put_level(&shorter, name, level, ascii ? "..." : "…"))
			break;
		best = (const char *)shorter.data;
		found = sonde_clean_columns(best) <= columns;
	}
	used = sonde_clean_cut(out, best, columns, ascii);
	sonde_buf_fini(&shorter);
	return used;
}
