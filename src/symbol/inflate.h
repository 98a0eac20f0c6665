/* inflate.h: a zlib stream of known size, inflated at once. */
#ifndef SONDE_SYMBOL_INFLATE_H
#define SONDE_SYMBOL_INFLATE_H

#include <stddef.h>
#include <stdint.h>

/* As many bytes behind both buffers must be there: they are read (whatever they hold) and written. */
#define SONDE_INFLATE_SPARE_B 288u

/* -EBADMSG when the stream is damaged, or does not hold exactly out_b bytes. Says no sentence. */
int sonde_inflate(uint8_t *out, size_t out_b, const uint8_t *in, size_t in_b);

#endif
