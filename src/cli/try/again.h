/* again.h: what runs again for the baseline of an attempt. */
#ifndef SONDE_CLI_TRY_AGAIN_H
#define SONDE_CLI_TRY_AGAIN_H

#include "cli/try/entry.h"

struct sonde_try_again {
	const struct sonde_journal *journal;
	char *const *command; /* the attempt's */
	/* Its own. */
	char *kept_path;
	char **kept_words;
};

/* The baseline's words, or the same with the copy of its program that was kept; they live as long as both arguments.
 * NULL: it cannot be run again, and a sentence on the standard error has said why. */
char **sonde_try_words_again(struct sonde_try_again *again, const struct sonde_try_entry *baseline);
void sonde_try_again_fini(struct sonde_try_again *again);

#endif
