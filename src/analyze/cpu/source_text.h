/* source_text.h: the text of a source file that a recording names, where it can be read here and is the one that was
 * compiled.
 *
 * A recording may name any file, and what is read goes into reports that are passed on: only a regular file of bounded
 * size is read, whose name is that of source, by no symbolic link, and nothing below /proc, /sys or /dev. One that is
 * newer than the module that was made of it, or than the recording, is another text: its lines would stand beside
 * figures of other ones.
 */
#ifndef SONDE_ANALYZE_CPU_SOURCE_TEXT_H
#define SONDE_ANALYZE_CPU_SOURCE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "report/report.h"
#include "session/session.h"

struct sonde_source_text {
	char *text;      /* NULL = there is none */
	const char *why; /* not; static */
	size_t size_b, at;
	uint32_t line; /* of `at` */
};

/* Of the file `path` that a function of `module` (an id) came from. */
void sonde_source_text_open(struct sonde_source_text *out, const struct sonde_session *session, uint32_t module,
			    const char *path);
void sonde_source_text_close(struct sonde_source_text *source);

/* A line, of the report's arena, at most 400 bytes of it; it must not lie before the last one that was asked for; NULL:
 * there is none. */
const char *sonde_source_text_line(struct sonde_source_text *source, uint32_t line, struct sonde_report *report);

#endif
