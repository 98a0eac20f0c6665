/* again.c: what runs again for the baseline of an attempt: its command, or the copy of its program. */
#include "cli/try/again.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether the kept copy is a program that nobody else can have changed. */
static int is_ours(const char *path)
{
	struct stat info;
	return !lstat(path, &info) && S_ISREG(info.st_mode) && !access(path, X_OK) &&
	       (info.st_uid == geteuid() || !info.st_uid) && !(info.st_mode & (S_IWGRP | S_IWOTH));
}

/* The path of the baseline's program as it was recorded, which is the one that was kept; NULL: it was not. */
static const char *program_of(const struct sonde_try_entry *baseline)
{
	const char *word = baseline->words[0], *path = baseline->file_count ? baseline->file[0].path : "";
	const char *slash = strchr(word, '/') ? NULL : strrchr(path, '/');
	return strcmp(slash ? slash + 1 : path, word) ? NULL : path;
}

/* The baseline's words, with the copy of its program; NULL and a sentence: there is none, or it may be of others. */
static char **words_of_kept(struct sonde_try_again *again, const struct sonde_try_entry *baseline)
{
	size_t count = 0;
	while (baseline->words[count])
		count++;
	if (asprintf(&again->kept_path, "%s/%s", again->journal->folder, baseline->kept) < 0)
		again->kept_path = NULL;
	if (!again->kept_path || strchr(baseline->kept, '/') || !is_ours(again->kept_path)) {
		fprintf(stderr, "sonde try: the kept copy %s is not there, or others can write to it: it is not run\n",
			baseline->kept);
		return NULL;
	}
	again->kept_words = calloc(count + 1, sizeof *again->kept_words);
	for (size_t i = 0; again->kept_words && i < count; i++)
		again->kept_words[i] =
		    i ? (baseline->redacted ? again->command[i] : baseline->words[i]) : again->kept_path;
	return again->kept_words;
}

/* A copy is of the program alone, so that it stands for the baseline only where nothing else that the command names has
 * changed, as an interpreter's script. */
char **sonde_try_words_again(struct sonde_try_again *again, const struct sonde_try_entry *baseline)
{
	int is_same = sonde_try_entry_same_words(baseline, again->command);
	const char *changed = sonde_try_entry_changed(baseline, NULL);
	const char *other = sonde_try_entry_changed(baseline, program_of(baseline));
	if (!is_same && baseline->redacted) {
		fprintf(stderr,
			"sonde try: the baseline's command line had passwords or keys, which its journal does not "
			"have (--keep-arguments): it cannot be run again\n");
		return NULL;
	}
	if (!is_same && !changed)
		return baseline->words;
	if (!changed)
		fprintf(stderr, "sonde try: %s\n",
			baseline->file_count
			    ? "no file that the command names has changed since the baseline: was it built?"
			    : "the command names no file: what has changed since the baseline cannot be run again");
	else if (other)
		fprintf(stderr,
			"sonde try: %s is not what it was for the baseline, which cannot be run again: --keep keeps "
			"the program alone\n",
			other);
	else if (!baseline->kept)
		fprintf(stderr, "sonde try: the baseline's program is not what it was: with --keep, sonde try baseline "
				"keeps a copy to run again\n");
	else
		return words_of_kept(again, baseline);
	return NULL;
}

void sonde_try_again_fini(struct sonde_try_again *again)
{
	free(again->kept_path);
	free(again->kept_words);
}
