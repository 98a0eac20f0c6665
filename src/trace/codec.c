/* codec.c: zstd, level 1.
 *
 * Columns of deltas are already small; level 1 compresses the rest at 400 MB/s and more, and higher levels gain little.
 * Times of zones are small, unordered numbers: their matches are short, frequent, and save little on top of Huffman
 * coding. With long steps between match searches, level 1 compresses and decompresses them twice as fast at about the
 * same size (nested zones of random length 3.42 instead of 3.48 bytes per zone, a tight loop 0.41 instead of 0.33).
 * With long steps zstd omits Huffman coding unless it is requested. Bodies below 128 bytes are not worth a frame
 * header. A decompression context is 160 KB, so a reader keeps one spare; a thread that finds it in use creates
 * another.
 */
#include "trace/codec.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_c_literalCompressionMode; a library without it compresses less */
#include <zstd.h>

#include "util/error.h"

#define LEVEL 1
#define NOISE_STEP 512
#define LITERALS_PACKED 1 /* the enumerator's name varies between releases, its value does not */
#define MIN_B 128

struct sonde_packer {
	ZSTD_CCtx *context;
};

struct sonde_unpacker {
	/* NULL while in use. Exchanged as a whole: acquire when taking it pairs with release when returning it. */
	_Atomic(ZSTD_DCtx *) spare;
};

struct sonde_packer *sonde_packer_new(void)
{
	struct sonde_packer *packer = calloc(1, sizeof *packer);
	if (!packer)
		return NULL;
	packer->context = ZSTD_createCCtx();
	if (packer->context)
		return packer;
	free(packer);
	return NULL;
}

void sonde_packer_free(struct sonde_packer *packer)
{
	if (!packer)
		return;
	ZSTD_freeCCtx(packer->context);
	free(packer);
}

int sonde_packer_pack(struct sonde_packer *packer, struct sonde_buf *scratch, const void *body, size_t body_b,
		      int is_noise)
{
	sonde_buf_clear(scratch);
	if (body_b < MIN_B)
		return 0;
	void *packed = sonde_buf_extend(scratch, body_b - 1);
	if (!packed)
		return 0;
	(void)ZSTD_CCtx_setParameter(packer->context, ZSTD_c_compressionLevel, LEVEL);
	(void)ZSTD_CCtx_setParameter(packer->context, ZSTD_c_targetLength, is_noise ? NOISE_STEP : 0);
	(void)ZSTD_CCtx_setParameter(packer->context, ZSTD_c_literalCompressionMode, is_noise ? LITERALS_PACKED : 0);
	size_t packed_b = ZSTD_compress2(packer->context, packed, body_b - 1, body, body_b);
	if (ZSTD_isError(packed_b))
		return 0; /* did not fit, so did not shrink */
	scratch->len_b = packed_b;
	return 1;
}

struct sonde_unpacker *sonde_unpacker_new(void)
{
	return calloc(1, sizeof(struct sonde_unpacker));
}

void sonde_unpacker_free(struct sonde_unpacker *unpacker)
{
	if (!unpacker)
		return;
	ZSTD_freeDCtx(atomic_load_explicit(&unpacker->spare, memory_order_acquire));
	free(unpacker);
}

int sonde_unpacker_unpack(struct sonde_unpacker *unpacker, void *raw, size_t raw_b, const void *stored, size_t stored_b)
{
	ZSTD_DCtx *context = atomic_exchange_explicit(&unpacker->spare, NULL, memory_order_acquire);
	if (!context)
		context = ZSTD_createDCtx();
	if (!context)
		return sonde_error(ENOMEM, "out of memory for decompression");
	size_t got_b = ZSTD_decompressDCtx(context, raw, raw_b, stored, stored_b);
	ZSTD_freeDCtx(atomic_exchange_explicit(&unpacker->spare, context, memory_order_acq_rel));
	if (ZSTD_isError(got_b))
		return sonde_error(EBADMSG, "zstd: %s", ZSTD_getErrorName(got_b));
	if (got_b != raw_b)
		return sonde_error(EBADMSG, "it holds %zu bytes, but its header says %zu", got_b, raw_b);
	return 0;
}
