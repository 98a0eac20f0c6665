/* entry.c: converts entries of the journal to JSON and back, and evaluates their runs (try/entry.h).
 *
 * An entry contains every run, but no verdict: verdicts are computed when the entry is read, so that improvements of
 * the evaluation apply to old attempts, too.
 */
#include "cli/try/entry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/bench/file.h"
#include "cli/bench/show.h"
#include "run/redacted.h"
#include "util/array.h"
#include "util/error.h"

enum { VERSION = 1, WORDS_MAX = 100000 };
#define FILE_MOST_B ((off_t)1 << 30) /* hashing a larger file would take longer than the command */

static int out_of_memory(void)
{
	return sonde_error(ENOMEM, "out of memory for an entry of the journal");
}

/* --- files ------------------------------------------------------------------------------------------------------- */

static int file_add(struct sonde_try_entry *entry, const char *path)
{
	struct sonde_digest digest;
	struct stat info;
	for (size_t i = 0; i < entry->file_count; i++)
		if (!strcmp(entry->file[i].path, path))
			return 0;
	if (entry->file_count == SONDE_TRY_FILES || stat(path, &info) || info.st_size > FILE_MOST_B ||
	    sonde_digest_file(&digest, path))
		return 0;
	char *copy = strdup(path);
	if (!copy)
		return out_of_memory();
	entry->file[entry->file_count++] = (struct sonde_try_file){copy, digest};
	return 0;
}

/* Splits a shell line at its separators, and keeps the words that name files. */
static int files_of_line(struct sonde_try_entry *entry, const char *line)
{
	static const char separators[] = " \t\n;|&()<>'\"=$`";
	char path[PATH_MAX];
	int code = 0, is_program = 1;
	for (const char *at = line; !code && *at;) {
		size_t skip = strspn(at, separators), len;
		is_program |= strcspn(at, ";|&(") < skip;
		at += skip;
		len = strcspn(at, separators);
		if (len && len < sizeof path) {
			char word[PATH_MAX];
			snprintf(word, sizeof word, "%.*s", (int)len, at);
			if (is_program && !sonde_digest_program(path, sizeof path, word))
				code = file_add(entry, path);
			else if (!access(word, F_OK))
				code = file_add(entry, word);
			is_program = 0;
		}
		at += len;
	}
	return code;
}

static int files_find(struct sonde_try_entry *entry)
{
	char path[PATH_MAX];
	int code = 0;
	if (!entry->words[1] && sonde_digest_program(path, sizeof path, entry->words[0]))
		return files_of_line(entry, entry->words[0]);
	if (!sonde_digest_program(path, sizeof path, entry->words[0]))
		code = file_add(entry, path);
	for (size_t i = 1; !code && entry->words[i]; i++) {
		if (!strcmp(entry->words[i], "-c") && entry->words[i + 1])
			code = files_of_line(entry, entry->words[i + 1]);
		else if (!access(entry->words[i], F_OK))
			code = file_add(entry, entry->words[i]);
	}
	return code;
}

const char *sonde_try_entry_changed(const struct sonde_try_entry *entry, const char *but)
{
	for (size_t i = 0; i < entry->file_count; i++) {
		const struct sonde_digest *was = &entry->file[i].digest;
		struct sonde_digest digest;
		if (but && !strcmp(entry->file[i].path, but))
			continue;
		if (sonde_digest_file(&digest, entry->file[i].path) || digest.size_b != was->size_b ||
		    digest.hash != was->hash)
			return entry->file[i].path;
	}
	return NULL;
}

int sonde_try_entry_same_words(const struct sonde_try_entry *entry, char *const *words)
{
	size_t i = 0;
	char **redacted = entry->redacted ? sonde_redacted_words(words, NULL) : NULL;
	char *const *other = redacted ? redacted : words;
	while (entry->words[i] && other[i] && !strcmp(entry->words[i], other[i]))
		i++;
	int is_same = !entry->words[i] && !other[i];
	free(redacted);
	return is_same;
}

/* --- a new one --------------------------------------------------------------------------------------------------- */

static char **words_copy(char *const *words)
{
	size_t count = 0;
	while (words[count])
		count++;
	char **out = calloc(count + 1, sizeof *out);
	for (size_t i = 0; out && i < count; i++)
		if (!(out[i] = strdup(words[i]))) {
			while (i--)
				free(out[i]);
			free(out);
			return NULL;
		}
	return out;
}

/* Returns the working directory relative to the folder that contains the journal, so that both can be moved
 * together. */
static char *directory_of(const struct sonde_journal *journal)
{
	char here[PATH_MAX];
	const char *slash = strrchr(journal->folder, '/');
	size_t above = slash && *journal->folder == '/' ? (size_t)(slash - journal->folder) : 0;
	if (!getcwd(here, sizeof here))
		return strdup("");
	if (!above || strncmp(here, journal->folder, above) != 0 || (here[above] && here[above] != '/'))
		return strdup(here);
	return strdup(here[above] ? here + above + 1 : ".");
}

int sonde_try_entry_init(struct sonde_try_entry *entry, char *const *words, const struct sonde_journal *journal,
			 int keep_arguments)
{
	uint64_t id = 0;
	time_t now = time(NULL);
	struct tm utc;
	*entry = (struct sonde_try_entry){0};
	if (getrandom(&id, sizeof id, 0) != sizeof id)
		return sonde_error(errno, "no random number for the entry: %s", strerror(errno));
	snprintf(entry->id, sizeof entry->id, "%016" PRIx64, id);
	strftime(entry->time, sizeof entry->time, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	char **redacted = keep_arguments ? NULL : sonde_redacted_words(words, &entry->redacted);
	entry->words = redacted || keep_arguments ? words_copy(redacted ? redacted : words) : NULL;
	free(redacted);
	entry->directory = directory_of(journal);
	sonde_bench_machine_here(&entry->machine);
	return entry->words && entry->directory ? files_find(entry) : out_of_memory();
}

void sonde_try_entry_fini(struct sonde_try_entry *entry)
{
	for (size_t i = 0; entry->words && entry->words[i]; i++)
		free(entry->words[i]);
	for (size_t i = 0; i < entry->file_count; i++)
		free(entry->file[i].path);
	free(entry->words);
	free(entry->what);
	free(entry->directory);
	free(entry->kept);
	free(entry->pairs);
	sonde_try_zones_fini(&entry->zones);
	*entry = (struct sonde_try_entry){0};
}

/* --- to JSON ----------------------------------------------------------------------------------------------------- */

static void put_files(struct sonde_json *json, const struct sonde_try_entry *entry)
{
	char hash[20];
	sonde_json_put_array(json, "files");
	for (size_t i = 0; i < entry->file_count; i++) {
		snprintf(hash, sizeof hash, "%016" PRIx64, entry->file[i].digest.hash);
		sonde_json_object(json);
		sonde_json_put_text(json, "path", entry->file[i].path);
		sonde_json_put_uint(json, "size_b", entry->file[i].digest.size_b);
		sonde_json_put_text(json, "xxh3", hash);
		sonde_json_end(json);
	}
	sonde_json_end(json);
}

static void put_entry(struct sonde_json *json, const struct sonde_try_entry *entry)
{
	struct sonde_versus versus = {
	    .pair = entry->pairs, .count = entry->count, .has_baseline = entry->is_attempt && entry->is_in_turn};
	sonde_json_object(json);
	sonde_json_put_text(json, "schema", "sonde-try");
	sonde_json_put_uint(json, "version", VERSION);
	sonde_json_put_text(json, "kind", entry->is_attempt ? "attempt" : "baseline");
	sonde_json_put_text(json, "id", entry->id);
	sonde_json_put_text(json, "time", entry->time);
	if (entry->is_attempt) {
		sonde_json_put_text(json, "what", entry->what);
		sonde_json_put_text(json, "baseline", entry->baseline);
		sonde_json_put_bool(json, "in_turn", entry->is_in_turn);
	}
	sonde_json_put_array(json, "command");
	for (size_t i = 0; entry->words[i]; i++)
		sonde_json_text(json, entry->words[i]);
	sonde_json_end(json);
	if (entry->redacted)
		sonde_json_put_uint(json, "redacted", entry->redacted);
	sonde_json_put_text(json, "directory", entry->directory);
	sonde_json_put_text(json, "kept", entry->kept);
	sonde_bench_machine_put(json, &entry->machine);
	put_files(json, entry);
	sonde_json_put_real(json, "margin", entry->margin);
	sonde_json_put_uint(json, "warmups", entry->warmups);
	sonde_json_put_uint(json, "failed", entry->failed);
	sonde_json_key(json, "runs");
	sonde_bench_json_runs(json, &versus);
	sonde_try_zones_put(json, &entry->zones);
	sonde_json_end(json);
}

int sonde_try_entry_write(const struct sonde_try_entry *entry, const struct sonde_journal *journal)
{
	char *text = NULL;
	size_t text_b;
	struct sonde_json json;
	FILE *out = open_memstream(&text, &text_b);
	if (!out)
		return out_of_memory();
	sonde_json_init(&json, out, 0);
	put_entry(&json, entry);
	int bad = ferror(out), code = fclose(out) || bad ? out_of_memory() : sonde_journal_append(journal, text);
	free(text);
	return code;
}

/* --- from JSON --------------------------------------------------------------------------------------------------- */

static char *text_of(const json_t *root, const char *key)
{
	const char *text = json_string_value(json_object_get(root, key));
	return text ? strdup(text) : NULL;
}

static void copy_text(char *out, size_t out_b, const json_t *root, const char *key)
{
	const char *text = json_string_value(json_object_get(root, key));
	snprintf(out, out_b, "%s", text ? text : "");
}

static int read_words(struct sonde_try_entry *entry, const json_t *words)
{
	size_t count = json_array_size(words);
	if (!count || count > WORDS_MAX)
		return -EBADMSG;
	entry->words = calloc(count + 1, sizeof *entry->words);
	for (size_t i = 0; entry->words && i < count; i++) {
		const char *word = json_string_value(json_array_get(words, i));
		entry->words[i] = word ? strdup(word) : NULL;
		if (!entry->words[i])
			return -EBADMSG;
	}
	return entry->words ? 0 : -ENOMEM;
}

static void read_files(struct sonde_try_entry *entry, const json_t *files)
{
	for (size_t i = 0; i < json_array_size(files) && entry->file_count < SONDE_TRY_FILES; i++) {
		const json_t *file = json_array_get(files, i);
		const char *hash = json_string_value(json_object_get(file, "xxh3"));
		char *path = text_of(file, "path");
		if (!path || !hash) {
			free(path);
			continue;
		}
		entry->file[entry->file_count++] = (struct sonde_try_file){
		    path, {(uint64_t)json_integer_value(json_object_get(file, "size_b")), strtoull(hash, NULL, 16)}};
	}
}

static int read_entry(struct sonde_try_entry *entry, const json_t *root)
{
	const char *schema = json_string_value(json_object_get(root, "schema"));
	const char *kind = json_string_value(json_object_get(root, "kind"));
	*entry = (struct sonde_try_entry){0};
	if (!schema || strcmp(schema, "sonde-try") != 0 || !kind ||
	    json_integer_value(json_object_get(root, "version")) != VERSION)
		return -EBADMSG;
	entry->is_attempt = !strcmp(kind, "attempt");
	copy_text(entry->id, sizeof entry->id, root, "id");
	copy_text(entry->baseline, sizeof entry->baseline, root, "baseline");
	copy_text(entry->time, sizeof entry->time, root, "time");
	entry->what = text_of(root, "what");
	entry->directory = text_of(root, "directory");
	entry->kept = text_of(root, "kept");
	sonde_bench_machine_read(&entry->machine, json_object_get(root, "host"));
	read_files(entry, json_object_get(root, "files"));
	entry->margin = json_number_value(json_object_get(root, "margin"));
	entry->warmups = (uint64_t)json_integer_value(json_object_get(root, "warmups"));
	entry->failed = (uint64_t)json_integer_value(json_object_get(root, "failed"));
	entry->is_in_turn = json_is_true(json_object_get(root, "in_turn"));
	entry->redacted = (unsigned)json_integer_value(json_object_get(root, "redacted"));
	int code = read_words(entry, json_object_get(root, "command"));
	code = code ? code : sonde_bench_file_runs(&entry->pairs, &entry->count, json_object_get(root, "runs"));
	code = code ? code : sonde_try_zones_read(&entry->zones, json_object_get(root, "zones"));
	return code ? code : entry->directory && *entry->id && (entry->what || !entry->is_attempt) ? 0 : -EBADMSG;
}

static int take(void *context, const char *line, size_t len)
{
	struct sonde_try_entries *entries = context;
	if (SONDE_ARRAY_RESERVE(entries->entry, entries->cap, entries->count + 1))
		return out_of_memory();
	struct sonde_try_entry *entry = &entries->entry[entries->count];
	json_t *root = json_loadb(line, len, 0, NULL);
	int code = root ? read_entry(entry, root) : -EBADMSG;
	json_decref(root);
	if (root && code)
		sonde_try_entry_fini(entry);
	if (code == -ENOMEM)
		return out_of_memory();
	entries->count += !code;
	entries->attempts += !code && entry->is_attempt;
	entries->damaged += code != 0;
	return 0;
}

int sonde_try_entries_read(struct sonde_try_entries *out, const struct sonde_journal *journal)
{
	size_t damaged = 0;
	*out = (struct sonde_try_entries){0};
	int code = sonde_journal_read(journal, take, out, &damaged);
	out->damaged += damaged;
	return code;
}

void sonde_try_entries_fini(struct sonde_try_entries *entries)
{
	for (size_t i = 0; i < entries->count; i++)
		sonde_try_entry_fini(&entries->entry[i]);
	free(entries->entry);
	*entries = (struct sonde_try_entries){0};
}

const struct sonde_try_entry *sonde_try_baseline(const struct sonde_try_entries *entries)
{
	for (size_t i = entries->count; i--;)
		if (!entries->entry[i].is_attempt)
			return &entries->entry[i];
	return NULL;
}

const struct sonde_try_entry *sonde_try_baseline_of(const struct sonde_try_entries *entries,
						    const struct sonde_try_entry *attempt)
{
	for (size_t i = 0; i < entries->count; i++)
		if (!entries->entry[i].is_attempt && !strcmp(entries->entry[i].id, attempt->baseline))
			return &entries->entry[i];
	return NULL;
}

int sonde_try_evaluate(struct sonde_versus *out, struct sonde_versus_pair **pairs,
		       const struct sonde_try_entry *attempt, const struct sonde_try_entry *baseline)
{
	int code = 0;
	*out = (struct sonde_versus){.has_baseline = 1, .margin = attempt->margin};
	*pairs = NULL;
	if (attempt->is_in_turn) {
		out->pair = attempt->pairs;
		out->count = attempt->count;
	} else {
		out->is_unpaired = 1;
		out->margin = out->margin > SONDE_CHANGE_DRIFT ? out->margin : SONDE_CHANGE_DRIFT;
		code = sonde_bench_file_join(pairs, &out->count, baseline->pairs, baseline->count, attempt->pairs,
					     attempt->count);
		out->pair = *pairs;
	}
	if (!code && sonde_versus_evaluate(out))
		code = out_of_memory();
	return code;
}
