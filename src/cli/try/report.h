/* report.h: reports the results of an experiment's attempts. */
#ifndef SONDE_CLI_TRY_REPORT_H
#define SONDE_CLI_TRY_REPORT_H

#include "cli/try/entry.h"
#include "report/report.h"

/* All attempts of one experiment, grouped by verdict and sorted by effect. */
int sonde_try_report(struct sonde_report *report, const char *name, const struct sonde_try_entries *entries);

/* A row for each experiment of a journal. */
int sonde_try_report_all(struct sonde_report *report, const struct sonde_journal *journal,
			 const struct sonde_journal_names *names);

#endif
