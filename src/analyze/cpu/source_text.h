/* source_text.h: reads source lines that a recording refers to, if the file is readable here and is the version that
 * was compiled.
 *
 * A recording can name any file, and the text goes into reports that are shared. So only regular files of bounded size
 * with the name of a source file are read, never through symbolic links, and never below /proc, /sys or /dev. A file
 * that is newer than the module compiled from it, or than the recording, is rejected: its lines would not match the
 * figures.
 */
#ifndef SONDE_ANALYZE_CPU_SOURCE_TEXT_H
#define SONDE_ANALYZE_CPU_SOURCE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "report/report.h"
#include "session/session.h"

struct sonde_source_text {
	char *text;      /* NULL = not available */
	const char *why; /* why not; static */
	size_t size_b, at;
	uint32_t line; /* current line at `at` */
};

/* Opens the file `path`, from which a function of `module` (an id) was compiled. */
void sonde_source_text_open(struct sonde_source_text *out, const struct sonde_session *session, uint32_t module,
			    const char *path);
void sonde_source_text_close(struct sonde_source_text *source);

/* A line, at most 400 bytes of it, allocated in the report's arena; NULL if there is none. Lines must be requested in
 * ascending order. */
const char *sonde_source_text_line(struct sonde_source_text *source, uint32_t line, struct sonde_report *report);

#endif
