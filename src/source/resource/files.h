/* files.h: how many descriptors a source may keep open: a share of what is allowed, so that always some are left for
 * what is opened for a moment. */
#ifndef SONDE_SOURCE_RESOURCE_FILES_H
#define SONDE_SOURCE_RESOURCE_FILES_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/* The hard limit on open files, to which a recorder raises its own. */
uint64_t sonde_files_max(void);

/* At most `most`, and a `part`th of the limit. */
size_t sonde_files_share(size_t most, unsigned part);

/* Whether it was for want of a descriptor that something could not be opened; `error` as of errno. */
static inline int sonde_files_lack(int error)
{
	return error == EMFILE || error == ENFILE;
}

#endif
