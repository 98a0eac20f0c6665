/* output.h: where a command writes to, and which recording it reads by default. */
#ifndef SONDE_CLI_COMMON_OUTPUT_H
#define SONDE_CLI_COMMON_OUTPUT_H

#include <stddef.h>
#include <stdio.h>

#include "export/format.h"

struct sonde_output {
	FILE *file;
	const char *path; /* NULL = the standard output */
	int made;         /* we created the file, and remove it if writing fails */
};

/* Opens an output. A new file is accessible to the user only (0600), like recordings, because it contains command lines
 * and paths from the recording. An existing file keeps its mode, and is refused without `force`. `path` NULL or "-":
 * the standard output. 0 or a negative errno. */
int sonde_output_open(struct sonde_output *out, const char *path, int force);

/* Closes the output; 0, or the negative errno of a failed write (the file is removed then). It is not an error if the
 * output is a pipe whose reader has closed it. */
int sonde_output_close(struct sonde_output *output, int code);

/* Renders a report into a file opened as above. 0 or a negative errno with a message. */
int sonde_output_report(const struct sonde_report *report, const struct sonde_format *format, const char *path,
			int force);

/* Finds a format that renders any report. NULL: there is none of this name. */
const struct sonde_format *sonde_output_report_format(const char *name);

/* Chooses width, colours and characters that suit the stream. */
void sonde_output_style(struct sonde_format_options *out, FILE *file);

/* The most recent *.sonde in the working directory; -ENOENT with a message if there is none. */
int sonde_output_newest(char *out, size_t out_b);

/* Creates an unnamed file on a disk with enough space, else in memory (`name` is then the name that the kernel shows
 * for it). Returns a descriptor above the standard streams, which may be closed; or a negative errno. */
int sonde_output_nameless(const char *name);

/* True if a file name ends with `end` and has something before it; false for NULL. */
int sonde_output_ends_with(const char *name, const char *end);

#endif
