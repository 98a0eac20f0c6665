/* zones.h: how long a command is in each of its zones, run by run, before and after an attempt: runs of their own,
 * which are recorded, and whose times count for nothing else. */
#ifndef SONDE_CLI_TRY_ZONES_H
#define SONDE_CLI_TRY_ZONES_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/diff/versus.h"
#include "report/report.h"
#include "session/session.h"
#include "util/json.h"

enum { SONDE_TRY_ZONES_MOST = 1000, SONDE_TRY_ZONE_RUNS = 10, SONDE_TRY_ZONE_RUNS_MOST = 1000 };

struct sonde_try_zone {
	char *name;
	uint64_t calls[SONDE_SIDES]; /* of all runs */
	double *ns[SONDE_SIDES];     /* by run: of all threads together; 0 = it was not there */
};

struct sonde_try_zones {
	struct sonde_try_zone *zone;
	size_t count, runs;
	int has_baseline;  /* that ran in turn with it */
	uint64_t left_out; /* zones beyond the most */
};

/* Runs `candidate`, and `baseline` (may be NULL) in turn with it, `runs` times, under a recorder that takes zones, each
 * after `prepare` (a line for sh; NULL = none). Standard input and output at /dev/null. 0 or a negative errno with a
 * sentence; -EINTR where somebody asked us to end. */
int sonde_try_zones_measure(struct sonde_try_zones *out, char **candidate, char **baseline, size_t runs,
			    const char *prepare);
void sonde_try_zones_fini(struct sonde_try_zones *zones);

/* Whether a run's recording has all its zones: 0, or -EIO with a sentence where events were lost, bytes cannot be read,
 * it was not closed in order, or the command failed. */
int sonde_try_zones_check(struct sonde_session *session);

/* The object "zones" of an entry; nothing where no run was made. -EBADMSG, -ENOMEM; no sentence. */
void sonde_try_zones_put(struct sonde_json *json, const struct sonde_try_zones *zones);
int sonde_try_zones_read(struct sonde_try_zones *out, const json_t *root);

/* One attempt's rows in a section: against the baseline's runs of the same time, else of `before` (may be NULL). Zones
 * that only one side has have no verdict. `number`: which attempt. 0 or -ENOMEM. */
int sonde_try_zones_rows(struct sonde_report *report, struct sonde_section *section, size_t number,
			 const struct sonde_try_zones *zones, const struct sonde_try_zones *before, double margin);
struct sonde_section *sonde_try_zones_section(struct sonde_report *report);

#endif
