/* fuzz_reader.c: libFuzzer target: any bytes are a recording that is opened and read to its end.
 *
 * A mutated chunk fails its checksum and would go no further, so inputs of even length get the checksums that their
 * bytes have. Those of odd length stay as they are, and so the reader's own checks are fuzzed as well.
 */
#include <stdlib.h>
#include <string.h>

#include "format/record.h"
#include "trace/check.h"
#include "walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_b);

/* Gives head and chunks, walked as the reader walks them, the checksums that their bytes have. */
static void mend(uint8_t *bytes, size_t size_b)
{
	struct sonde_file_head file;
	if (size_b < sizeof file)
		return;
	memcpy(&file, bytes, sizeof file);
	if (file.head_b < sizeof file || file.head_b > size_b)
		return;
	file.check = sonde_check_head(bytes, file.head_b);
	memcpy(bytes, &file, sizeof file);
	for (size_t at = file.head_b; size_b - at >= sizeof(struct sonde_chunk_head);) {
		struct sonde_chunk_head head;
		memcpy(&head, bytes + at, sizeof head);
		if (!sonde_check_plausible(&head, at, size_b))
			return;
		const uint8_t *summary = bytes + at + sizeof head;
		head.check = sonde_check_chunk(&head, summary, summary + head.summary_b);
		memcpy(bytes + at, &head, sizeof head);
		at += sonde_check_chunk_b(&head);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_b)
{
	uint8_t *copy = malloc(size_b + 1);
	if (!copy)
		return 0;
	memcpy(copy, bytes, size_b);
	if (size_b % 2 == 0)
		mend(copy, size_b);
	walk_bytes(copy, size_b, NULL);
	free(copy);
	return 0;
}
