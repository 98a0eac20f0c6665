/* names.h: what the time of a critical path was spent on: elements by kind and name. */
#ifndef SONDE_ANALYZE_CRITICAL_NAMES_H
#define SONDE_ANALYZE_CRITICAL_NAMES_H

#include "analyze/critical/critical.h"
#include "analyze/labels.h"

struct sonde_critical_element {
	enum sonde_critical_element_kind is;
	const char *kind, *name; /* `is` in words; valid as long as the report */
	uint64_t ns;
	uint64_t count; /* zones, samples, or steps */
	uint8_t state;  /* enum sonde_critical_kind */
	uint8_t is_estimated;
};

struct sonde_critical_elements {
	struct sonde_critical_element *rows; /* longest first */
	size_t count;
	uint64_t by_state_ns[SONDE_CRITICAL_KINDS]; /* adds up to the span */
	uint64_t external_ns;                       /* part of blocked time: sleep, and calls on files */
};

/* Reads samples and zones. The times of all elements add up to the span exactly to the ns. Free with
 * sonde_critical_elements_fini(). */
int sonde_critical_elements_find(struct sonde_critical_elements *out, const struct sonde_critical *critical,
				 const struct sonde_critical_path *path, struct sonde_report *report);
void sonde_critical_elements_fini(struct sonde_critical_elements *elements);

/* The kind and name of a step that no zone or sample names: what the step is, and its object. Texts are valid as long
 * as the report. */
const char *sonde_critical_step_kind(const struct sonde_critical_step *step);
const char *sonde_critical_step_name(const struct sonde_session *session, const struct sonde_critical_step *step,
				     struct sonde_report *report);
const char *sonde_critical_state_name(uint8_t state);
/* The thread, or the queue and its device. NULL when out of memory. */
const char *sonde_critical_step_where(const struct sonde_session *session, const struct sonde_critical_step *step,
				      struct sonde_report *report);

#endif
