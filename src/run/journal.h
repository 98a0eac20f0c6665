/* journal.h: a file that entries are appended to, one line of JSON each, and that loses none.
 *
 * It lies beside the code that it is about: in the nearest folder .sonde-try from the working directory upwards; a new
 * one is made where .git is, or else in the working directory. Git does not see it: what it holds is of one machine.
 */
#ifndef SONDE_RUN_JOURNAL_H
#define SONDE_RUN_JOURNAL_H

#include <limits.h>
#include <stddef.h>

#define SONDE_JOURNAL_FOLDER ".sonde-try"

struct sonde_journal {
	char folder[PATH_MAX];     /* /home/me/app/.sonde-try */
	char path[PATH_MAX + 300]; /* …/NAME.jsonl; "" until a name was set */
};

/* `folder` NULL: where it lies. It need not be there; one that another user owns, or can write into, is refused
 * (-EPERM), since commands in it are run. 0 or a negative errno with a sentence. */
int sonde_journal_init(struct sonde_journal *out, const char *folder);

/* -EINVAL with a sentence for a name that cannot be one of a file. */
int sonde_journal_name(struct sonde_journal *journal, const char *name);

/* Makes the folder where there is none. 0 or a negative errno with a sentence. */
int sonde_journal_folder(const struct sonde_journal *journal);

/* Whether an entry could be appended, before it is made at a cost; makes the folder, and no file in it. 0 or a negative
 * errno with a sentence. */
int sonde_journal_check(const struct sonde_journal *journal);

/* Appends an object, `json`, without a line feed in it, as one line with its checksum: under a lock, written to the
 * disk when it returns, and wholly or not at all. Makes folder and file. 0 or a negative errno with a sentence. */
int sonde_journal_append(const struct sonde_journal *journal, const char *json);

/* Hands over each line whose checksum is right; the others are counted. `take` ends it by a negative errno, which is
 * returned. -ENOENT with a sentence where there is no such file. */
int sonde_journal_read(const struct sonde_journal *journal, int (*take)(void *context, const char *line, size_t len),
		       void *context, size_t *damaged);

/* All names, in order; sonde_journal_names_free(). 0 with none where there is no folder. */
struct sonde_journal_names {
	char **name;
	size_t count;
};
int sonde_journal_names(struct sonde_journal_names *out, const struct sonde_journal *journal);
void sonde_journal_names_free(struct sonde_journal_names *names);

#endif
