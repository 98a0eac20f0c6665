/* merge.h: merges several recordings into one file on a common clock, which is read like any other recording.
 *
 * Recordings of one machine and boot share a clock. Others are aligned by their wall clocks or as the caller chooses.
 * Nothing is counted twice: if two recordings contain the same process at the same time, the merge is refused, and
 * overlapping system-wide data of a machine is taken from only one of them.
 */
#ifndef SONDE_MERGE_MERGE_H
#define SONDE_MERGE_MERGE_H

#include <stddef.h>
#include <stdint.h>

enum sonde_merge_align {
	SONDE_MERGE_CLOCKS = 0, /* same boot: unchanged; others: by the wall clock */
	SONDE_MERGE_STARTS,     /* all start at the same time */
	SONDE_MERGE_ZONES,      /* the first zone of a given name starts at the same time in all */
};

struct sonde_merge_options {
	enum sonde_merge_align align;
	const char *zone;
	int fd;           /* new file, empty, open for reading and writing */
	const char *name; /* name of the new file, for messages */
};

/* Statistics for the caller's message. */
struct sonde_merge_result {
	size_t parts, machines;
	uint64_t wall_ns;
	uint64_t damaged_b; /* unreadable bytes of the inputs */
	int is_whole;       /* all inputs were completed by the recorder */
};

/* Returns 0 or a negative errno with a message: -EBADMSG or another errno if a file cannot be read, -EEXIST if
 * something would count twice, -EINVAL if the recordings cannot be merged. After an error the output is unusable. */
int sonde_merge(struct sonde_merge_result *out, const char *const *paths, size_t count,
		const struct sonde_merge_options *options);

#endif
