/* entry.h: what the journal of `sonde try` holds: baselines, and attempts that were compared with one. */
#ifndef SONDE_CLI_TRY_ENTRY_H
#define SONDE_CLI_TRY_ENTRY_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/diff/versus.h"
#include "cli/bench/machine.h"
#include "cli/try/zones.h"
#include "run/digest.h"
#include "run/journal.h"

enum { SONDE_TRY_FILES = 16, SONDE_TRY_ID_B = 17, SONDE_TRY_TIME_B = 24 };

/* A file that a command names: its program, its script, its input. */
struct sonde_try_file {
	char *path;
	struct sonde_digest digest;
};

struct sonde_try_entry {
	int is_attempt; /* else a baseline */
	char id[SONDE_TRY_ID_B];
	char baseline[SONDE_TRY_ID_B]; /* an attempt's */
	char time[SONDE_TRY_TIME_B];   /* 2026-11-22T17:45:20Z */
	char *what;                    /* that was changed */
	char **words;                  /* the command's, NULL behind the last; without its secrets */
	unsigned redacted;             /* how many of those there were: the words are not the command then */
	char *directory; /* in which it was run, from the journal's parent on; absolute where that is not above */
	char *kept;      /* a copy of the baseline's program, in the journal's folder; NULL = none */
	struct sonde_try_file file[SONDE_TRY_FILES];
	size_t file_count;
	struct sonde_bench_machine machine;
	uint64_t warmups, failed;
	double margin;
	int is_in_turn; /* the attempt's runs and the baseline's, in pairs; else the baseline's are those of its entry
			 */
	struct sonde_versus_pair *pairs;
	size_t count;
	struct sonde_try_zones zones; /* of runs of their own; none = not asked for */
};

/* A new one of this moment and this machine, with the files that its words name. The words are copied, without secrets
 * unless `keep_arguments`. 0 or a negative errno with a sentence. */
int sonde_try_entry_init(struct sonde_try_entry *entry, char *const *words, const struct sonde_journal *journal,
			 int keep_arguments);
void sonde_try_entry_fini(struct sonde_try_entry *entry);

int sonde_try_entry_write(const struct sonde_try_entry *entry, const struct sonde_journal *journal);

/* The first file that is not what it was any more, or not there; that of the path `but` (may be NULL) is not asked.
 * NULL = all are. */
const char *sonde_try_entry_changed(const struct sonde_try_entry *entry, const char *but);
/* But for the secrets, where the entry is without them. */
int sonde_try_entry_same_words(const struct sonde_try_entry *entry, char *const *words);

/* All of an experiment, in the order in which they were written. */
struct sonde_try_entries {
	struct sonde_try_entry *entry;
	size_t count, cap, attempts;
	size_t damaged; /* lines that cannot be read, or are of a later version */
};

int sonde_try_entries_read(struct sonde_try_entries *out, const struct sonde_journal *journal);
void sonde_try_entries_fini(struct sonde_try_entries *entries);
/* The last one; NULL = none. */
const struct sonde_try_entry *sonde_try_baseline(const struct sonde_try_entries *entries);
/* An attempt's; NULL: its line is damaged. */
const struct sonde_try_entry *sonde_try_baseline_of(const struct sonde_try_entries *entries,
						    const struct sonde_try_entry *attempt);

/* An attempt and its baseline, judged; `pairs` is malloc'ed. Of runs that were not in turn the margin is at least
 * SONDE_SHIFT_DRIFT. 0 or a negative errno. */
int sonde_try_judge(struct sonde_versus *out, struct sonde_versus_pair **pairs, const struct sonde_try_entry *attempt,
		    const struct sonde_try_entry *baseline);

#endif
