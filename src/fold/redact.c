/* redact.c: the patterns of secrets in command lines, and a scanner that makes one pass over the words. redact.def
 * lists the secrets of specific programs.
 *
 * A word is an option, an assignment, a header or a text. A text with blanks is treated as a shell line, so that the
 * argument of `sh -c` is redacted too; its words may be shell lines again. A value in such a line that the shell has
 * yet to expand ($X) is not a secret. If in doubt, the value of a name that says "password" is removed: losing a
 * harmless value is better than leaking a password in a file that is shared.
 */
#include "fold/redact.h"

#include <string.h>

#include "fold/secrets.h"

#define MARK "***"
#define DEPTH_MAX 4 /* nesting of shell lines */

/* --- the table --------------------------------------------------------------------------------------------------- */

/* The position of the secret: -pX; -p X; after the last of several letters, as in -sSu X; the word N after the option
   and all following words.
 */
enum {
	ATTACHED = 1,
	NEXT = 2,
	CLUSTER = 4,
	WHOLE = 8,    /* a value without the separator is a secret, too */
	LOGIN = 16,   /* the secret is the password in user:password@host */
	SETTING = 32, /* the word after a name that says so: set a_token X */
	FEWER = 64,   /* FROM(N) starts a word earlier */
	FROM_SHIFT = 8,
};
#define FROM(n) ((n) << FROM_SHIFT)

static const struct program {
	const char *names; /* of executables, separated by blanks */
	const char *subcommand, *option;
	unsigned how;
	char separator;
} programs[] = {
#define SONDE_SECRET(names, subcommand, option, how, separator) {names, subcommand, option, how, separator},
#include "fold/redact.def"
#undef SONDE_SECRET
};

/* The names of all these programs, so that any other word is skipped at once. */
static const char program_names[] = " "
#define SONDE_SECRET(names, subcommand, option, how, separator) names " "
#include "fold/redact.def"
#undef SONDE_SECRET
    ;

/* Options whose value is a name of something else, even if a program has the same name: docker run --name mongo. */
static const char *const naming[] = {"-u",         "-U",     "-h",        "--user",          "--username",     "--name",
				     "--hostname", "--host", "--network", "--network-alias", "--project-name", NULL};

/* Paths to files of programs rather than to programs. */
static const char *const not_programs[] = {"/etc/", "/var/", "/usr/share/", "/usr/include/", NULL};

/* --- the scanner ------------------------------------------------------------------------------------------------- */

struct scan {
	char *out;
	size_t out_b, len;
	unsigned count;
	const char *program, *subcommand; /* the last ones named, in the words; NULL = none */
	size_t program_b, subcommand_b;
	unsigned pending; /* the next word is a secret: NEXT, with the flags of its row; 0 = it is not */
	char separator;   /* the separator of the pending secret */
	int is_weak;      /* the pending secret has a weak name */
	unsigned from;    /* the secret is word N: FROM(N), with the flags of its row; 0 = none */
	char from_after;  /* the separator of the secret in word N */
	unsigned fewer;   /* number of words by which N is lower */
	unsigned words;   /* words since the option with FROM(N) */
	int is_setting;   /* a name that says "password" is followed by its value */
	int is_name;      /* the next word is no program */
	int is_shell;     /* the next word is a shell line, because it follows -c */
	int depth;        /* nesting depth of shell lines */
	enum { NO_SQL, IDENTIFIED, IS_NEXT } sql;
};

static int is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int is_name(char c)
{
	return is_letter(c) || is_digit(c) || c == '_' || c == '-';
}

static int is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

static void put(struct scan *scan, const char *text, size_t len)
{
	size_t capacity = scan->out_b - scan->len;
	len = len < capacity ? len : capacity;
	memcpy(scan->out + scan->len, text, len);
	scan->len += len;
}

static int is_word(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && !memcmp(text, word, len);
}

/* Writes a value, keeping its quotes. */
static void put_value(struct scan *scan, const char *text, size_t len, int is_weak)
{
	int is_quoted = len >= 2 && (*text == '"' || *text == '\'') && text[len - 1] == *text;
	const char *value = text + is_quoted;
	size_t value_b = len - 2 * (size_t)is_quoted;
	if (!value_b || (*value == '$' && scan->depth) || (is_weak && sonde_secret_ordinary(value, value_b))) {
		put(scan, text, len);
		return;
	}
	put(scan, text, (size_t)is_quoted);
	put(scan, MARK, sizeof MARK - 1);
	put(scan, text + len - is_quoted, (size_t)is_quoted);
	scan->count++;
}

static int is_listed(const char *const *list, const char *text, size_t len)
{
	while (*list && !is_word(text, len, *list))
		list++;
	return *list != NULL;
}

static size_t name_length(const char *text, size_t len)
{
	size_t at = 0;
	while (at < len && (is_name(text[at]) || text[at] == '.'))
		at++;
	return at;
}

/* End of the value of a name within a text. */
static size_t value_length(const char *text, size_t len)
{
	size_t at = 0;
	if (len && (*text == '"' || *text == '\'')) {
		const char *end = memchr(text + 1, *text, len - 1);
		return end ? (size_t)(end - text) + 1 : len;
	}
	while (at < len && !is_blank(text[at]) && !strchr("&;,\"'})", text[at]))
		at++;
	return at;
}

/* After "://": redacts the password of user:password@host. */
static size_t put_user(struct scan *scan, const char *text, size_t len)
{
	size_t end = 0, at = 0, colon = 0;
	while (end < len && !is_blank(text[end]) && !strchr("/?#\"'", text[end]))
		end++;
	for (size_t i = 0; i < end; i++)
		at = text[i] == '@' ? i : at;
	while (colon < at && text[colon] != ':')
		colon++;
	if (colon >= at)
		return 0;
	put(scan, text, colon + 1);
	put_value(scan, text + colon + 1, at - colon - 1, 0);
	return at;
}

/* Redacts name=value or "name": value; returns the length of the pair, 0 = no secret. */
static size_t put_pair(struct scan *scan, const char *text, size_t len, size_t name_b)
{
	size_t at = name_b;
	const struct sonde_secret_name *name = sonde_secret_name(text, name_b);
	if (!name || at >= len)
		return 0;
	int is_json = text[at] == '"' || text[at] == '\'';
	at += (size_t)is_json;
	while (is_json && at < len && is_blank(text[at]))
		at++;
	if (at >= len || text[at] != (is_json ? ':' : '='))
		return 0;
	at++;
	while (is_json && at < len && is_blank(text[at]))
		at++;
	size_t value_b = value_length(text + at, len - at);
	put(scan, text, at);
	put_value(scan, text + at, value_b, name->is_weak);
	return at + value_b;
}

/* Redacts secrets anywhere in a text: keys, URLs with passwords, pairs. */
static void put_text(struct scan *scan, const char *text, size_t len)
{
	for (size_t at = 0; at < len;) {
		int begins = !at || !is_name(text[at - 1]);
		size_t key = begins ? sonde_secret_key(text + at, len - at) : 0, used = 0;
		size_t name_b = begins ? name_length(text + at, len - at) : 0;
		if (key) {
			put_value(scan, text + at, key, 0);
			used = key;
		} else if (begins && len - at > 5 && !memcmp(text + at, "pass:", 5)) { /* openssl */
			put(scan, text + at, 5);
			put_value(scan, text + at + 5, len - at - 5, 0);
			used = len - at;
		} else if (name_b) {
			used = put_pair(scan, text + at, len - at, name_b);
		} else if (len - at > 3 && !memcmp(text + at, "://", 3)) {
			put(scan, text + at, 3);
			used = 3 + put_user(scan, text + at + 3, len - at - 3);
		}
		if (!used) {
			used = name_b ? name_b : 1;
			put(scan, text + at, used);
		}
		at += used;
	}
}

static void scan_word(struct scan *scan, const char *word, size_t len, int depth);

/* Ends a command: the following words belong to no known program. */
static void end_command(struct scan *scan)
{
	scan->program = scan->subcommand = NULL;
	scan->from = scan->fewer = 0;
	scan->is_setting = 0;
}

/* Length of the word of a shell line that starts here. */
static size_t word_length(const char *line, size_t len)
{
	char quote = 0;
	size_t at = 0;
	for (; at < len && (quote || !is_blank(line[at])); at++) {
		char c = line[at];
		at += c == '\\' && quote != '\'' && at + 1 < len;
		quote = quote ? (c == quote ? 0 : quote) : c == '"' || c == '\'' ? c : 0;
	}
	return at < len ? at : len;
}

static int is_keyword(const char *text, size_t len, const char *word)
{
	size_t at = 0;
	while (at < len && word[at] && (text[at] | 0x20) == word[at])
		at++;
	return at == len && !word[at];
}

/* Handles SQL's PASSWORD 'X' and IDENTIFIED BY 'X'; returns the length of X with its quotes if the word is one. */
static size_t put_sql(struct scan *scan, const char *word, size_t len)
{
	int is_identified = scan->sql == IDENTIFIED;
	size_t used = 0;
	if (scan->sql == IS_NEXT && len && *word == '\'') {
		used = value_length(word, len);
		put_value(scan, word, used, 0);
	}
	scan->sql = is_keyword(word, len, "identified")            ? IDENTIFIED
		    : is_identified && is_keyword(word, len, "by") ? IS_NEXT
		    : is_keyword(word, len, "password")            ? IS_NEXT
								   : NO_SQL;
	return used;
}

/* Scans a shell line: words separated by blanks, some of them quoted. */
static void scan_line(struct scan *scan, const char *line, size_t len, int depth)
{
	for (size_t at = 0; at < len;) {
		size_t word_b = word_length(line + at, len - at);
		const char *word = line + at;
		int is_quoted = word_b >= 2 && (*word == '"' || *word == '\'') && word[word_b - 1] == *word;
		size_t used = put_sql(scan, word, word_b);
		if (used) {
			at += used;
			continue;
		}
		if (word_b && (strchr(";|&<>", *word) || (word_b > 1 && word[1] == '>')))
			end_command(scan);
		put(scan, word, (size_t)is_quoted);
		if (word_b)
			scan_word(scan, word + is_quoted, word_b - 2 * (size_t)is_quoted, depth + 1);
		put(scan, word, (size_t)is_quoted);
		if (word_b && !is_quoted && strchr(";|&", word[word_b - 1]))
			end_command(scan);
		for (at += word_b; at < len && is_blank(line[at]); at++)
			put(scan, line + at, 1);
	}
}

/* True if it is one of the names, which have blanks between them. */
static int is_in(const char *names, size_t names_b, const char *text, size_t len)
{
	for (const char *at = names; len && (at = memmem(at, names_b - (size_t)(at - names), text, len)); at++)
		if ((at == names || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
			return 1;
	return 0;
}

/* Writes the secret of a value that is not attached to an option; returns false if it has none. */
static int put_secret(struct scan *scan, const char *word, size_t len, unsigned how, char separator)
{
	const char *at = separator ? memchr(word, separator, len) : NULL;
	if (how & LOGIN) {
		size_t used = put_user(scan, word, len);
		put(scan, word + used, used ? len - used : 0);
		return used != 0;
	}
	if (separator && !at && !(how & WHOLE))
		return 0;
	size_t kept = at ? (size_t)(at + 1 - word) : 0;
	put(scan, word, kept);
	put_value(scan, word + kept, len - kept, scan->is_weak);
	return 1;
}

static int takes_next(const struct program *row, const char *word, size_t len)
{
	if (is_word(word, len, row->option))
		return 1;
	if (!(row->how & CLUSTER) || len < 3 || *word != '-' || !is_letter(word[1]))
		return 0;
	/* In a cluster only the last option can have a value; options without one can be anywhere. */
	return row->how & NEXT ? word[len - 1] == row->option[1] : memchr(word + 1, row->option[1], len - 1) != NULL;
}

/* Handles an option of a known program; returns true if it was one. */
static int scan_option(struct scan *scan, const struct program *row, const char *word, size_t len)
{
	size_t option_b = strlen(row->option);
	scan->is_weak = 0;
	if (takes_next(row, word, len) && row->how & ~(unsigned)ATTACHED) {
		if (row->how >> FROM_SHIFT) {
			scan->from = row->how;
			scan->from_after = row->separator;
			scan->words = 0;
		}
		scan->pending = row->how & NEXT ? row->how : 0;
		scan->separator = row->separator;
		scan->is_setting |= (row->how & SETTING) != 0;
		scan->fewer += (row->how & FEWER) != 0;
		return 0;
	}
	return row->how & ATTACHED && len > option_b && !memcmp(word, row->option, option_b);
}

/* Applies the rows of the current program to a word; returns true if it was written. */
static int scan_program(struct scan *scan, const char *word, size_t len)
{
	for (size_t i = 0; scan->program && i < sizeof programs / sizeof *programs; i++) {
		const struct program *row = &programs[i];
		if (!is_in(row->names, strlen(row->names), scan->program, scan->program_b))
			continue;
		if (row->subcommand && is_word(word, len, row->subcommand)) {
			scan->subcommand = word;
			scan->subcommand_b = len;
		}
		if (!row->option ||
		    (row->subcommand &&
		     !(scan->subcommand && is_word(scan->subcommand, scan->subcommand_b, row->subcommand))))
			continue;
		if (!scan_option(scan, row, word, len))
			continue;
		size_t option_b = strlen(row->option), out_len = scan->len;
		put(scan, word, option_b);
		if (put_secret(scan, word + option_b, len - option_b, row->how, row->separator))
			return 1;
		scan->len = out_len;
	}
	return 0;
}

/* Remembers the program that the following options belong to. */
static void find_program(struct scan *scan, const char *word, size_t len)
{
	int is_file = 0;
	for (const char *const *path = not_programs; *path; path++)
		is_file |= len > strlen(*path) && !memcmp(word, *path, strlen(*path));
	size_t base = len;
	while (base && !strchr("/(`", word[base - 1]))
		base--;
	if (!len || is_file || *word == '-' || !is_in(program_names, sizeof program_names - 1, word + base, len - base))
		return;
	end_command(scan);
	scan->program = word + base;
	scan->program_b = len - base;
}

/* Handles a value announced by an earlier word; returns true if it was one. */
static int scan_pending(struct scan *scan, const char *word, size_t len)
{
	unsigned pending = scan->pending;
	scan->pending = 0;
	if (!len || *word == '-')
		return 0;
	if (pending)
		return put_secret(scan, word, len, pending, scan->separator);
	unsigned from = scan->from >> FROM_SHIFT;
	scan->is_weak = 0;
	if (from && ++scan->words + scan->fewer >= from)
		return put_secret(scan, word, len, scan->from, scan->from_after);
	const struct sonde_secret_name *name = scan->is_setting ? sonde_secret_name(word, len) : NULL;
	if (name && !memchr(word, '=', len)) {
		scan->pending = NEXT;
		scan->separator = 0;
		scan->is_weak = name->is_weak;
	}
	return 0;
}

/* Start of the value of a header: in Header: X, --header=Header: X and -HHeader: X; 0 = none. */
static size_t header_value(const char *word, size_t len)
{
	size_t name_b = name_length(word, len);
	size_t from[] = {0, name_b < len && word[name_b] == '=' ? name_b + 1 : 0,
			 len > 2 && !memcmp(word, "-H", 2) ? 2 : 0};
	for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
		size_t at = from[i];
		at += at && at < len && (word[at] == '"' || word[at] == '\'');
		size_t end = at + name_length(word + at, len - at);
		if (end < len && word[end] == ':' && sonde_secret_header(word + at, end - at) &&
		    (end + 1 == len || word[end + 1] != '/'))
			return end + 1;
	}
	return 0;
}

/* Handles --password X, --password=X, NAME=X and Header: X, up to the end of the word; returns true if it was one. */
static int scan_named(struct scan *scan, const char *word, size_t len, int is_shell)
{
	size_t name_b = name_length(word, len), value = header_value(word, len);
	int may_be = name_b == len ? *word == '-' : word[name_b] == '=';
	const struct sonde_secret_name *name = name_b && may_be ? sonde_secret_name(word, name_b) : NULL;
	if (name && name_b == len && len > 2) {
		scan->pending = NEXT;
		scan->separator = 0;
		scan->is_weak = name->is_weak;
		put(scan, word, len);
		return 1;
	}
	int is_pair = name && name_b < len && word[name_b] == '=' && !memchr(word, '&', len);
	if ((!is_pair && !value) || (is_shell && *word != '-' && is_pair && memchr(word, ' ', len)))
		return 0;
	value = is_pair ? name_b + 1 : value;
	while (value < len && is_blank(word[value]))
		value++;
	size_t quote = !is_pair && value < len && value > name_b + 1 && strchr("\"'", word[len - 1]) != NULL;
	put(scan, word, value);
	put_value(scan, word + value, len - value - quote, is_pair && name->is_weak);
	put(scan, word + len - quote, quote);
	return 1;
}

static void scan_word(struct scan *scan, const char *word, size_t len, int depth)
{
	int is_shell = scan->is_shell, is_name = scan->is_name, has_blank = 0;
	scan->is_shell = len >= 2 && len <= 5 && *word == '-' && word[1] != '-' && word[len - 1] == 'c';
	scan->is_name = is_listed(naming, word, len);
	scan->depth = depth;
	if (scan_pending(scan, word, len) || scan_program(scan, word, len) ||
	    (len && scan_named(scan, word, len, is_shell)))
		return;
	if (!is_name)
		find_program(scan, word, len);
	for (size_t i = 0; i < len && !has_blank; i++)
		has_blank = is_blank(word[i]);
	if (has_blank && depth < DEPTH_MAX && *word != '{' && *word != '[' && !sonde_secret_key(word, len))
		scan_line(scan, word, len, depth);
	else
		put_text(scan, word, len);
}

size_t sonde_redact(char *out, size_t out_b, const char *words, size_t words_b, unsigned *count)
{
	struct scan scan = {.out = out, .out_b = out_b};
	for (size_t at = 0; at < words_b;) {
		const char *end = memchr(words + at, '\0', words_b - at);
		size_t len = end ? (size_t)(end - words) - at : words_b - at;
		scan.is_shell |= !at && len + 1 >= words_b; /* a shell line of its own */
		scan_word(&scan, words + at, len, 0);
		if (end)
			put(&scan, "", 1);
		at += len + 1;
	}
	if (count)
		*count = scan.count;
	return scan.len;
}

size_t sonde_redact_whole(const char *words, size_t words_b)
{
	while (words_b && words[words_b - 1] && !is_blank(words[words_b - 1]))
		words_b--;
	return words_b;
}
