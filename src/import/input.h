/* input.h: reads the imported file: sequentially and uncompressed, or at any offset.
 *
 * The file is read rather than mapped, because truncating a mapped file would kill us with SIGBUS. A pipe is first
 * copied into an unnamed file. One thread.
 */
#ifndef SONDE_IMPORT_INPUT_H
#define SONDE_IMPORT_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sonde_input;

/* Opens a file; `path` "-" = standard input. `folder`: where input that is not a regular file is copied to. */
int sonde_input_open(struct sonde_input **out, const char *path, const char *folder);
void sonde_input_close(struct sonde_input *input);

const char *sonde_input_name(const struct sonde_input *input); /* for messages */
uint64_t sonde_input_size_b(const struct sonde_input *input);  /* as stored */
uint64_t sonde_input_changed_ns(const struct sonde_input *input);
int sonde_input_is_gz(const struct sonde_input *input);

/* Reads the next uncompressed bytes and returns their number, 0 at the end, or a negative errno (-EFBIG: a compression
 * bomb). */
ssize_t sonde_input_read(struct sonde_input *input, void *to, size_t size_b);
/* True if the compressed stream is truncated, so that only its beginning could be read. */
int sonde_input_is_cut(const struct sonde_input *input);
int sonde_input_rewind(struct sonde_input *input);

/* Reads bytes as stored, without unpacking; fewer at the end of the file. Nearby reads are served from one buffered
 * window. */
ssize_t sonde_input_at(struct sonde_input *input, uint64_t offset, void *to, size_t size_b);

/* Creates an unnamed file in `folder` (NULL = $TMPDIR or /tmp); returns its descriptor or a negative errno. */
int sonde_input_scratch(const char *folder);

#endif
