/* unpack_xz.c: decompresses with liblzma into a buffer that doubles up to the maximum. */
#include "symbol/unpack.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#include "util/error.h"

#define DECODER_MAX_B ((uint64_t)80 << 20) /* xz -9 needs 65 MB */

static lzma_ret decode(lzma_stream *stream, size_t max_b, uint8_t **data, size_t *capacity_b)
{
	lzma_ret result = LZMA_OK;
	while (result == LZMA_OK && *capacity_b < max_b) {
		size_t used_b = *capacity_b, next_b = used_b ? used_b * 2 : 1u << 16;
		next_b = next_b < max_b ? next_b : max_b;
		uint8_t *grown = realloc(*data, next_b);
		if (!grown)
			return LZMA_MEM_ERROR;
		*data = grown;
		*capacity_b = next_b;
		stream->next_out = grown + used_b;
		stream->avail_out = next_b - used_b;
		result = lzma_code(stream, LZMA_FINISH);
		if (result == LZMA_OK && stream->avail_out)
			return LZMA_DATA_ERROR; /* truncated input */
	}
	return result;
}

int sonde_unpack_xz(const uint8_t *packed, size_t packed_b, size_t max_b, uint8_t **out, size_t *out_b)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	uint8_t *data = NULL;
	size_t capacity_b = 0;
	if (lzma_stream_decoder(&stream, DECODER_MAX_B, 0) != LZMA_OK)
		return sonde_error(ENOMEM, "no memory to unpack %zu bytes", packed_b);
	stream.next_in = packed;
	stream.avail_in = packed_b;
	lzma_ret result = decode(&stream, max_b, &data, &capacity_b);
	size_t size_b = (size_t)stream.total_out;
	lzma_end(&stream);
	if (result != LZMA_STREAM_END) {
		free(data);
		return sonde_error(EBADMSG, "%zu bytes of packed symbols are damaged", packed_b);
	}
	*out = data;
	*out_b = size_b;
	return 0;
}
