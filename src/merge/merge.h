/* merge.h: several recordings into one, on one clock: a new file that everything else reads as any other.
 *
 * Recordings of one machine and boot have one clock. Others are laid on it by their wall clocks, or by what the caller
 * says. Nothing is counted twice: a process that two recordings hold at the same time is refused, and what several
 * tell of the machine itself is taken from one of them.
 */
#ifndef SONDE_MERGE_MERGE_H
#define SONDE_MERGE_MERGE_H

#include <stddef.h>
#include <stdint.h>

enum sonde_merge_align {
	SONDE_MERGE_CLOCKS = 0, /* one boot: as recorded; others: by the wall clock */
	SONDE_MERGE_STARTS,     /* all begin at the same moment */
	SONDE_MERGE_ZONES,      /* the first zone of a name begins at the same moment in all */
};

struct sonde_merge_options {
	enum sonde_merge_align align;
	const char *zone;
	int fd;           /* of the new file, empty, open for reading and writing */
	const char *name; /* of it, for messages */
};

/* What was done, for whoever tells of it. */
struct sonde_merge_result {
	size_t parts, machines;
	uint64_t wall_ns;
	uint64_t damaged_b; /* that could not be read */
	int is_whole;       /* all were closed in order */
};

/* 0, or a negative errno with a sentence: -EBADMSG or that of the file which cannot be read, -EEXIST where something
 * would count twice, -EINVAL where the recordings cannot be one. What was written then is of no use. */
int sonde_merge(struct sonde_merge_result *out, const char *const *paths, size_t count,
		const struct sonde_merge_options *options);

#endif
