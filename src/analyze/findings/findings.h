/* findings.h: what to fix first in a recording: rules evaluated over the tables that reports show.
 *
 * A rule is a row of findings/rules.c: its name, what limits the program if it applies, the records it depends on, and
 * what to do. Its trigger is a function that reads cells of other passes' sections (columns.h), so every figure of a
 * finding is also in the report. The saving is an estimate, either of bytes or of time: the time of the critical path
 * that would disappear if everything else stayed the same. A bound accompanies it: all time within the surrounding
 * code.
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

/* The records that a finding depends on. If some of them were lost, the finding is suppressed, with a note. */
enum sonde_finding_needs {
	SONDE_NEEDS_SAMPLES = 1,
	SONDE_NEEDS_PATH = 2, /* switches and calls: which thread waited for which */
	SONDE_NEEDS_WAITS = 4,
	SONDE_NEEDS_HEAP = 8,
	SONDE_NEEDS_ZONES = 16,
	SONDE_NEEDS_RESOURCES = 32,
	SONDE_NEEDS_DEVICES = 64,
	SONDE_NEEDS_CEILINGS = 128, /* measured on an idle machine (roof/doubt.c) */
};

/* --- thresholds --------------------------------------------------------------------------------------------------- */

enum sonde_threshold {
#define SONDE_THRESHOLD(id, name, value, meaning) SONDE_THRESHOLD_##id,
#include "analyze/findings/thresholds.def"
#undef SONDE_THRESHOLD
	SONDE_THRESHOLDS
};

struct sonde_threshold_row {
	const char *name;
	double value; /* default */
	const char *meaning;
};

extern const struct sonde_threshold_row sonde_thresholds[SONDE_THRESHOLDS];

/* Parses "NAME=VALUE" into values[SONDE_THRESHOLDS]; shares may be written as 5%. -EINVAL with a message. */
int sonde_threshold_set(double *values, const char *text);

/* Sets the defaults, then applies the configuration file ($XDG_CONFIG_HOME/sonde/findings.conf: NAME = VALUE, # starts
 * a comment), if it exists, then the options. -EINVAL with a message that names the line or option. */
int sonde_thresholds_read(double *values, const struct sonde_pass_options *options);

/* --- facts: from the sections of other passes --------------------------------------------------------------------- */

/* How rules use the measured ceilings. Doubtful ceilings may be too low by any factor, but are never too high. */
enum sonde_ceilings {
	SONDE_CEILINGS_SURE = 0,
	SONDE_CEILINGS_DOUBTFUL, /* find only what holds under higher ceilings, too */
	SONDE_CEILINGS_ANY,      /* find all that may hold under higher ceilings */
};

struct sonde_facts {
	struct sonde_session *session;
	const struct sonde_pass_options *options;
	struct sonde_report *report;  /* of the passes that the rules read */
	struct sonde_columns columns; /* cells of that report */
	double threshold[SONDE_THRESHOLDS];
	double span_ns; /* length of the critical path, otherwise of the run */
	double cpu_ns;  /* of all processes, as in the summary; NAN = unknown */
	double cores;   /* number of CPUs that the run may use (affinity and quota); NAN = unknown */
	int has_path;
	double running_ns; /* running time of the critical path */
	double
	    /* (running time of the path + its waits for CPUs taken by other programs) ÷ running time of the path */
	    stretch;
	enum sonde_ceilings ceilings;
	double slowed; /* share by which rates may be lower because of other programs; 0 = not taken into account */
};

/* Time that the critical path spends in a state. */
double sonde_facts_in_state(const struct sonde_facts *facts, enum sonde_critical_kind state);
/* Time of the critical path's elements of a kind, with a name (NULL = any) and a state (SONDE_CRITICAL_KINDS = any). */
double sonde_facts_on_path(const struct sonde_facts *facts, enum sonde_critical_element_kind kind, const char *name,
			   enum sonde_critical_kind state);
/* Scales running time of the path by `stretch`. This adds the waits for CPUs taken by other programs, since these waits
 * disappear together with the running time. */
double sonde_facts_stretched(const struct sonde_facts *facts, double running_ns);
/* Inclusive time of the zones of a name, summed over all threads; 0 = none. */
double sonde_facts_zone_ns(const struct sonde_facts *facts, const char *name);
/* Number of threads that run or are runnable for a good part of the run. */
double sonde_facts_busy_threads(const struct sonde_facts *facts);
/* The largest inclusive CPU time among these functions; 0 = none. */
double sonde_facts_most_total_ns(const struct sonde_facts *facts, const char *const *names, size_t count);

/* Upper limit on the time that functions take on the path, if their exclusive CPU time over all threads is cpu_ns. It
 * is their own time on the path plus at most the running time that the path attributes to zones instead of functions.
 * Without names, it is at most the path's whole running time. */
double sonde_facts_cpu_on_path(const struct sonde_facts *facts, const char *const *functions, size_t count,
			       double cpu_ns);

/* Formats to three digits for people: "5.11", "412,000". Stored in the report; NULL when out of memory. */
const char *sonde_figure_text(struct sonde_report *report, double value);

/* The ranking weight of a finding whose saves_ns is a result of sonde_facts_cpu_on_path(). The share of cpu_ns in all
 * CPU time is assumed to be its share of the path's running time, too. */
double sonde_facts_share(const struct sonde_facts *facts, double cpu_ns, double saves_ns);

/* --- findings ----------------------------------------------------------------------------------------------------- */

struct sonde_rule;

/* Where the time of a finding was observed: on stacks with one of these functions, or in waits of these kinds. */
#define SONDE_PLACE_WAITS(kind) (UINT64_C(1) << SONDE_WAIT_##kind)
struct sonde_finding_place {
	const char *function, *also;  /* NULL = none; valid as long as the facts */
	const char *const *functions; /* NULL-terminated, static */
	uint64_t waits;               /* bits 1 << enum sonde_wait_kind */
	double ns;                    /* time of the zone or phase, if not identified by stacks; otherwise 0 */
};

struct sonde_finding {
	const struct sonde_rule *rule;
	const char *subject;  /* what the finding is about: a function, a lock, a file */
	const char *evidence; /* a sentence with figures */
	double saves_ns;      /* estimated saving on the critical path; 0 = unknown, or not about time */
	double weighs;        /* ranking weight, 0 … 1: the finding's share of the span, or of bytes */
	double bytes;         /* bytes that a fix could save; 0 = none */
	double confidence;    /* 0 = the rule's confidence */
	const char *limiter;  /* NULL = the rule's limiter */
	double peak_share;    /* share of the measured peak of the limiter; 0 = unknown */
	int has_waits;        /* saves_ns includes `stretch` (struct sonde_facts), which the evidence then mentions */
	struct sonde_finding_place place;
	double at_most_ns;  /* upper bound on the time that any change there can save; sonde_finding_bounds() */
	const char *within; /* the function whose time is the bound; NULL = unknown, or the bound is place.ns */
};

struct sonde_found {
	struct sonde_finding *rows;
	size_t count, cap;
	double span_ns; /* length of the critical path, otherwise of the run */
	int is_noisy;   /* findings about time were withheld: an empty list does not mean that all is well */
	int has_data;   /* anything that rules read was recorded */
	struct sonde_report *report;   /* owns the texts */
	struct sonde_section *section; /* receives notes; NULL = the report does */
	const char *command;           /* the recorded command, shell-quoted; NULL = unknown */
	const struct sonde_rule *rule;
};

/* -ENOMEM with a message. Subject and evidence are results of sonde_report_text(), and may be NULL if that failed. */
int sonde_found_add(struct sonde_found *found, const struct sonde_finding *finding);

struct sonde_rule {
	const char *id;    /* stable: "small-writes" */
	const char *title; /* "Many small writes" */
	const char *limiter;
	uint32_t needs;              /* enum sonde_finding_needs */
	enum sonde_severity at_most; /* maximum severity, whatever the weight */
	double confidence;           /* judgement of how likely the fix achieves the saving */
	const char *steps[4];        /* what to do; NULL-terminated */
	const char *record;          /* options of sonde record that reveal it: "--io" */
	int is_by_call;              /* cost is per call, so fewer calls with more items take less time */
	/* Adds the rule's findings, most important first. 0 or -ENOMEM. */
	int (*evaluate)(const struct sonde_facts *facts, struct sonde_found *found);
};

int sonde_found_has(const struct sonde_found *found, const struct sonde_rule *rule);

extern const struct sonde_rule sonde_rules[];
extern const size_t sonde_rule_count;

/* Evaluates all rules, sorts the findings, and drops those that depend on lost records. Texts belong to `report`, which
 * gets notes on what could not be checked; `section` may be NULL. Free rows with free(). */
int sonde_findings_find(struct sonde_found *out, struct sonde_session *session,
			const struct sonde_pass_options *options, struct sonde_report *report,
			struct sonde_section *section);

/* findings/bounds.c: sets at_most_ns and `within` of all findings from their places; the whole span if unknown. Reads
 * samples and waits twice. -ENOMEM with a message. */
int sonde_finding_bounds(const struct sonde_facts *facts, struct sonde_found *found);

/* findings/noise.c: effects that other programs may have had on a run, in shares of the span; all 0 = none, or
 * unknown. */
struct sonde_noise {
	double path;    /* estimated part of the path: waits for CPUs taken by others, and stolen time */
	double held_up; /* the longest time for which others can have held up a thread */
	double slowed;  /* upper bound of the share by which rates are lower: of CPU time, and of memory bandwidth */
	int is_shared;  /* several threads compete for CPUs: which thread waits for which depends on other load */
};

/* 0 or -ENOMEM with a message. */
int sonde_finding_noise(const struct sonde_facts *facts, struct sonde_noise *out);

/* findings/verdict.c: the facts, with each threshold changed as much as other programs may have changed the value that
 * is compared with it. */
void sonde_facts_without_others(struct sonde_facts *out, const struct sonde_facts *facts,
				const struct sonde_noise *noise);
/* True if, without other programs, another rule might come first, or a critical finding might be unimportant.
 * `possible`: what the rules find with sonde_facts_without_others(), and with SONDE_CEILINGS_ANY if ceilings are
 * doubtful. */
int sonde_finding_is_doubtful(const struct sonde_facts *facts, const struct sonde_noise *noise,
			      const struct sonde_found *found, const struct sonde_found *possible);

/* findings/starved.c: how much of the path's waiting for a CPU is due to the cgroup's quota; *out_ns is 0 if none or
 * unknown. Returns 0, or -ENOMEM with a message. */
int sonde_finding_throttled(const struct sonde_facts *facts, double *out_ns);

/* findings/exits.c: a lower bound on the time of the path's wake-ups in which an exited process was still on a CPU;
 * *out_ns is 0 if unknown. Returns 0, or a negative errno with a message. */
int sonde_finding_exits(const struct sonde_facts *facts, double *out_ns);

/* findings/target.c: notes which device the advice is for; -EINVAL with a message if the recording has no such
 * device. */
int sonde_finding_device(struct sonde_session *session, const char *name, struct sonde_report *report,
			 struct sonde_section *section);
/* Reduces the saving to that of batches of `batch` items; 0 and 1 leave it unchanged. */
int sonde_finding_batch(struct sonde_finding *finding, size_t batch, struct sonde_report *report);

/* The severity of a share of the span or of bytes, ignoring the rule's maximum severity. */
enum sonde_severity sonde_severity_at(double weight);
enum sonde_severity sonde_finding_severity(const struct sonde_finding *finding);
const char *sonde_severity_name(enum sonde_severity severity);
double sonde_finding_confidence(const struct sonde_finding *finding);

#endif
