/* lacks.c: a sentence on what an exported recording lacks: other tools show only what is there. */
#include <stdio.h>

#include "cli/common/present.h"
#include "export/origin.h"

void sonde_present_say_lacks(const struct sonde_present *present, const struct sonde_session *session)
{
	char lacks[256];
	if (sonde_origin_lacks(session, lacks, sizeof lacks))
		fprintf(stderr, "sonde %s: the recording is not whole: %s; sonde report says what that means\n",
			present->command, lacks);
}
