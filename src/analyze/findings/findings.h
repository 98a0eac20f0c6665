/* findings.h: what of a recording is worth mending first: rules over the tables that reports show.
 *
 * A rule is a row of findings/rules.c: what it is called, what limits the program where it holds, which records it rests
 * on, what to do. Its trigger is a function that reads cells of other passes' sections (columns.h), so that each figure of a
 * finding is one that the report has, too. What fixing it could save is an estimate: time of the critical path that could
 * go away with everything else as it was, or bytes. Beside it stands a bound: all time within the code around it.
 */
#ifndef SONDE_ANALYZE_FINDINGS_FINDINGS_H
#define SONDE_ANALYZE_FINDINGS_FINDINGS_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/columns.h"
#include "analyze/pass.h"
#include "report/report.h"
#include "session/session.h"

enum sonde_severity { SONDE_SEVERITY_LOW = 0, SONDE_SEVERITY_MEDIUM, SONDE_SEVERITY_HIGH, SONDE_SEVERITY_CRITICAL };

/* What a finding rests on: where records of that were lost it is not shown, and that is said. */
enum sonde_finding_needs {
	SONDE_NEEDS_SAMPLES = 1,
	SONDE_NEEDS_PATH = 2, /* switches and calls: who waited for whom */
	SONDE_NEEDS_WAITS = 4,
	SONDE_NEEDS_HEAP = 8,
	SONDE_NEEDS_ZONES = 16,
	SONDE_NEEDS_RESOURCES = 32,
	SONDE_NEEDS_DEVICES = 64,
};

/* --- thresholds ----------------------------------------------------------------------------------------------------
 */

enum sonde_threshold {
#define SONDE_THRESHOLD(id, name, value, meaning) SONDE_THRESHOLD_##id,
#include "analyze/findings/thresholds.def"
#undef SONDE_THRESHOLD
	SONDE_THRESHOLDS
};

struct sonde_threshold_row {
	const char *name;
	double value; /* the default */
	const char *meaning;
};

extern const struct sonde_threshold_row sonde_thresholds[SONDE_THRESHOLDS];

/* Takes "NAME=VALUE" into values[SONDE_THRESHOLDS]; shares may be typed as 5%. -EINVAL with a sentence. */
int sonde_threshold_set(double *values, const char *text);

/* The defaults; then the lines of the configuration file ($XDG_CONFIG_HOME/sonde/findings.conf: NAME = VALUE, # begins
 * a comment), if there is one; then those of the options. -EINVAL with a sentence that names the place. */
int sonde_thresholds_read(double *values, const struct sonde_pass_options *options);

/* --- facts: from the sections of other passes ------------------------------------------------------------------------
 */

struct sonde_facts {
	struct sonde_session *session;
	const struct sonde_pass_options *options;
	struct sonde_report *report;  /* of the passes that rules read */
	struct sonde_columns columns; /* its cells */
	double threshold[SONDE_THRESHOLDS];
	double span_ns; /* of the critical path, else of the run */
	double cpu_ns;  /* of all processes, as summarised; NAN = not known */
	double cores;   /* that the run may use: affinity and quota; NAN = not known */
	int has_path;
	double running_ns; /* of the path */
	double
	    stretch; /* running time of it with its part of what it waited for CPUs that others had, ÷ running time */
};

/* Whether an element of the critical path is in that state: enum sonde_critical_kind (critical/critical.h). */
int sonde_facts_is_state(const struct sonde_columns_critical_path *section, size_t row, int state);
/* Time on the critical path of elements of a kind and a name (NULL: of any), and of a state (SONDE_CRITICAL_KINDS: of
 * any). */
double sonde_facts_on_path(const struct sonde_facts *facts, const char *kind, const char *name, int state);
/* Running time of the path with its part of what the path waited for CPUs that other programs had: when the one goes,
 * so does the other. */
double sonde_facts_stretched(const struct sonde_facts *facts, double running_ns);
/* Time of zones of a name with all inside them, of all threads together; 0. */
double sonde_facts_zone_ns(const struct sonde_facts *facts, const char *name);
/* Threads that want a CPU for a good part of the run. */
double sonde_facts_busy_threads(const struct sonde_facts *facts);
/* CPU time of one of these functions with all that they call: of that which has most; 0. */
double sonde_facts_most_total_ns(const struct sonde_facts *facts, const char *const *names, size_t count);

/* Of functions that take cpu_ns of all threads together, with nothing that they call: at most so much of the path,
 * where zones name it as much of its running time. With no names: at most all its running time. */
double sonde_facts_cpu_on_path(const struct sonde_facts *facts, const char *const *functions, size_t count,
			       double cpu_ns);

/* To three digits, as people read it: "5.11", "412,000". In the report; NULL without memory. */
const char *sonde_figure_text(struct sonde_report *report, double value);

/* What to rank by where saves_ns is such a bound: of the path as much as cpu_ns is of all CPU time. */
double sonde_facts_share(const struct sonde_facts *facts, double cpu_ns, double saves_ns);

/* --- findings --------------------------------------------------------------------------------------------------------
 */

struct sonde_rule;

/* Where the time of a finding was seen: on stacks with one of these functions, in waits of these kinds. */
#define SONDE_PLACE_WAITS(kind) (UINT64_C(1) << SONDE_WAIT_##kind)
struct sonde_finding_place {
	const char *function, *also;  /* NULL = none; they live as long as the facts */
	const char *const *functions; /* NULL ends them; static */
	uint64_t waits;               /* bits 1 << enum sonde_wait_kind */
	double ns;                    /* not by stacks: the time of the zone, or the phase; 0 = by them */
};

struct sonde_finding {
	const struct sonde_rule *rule;
	const char *subject;  /* what it is about: a function, a lock, a file */
	const char *evidence; /* a sentence with figures */
	double saves_ns;      /* of the critical path, by what was seen; 0 = no time, or not known */
	double weighs;        /* what it ranks by: the share of span, or of bytes, that it is about: 0 … 1 */
	double bytes;         /* that it is about; 0 = none */
	double confidence;    /* 0: the rule's own */
	const char *limiter;  /* NULL: the rule's own */
	double peak_share;    /* of the measured peak of what limits it; 0 = not known */
	int has_waits; /* saves_ns is running time × stretch (struct sonde_facts), which the evidence then says */
	struct sonde_finding_place place;
	double at_most_ns;  /* no change there saves more, of the critical path; sonde_finding_bounds() */
	const char *within; /* the function whose time that is; NULL = not known, or place.ns is its time */
};

struct sonde_found {
	struct sonde_finding *rows;
	size_t count, cap;
	double span_ns; /* of the critical path, else of the run */
	int is_noisy;   /* findings about time were withheld: an empty list does not mean that all is well */
	struct sonde_report *report;   /* texts live here */
	struct sonde_section *section; /* where notes go; NULL = to the report */
	const char *command;           /* that was recorded, quoted for a shell; NULL = not known */
	const struct sonde_rule *rule;
};

/* -ENOMEM with a sentence. Subject and evidence as sonde_report_text() makes them, which may have failed: NULL. */
int sonde_found_add(struct sonde_found *found, const struct sonde_finding *finding);

struct sonde_rule {
	const char *id;    /* stable: "small-writes" */
	const char *title; /* "Many small writes" */
	const char *limiter;
	uint32_t needs;              /* enum sonde_finding_needs */
	enum sonde_severity at_most; /* however much it is about */
	double confidence;           /* that the fix saves what is said; a judgement */
	const char *steps[4];        /* what to do; NULL ends them */
	const char *record;          /* options of the recording that shows it: "--io" */
	int is_by_call;              /* its time goes by the call: fewer calls of more items take less */
	/* Adds what it finds, most important first. 0 or -ENOMEM. */
	int (*judge)(const struct sonde_facts *facts, struct sonde_found *found);
};

extern const struct sonde_rule sonde_rules[];
extern const size_t sonde_rule_count;

/* Judged, sorted, and those left out that rest on lost records. The texts live in `report`, which gets the notes on
 * what could not be judged; `section` may be NULL. Free rows with free(). */
int sonde_findings_find(struct sonde_found *out, struct sonde_session *session,
			const struct sonde_pass_options *options, struct sonde_report *report,
			struct sonde_section *section);

/* findings/bounds.c: at_most_ns and within of all that was found, by the place of each; where that is not known all of
 * the span. Reads samples and waits twice. -ENOMEM with a sentence. */
int sonde_finding_bounds(const struct sonde_facts *facts, struct sonde_found *found);

/* findings/noise.c: the share of the critical path in which others had the CPU that it wanted; 0 = none, not known, or
 * of no matter, as where one thread computes. 0 or -ENOMEM with a sentence. */
int sonde_finding_noise(const struct sonde_facts *facts, const struct sonde_found *found, double *out);

/* findings/starved.c: of the path's waiting for a CPU, what the quota of the cgroup held back; 0 = there is none, or it is not
 * known. 0 or -ENOMEM with a sentence. */
int sonde_finding_throttled(const struct sonde_facts *facts, double *out_ns);

/* findings/target.c: notes what device the advice is for; -EINVAL with a sentence where the recording has no such one.
 */
int sonde_finding_device(struct sonde_session *session, const char *name, struct sonde_report *report,
			 struct sonde_section *section);
/* What is left of a promise when so many items are handled at once; 0 or 1 leave it as it is. */
int sonde_finding_batch(struct sonde_finding *finding, size_t batch, struct sonde_report *report);

enum sonde_severity sonde_finding_severity(const struct sonde_finding *finding);
const char *sonde_severity_name(enum sonde_severity severity);
double sonde_finding_confidence(const struct sonde_finding *finding);

#endif
