/* codec.h: compresses and decompresses chunk bodies. */
#ifndef SONDE_TRACE_CODEC_H
#define SONDE_TRACE_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"

struct sonde_packer;
struct sonde_unpacker;

/* For use by one thread. NULL when out of memory. */
struct sonde_packer *sonde_packer_new(void);
void sonde_packer_free(struct sonde_packer *packer);

/* Compresses into `scratch` (cleared first). Returns 1 if scratch holds a smaller body, 0 if the body should be stored
 * uncompressed. `is_noise`: small unordered numbers, for which searching for matches does not pay. */
int sonde_packer_pack(struct sonde_packer *packer, struct sonde_buf *scratch, const void *body, size_t body_b,
		      int is_noise);

/* May be shared by threads: a call takes the decompression context or creates its own. */
struct sonde_unpacker *sonde_unpacker_new(void);
void sonde_unpacker_free(struct sonde_unpacker *unpacker);

/* Decompresses exactly raw_b bytes into `raw`, or returns -EBADMSG. */
int sonde_unpacker_unpack(struct sonde_unpacker *unpacker, void *raw, size_t raw_b, const void *stored,
			  size_t stored_b);

#endif
