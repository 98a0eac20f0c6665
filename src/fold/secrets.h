/* secrets.h: recognises names that announce a secret, and secrets by their shape. Private to fold/redact.c. */
#ifndef SONDE_FOLD_SECRETS_H
#define SONDE_FOLD_SECRETS_H

#include <stddef.h>

struct sonde_secret_name {
	const char *end; /* the end of a name, in lower case with "-" for "_" and "." */
	int is_part;     /* must be a separate part: DB_PASS, not "compass" */
	int is_weak;     /* numbers up to 999 and words like "true" are not secrets */
};

/* The row for the name of an option or variable, in any case, with or without dashes; NULL if it is ordinary. */
const struct sonde_secret_name *sonde_secret_name(const char *text, size_t text_b);

/* True for the names of HTTP headers with secrets. */
int sonde_secret_header(const char *text, size_t text_b);

/* Length of the key that starts here; 0 = none. */
size_t sonde_secret_key(const char *text, size_t len);

/* True for values of weak names that are not secrets: a number up to 999 or a truth value. */
int sonde_secret_ordinary(const char *text, size_t len);

#endif
