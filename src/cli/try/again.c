/* again.c: reruns the baseline of an attempt: its command, or the saved copy of its program. */
#include "cli/try/again.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* True if no other user can have changed the saved copy. */
static int is_ours(const char *path)
{
	struct stat info;
	return !lstat(path, &info) && S_ISREG(info.st_mode) && !access(path, X_OK) &&
	       (info.st_uid == geteuid() || !info.st_uid) && !(info.st_mode & (S_IWGRP | S_IWOTH));
}

/* Returns the recorded path of the baseline's program if a copy of it was saved; NULL: there is no copy. */
static const char *program_of(const struct sonde_try_entry *baseline)
{
	const char *word = baseline->words[0], *path = baseline->file_count ? baseline->file[0].path : "";
	const char *slash = strchr(word, '/') ? NULL : strrchr(path, '/');
	return strcmp(slash ? slash + 1 : path, word) ? NULL : path;
}

/* Returns the baseline's words with the saved copy as the program; NULL after a message if there is no copy, or it is
 * not safe to run. */
static char **words_of_kept(struct sonde_try_again *again, const struct sonde_try_entry *baseline)
{
	size_t count = 0;
	while (baseline->words[count])
		count++;
	if (asprintf(&again->kept_path, "%s/%s", again->journal->folder, baseline->kept) < 0)
		again->kept_path = NULL;
	if (!again->kept_path || strchr(baseline->kept, '/') || !is_ours(again->kept_path)) {
		fprintf(stderr, "sonde try: the kept copy %s is missing, or others can write to it: it is not run\n",
			baseline->kept);
		return NULL;
	}
	again->kept_words = calloc(count + 1, sizeof *again->kept_words);
	for (size_t i = 0; again->kept_words && i < count; i++)
		again->kept_words[i] =
		    i ? (baseline->redacted ? again->command[i] : baseline->words[i]) : again->kept_path;
	return again->kept_words;
}

/* Only the program is copied, so the copy can stand in for the baseline only if no other file that the command refers
 * to, such as an interpreter's script, has changed. */
char **sonde_try_words_again(struct sonde_try_again *again, const struct sonde_try_entry *baseline)
{
	int is_same = sonde_try_entry_same_words(baseline, again->command);
	const char *changed = sonde_try_entry_changed(baseline, NULL);
	const char *other = sonde_try_entry_changed(baseline, program_of(baseline));
	if (!is_same && baseline->redacted) {
		fprintf(stderr, "sonde try: the baseline's command line had passwords or keys, which the journal omits "
				"(--keep-arguments): it cannot be run again\n");
		return NULL;
	}
	if (!is_same && !changed)
		return baseline->words;
	if (!changed)
		fprintf(stderr, "sonde try: %s\n",
			baseline->file_count
			    ? "no file of the command has changed since the baseline: was it built?"
			    : "the command names no file, so the baseline's version cannot be run again");
	else if (other)
		fprintf(stderr,
			"sonde try: the baseline cannot be run again, since %s has changed: --keep keeps only the "
			"program\n",
			other);
	else if (!baseline->kept)
		fprintf(stderr, "sonde try: the baseline's program has changed: with --keep, sonde try baseline keeps "
				"a copy to run again\n");
	else
		return words_of_kept(again, baseline);
	return NULL;
}

void sonde_try_again_fini(struct sonde_try_again *again)
{
	free(again->kept_path);
	free(again->kept_words);
}
