/* input.h: the bytes of a file that is imported: in their order and uncompressed, or anywhere in it.
 *
 * The file is read, never mapped: mapped, one that is cut short meanwhile would kill us. A pipe is copied into a file
 * without a name first. One thread.
 */
#ifndef SONDE_IMPORT_INPUT_H
#define SONDE_IMPORT_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sonde_input;

/* `path` "-" = standard input. `folder`: for a copy of what is no file. */
int sonde_input_open(struct sonde_input **out, const char *path, const char *folder);
void sonde_input_close(struct sonde_input *input);

const char *sonde_input_name(const struct sonde_input *input); /* for messages */
uint64_t sonde_input_size_b(const struct sonde_input *input);  /* as stored */
uint64_t sonde_input_changed_ns(const struct sonde_input *input);
int sonde_input_is_gz(const struct sonde_input *input);

/* The next bytes, uncompressed: how many, 0 at the end, or a negative errno: -EFBIG for a compression bomb. */
ssize_t sonde_input_read(struct sonde_input *input, void *to, size_t size_b);
/* The compressed stream ended before its end: what was read is its beginning. */
int sonde_input_is_cut(const struct sonde_input *input);
int sonde_input_rewind(struct sonde_input *input);

/* Bytes as stored; fewer at the end of the file. Near each other they come out of one window. */
ssize_t sonde_input_at(struct sonde_input *input, uint64_t offset, void *to, size_t size_b);

/* A file without a name in `folder` (NULL = $TMPDIR, or /tmp); its descriptor, or a negative errno. */
int sonde_input_scratch(const char *folder);

#endif
