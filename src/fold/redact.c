/* redact.c: the patterns of secrets in command lines, and a scanner that makes one pass over the words.
 *
 * A word is an option, an assignment, a header or a text. A text with blanks is treated as a shell line, so that the
 * argument of `sh -c` is redacted too; its words may be shell lines again. A value that the shell has yet to expand
 * ($X) is not a secret. In doubt the value of a name that says "password" is removed: losing a harmless value is better
 * than leaking a password in a file that is shared.
 */
#include "fold/redact.h"

#include <string.h>

#define MARK "***"
#define NAME_MAX_B 64
#define DEPTH_MAX 4 /* nesting of shell lines */

/* --- the table --------------------------------------------------------------------------------------------------- */

/* End of a name, in lower case with "-" for "_" and ".". */
static const struct name {
	const char *end;
	int is_part; /* must be a separate part: DB_PASS, not "compass" */
	int is_weak; /* numbers up to 999 and words like "true" are not secrets */
} names[] = {
    {"password", 0, 0},      {"passwd", 0, 0},         {"passphrase", 0, 0}, {"secret", 0, 1},
    {"secret-key", 0, 0},    {"secretkey", 0, 0},      {"access-key", 0, 0}, {"accesskey", 0, 0},
    {"account-key", 0, 0},   {"accountkey", 0, 0},     {"api-key", 0, 0},    {"apikey", 0, 0},
    {"auth-key", 0, 0},      {"encryption-key", 0, 0}, {"token", 0, 1},      {"pass", 1, 1},
    {"oauth2-bearer", 1, 0}, {"requirepass", 1, 0},    {"masterauth", 1, 0}, {"private-token", 1, 0},
    {"storepass", 0, 0},     {"keypass", 0, 0},        {"sig", 1, 1},
};

/* Prefixes that make such a name harmless: --no-password, --eos-token, --ask-pass. */
static const char *const harmless[] = {"no",     "ask",    "show",    "print", "use",  "with",  "without",
				       "prompt", "enable", "disable", "has",   "eos",  "bos",   "pad",
				       "unk",    "sep",    "cls",     "mask",  "stop", "start", "end",
				       "max",    "min",    "num",     "per",   "next", "new"};

static const char *const headers[] = {"authorization", "proxy-authorization", "cookie", "set-cookie", "x-auth"};

/* Options that hold secrets in specific programs only. */
static const struct program {
	const char *name; /* of the program */
	const char *option;
	enum { ATTACHED = 1, NEXT = 2, AFTER_COLON = 4 } how; /* -pX, -p X, -u user:X */
} programs[] = {
    {"mysql", "-p", ATTACHED},
    {"mysqldump", "-p", ATTACHED},
    {"mysqladmin", "-p", ATTACHED},
    {"mysqlimport", "-p", ATTACHED},
    {"mysqlshow", "-p", ATTACHED},
    {"mysqlcheck", "-p", ATTACHED},
    {"mysqlslap", "-p", ATTACHED},
    {"mysqlbinlog", "-p", ATTACHED},
    {"mariadb", "-p", ATTACHED},
    {"mariadb-dump", "-p", ATTACHED},
    {"mariadb-admin", "-p", ATTACHED},
    {"mariadb-slap", "-p", ATTACHED},
    {"sshpass", "-p", ATTACHED | NEXT},
    {"redis-cli", "-a", NEXT},
    {"ssh-keygen", "-N", NEXT},
    {"ssh-keygen", "-P", NEXT},
    {"curl", "-u", ATTACHED | NEXT | AFTER_COLON},
    {"curl", "--user", NEXT | AFTER_COLON},
    {"curl", "-U", ATTACHED | NEXT | AFTER_COLON},
    {"curl", "--proxy-user", NEXT | AFTER_COLON},
    {"ldapsearch", "-w", ATTACHED | NEXT},
    {"mosquitto_pub", "-P", NEXT},
    {"mosquitto_sub", "-P", NEXT},
    {"sqlcmd", "-P", ATTACHED | NEXT},
    {"mongosh", "-p", NEXT},
    {"mongo", "-p", NEXT},
    {"mongodump", "-p", NEXT},
    {"7z", "-p", ATTACHED},
    {"unzip", "-P", NEXT},
    {"zip", "-P", NEXT},
};

/* Shapes of keys: a prefix and a minimum number of letters, digits and `more`. */
static const struct shape {
	const char *prefix;
	size_t least;
	const char *more;
	int is_mixed; /* contains an upper-case letter and a digit */
} shapes[] = {
    {"AKIA", 16, "", 0},     {"ASIA", 16, "", 0},
    {"ghp_", 30, "", 0},     {"gho_", 30, "", 0},
    {"ghu_", 30, "", 0},     {"ghs_", 30, "", 0},
    {"ghr_", 30, "", 0},     {"github_pat_", 22, "_", 0},
    {"glpat-", 20, "-_", 0}, {"sk-", 20, "-_", 1},
    {"sk_live_", 16, "", 0}, {"rk_live_", 16, "", 0},
    {"xoxb-", 10, "-", 0},   {"xoxp-", 10, "-", 0},
    {"xoxa-", 10, "-", 0},   {"AIza", 35, "-_", 0},
    {"ya29.", 20, "-_", 0},  {"npm_", 36, "", 0},
    {"hf_", 30, "", 0},      {"pypi-", 50, "-_", 0},
    {"eyJ", 40, "-_.", 1},   {"-----BEGIN", 20, "-+/= \n", 1},
};

/* --- the scanner ------------------------------------------------------------------------------------------------- */

struct scan {
	char *out;
	size_t out_b, len;
	unsigned count;
	const struct program *program; /* row of the last program named */
	unsigned pending;              /* the next word is a secret: NEXT or AFTER_COLON */
	int is_weak;                   /* qualifies NEXT */
	int is_shell;                  /* the next word is a shell line, because it follows -c */
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

/* True for values of weak names that are not secrets: a number up to 999 or a truth value. */
static int is_ordinary(const char *text, size_t len)
{
	static const char *const ordinary[] = {"true", "false", "yes", "no", "on", "off", "none", "null"};
	size_t digits = 0;
	while (digits < len && is_digit(text[digits]))
		digits++;
	if (len <= 3 && digits == len)
		return 1;
	for (size_t i = 0; i < sizeof ordinary / sizeof *ordinary; i++)
		if (is_word(text, len, ordinary[i]))
			return 1;
	return 0;
}

/* Writes a value, keeping its quotes. */
static void put_value(struct scan *scan, const char *text, size_t len, int is_weak)
{
	int is_quoted = len >= 2 && (*text == '"' || *text == '\'') && text[len - 1] == *text;
	const char *value = text + is_quoted;
	size_t value_b = len - 2 * (size_t)is_quoted;
	if (!value_b || *value == '$' || (is_weak && is_ordinary(value, value_b))) {
		put(scan, text, len);
		return;
	}
	put(scan, text, (size_t)is_quoted);
	put(scan, MARK, sizeof MARK - 1);
	put(scan, text + len - is_quoted, (size_t)is_quoted);
	scan->count++;
}

/* Lower-cases a name, with "-" for "_" and "."; of a long one only the end. */
static size_t plain_name(char out[NAME_MAX_B], const char *text, size_t len)
{
	while (len && *text == '-')
		text++, len--;
	if (len >= NAME_MAX_B) {
		text += len - (NAME_MAX_B - 1);
		len = NAME_MAX_B - 1;
	}
	for (size_t i = 0; i < len; i++)
		out[i] = text[i] == '_' || text[i] == '.'   ? '-'
			 : text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a')
							    : text[i];
	return len;
}

static int is_harmless(const char *name, size_t len)
{
	size_t last = len;
	while (last && name[last - 1] != '-')
		last--;
	size_t first = strcspn(name, "-") < len ? strcspn(name, "-") : len;
	for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
		if (is_word(name, first, harmless[i]) || is_word(name + last, len - last, harmless[i]))
			return 1;
	return 0;
}

static const struct name *name_of(const char *text, size_t text_b)
{
	char name[NAME_MAX_B + 1] = "";
	size_t len = plain_name(name, text, text_b);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		size_t end = strlen(names[i].end), before = len - end;
		if (end > len || memcmp(name + before, names[i].end, end))
			continue;
		if (names[i].is_part && before && name[before - 1] != '-')
			continue;
		size_t others = before && name[before - 1] == '-' ? before - 1 : before;
		if (!others || !is_harmless(name, others))
			return &names[i];
	}
	/* MYSQL_PWD is a password; PWD alone is the working directory. */
	static const struct name pwd = {"-pwd", 0, 0};
	return len > 4 && !memcmp(name + len - 4, pwd.end, 4) ? &pwd : NULL;
}

static int is_header(const char *text, size_t text_b)
{
	char name[NAME_MAX_B + 1] = "";
	size_t len = plain_name(name, text, text_b);
	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
		if (is_word(name, len, headers[i]))
			return 1;
	return len > 2 && name_of(text, text_b) && memchr(name, '-', len);
}

static size_t name_length(const char *text, size_t len)
{
	size_t at = 0;
	while (at < len && (is_name(text[at]) || text[at] == '.'))
		at++;
	return at;
}

/* Length of the key that starts here; 0 = none. */
static size_t key_length(const char *text, size_t len)
{
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		const struct shape *shape = &shapes[i];
		size_t prefix = strlen(shape->prefix), at = prefix;
		int upper = 0, digit = 0;
		if (prefix >= len || memcmp(text, shape->prefix, prefix))
			continue;
		for (; at < len &&
		       (is_letter(text[at]) || is_digit(text[at]) || (text[at] && strchr(shape->more, text[at])));
		     at++) {
			upper |= is_letter(text[at]) && text[at] <= 'Z';
			digit |= is_digit(text[at]);
		}
		if (at - prefix >= shape->least && (!shape->is_mixed || (upper && digit)))
			return at;
	}
	return 0;
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
	const struct name *name = name_of(text, name_b);
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
		size_t key = begins ? key_length(text + at, len - at) : 0, used = 0;
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

/* Scans a shell line: words separated by blanks, some of them quoted. */
static void scan_line(struct scan *scan, const char *line, size_t len, int depth)
{
	for (size_t at = 0; at < len;) {
		size_t begin = at;
		char quote = 0;
		for (; at < len && (quote || !is_blank(line[at])); at++)
			quote = quote                                 ? (line[at] == quote ? 0 : quote)
				: line[at] == '"' || line[at] == '\'' ? line[at]
								      : 0;
		size_t word_b = at - begin;
		const char *word = line + begin;
		int is_quoted = word_b >= 2 && (*word == '"' || *word == '\'') && word[word_b - 1] == *word;
		put(scan, word, (size_t)is_quoted);
		if (word_b)
			scan_word(scan, word + is_quoted, word_b - 2 * (size_t)is_quoted, depth + 1);
		put(scan, word, (size_t)is_quoted);
		for (; at < len && is_blank(line[at]); at++)
			put(scan, line + at, 1);
	}
}

/* Handles an option of a known program; returns true if it was one. */
static int scan_program(struct scan *scan, const char *word, size_t len)
{
	const struct program *end = programs + sizeof programs / sizeof *programs;
	for (const struct program *row = scan->program; row && row < end && !strcmp(row->name, scan->program->name);
	     row++) {
		size_t option_b = strlen(row->option);
		if (len < option_b || memcmp(word, row->option, option_b))
			continue;
		if (len == option_b && row->how & NEXT) {
			scan->pending = row->how & (NEXT | AFTER_COLON);
			scan->is_weak = 0;
			put(scan, word, len);
			return 1;
		}
		const char *colon = row->how & AFTER_COLON ? memchr(word, ':', len) : word + option_b - 1;
		if (len == option_b || !(row->how & ATTACHED) || !colon)
			continue;
		size_t kept = (size_t)(colon + 1 - word);
		put(scan, word, kept);
		put_value(scan, word + kept, len - kept, 0);
		return 1;
	}
	return 0;
}

static void find_program(struct scan *scan, const char *word, size_t len)
{
	size_t base = len;
	while (base && word[base - 1] != '/')
		base--;
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
		if (is_word(word + base, len - base, programs[i].name)) {
			scan->program = &programs[i];
			return;
		}
}

/* Handles a value announced by the previous option; returns true if it was one. */
static int scan_pending(struct scan *scan, const char *word, size_t len)
{
	unsigned pending = scan->pending;
	scan->pending = 0;
	if (!pending || !len || *word == '-')
		return 0;
	const char *colon = pending & AFTER_COLON ? memchr(word, ':', len) : word - 1;
	if (!colon)
		return 0;
	size_t kept = (size_t)(colon + 1 - word);
	put(scan, word, kept);
	put_value(scan, word + kept, len - kept, scan->is_weak);
	return 1;
}

/* Handles --password X, --password=X, NAME=X and Header: X, up to the end of the word; returns true if it was one. */
static int scan_named(struct scan *scan, const char *word, size_t len, int is_shell)
{
	size_t name_b = name_length(word, len);
	const struct name *name = name_b ? name_of(word, name_b) : NULL;
	if (*word == '-' && name && name_b == len && len > 2) {
		scan->pending = NEXT;
		scan->is_weak = name->is_weak;
		put(scan, word, len);
		return 1;
	}
	int is_pair = name && name_b < len && word[name_b] == '=' && !memchr(word, '&', len);
	int is_head = name_b < len && word[name_b] == ':' && is_header(word, name_b) &&
		      (name_b + 1 == len || word[name_b + 1] != '/');
	if ((!is_pair && !is_head) || (is_shell && *word != '-' && is_pair && memchr(word, ' ', len)))
		return 0;
	size_t value = name_b + 1;
	while (value < len && is_blank(word[value]))
		value++;
	put(scan, word, value);
	put_value(scan, word + value, len - value, name && name->is_weak && is_pair);
	return 1;
}

static void scan_word(struct scan *scan, const char *word, size_t len, int depth)
{
	int is_shell = scan->is_shell, has_blank = 0;
	scan->is_shell = len >= 2 && len <= 5 && *word == '-' && word[1] != '-' && word[len - 1] == 'c';
	if (scan_pending(scan, word, len) || (len && scan_named(scan, word, len, is_shell)) ||
	    scan_program(scan, word, len))
		return;
	find_program(scan, word, len);
	for (size_t i = 0; i < len && !has_blank; i++)
		has_blank = is_blank(word[i]);
	if (has_blank && depth < DEPTH_MAX && *word != '{' && *word != '[' && !key_length(word, len))
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
