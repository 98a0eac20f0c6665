/* thread_facts.h: notes about thread states: the most important fact, and how reliable the states are. */
#ifndef SONDE_ANALYZE_WAIT_THREAD_FACTS_H
#define SONDE_ANALYZE_WAIT_THREAD_FACTS_H

#include "analyze/wait/explain.h"
#include "analyze/pass.h"
#include "analyze/wait/states.h"

struct sonde_thread_facts {
	struct sonde_session *session;
	const struct sonde_pass_options *options;
	const struct sonde_states *states;
	const struct sonde_explain *explain;
	const char *why_none; /* result of sonde_thread_facts_why_none() */
	const uint32_t *ids;  /* ids of the selected threads */
	size_t count;
};

/* Why a thread has no states: what the recording lacks, or what is special about the thread. */
const char *sonde_thread_facts_why_none(const struct sonde_states *states, const struct sonde_session *session,
					struct sonde_report *report);

int sonde_thread_facts_note(const struct sonde_thread_facts *facts, struct sonde_report *report,
			    struct sonde_section *section);

#endif
