/* zones.h: times of a command's zones in each run, before and after a change. They come from separate, recorded runs,
 * whose total times are not used. */
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
	uint64_t calls[SONDE_SIDES]; /* number of calls in all runs */
	double *ns[SONDE_SIDES];     /* by run: summed over threads; 0 = the zone did not occur */
};

struct sonde_try_zones {
	struct sonde_try_zone *zone;
	size_t count, runs;
	int has_baseline;  /* the baseline's runs are included: they were interleaved with those of the attempt */
	uint64_t left_out; /* number of zones beyond the maximum */
};

/* Runs `candidate` `runs` times under a recorder that records zones, interleaved with as many runs of `baseline` (may
 * be NULL). `prepare`: a shell line to run before each run; NULL = none. Standard input and output are /dev/null. 0, or
 * a negative errno with a message; -EINTR if a signal asked us to stop. */
int sonde_try_zones_measure(struct sonde_try_zones *out, char **candidate, char **baseline, size_t runs,
			    const char *prepare);
void sonde_try_zones_fini(struct sonde_try_zones *zones);

/* Checks that a run's recording has all its zones: 0, or -EIO with a message if events were lost, bytes are unreadable,
 * the file is incomplete, or the command failed. */
int sonde_try_zones_check(struct sonde_session *session);

/* Write and read the object "zones" of an entry; nothing is written if there are no runs. -EBADMSG, -ENOMEM; no
 * message. */
void sonde_try_zones_put(struct sonde_json *json, const struct sonde_try_zones *zones);
int sonde_try_zones_read(struct sonde_try_zones *out, const json_t *root);

/* Adds an attempt's rows to a section. The attempt is compared with the baseline's interleaved runs, or, if there are
 * none, with the runs of `before` (may be NULL). Zones that only one side has get no verdict. `number`: the attempt's
 * number. 0 or -ENOMEM. */
int sonde_try_zones_rows(struct sonde_report *report, struct sonde_section *section, size_t number,
			 const struct sonde_try_zones *zones, const struct sonde_try_zones *before, double margin);
struct sonde_section *sonde_try_zones_section(struct sonde_report *report);

#endif
