/* energy_rapl.h: the energy counters of processors that the kernel shows under /sys/class/powercap (Intel's RAPL, which
 * AMD's has the names of, too).
 *
 * Only package domains count as energy of the processors: "core" and "uncore" are parts of a package, "psys" holds
 * packages and more. "dram" is kept apart and never added: whether a package holds it depends on the processor. A
 * package that two interfaces show (intel-rapl-mmio) is taken once.
 */
#ifndef SONDE_SOURCE_RESOURCE_ENERGY_RAPL_H
#define SONDE_SOURCE_RESOURCE_ENERGY_RAPL_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_RAPL_DOMAINS_MAX 64u
/* The most that a package is thought to draw, well above what any is specified for. */
#define SONDE_RAPL_MOST_W 1000u

struct sonde_rapl_domain {
	char name[48]; /* "package-0", "dram-0" */
	char zone[48]; /* "intel-rapl:0" */
	int is_package;
	int fd;                    /* −1: gone */
	uint64_t range_uj;         /* where the counter begins again */
	uint64_t last_uj, last_ns; /* as it was read last; last_ns 0: not yet */
	uint64_t total_uj;         /* since it was read first, or since something was lost */
};

struct sonde_rapl {
	struct sonde_rapl_domain domains[SONDE_RAPL_DOMAINS_MAX];
	size_t count;
};

enum sonde_rapl_step {
	SONDE_RAPL_COUNTED = 0,
	SONDE_RAPL_LOST, /* so much time passed that it may have begun again more than once: total_uj starts anew */
	SONDE_RAPL_GONE, /* it cannot be read any more */
};

/* Opens the domains under `root` ("" = this machine's). 0 when there is a package; -ENOENT: no counters; -EACCES: they
 * may not be read; with a sentence that says what is missing and the least that helps. */
int sonde_rapl_open(struct sonde_rapl *out, const char *root, char *why, size_t why_b);
void sonde_rapl_close(struct sonde_rapl *rapl);

/* now_ns is of a clock that goes on while the machine sleeps. */
enum sonde_rapl_step sonde_rapl_read(struct sonde_rapl_domain *domain, uint64_t now_ns);

/* The same for a value that was read. */
enum sonde_rapl_step sonde_rapl_count(struct sonde_rapl_domain *domain, uint64_t value_uj, uint64_t now_ns);

/* How often to read at least: a quarter of the time in which the first counter can begin again. */
uint64_t sonde_rapl_every_ns(const struct sonde_rapl *rapl);

#endif
