/* missing.c: prints what is missing from an exported recording, because other tools show only what is there. */
#include <stdio.h>

#include "cli/common/rendering.h"
#include "export/origin.h"

void sonde_rendering_say_missing(const struct sonde_rendering *rendering, const struct sonde_session *session)
{
	char missing[256];
	if (sonde_origin_missing(session, missing, sizeof missing))
		fprintf(stderr, "sonde %s: the recording is incomplete: %s; sonde report lists the effects\n",
			rendering->command, missing);
}
