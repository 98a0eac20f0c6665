/* lacks.c: a sentence on what an exported recording lacks: other tools show only what is there. */
#include <stdio.h>

#include "cli/present.h"
#include "export/lacks.h"

void sonde_present_say_lacks(const struct sonde_present *present, const struct sonde_session *session)
{
	const struct sonde_lacks lacks = sonde_lacks_of(session);
	const char *between = " ";
	if (!lacks.lost && !lacks.damaged_b && !lacks.skipped && !lacks.cut)
		return;
	fprintf(stderr, "sonde %s: the recording is not whole:", present->command);
	if (lacks.cut) {
		fprintf(stderr, "%sit was not closed in order", between);
		between = ", ";
	}
	if (lacks.lost) {
		fprintf(stderr, "%s%llu records were lost", between, (unsigned long long)lacks.lost);
		between = ", ";
	}
	if (lacks.damaged_b || lacks.skipped)
		fprintf(stderr, "%s%llu bytes and %llu chunks could not be read", between,
			(unsigned long long)lacks.damaged_b, (unsigned long long)lacks.skipped);
	fputs("; sonde report says what that means\n", stderr);
}
