/* entry.h: entries of the journal of `sonde try`: baselines, and attempts that were compared with one. */
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

/* A file that a command refers to: its program, script or input. */
struct sonde_try_file {
	char *path;
	struct sonde_digest digest;
};

struct sonde_try_entry {
	int is_attempt; /* 1 = an attempt, 0 = a baseline */
	char id[SONDE_TRY_ID_B];
	char baseline[SONDE_TRY_ID_B]; /* for an attempt: id of its baseline */
	char time[SONDE_TRY_TIME_B];   /* 2026-11-22T17:45:20Z */
	char *what;                    /* description of the change */
	char **words;                  /* the command, terminated by NULL; without its secrets */
	unsigned redacted;             /* number of secrets removed; if it is not 0, the words cannot be rerun */
	char *directory; /* working directory, relative to the journal's parent if that is above it, else absolute */
	char *kept;      /* saved copy of the baseline's program, in the journal's folder; NULL = none */
	struct sonde_try_file file[SONDE_TRY_FILES];
	size_t file_count;
	struct sonde_bench_machine machine;
	uint64_t warmups, failed;
	double margin;
	/* 1 = each run is a pair of attempt and baseline; 0 = the baseline's runs are in the baseline's entry */
	int is_in_turn;
	struct sonde_versus_pair *pairs;
	size_t count;
	struct sonde_try_zones zones; /* from separate runs; none = not requested */
};

/* Creates an entry with the current time, this machine, and the files that the words name. The words are copied,
 * without secrets unless `keep_arguments`. 0, or a negative errno with a message. */
int sonde_try_entry_init(struct sonde_try_entry *entry, char *const *words, const struct sonde_journal *journal,
			 int keep_arguments);
void sonde_try_entry_fini(struct sonde_try_entry *entry);

int sonde_try_entry_write(const struct sonde_try_entry *entry, const struct sonde_journal *journal);

/* Returns the path of the first file that has changed or is missing, ignoring the path `but` (may be NULL). NULL = all
 * are unchanged. */
const char *sonde_try_entry_changed(const struct sonde_try_entry *entry, const char *but);
/* True if the words equal the entry's; if the entry's secrets were removed, secrets in `words` are ignored. */
int sonde_try_entry_same_words(const struct sonde_try_entry *entry, char *const *words);

/* All entries of an experiment, in the order in which they were written. */
struct sonde_try_entries {
	struct sonde_try_entry *entry;
	size_t count, cap, attempts;
	size_t damaged; /* lines that are unreadable, or of a later version */
};

int sonde_try_entries_read(struct sonde_try_entries *out, const struct sonde_journal *journal);
void sonde_try_entries_fini(struct sonde_try_entries *entries);
/* The latest baseline; NULL = none. */
const struct sonde_try_entry *sonde_try_baseline(const struct sonde_try_entries *entries);
/* The baseline of an attempt; NULL: its line is damaged. */
const struct sonde_try_entry *sonde_try_baseline_of(const struct sonde_try_entries *entries,
						    const struct sonde_try_entry *attempt);

/* Evaluates an attempt against its baseline; the caller frees *pairs. If runs were not interleaved, a change must be at
 * least SONDE_CHANGE_DRIFT to count. 0 or a negative errno. */
int sonde_try_evaluate(struct sonde_versus *out, struct sonde_versus_pair **pairs,
		       const struct sonde_try_entry *attempt, const struct sonde_try_entry *baseline);

#endif
