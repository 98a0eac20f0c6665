/* again.h: reruns the baseline of an attempt. */
#ifndef SONDE_CLI_TRY_AGAIN_H
#define SONDE_CLI_TRY_AGAIN_H

#include "cli/try/entry.h"

struct sonde_try_again {
	const struct sonde_journal *journal;
	char *const *command; /* command of the attempt */
	/* Private. */
	char *kept_path;
	char **kept_words;
};

/* Returns the words of the baseline's command, with the saved copy as the program if needed; they are valid as long as
 * both arguments. NULL if the baseline cannot be rerun; a message on standard error gives the reason. */
char **sonde_try_words_again(struct sonde_try_again *again, const struct sonde_try_entry *baseline);
void sonde_try_again_fini(struct sonde_try_again *again);

#endif
