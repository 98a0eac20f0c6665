/* trigger.c: whenever a zone or span ends, compares its duration with the trigger's.
 *
 * Open spans of the trigger's name are kept in a direct-mapped table of 65,536 slots. If two open spans collide, the
 * later one stays, so a trigger can be missed only with tens of thousands of spans open at once.
 */
#include "source/record/trigger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "util/error.h"
#include "util/quantity.h"

#define SLOTS 65536u

struct sonde_trigger_span {
	uint64_t id, start_ns;
	uint32_t process; /* 0 = free */
};

int sonde_trigger_init(struct sonde_trigger *trigger, const char *text)
{
	*trigger = (struct sonde_trigger){0};
	const char *equals = strchr(text, '=');
	const char *over = strrchr(text, '>');
	size_t kind_b = equals ? (size_t)(equals - text) : 0;
	int known = kind_b == 4 && (!strncmp(text, "zone", 4) || !strncmp(text, "span", 4));
	if (!known || !over || over <= equals + 1 || (size_t)(over - equals) > sizeof trigger->name)
		return sonde_error(EINVAL, "'%s' is not an event: use 'zone=NAME>10ms' or 'span=NAME>10ms'", text);
	memcpy(trigger->name, equals + 1, (size_t)(over - equals - 1));
	trigger->on_spans = text[0] == 's';
	int rc = sonde_quantity_duration(&trigger->over_ns, over + 1);
	if (!rc && trigger->on_spans) {
		trigger->open = calloc(SLOTS, sizeof *trigger->open);
		rc = trigger->open ? 0 : sonde_error(ENOMEM, "out of memory for open spans");
	}
	return rc;
}

void sonde_trigger_fini(struct sonde_trigger *trigger)
{
	free(trigger->open);
}

void sonde_trigger_zone(struct sonde_trigger *trigger, uint32_t name_id, uint64_t dur_ns)
{
	if (!trigger->on_spans && name_id == trigger->name_id && dur_ns > trigger->over_ns)
		trigger->fired = 1;
}

void sonde_trigger_span(struct sonde_trigger *trigger, uint32_t process, const struct sonde_event_span *span,
			uint32_t name_id)
{
	if (!trigger->on_spans)
		return;
	struct sonde_trigger_span *slot = &trigger->open[sonde_hash_pair(process, span->id) % SLOTS];
	if (span->head.type == SONDE_EVENT_SPAN_BEGIN && name_id == trigger->name_id) {
		*slot = (struct sonde_trigger_span){span->id, span->head.time, process};
	} else if (span->head.type == SONDE_EVENT_SPAN_END && slot->process == process && slot->id == span->id) {
		if (span->head.time > slot->start_ns && span->head.time - slot->start_ns > trigger->over_ns)
			trigger->fired = 1;
		slot->process = 0;
	}
}
