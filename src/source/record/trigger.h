/* trigger.h: the event that triggers a flight recorder: 'zone=NAME>TIME' or 'span=NAME>TIME'. */
#ifndef SONDE_SOURCE_RECORD_TRIGGER_H
#define SONDE_SOURCE_RECORD_TRIGGER_H

#include <stdint.h>

#include "format/event.h"

struct sonde_trigger_span; /* an open span */

struct sonde_trigger {
	int on_spans; /* 1 = the trigger is on spans; 0 = on zones */
	char name[256];
	uint64_t over_ns;
	uint32_t name_id; /* string id, set by the recorder */
	struct sonde_trigger_span *open;
	int fired;
};

/* -EINVAL with a message that shows the syntax. */
int sonde_trigger_init(struct sonde_trigger *trigger, const char *text);
void sonde_trigger_fini(struct sonde_trigger *trigger);

/* Reports the end of a zone. */
void sonde_trigger_zone(struct sonde_trigger *trigger, uint32_t name_id, uint64_t dur_ns);

/* Reports a SPAN_BEGIN (with the name of its site) or SPAN_END. */
void sonde_trigger_span(struct sonde_trigger *trigger, uint32_t process, const struct sonde_event_span *span,
			uint32_t name_id);

#endif
