/* journal.h: an append-only file of entries, one line of JSON each, that never loses an entry.
 *
 * The journal is stored next to the code that it is about: in the nearest folder .sonde-try from the working directory
 * upwards. A new folder is created next to .git, or else in the working directory. Git ignores it, because its contents
 * are specific to one machine.
 */
#ifndef SONDE_RUN_JOURNAL_H
#define SONDE_RUN_JOURNAL_H

#include <limits.h>
#include <stddef.h>

#define SONDE_JOURNAL_FOLDER ".sonde-try"

struct sonde_journal {
	char folder[PATH_MAX];     /* /home/me/app/.sonde-try */
	char path[PATH_MAX + 300]; /* …/NAME.jsonl; "" until a name is set */
};

/* `folder` NULL: the default location. It need not exist yet. A folder that another user owns or can write to is
 * refused (-EPERM), because commands in it are executed. 0, or a negative errno with a message. */
int sonde_journal_init(struct sonde_journal *out, const char *folder);

/* -EINVAL with a message if the name is not a valid file name. */
int sonde_journal_name(struct sonde_journal *journal, const char *name);

/* Creates the folder if needed. 0, or a negative errno with a message. */
int sonde_journal_folder(const struct sonde_journal *journal);

/* Checks that an entry can be appended, before expensive work is done; creates the folder but no file. 0, or a negative
 * errno with a message. */
int sonde_journal_check(const struct sonde_journal *journal);

/* Appends a JSON object without line feeds as one line with its checksum: under a lock, durable on return, and all or
 * nothing. Creates folder and file. 0, or a negative errno with a message. */
int sonde_journal_append(const struct sonde_journal *journal, const char *json);

/* Passes each line whose checksum is right to `take`; counts the others. A negative errno from `take` stops reading and
 * is returned. -ENOENT with a message if there is no such file. */
int sonde_journal_read(const struct sonde_journal *journal, int (*take)(void *context, const char *line, size_t len),
		       void *context, size_t *damaged);

/* All names, sorted; free with sonde_journal_names_free(). 0 without names if there is no folder. */
struct sonde_journal_names {
	char **name;
	size_t count;
};
int sonde_journal_names(struct sonde_journal_names *out, const struct sonde_journal *journal);
void sonde_journal_names_free(struct sonde_journal_names *names);

#endif
