/* energy_rapl.h: the processor energy counters in /sys/class/powercap (Intel RAPL; AMD processors use the same names).
 *
 * Only package domains count as processor energy: "core" and "uncore" are parts of a package, "psys" includes packages
 * and more. "dram" is kept separate and never added: whether a package includes it depends on the processor. A package
 * that is shown by two interfaces (the second is intel-rapl-mmio) is counted once.
 */
#ifndef SONDE_SOURCE_RESOURCE_ENERGY_RAPL_H
#define SONDE_SOURCE_RESOURCE_ENERGY_RAPL_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_RAPL_DOMAINS_MAX 64u
/* Upper bound for the power of a package, well above any specification. */
#define SONDE_RAPL_MOST_W 1000u

struct sonde_rapl_domain {
	char name[48]; /* "package-0", "dram-0" */
	char zone[48]; /* "intel-rapl:0" */
	int is_package;
	int fd;                    /* −1: removed */
	uint64_t range_uj;         /* at which the counter wraps */
	uint64_t last_uj, last_ns; /* last reading; last_ns 0: none yet */
	uint64_t total_uj;         /* since the first reading, or the last loss */
};

struct sonde_rapl {
	struct sonde_rapl_domain domains[SONDE_RAPL_DOMAINS_MAX];
	size_t count;
};

enum sonde_rapl_step {
	SONDE_RAPL_COUNTED = 0,
	SONDE_RAPL_LOST, /* the counter may have wrapped more than once: total_uj restarts */
	SONDE_RAPL_GONE, /* it cannot be read any more */
};

/* Opens the domains under `root` ("" = this machine's). Returns 0 if there is a package; -ENOENT if there are no
 * counters, -EACCES if they are not readable, both with a sentence in `why` that says what is missing and the smallest
 * remedy. */
int sonde_rapl_open(struct sonde_rapl *out, const char *root, char *why, size_t why_b);
void sonde_rapl_close(struct sonde_rapl *rapl);

/* Reads a counter. now_ns must be from a clock that includes suspend. */
enum sonde_rapl_step sonde_rapl_read(struct sonde_rapl_domain *domain, uint64_t now_ns);

/* The same for a given value. */
enum sonde_rapl_step sonde_rapl_count(struct sonde_rapl_domain *domain, uint64_t value_uj, uint64_t now_ns);

/* Maximum reading interval: a quarter of the shortest time in which a counter can wrap. */
uint64_t sonde_rapl_every_ns(const struct sonde_rapl *rapl);

#endif
