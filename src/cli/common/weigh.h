/* weigh.h: the options that choose the weight of stacks: --weigh, --at, --heap-of. */
#ifndef SONDE_CLI_COMMON_WEIGH_H
#define SONDE_CLI_COMMON_WEIGH_H

#include "cli/common/rendering.h"

/* True if any of the options was given. */
static inline int sonde_weigh_is_given(const struct sonde_rendering *rendering)
{
	return rendering->weigh || rendering->at || rendering->heap_of;
}

/* Sets render->pass.weigh; call it after the passes, threads and times were chosen. 0, or an exit code after printing a
 * message. */
int sonde_weigh_choose(struct sonde_rendering *rendering, const struct sonde_session *session,
		       const struct sonde_format *format);

#endif
