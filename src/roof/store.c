/* store.c: stores measured ceilings in the user's cache, one file per fingerprint, as lines of "KEY VALUE".
 *
 * The cache (symbol/cache.h) trusts only files of the user's own, replaces them atomically, and never evicts measured
 * ceilings. The fingerprint is both in the name and in the file: a file copied from another machine is refused.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "roof/machine.h"
#include "roof/roof.h"
#include "symbol/cache.h"
#include "util/buf.h"
#include "util/error.h"

#define FILE_MAX_B 65536
#define HEAD "sonde roof\n"

static struct sonde_cache_key key_of(const char *fingerprint)
{
	return (struct sonde_cache_key){(const uint8_t *)fingerprint, strlen(fingerprint), "roof"};
}

static int read_file(char *out, size_t max_b, const struct sonde_cache_key *key)
{
	size_t done_b = 0;
	ssize_t got_b = 0;
	int fd = sonde_cache_read(key);
	if (fd < 0)
		return sonde_error(ENOENT,
				   "this machine's ceilings were never measured: run sonde roofline --measure once");
	while (done_b < max_b - 1 && (got_b = read(fd, out + done_b, max_b - 1 - done_b)) > 0)
		done_b += (size_t)got_b;
	close(fd);
	out[done_b] = '\0';
	if (got_b < 0 || strlen(out) != done_b || strncmp(out, HEAD, strlen(HEAD)))
		return sonde_error(
		    EBADMSG, "the file of this machine's ceilings is damaged: run sonde roofline --measure again");
	return 0;
}

struct lines {
	const char *text;
	char value[512];
};

static const char *get_line(void *context, const char *key)
{
	struct lines *lines = context;
	size_t key_b = strlen(key);
	for (const char *line = lines->text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, key_b) || line[key_b] != ' ')
			continue;
		line += key_b + 1;
		snprintf(lines->value, sizeof lines->value, "%.*s", (int)strcspn(line, "\n"), line);
		return lines->value;
	}
	return NULL;
}

static void put_line(void *context, const char *key, const char *value)
{
	sonde_buf_printf(context, "%s %s\n", key, value);
}

int sonde_roof_load(struct sonde_roof *out)
{
	struct sonde_roof here = {0}, roof;
	struct lines lines;
	char *text = malloc(FILE_MAX_B);
	if (!text)
		return sonde_error(ENOMEM, "out of memory for the machine's ceilings");
	sonde_roof_machine(&here, "");
	struct sonde_cache_key key = key_of(here.fingerprint);
	int code = read_file(text, FILE_MAX_B, &key);
	lines.text = text;
	code = code ? code : sonde_roof_from_keys(&roof, get_line, &lines);
	free(text);
	if (!code && strcmp(roof.fingerprint, here.fingerprint))
		code = sonde_error(EBADMSG,
				   "the saved ceilings were measured on another machine (%.60s, %llu CPUs): run sonde "
				   "roofline --measure again",
				   roof.cpu, (unsigned long long)roof.cpus);
	if (!code)
		*out = roof;
	return code;
}

int sonde_roof_store(const struct sonde_roof *roof)
{
	struct sonde_buf buf;
	struct sonde_cache_key key = key_of(roof->fingerprint);
	sonde_buf_init(&buf, FILE_MAX_B);
	sonde_roof_to_keys(roof, put_line, &buf);
	int code = sonde_buf_error(&buf);
	code = code ? code : sonde_cache_write(&key, HEAD, strlen(HEAD), buf.data, buf.len_b);
	sonde_buf_fini(&buf);
	return code ? sonde_error(
			  -code,
			  "cannot save the ceilings: %s; sonde needs its own folder in XDG_CACHE_HOME or ~/.cache",
			  strerror(-code))
		    : 0;
}
