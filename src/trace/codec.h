/* codec.h: compressing and decompressing chunk bodies. */
#ifndef SONDE_TRACE_CODEC_H
#define SONDE_TRACE_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"

struct sonde_packer;
struct sonde_unpacker;

/* One thread each. NULL when out of memory. */
struct sonde_packer *sonde_packer_new(void);
void sonde_packer_free(struct sonde_packer *packer);

/* Compresses into `scratch` (cleared first). 1: smaller, and in scratch; 0: better stored as it is. `is_noise`: small
 * numbers in no order, in which it does not pay to look for what was there before. */
int sonde_packer_pack(struct sonde_packer *packer, struct sonde_buf *scratch, const void *body, size_t body_b,
		      int is_noise);

/* May be shared by threads: a call takes the decompression context, or makes one of its own. */
struct sonde_unpacker *sonde_unpacker_new(void);
void sonde_unpacker_free(struct sonde_unpacker *unpacker);

/* Exactly raw_b bytes into `raw`, or -EBADMSG. */
int sonde_unpacker_unpack(struct sonde_unpacker *unpacker, void *raw, size_t raw_b, const void *stored,
			  size_t stored_b);

#endif
