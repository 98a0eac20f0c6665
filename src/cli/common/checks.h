/* checks.h: the checks of `sonde doctor` besides the sources' own probes: one row per check. */
#ifndef SONDE_CLI_COMMON_CHECKS_H
#define SONDE_CLI_COMMON_CHECKS_H

#include <stddef.h>

enum sonde_verdict {
	SONDE_VERDICT_GREEN = 0, /* fully available */
	SONDE_VERDICT_YELLOW,    /* works with a limitation */
	SONDE_VERDICT_RED,       /* nothing can be recorded */
};

struct sonde_finding {
	enum sonde_verdict verdict;
	char what[512]; /* what was found and what it means */
	char fix[512];  /* the smallest change that helps; "" = none */
};

struct sonde_check {
	const char *name;
	void (*look)(struct sonde_finding *out);
};

extern const struct sonde_check sonde_checks[];
extern const size_t sonde_check_count;

#endif
