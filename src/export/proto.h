/* proto.h: the parts of Protocol Buffers' wire format that a writer needs: varints and length-prefixed fields.
 *
 * Zero values and empty texts are written too; leaving them out is the caller's choice. Errors stick in the buffer.
 */
#ifndef SONDE_EXPORT_PROTO_H
#define SONDE_EXPORT_PROTO_H

#include <string.h>

#include "util/buf.h"

enum sonde_proto_wire { SONDE_PROTO_VARINT = 0, SONDE_PROTO_FIXED64 = 1, SONDE_PROTO_BYTES = 2 };

static inline void sonde_proto_tag(struct sonde_buf *out, uint32_t field, enum sonde_proto_wire wire)
{
	sonde_buf_varint(out, (uint64_t)field << 3 | wire);
}

/* Also int64 (as its two's complement), bool and enum fields. */
static inline void sonde_proto_uint(struct sonde_buf *out, uint32_t field, uint64_t value)
{
	sonde_proto_tag(out, field, SONDE_PROTO_VARINT);
	sonde_buf_varint(out, value);
}

static inline void sonde_proto_bytes(struct sonde_buf *out, uint32_t field, const void *data, size_t size_b)
{
	sonde_proto_tag(out, field, SONDE_PROTO_BYTES);
	sonde_buf_varint(out, size_b);
	sonde_buf_append(out, data, size_b);
}

static inline void sonde_proto_text(struct sonde_buf *out, uint32_t field, const char *text)
{
	sonde_proto_bytes(out, field, text, strlen(text));
}

/* A nested message or packed list that was written to `inner`, which is emptied. */
static inline void sonde_proto_message(struct sonde_buf *out, uint32_t field, struct sonde_buf *inner)
{
	if (sonde_buf_error(inner))
		out->error = sonde_buf_error(inner);
	sonde_proto_bytes(out, field, inner->data, inner->len_b);
	sonde_buf_clear(inner);
}

#endif
