/* files.c: computes shares of the limit on open files (resource/files.h). */
#include "source/resource/files.h"

#include <sys/resource.h>

uint64_t sonde_files_max(void)
{
	struct rlimit files = {0};
	getrlimit(RLIMIT_NOFILE, &files);
	return files.rlim_max;
}

size_t sonde_files_share(size_t most, unsigned part)
{
	uint64_t share = sonde_files_max() / part;
	return share < most ? (size_t)share : most;
}
