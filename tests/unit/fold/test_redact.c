/* test_redact.c: what is removed from command lines, and what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fold/redact.h"

/* Words with '|' between them. */
static void check(const char *from, const char *expected)
{
	char words[512], out[512];
	unsigned count = 0;
	size_t len = strlen(from);
	memcpy(words, from, len + 1);
	for (size_t i = 0; i < len; i++)
		words[i] = words[i] == '|' ? '\0' : words[i];
	size_t got = sonde_redact(out, sizeof out - 1, words, len + 1, &count);
	assert_in_range(got, 1, sizeof out - 1);
	assert_int_equal(out[got - 1], '\0');
	for (size_t i = 0; i + 1 < got; i++)
		out[i] = out[i] ? out[i] : '|';
	assert_string_equal(out, expected);
	assert_int_equal(count > 0, strcmp(from, expected) != 0);
}

static void secrets_are_taken_out(void **state)
{
	(void)state;
	static const char *const pairs[][2] = {
	    {"app|--password|hunter2|-v", "app|--password|***|-v"},
	    {"app|--password=hunter2", "app|--password=***"},
	    {"app|--a-very-long-option-of-an-application-for-the-database-admin-password=x",
	     "app|--a-very-long-option-of-an-application-for-the-database-admin-password=***"},
	    {"keytool|-list|-storepass|changeit", "keytool|-list|-storepass|***"},
	    {"ssh-keygen|-q|-N|hunter2|-f|key", "ssh-keygen|-q|-N|***|-f|key"},
	    {"get|https://h.blob/x?se=2026&sig=a%2Bb", "get|https://h.blob/x?se=2026&sig=***"},
	    {"app|--password=two words, all of it", "app|--password=***"},
	    {"app|--db-password|x", "app|--db-password|***"},
	    {"java|-Djavax.net.ssl.keyStorePassword=changeit|Main", "java|-Djavax.net.ssl.keyStorePassword=***|Main"},
	    {"app|--api_key=abc", "app|--api_key=***"},
	    {"app|--clientSecret|abc", "app|--clientSecret|***"},
	    {"app|token=abcdef", "app|token=***"},
	    {"app|--password|1234", "app|--password|***"},
	    {"env|FOO_SECRET=a b|DB_PASS=x|MYSQL_PWD=y|ls", "env|FOO_SECRET=***|DB_PASS=***|MYSQL_PWD=***|ls"},
	    {"mysql|-u|root|-phunter2|db", "mysql|-u|root|-p***|db"},
	    {"sudo|/usr/bin/mysqldump|-phunter2", "sudo|/usr/bin/mysqldump|-p***"},
	    {"sshpass|-p|x|ssh|host", "sshpass|-p|***|ssh|host"},
	    {"redis-cli|-a|x|ping", "redis-cli|-a|***|ping"},
	    {"redis-server|--requirepass|x", "redis-server|--requirepass|***"},
	    {"openssl|enc|-pass|pass:hunter2", "openssl|enc|-pass|***"},
	    {"openssl|rsa|-passin|pass:hunter2", "openssl|rsa|-passin|pass:***"},
	    {"curl|-u|joe:pw|http://h/", "curl|-u|joe:***|http://h/"},
	    {"curl|-H|Authorization: Bearer abc.def|http://h/", "curl|-H|Authorization: ***|http://h/"},
	    {"curl|-H|X-Api-Key: abc", "curl|-H|X-Api-Key: ***"},
	    {"curl|-H|PRIVATE-TOKEN: abc", "curl|-H|PRIVATE-TOKEN: ***"},
	    {"curl|-d|{\"user\": \"joe\", \"password\": \"a b\"}",
	     "curl|-d|{\"user\": \"joe\", \"password\": \"***\"}"},
	    {"psql|postgres://joe:pw@host:5432/db?x=1", "psql|postgres://joe:***@host:5432/db?x=1"},
	    {"get|https://h/p?a=1&token=abcdef&b=2", "get|https://h/p?a=1&token=***&b=2"},
	    {"java|jdbc:mysql://h/db?user=a&password=b", "java|jdbc:mysql://h/db?user=a&password=***"},
	    {"mount|-o|user=x,password=y,vers=3", "mount|-o|user=x,password=***,vers=3"},
	    {"aws|AKIAIOSFODNN7EXAMPLE", "aws|***"},
	    {"git|clone|https://ghp_0123456789abcdefghijABCDEFGHIJ012345@github.com/x",
	     "git|clone|https://***@github.com/x"},
	    {"app|sk-proj-0123456789abcdefABCDEF0123", "app|***"},
	    {"app|--key|eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3", "app|--key|***"},
	    {"sh|-c|PGPASSWORD=foo psql -h x", "sh|-c|PGPASSWORD=*** psql -h x"},
	    {"sh|-c|mysql -phunter2 db; cat", "sh|-c|mysql -p*** db; cat"},
	    {"sh|-c|app --password 'my secret' --verbose", "sh|-c|app --password '***' --verbose"},
	    {"sh|-c|ssh h \"curl -H 'Authorization: Basic xyz' http://h\"",
	     "sh|-c|ssh h \"curl -H 'Authorization: ***' http://h\""},
	    {"./app --token abcdefgh --rows 5", "./app --token *** --rows 5"},
	};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		check(pairs[i][0], pairs[i][1]);
}

static void ordinary_arguments_stay(void **state)
{
	(void)state;
	static const char *const lines[] = {
	    "app|--token-count|5",
	    "app|--tokens|5",
	    "app|--max-token|4096",
	    "app|--token|5",
	    "app|-p|8080",
	    "docker|run|-p|8080:80|image/secret:latest",
	    "ssh|-p2222|host",
	    "mysql|-p|db",
	    "mysqld|--port=3306",
	    "mkdir|-pv|a/b",
	    "llama|--eos-token|</s>|--bos-token=<s>",
	    "app|--no-password|file",
	    "app|--ask-password|file",
	    "app|--password-file|/etc/x",
	    "app|--token-file=/etc/x",
	    "app|--password|--verbose",
	    "ffmpeg|-pass|2|-i|x.mkv",
	    "opt|-passes=mem2reg",
	    "env|PWD=/home/x|PATH=/bin|ls",
	    "curl|http://user@host/|-H|Accept: text/html",
	    "curl|-u|joe",
	    "git|clone|ssh://git@host:22/x",
	    "python3|tokenize.py|secret.txt|compass=north",
	    "sk-learn-pipeline-training",
	    "app|--key|value|--sort-key=name",
	    "app|--private-key|id.pem",
	    "awk|{ print $1 } # key: value",
	    "sh|-c|app --password \"$PW\" --token=$TOKEN",
	    "sh|-c|for i in 1 2 3; do echo \"it's $i\"; done",
	    "app|use_token=true|with_secret=1",
	    "gcc|-DTOKEN_MAX=100|-O2|x.c",
	    "sonde|record|--keep|10s|--when|span=request>50ms|--|./server",
	};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		check(lines[i], lines[i]);
}

static void what_does_not_fit_is_left_out(void **state)
{
	(void)state;
	static const char words[] = "app\0--password\0hunter2";
	char out[64];
	for (size_t room = 0; room < sizeof out; room++) {
		memset(out, '#', sizeof out);
		size_t got = sonde_redact(out, room, words, sizeof words, NULL);
		assert_in_range(got, 0, room);
		for (size_t i = got; i < sizeof out; i++)
			assert_int_equal(out[i], '#');
		assert_null(memmem(out, got, "h", 1));
	}
}

/* Whatever bytes there are, nothing is read or written that is not the caller's: for the sanitizers. */
static void any_bytes_are_taken(void **state)
{
	(void)state;
	static const char parts[] = "-=:\"' \0\0&;pass@/$eyJsk-tokenPWD_AKIA0";
	uint64_t x = 1;
	for (size_t round = 0; round < 20000; round++) {
		size_t len = round % 61;
		char *words = malloc(len + 1), *out = malloc(40);
		assert_true(words && out);
		for (size_t i = 0; i < len; i++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			words[i] = parts[(x >> 33) % (sizeof parts - 1)];
		}
		assert_in_range(sonde_redact(out, 40, words, len, NULL), 0, 40);
		free(words);
		free(out);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(secrets_are_taken_out),
	    cmocka_unit_test(ordinary_arguments_stay),
	    cmocka_unit_test(what_does_not_fit_is_left_out),
	    cmocka_unit_test(any_bytes_are_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
