/* files.h: the number of descriptors that a source may keep open: a share of the limit, so that some always remain for
 * short use. */
#ifndef SONDE_SOURCE_RESOURCE_FILES_H
#define SONDE_SOURCE_RESOURCE_FILES_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/* The hard limit on open files, to which a recorder raises its soft limit. */
uint64_t sonde_files_max(void);

/* The number of descriptors to keep open: at most `most`, and at most 1 / part of the limit. */
size_t sonde_files_share(size_t most, unsigned part);

/* True if `error` (an errno) means that no descriptor was available. */
static inline int sonde_files_lack(int error)
{
	return error == EMFILE || error == ENFILE;
}

#endif
