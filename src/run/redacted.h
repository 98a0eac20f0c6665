/* redacted.h: the words of a command without the secrets in it (fold/redact.h). */
#ifndef SONDE_RUN_REDACTED_H
#define SONDE_RUN_REDACTED_H

/* As many words, NULL behind the last, in one block that the caller frees. *count, where it is not NULL, becomes how
 * many secrets were taken out. NULL: out of memory. */
char **sonde_redacted_words(char *const *words, unsigned *count);

/* The same of a line for sh, or of anything that people read as one. */
char *sonde_redacted_line(const char *line);

#endif
