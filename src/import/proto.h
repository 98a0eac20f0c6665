/* proto.h: reads the Protocol Buffers wire format from a bounded buffer, one field at a time.
 *
 * Input is untrusted: a length beyond the end, a group or a truncated number ends reading with an error.
 */
#ifndef SONDE_IMPORT_PROTO_H
#define SONDE_IMPORT_PROTO_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/varint.h"

struct sonde_proto {
	const uint8_t *at, *end;
	int broken;
	/* The field that was read last: a number, or bytes. */
	uint32_t field;
	int is_bytes;
	uint64_t number;
	const uint8_t *bytes;
	size_t bytes_b;
};

static inline struct sonde_proto sonde_proto_of(const uint8_t *bytes, size_t size_b)
{
	return (struct sonde_proto){.at = bytes, .end = bytes + size_b};
}

static inline int sonde_proto_break(struct sonde_proto *proto)
{
	proto->broken = 1;
	return 0;
}

static inline int sonde_proto_fixed(struct sonde_proto *proto, size_t size_b)
{
	if ((size_t)(proto->end - proto->at) < size_b)
		return sonde_proto_break(proto);
	proto->number = 0;
	memcpy(&proto->number, proto->at, size_b);
	proto->at += size_b;
	return 1;
}

/* Reads the next field. Returns 1, or 0 at the end and if the field is malformed. */
static inline int sonde_proto_next(struct sonde_proto *proto)
{
	uint64_t tag, size_b;
	if (proto->at >= proto->end || proto->broken)
		return 0;
	proto->at = sonde_varint_get(proto->at, proto->end, &tag);
	if (!proto->at || tag >> 3 == 0 || tag >> 3 > UINT32_MAX)
		return sonde_proto_break(proto);
	proto->field = (uint32_t)(tag >> 3);
	proto->is_bytes = (tag & 7) == 2;
	switch (tag & 7) {
	case 0:
		proto->at = sonde_varint_get(proto->at, proto->end, &proto->number);
		return proto->at ? 1 : sonde_proto_break(proto);
	case 1:
		return sonde_proto_fixed(proto, 8);
	case 5:
		return sonde_proto_fixed(proto, 4);
	case 2:
		proto->at = sonde_varint_get(proto->at, proto->end, &size_b);
		if (!proto->at || size_b > (uint64_t)(proto->end - proto->at))
			return sonde_proto_break(proto);
		proto->bytes = proto->at;
		proto->bytes_b = (size_t)size_b;
		proto->at += size_b;
		return 1;
	default:
		return sonde_proto_break(proto);
	}
}

/* Copies up to `max` numbers of a repeated field, packed or not, into `out`; returns how many the field has. */
static inline size_t sonde_proto_numbers(const struct sonde_proto *proto, uint64_t *out, size_t count, size_t max)
{
	if (!proto->is_bytes) {
		if (count < max)
			out[count] = proto->number;
		return count + 1;
	}
	const uint8_t *at = proto->bytes, *end = at + proto->bytes_b;
	while (at < end) {
		uint64_t value;
		at = sonde_varint_get(at, end, &value);
		if (!at)
			break;
		if (count < max)
			out[count] = value;
		count++;
	}
	return count;
}

#endif
