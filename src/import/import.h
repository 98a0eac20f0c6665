/* import.h: files of other profilers made into recordings, which everything else reads as any other.
 *
 * What a format has no place for here, and what a recording needs and the file does not tell, is said in INFO keys:
 * `import.from`, and `import.note.1` and so on, with which every report begins (docs/IMPORT.md). Files are hostile
 * input: memory is bounded, and what is too big is called that.
 */
#ifndef SONDE_IMPORT_IMPORT_H
#define SONDE_IMPORT_IMPORT_H

#include <stddef.h>
#include <stdint.h>

struct sonde_import_options {
	const char *path;   /* "-" = standard input */
	const char *format; /* a name of sonde_import_formats; NULL = by what is in the file */
	const char *type;   /* pprof: which of a profile's values; NULL = the one of CPU time */
	const char *folder; /* for temporary files, which have no name; NULL = $TMPDIR or /tmp */
	int fd;             /* of the new file, empty, open for reading and writing */
	const char *name;   /* of it, for messages */
};

/* What was made, for whoever tells of it. `format` is static; `notes` are to be freed with
 * sonde_import_result_fini(). */
struct sonde_import_result {
	const char *format;
	uint64_t samples, zones, spans, marks, values, lost;
	char **notes;
	size_t note_count;
};

/* 0, or a negative errno with a sentence: -EBADMSG where the file is none that can be read, -EFBIG where it is too big,
 * -ENOSYS where this build cannot read it, -EINVAL where the options make no sense. What was written then is of no use.
 */
int sonde_import(struct sonde_import_result *out, const struct sonde_import_options *options);
void sonde_import_result_fini(struct sonde_import_result *result);

/* What a file is that can be imported, by its first bytes: static, "a pprof profile"; NULL = nothing that is known, or
 * no regular file, which may leave another sentence of an error. */
const char *sonde_import_title(const char *path);

struct sonde_input;
struct sonde_import_job;

/* A format: one file, one row in formats.def. */
struct sonde_import_format {
	const char *name;  /* "chrome", for --from */
	const char *title; /* "trace events (Chrome, Perfetto, PyTorch)" */
	/* By the file's first bytes, uncompressed; gz: they were compressed. How sure: 0 = no, 3 = a magic number. */
	int (*matches)(const uint8_t *bytes, size_t size_b, int gz);
	int (*run)(struct sonde_import_job *job);
};

extern const struct sonde_import_format *const sonde_import_formats[];
extern const size_t sonde_import_format_count;

#endif
