/* output.h: where a command writes to, and which recording it reads when none is named. */
#ifndef SONDE_CLI_COMMON_OUTPUT_H
#define SONDE_CLI_COMMON_OUTPUT_H

#include <stddef.h>
#include <stdio.h>

#include "export/format.h"

struct sonde_output {
	FILE *file;
	const char *path; /* NULL = the standard output */
	int made;         /* the file is ours: removed when writing fails */
};

/* A new file is the user's alone (0600), as recordings are: it has their command lines and paths. One that exists keeps
 * its mode, and is refused without `force`. `path` NULL or "-": the standard output. 0 or a negative errno. */
int sonde_output_open(struct sonde_output *out, const char *path, int force);

/* Closes; 0, or the negative errno of a write that failed (the file is gone then). A reader that went away is no error.
 */
int sonde_output_close(struct sonde_output *output, int code);

/* Columns, colours and characters that suit the stream. */
void sonde_output_style(struct sonde_format_options *out, FILE *file);

/* The youngest *.sonde in the working directory; -ENOENT with a sentence when there is none. */
int sonde_output_newest(char *out, size_t out_b);

/* A file without a name, on a disk that has room for it, else in memory (then `name` is what the kernel calls it): a
 * descriptor beyond the standard streams, which may be closed; or a negative errno. */
int sonde_output_nameless(const char *name);

/* Whether a file's name has something before this ending; NULL has not. */
int sonde_output_ends_with(const char *name, const char *end);

#endif
