/* labels.h: the values of labels in sections that no other header declares: passes write them next to the text, and
 * findings read them (columns.h). */
#ifndef SONDE_ANALYZE_LABELS_H
#define SONDE_ANALYZE_LABELS_H

#include "format/wait.h"

/* critical-path: what a thread or device did on the path. */
enum sonde_critical_kind {
	SONDE_CRITICAL_RUNNING = 0, /* on a CPU */
	SONDE_CRITICAL_UNSEEN,      /* no switches recorded: unknown whether on a CPU */
	SONDE_CRITICAL_RUNNABLE,    /* waiting for a CPU */
	SONDE_CRITICAL_WAKING,      /* unblocked but not yet running */
	SONDE_CRITICAL_BLOCKED,     /* blocked by an unknown or unrecorded thread */
	SONDE_CRITICAL_UNBORN,      /* the thread has not started, and its creator is unknown */
	SONDE_CRITICAL_DEVICE,      /* an activity of a device that a thread waited for */
	SONDE_CRITICAL_QUEUED,      /* the activity was submitted, and no other of its queue was ahead of it */
	SONDE_CRITICAL_NOTICING,    /* the activity had ended, but the thread did not run yet */
	SONDE_CRITICAL_KINDS
};

/* critical-path: what an element of the path is. */
enum sonde_critical_element_kind {
	SONDE_CRITICAL_ELEMENT_OTHER = 0,
	SONDE_CRITICAL_ELEMENT_ZONE,
	SONDE_CRITICAL_ELEMENT_FUNCTION,
	SONDE_CRITICAL_ELEMENT_THREAD,
	SONDE_CRITICAL_ELEMENT_WAIT /* + enum sonde_wait_kind */
};

static inline enum sonde_critical_element_kind sonde_critical_element_of_wait(uint32_t kind)
{
	return (enum sonde_critical_element_kind)(SONDE_CRITICAL_ELEMENT_WAIT + kind);
}

/* leaks */
enum sonde_leak_class { SONDE_LEAK_UNREACHABLE, SONDE_LEAK_GROWING, SONDE_LEAK_NOT_KNOWN, SONDE_LEAK_REACHABLE };

/* roofline: where the bytes of a zone come from. */
enum sonde_roofline_bytes { SONDE_ROOFLINE_BYTES_REPORTED, SONDE_ROOFLINE_BYTES_MODEL };

/* energy: what a row of the table of processes is about. */
enum sonde_energy_row { SONDE_ENERGY_ROW_PROCESS, SONDE_ENERGY_ROW_REMAINDER, SONDE_ENERGY_ROW_IDLE };

#endif
