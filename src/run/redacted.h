/* redacted.h: the words of a command with secrets removed (fold/redact.h). */
#ifndef SONDE_RUN_REDACTED_H
#define SONDE_RUN_REDACTED_H

/* Returns a copy of the words without their secrets: as many words, followed by NULL, in one block that the caller
 * frees. *count, if not NULL, is set to the number of secrets removed. NULL if out of memory. */
char **sonde_redacted_words(char *const *words, unsigned *count);

#endif
