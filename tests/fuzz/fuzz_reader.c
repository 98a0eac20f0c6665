/* fuzz_reader.c: libFuzzer target: any bytes are a recording that is opened and read to its end.
 *
 * A mutated chunk fails its checksum and would go no further, so inputs of even length get the checksums that their
 * bytes have. Those of odd length stay as they are, and so the reader's own checks are fuzzed as well.
 */
#include <stdlib.h>
#include <string.h>

#include "mend.h"
#include "walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_b);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_b)
{
	uint8_t *copy = malloc(size_b + 1);
	if (!copy)
		return 0;
	memcpy(copy, bytes, size_b);
	if (size_b % 2 == 0)
		mend_checksums(copy, size_b);
	walk_bytes(copy, size_b, NULL);
	free(copy);
	return 0;
}
