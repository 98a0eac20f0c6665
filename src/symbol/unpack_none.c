/* unpack_none.c: built without liblzma: compressed symbols are not read. */
#include "symbol/unpack.h"

#include <errno.h>

int sonde_unpack_xz(const uint8_t *packed, size_t packed_b, size_t max_b, uint8_t **out, size_t *out_b)
{
	(void)packed, (void)packed_b, (void)max_b, (void)out, (void)out_b;
	return -ENOTSUP;
}
