/* weigh.h: the options that say what stacks are weighed by: --weigh, --at, --heap-of. */
#ifndef SONDE_CLI_COMMON_WEIGH_H
#define SONDE_CLI_COMMON_WEIGH_H

#include "cli/common/present.h"

/* Whether any of the options was given. */
static inline int sonde_weigh_is_given(const struct sonde_present *present)
{
	return present->weigh || present->at || present->heap_of;
}

/* Sets present->pass.weigh, after passes, threads and times were chosen; 0, or an exit code with its sentence printed.
 */
int sonde_weigh_choose(struct sonde_present *present, const struct sonde_session *session,
		       const struct sonde_format *format);

#endif
