/* bytes.c: keeps four counts per process; the process's own reads and writes are raw − taken. */
#include "source/resource/bytes.h"

#include <string.h>

static const enum sonde_resource resources[SONDE_BYTES_COUNT] = {
    SONDE_RESOURCE_IO_READ,
    SONDE_RESOURCE_IO_WRITTEN,
    SONDE_RESOURCE_IO_READ_ALL,
    SONDE_RESOURCE_IO_WRITTEN_ALL,
};

void sonde_resources_bytes_begin(struct sonde_resources_bytes *bytes, int64_t read_b, int64_t written_b)
{
	for (unsigned i = 0; i < SONDE_BYTES_COUNT; i++)
		bytes->taken[i] = resources[i] == SONDE_RESOURCE_IO_READ_ALL      ? read_b
				  : resources[i] == SONDE_RESOURCE_IO_WRITTEN_ALL ? written_b
										  : 0;
}

void sonde_resources_bytes_see_again(struct sonde_resources_bytes *bytes, const struct sonde_resources *now)
{
	for (unsigned i = 0; i < SONDE_BYTES_COUNT; i++)
		if (now->known & 1u << resources[i]) {
			bytes->raw[i] = now->value[resources[i]];
			bytes->known |= 1u << resources[i];
		}
}

void sonde_resources_bytes_see(struct sonde_resources_bytes *bytes, const struct sonde_resources *now)
{
	memcpy(bytes->before, bytes->raw, sizeof bytes->before);
	sonde_resources_bytes_see_again(bytes, now);
}

int sonde_resources_bytes_take(struct sonde_resources_bytes *parent, const struct sonde_resources_bytes *child)
{
	for (unsigned i = 0; i < SONDE_BYTES_COUNT; i++)
		if (parent->raw[i] - parent->before[i] < child->raw[i])
			return 0;
	for (unsigned i = 0; i < SONDE_BYTES_COUNT; i++) {
		parent->taken[i] += child->raw[i];
		parent->before[i] += child->raw[i];
	}
	return 1;
}

void sonde_resources_bytes_join(struct sonde_resources_bytes *parent, const struct sonde_resources_bytes *child)
{
	for (unsigned i = 0; i < SONDE_BYTES_COUNT; i++) {
		parent->raw[i] += child->raw[i];
		parent->taken[i] += child->raw[i];
	}
}

void sonde_resources_bytes_record(struct sonde_resources_bytes *bytes, struct sonde_resources *out)
{
	*out = (struct sonde_resources){.known = bytes->known};
	for (unsigned i = 0; i < SONDE_BYTES_COUNT; i++) {
		int64_t own = bytes->raw[i] - bytes->taken[i];
		bytes->own[i] = own > bytes->own[i] ? own : bytes->own[i];
		out->value[resources[i]] = bytes->own[i];
	}
}
