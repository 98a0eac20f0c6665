/* secrets.c: the names of options, variables and headers that announce a secret, and the shapes of keys. */
#include "fold/secrets.h"

#include <string.h>

#define NAME_MAX_B 64

/* End of a name, in lower case with "-" for "_" and ".". */
static const struct sonde_secret_name names[] = {
    {"password", 0, 0},      {"passwd", 0, 0},           {"passphrase", 0, 0},     {"secret", 0, 1},
    {"secret-key", 0, 0},    {"secretkey", 0, 0},        {"access-key", 0, 0},     {"accesskey", 0, 0},
    {"account-key", 0, 0},   {"accountkey", 0, 0},       {"api-key", 0, 0},        {"apikey", 0, 0},
    {"auth-key", 0, 0},      {"subscription-key", 0, 0}, {"encryption-key", 0, 0}, {"token", 0, 1},
    {"pass", 1, 1},          {"oauth2-bearer", 1, 0},    {"requirepass", 1, 0},    {"masterauth", 1, 0},
    {"private-token", 1, 0}, {"storepass", 0, 0},        {"keypass", 0, 0},        {"sig", 1, 1},
};

/* First or last parts that make such a name harmless: --no-password, --ask-pass. */
static const char *const harmless[] = {"no",  "ask",     "show",   "print",  "use",     "with",
				       "has", "without", "prompt", "enable", "disable", NULL};

/* The same, for tokens only: --eos-token, --max-new-token. */
static const char *const harmless_tokens[] = {"eos",   "bos", "pad", "unk", "sep", "cls", "mask", "stop", "next",
					      "start", "end", "max", "min", "num", "per", "new",  NULL};

static const char *const headers[] = {"authorization", "proxy-authorization", "cookie", "set-cookie", "x-auth",
				      "apikey"};

/* Shapes of keys: a prefix and a minimum number of letters, digits and `more`. */
static const struct shape {
	const char *prefix;
	size_t least;
	const char *more;
	int is_mixed; /* contains an upper-case letter and a digit */
} shapes[] = {
    {"AKIA", 16, "", 0},     {"ASIA", 16, "", 0},        {"ghp_", 30, "", 0},     {"gho_", 30, "", 0},
    {"ghu_", 30, "", 0},     {"ghs_", 30, "", 0},        {"ghr_", 30, "", 0},     {"github_pat_", 22, "_", 0},
    {"glpat-", 20, "-_", 0}, {"sk-", 20, "-_", 1},       {"sk_live_", 16, "", 0}, {"rk_live_", 16, "", 0},
    {"xoxb-", 10, "-", 0},   {"xoxp-", 10, "-", 0},      {"xoxa-", 10, "-", 0},   {"AIza", 35, "-_", 0},
    {"ya29.", 20, "-_", 0},  {"npm_", 36, "", 0},        {"hf_", 30, "", 0},      {"pypi-", 50, "-_", 0},
    {"hvs.", 20, "-_", 0},   {"dckr_pat_", 20, "-_", 0}, {"xapp-", 10, "-", 0},   {"shpat_", 30, "", 0},
    {"dop_v1_", 40, "", 0},  {"glptt-", 20, "-_", 0},    {"eyJ", 40, "-_.", 1},   {"-----BEGIN", 20, "-+/= \n", 1},
};

static int is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int is_word(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && !memcmp(text, word, len);
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

static int is_listed(const char *const *list, const char *text, size_t len)
{
	while (*list && !is_word(text, len, *list))
		list++;
	return *list != NULL;
}

static int is_harmless(const char *const *list, const char *name, size_t len)
{
	size_t last = len;
	while (last && name[last - 1] != '-')
		last--;
	size_t first = strcspn(name, "-") < len ? strcspn(name, "-") : len;
	return is_listed(list, name, first) || is_listed(list, name + last, len - last);
}

const struct sonde_secret_name *sonde_secret_name(const char *text, size_t text_b)
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
		int is_token = !strcmp(names[i].end, "token");
		if (!others ||
		    !(is_harmless(harmless, name, others) || (is_token && is_harmless(harmless_tokens, name, others))))
			return &names[i];
	}
	/* MYSQL_PWD is a password; PWD alone is the working directory. */
	static const struct sonde_secret_name pwd = {"-pwd", 0, 0};
	return len > 4 && !memcmp(name + len - 4, pwd.end, 4) ? &pwd : NULL;
}

int sonde_secret_header(const char *text, size_t text_b)
{
	char name[NAME_MAX_B + 1] = "";
	size_t len = plain_name(name, text, text_b);
	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
		if (is_word(name, len, headers[i]))
			return 1;
	return len > 2 && sonde_secret_name(text, text_b) && memchr(name, '-', len);
}

size_t sonde_secret_key(const char *text, size_t len)
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

int sonde_secret_ordinary(const char *text, size_t len)
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
