/* mend.h: walks a file's head and chunks as the reader does, and gives each the checksum of its bytes. */
#ifndef SONDE_TESTS_MEND_H
#define SONDE_TESTS_MEND_H

#include <stdint.h>
#include <string.h>

#include "format/record.h"
#include "trace/check.h"

static inline void mend_checksums(uint8_t *bytes, size_t size_b)
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

#endif
