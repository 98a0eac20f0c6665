/* import.h: converts files of other profilers into recordings, which are then read like any other recording.
 *
 * The recording's INFO keys `import.from`, `import.note.1` and so on report data that could not be represented, and
 * data that a recording needs but the file lacks. Every report begins with these texts (docs/IMPORT.md). Files are
 * hostile input: memory is limited, and a file that exceeds a limit is rejected as too big.
 */
#ifndef SONDE_IMPORT_IMPORT_H
#define SONDE_IMPORT_IMPORT_H

#include <stddef.h>
#include <stdint.h>

struct sonde_import_options {
	const char *path;   /* "-" = standard input */
	const char *format; /* a name in sonde_import_formats; NULL = detect */
	const char *type;   /* pprof: which value of the profile; NULL = CPU time */
	const char *folder; /* for unnamed temporary files; NULL = $TMPDIR or /tmp */
	int fd;             /* new file, empty, open for reading and writing */
	const char *name;   /* name of the new file, for messages */
};

/* Statistics for the caller's message. `format` is static; free `notes` with sonde_import_result_fini(). */
struct sonde_import_result {
	const char *format;
	uint64_t samples, zones, spans, marks, values, lost;
	char **notes;
	size_t note_count;
};

/* Imports a file. Returns 0 or a negative errno with a message: -EBADMSG if the file is not readable as any format,
 * -EFBIG if it is too big, -ENOSYS if this build cannot read the format, -EINVAL for invalid options. After an error
 * the output is unusable. */
int sonde_import(struct sonde_import_result *out, const struct sonde_import_options *options);
void sonde_import_result_fini(struct sonde_import_result *result);

/* Detects an importable file from its first bytes. Returns a static title, such as "a pprof profile"; NULL = unknown,
 * or not a regular file. The thread's error message may change. */
const char *sonde_import_title(const char *path);

struct sonde_input;
struct sonde_import_job;

/* A format: one source file and one row in formats.def. */
struct sonde_import_format {
	const char *name;  /* "chrome", for --from */
	const char *title; /* "trace events (Chrome, Perfetto, PyTorch)" */
	/* Checks the file's first bytes, uncompressed; gz: the file is compressed. Returns the confidence: 0 = another
	 * format, 3 = it has the magic number. */
	int (*matches)(const uint8_t *bytes, size_t size_b, int gz);
	int (*run)(struct sonde_import_job *job);
};

extern const struct sonde_import_format *const sonde_import_formats[];
extern const size_t sonde_import_format_count;

#endif
