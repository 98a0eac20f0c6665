/* test_redact.c: secrets are removed from command lines, and nothing else. */
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

static void options_of_programs_are_taken_out(void **state)
{
	(void)state;
	static const char *const pairs[][2] = {
	    {"docker|login|-u|joe|-p|hunter2|registry.example", "docker|login|-u|joe|-p|***|registry.example"},
	    {"podman|login|-phunter2|quay.io", "podman|login|-p***|quay.io"},
	    {"docker|login|--password=hunter2", "docker|login|--password=***"},
	    {"podman|pull|--creds|joe:pw|image", "podman|pull|--creds|joe:***|image"},
	    {"docker|run|-e|DB_PASSWORD=x|mysql|-phunter2", "docker|run|-e|DB_PASSWORD=***|mysql|-p***"},
	    {"mysqladmin|-u|root|password|hunter2", "mysqladmin|-u|root|password|***"},
	    {"mysqladmin|-u|mysql|password|hunter2", "mysqladmin|-u|mysql|password|***"},
	    {"mysqladmin|-phunter2|status", "mysqladmin|-p***|status"},
	    {"mysql|-pmytoken|db", "mysql|-p***|db"},
	    {"mysql|--password=hunter2|db", "mysql|--password=***|db"},
	    {"curl|--user=joe:pw|http://h/", "curl|--user=joe:***|http://h/"},
	    {"curl|-U|joe:pw|http://h/", "curl|-U|joe:***|http://h/"},
	    {"curl|--proxy-user|joe:pw|http://h/", "curl|--proxy-user|joe:***|http://h/"},
	    {"curl|-sSu|joe:pw|http://h/", "curl|-sSu|joe:***|http://h/"},
	    {"curl|-ujoe:pw|http://h/", "curl|-ujoe:***|http://h/"},
	    {"curl|-x|joe:pw@proxy:3128|http://h/", "curl|-x|joe:***@proxy:3128|http://h/"},
	    {"curl|-HAuthorization: Bearer abc", "curl|-HAuthorization: ***"},
	    {"curl|-H|apikey: abc", "curl|-H|apikey: ***"},
	    {"curl|--oauth2-bearer|abc|http://h/", "curl|--oauth2-bearer|***|http://h/"},
	    {"curl|-b|session=abc; other=def|http://h/", "curl|-b|session=***|http://h/"},
	    {"curl|--cookie|session=abc|http://h/", "curl|--cookie|session=***|http://h/"},
	    {"curl|--cert|me.pem:hunter2|http://h/", "curl|--cert|me.pem:***|http://h/"},
	    {"wget|--password=hunter2|http://h/", "wget|--password=***|http://h/"},
	    {"wget|--http-password|hunter2|http://h/", "wget|--http-password|***|http://h/"},
	    {"wget|--header=Authorization: Bearer abc|http://h/", "wget|--header=Authorization: ***|http://h/"},
	    {"git|-c|http.extraHeader=Authorization: Basic abc|fetch",
	     "git|-c|http.extraHeader=Authorization: ***|fetch"},
	    {"git|clone|https://joe:hunter2@host/x.git", "git|clone|https://joe:***@host/x.git"},
	    {"htpasswd|-b|file|joe|hunter2", "htpasswd|-b|file|joe|***"},
	    {"htpasswd|-cbB|file|joe|hunter2", "htpasswd|-cbB|file|joe|***"},
	    {"htpasswd|-nb|joe|hunter2", "htpasswd|-nb|joe|***"},
	    {"vault|login|hunter2", "vault|login|***"},
	    {"vault|login|-method=userpass|username=joe|password=x",
	     "vault|login|-method=userpass|username=***|password=***"},
	    {"vault|kv|put|secret/app|password=x|other=y", "vault|kv|put|secret/app|password=***|other=***"},
	    {"vault|token|revoke|hunter2", "vault|token|revoke|***"},
	    {"sshpass|-phunter2|ssh|-p|22|host", "sshpass|-p***|ssh|-p|22|host"},
	    {"sshpass|-p|hunter2|ssh|-p|22|host|mkdir|-p|d", "sshpass|-p|***|ssh|-p|22|host|mkdir|-p|d"},
	    {"openssl|rsa|-in|a.pem|-passout|pass:hunter2", "openssl|rsa|-in|a.pem|-passout|pass:***"},
	    {"openssl|enc|-aes-256-cbc|-k|hunter2|-in|a", "openssl|enc|-aes-256-cbc|-k|***|-in|a"},
	    {"openssl|dgst|-sha256|-hmac|hunter2|a", "openssl|dgst|-sha256|-hmac|***|a"},
	    {"gpg|--batch|--passphrase|hunter2|-d|a.gpg", "gpg|--batch|--passphrase|***|-d|a.gpg"},
	    {"psql|postgresql://joe:hunter2@host", "psql|postgresql://joe:***@host"},
	    {"psql|host=h user=joe password=hunter2 dbname=d", "psql|host=h user=joe password=*** dbname=d"},
	    {"redis-cli|-h|redis|-a|hunter2|get|x", "redis-cli|-h|redis|-a|***|get|x"},
	    {"redis-cli|-u|redis://:hunter2@h/0", "redis-cli|-u|redis://:***@h/0"},
	    {"redis-cli|config|set|requirepass|hunter2", "redis-cli|config|set|requirepass|***"},
	    {"mongo|-u|joe|-p|hunter2|db", "mongo|-u|joe|-p|***|db"},
	    {"ldapsearch|-x|-D|cn=a|-w|hunter2|-b|dc=b", "ldapsearch|-x|-D|cn=a|-w|***|-b|dc=b"},
	    {"aws|configure|set|aws_secret_access_key|hunter2", "aws|configure|set|aws_secret_access_key|***"},
	    {"npm|config|set|//registry.example/:_authToken|hunter2",
	     "npm|config|set|//registry.example/:_authToken|***"},
	    {"az|login|-u|joe|-p|hunter2", "az|login|-u|joe|-p|***"},
	    {"kubectl|create|secret|generic|s|--from-literal=key=hunter2",
	     "kubectl|create|secret|generic|s|--from-literal=key=***"},
	    {"smbclient|//h/share|-U|joe%hunter2", "smbclient|//h/share|-U|joe%***"},
	    {"passwd-tool|--new-password|hunter2", "passwd-tool|--new-password|***"},
	    {"app|--password|$ecret", "app|--password|***"},
	    {"env|A_TOKEN=hunter2|prog|-p|8080", "env|A_TOKEN=***|prog|-p|8080"},
	};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		check(pairs[i][0], pairs[i][1]);
}

static void shell_lines_are_read_word_by_word(void **state)
{
	(void)state;
	static const char *const pairs[][2] = {
	    {"sh|-c|PGPASSWORD=x env psql -p 5432", "sh|-c|PGPASSWORD=*** env psql -p 5432"},
	    {"sh|-c|export A_TOKEN=x; prog", "sh|-c|export A_TOKEN=*** prog"},
	    {"bash|-lc|curl -u joe:'my pw' http://h/ | sort -k 2", "bash|-lc|curl -u joe:'***' http://h/ | sort -k 2"},
	    {"sh|-c|mysql -p'my pw' db", "sh|-c|mysql -p'***' db"},
	    {"sh|-c|app --password my\\ pw -v", "sh|-c|app --password *** -v"},
	    {"sh|-c|mongo -p x db; mkdir -p d && ssh -p 22 h", "sh|-c|mongo -p *** db; mkdir -p d && ssh -p 22 h"},
	    {"sh|-c|out=$(mysql -phunter2 db)", "sh|-c|out=$(mysql -p*** db)"},
	    {"sh|-c|htpasswd -nb joe x > users", "sh|-c|htpasswd -nb joe *** > users"},
	    {"sh|-c|git -c http.extraHeader=\"Authorization: Basic x\" fetch",
	     "sh|-c|git -c http.extraHeader=\"Authorization: ***\" fetch"},
	    {"psql|-c|ALTER ROLE joe PASSWORD 'hunter2'; SELECT 1", "psql|-c|ALTER ROLE joe PASSWORD '***'; SELECT 1"},
	    {"mysql|-e|create user 'joe'@'%' identified by 'my pw'",
	     "mysql|-e|create user 'joe'@'%' identified by '***'"},
	    {"timeout 5 sshpass -p x ssh -p 22 h", "timeout 5 sshpass -p *** ssh -p 22 h"},
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
	    "server|-p|8080|-u|www|-a|0.0.0.0",
	    "ssh|-p|22|host",
	    "mkdir|-p|a/b",
	    "cp|-p|a|b",
	    "tar|-u|-f|a.tar|b",
	    "tar|-C|/var/lib/mongo|-p|-xf|a.tar",
	    "sort|-k|2|-b|a=b",
	    "python|-u|script.py|-k|name",
	    "python|-m|pytest|-k|test_token",
	    "rsync|-a|--password-file|/etc/rsync.secret|a|b",
	    "rsync|-e|ssh -p 2222|a|host:b",
	    "sshpass|-f|file|ssh|-p|22|host",
	    "docker|run|--name|mongo|-p|27017:27017|mongo",
	    "docker|compose|-p|mysql|up",
	    "docker|login|-u|joe|--password-stdin",
	    "redis-cli|-h|redis|-p|6379|get|x",
	    "redis-server|--port|6379",
	    "mongo|-p|--host|h",
	    "mysql|-P|3306|-h|mysql|db",
	    "mysqladmin|-p|status",
	    "curl|-k|-b|cookies.txt|-x|http://proxy:3128|-o|out.html|http://h/?user=joe:x",
	    "curl|--proxy-user|joe|--cert|me.pem",
	    "openssl|req|-x509|-key|a.pem|-passin|env:PW|-passout|file:x",
	    "openssl|x509|-in|a.pem|-noout",
	    "gpg|--passphrase-file|x|--passphrase-fd|0",
	    "htpasswd|-c|file|joe",
	    "vault|kv|get|-field=x|secret/app",
	    "vault|kv|put|secret/app|@data.json",
	    "aws|configure|set|region|eu-west-1",
	    "aws|s3|cp|a|s3://b/c",
	    "git|config|user.name|Joe",
	    "git|clone|git@host:x/y.git",
	    "kubectl|create|configmap|c|--from-literal=key=value",
	    "kubectl|patch|pod|x|-p|{\"spec\": 1}",
	    "az|vm|list|-p|x",
	    "ldapsearch|-x|-b|dc=b|(uid=joe)",
	    "nmap|-p|1-1024|host",
	    "sqlite3|a.db|select password from users order by 'name' limit 5",
	    "make|-k|-j4|PREFIX=/usr",
	    "sh|-c|app --password \"$PW\" && cp -p a b",
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
	for (size_t capacity = 0; capacity < sizeof out; capacity++) {
		memset(out, '#', sizeof out);
		size_t got = sonde_redact(out, capacity, words, sizeof words, NULL);
		assert_in_range(got, 0, capacity);
		for (size_t i = got; i < sizeof out; i++)
			assert_int_equal(out[i], '#');
		assert_null(memmem(out, got, "h", 1));
	}
}

/* Whatever the bytes are, only the caller's memory is read and written; sanitizers check this. */
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
	    cmocka_unit_test(options_of_programs_are_taken_out),
	    cmocka_unit_test(shell_lines_are_read_word_by_word),
	    cmocka_unit_test(ordinary_arguments_stay),
	    cmocka_unit_test(what_does_not_fit_is_left_out),
	    cmocka_unit_test(any_bytes_are_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
