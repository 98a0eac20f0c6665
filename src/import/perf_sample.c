/* perf_sample.c: parses a sample, whose fields follow one another as the event's sample_type specifies (perf.h). */
#include <errno.h>

#include "base/hash.h"
#include "import/perf.h"

struct fields {
	const uint8_t *at, *end;
	int broken;
};

static uint64_t has(uint64_t type, uint64_t bit)
{
	return (type & bit) != 0;
}

static uint64_t take(struct fields *fields)
{
	uint64_t value = 0;
	if (fields->end - fields->at < 8) {
		fields->broken = 1;
		return 0;
	}
	memcpy(&value, fields->at, 8);
	fields->at += 8;
	return value;
}

static uint64_t take_if(struct fields *fields, uint64_t type, uint64_t bit)
{
	return type & bit ? take(fields) : 0;
}

static void skip(struct fields *fields, uint64_t words)
{
	if (words > (uint64_t)(fields->end - fields->at) / 8)
		fields->broken = 1;
	else
		fields->at += words * 8;
}

static void skip_read(struct fields *fields, uint64_t format)
{
	uint64_t each = 1 + has(format, PERF_FORMAT_ID) + has(format, 1u << 4); /* PERF_FORMAT_LOST */
	uint64_t times = has(format, PERF_FORMAT_TOTAL_TIME_ENABLED) + has(format, PERF_FORMAT_TOTAL_TIME_RUNNING);
	uint64_t count = format & PERF_FORMAT_GROUP ? take(fields) : 1;
	if (count > SONDE_PERF_RECORD_MAX_B)
		fields->broken = 1;
	else
		skip(fields, times + count * each);
}

/* Returns the event of a record, found by the event id in the record. The id comes first or, in older files, at the
 * position that follows from the first event's sample_type. */
static uint32_t attr_of(const struct sonde_perf *perf, const uint8_t *body, size_t size_b)
{
	uint64_t type = perf->attrs[0].attr.sample_type, id = 0;
	size_t at = 0;
	if (perf->attr_count < 2)
		return 0;
	if (!(type & PERF_SAMPLE_IDENTIFIER)) {
		if (!(type & PERF_SAMPLE_ID))
			return 0;
		at = 8 * (has(type, PERF_SAMPLE_IP) + has(type, PERF_SAMPLE_TID) + has(type, PERF_SAMPLE_TIME) +
			  has(type, PERF_SAMPLE_ADDR));
	}
	if (at + 8 > size_b)
		return 0;
	memcpy(&id, body + at, 8);
	uint32_t attr = sonde_map_find(&perf->ids, sonde_hash_mix(id), NULL, NULL);
	return attr ? attr - 1 : 0;
}

int sonde_perf_sample_read(const struct sonde_perf *perf, const uint8_t *record, size_t size_b,
			   struct sonde_perf_sample *out)
{
	struct perf_event_header head;
	if (size_b < sizeof head || !perf->attr_count)
		return -EBADMSG;
	memcpy(&head, record, sizeof head);
	struct fields fields = {record + sizeof head, record + size_b, 0};
	*out = (struct sonde_perf_sample){.misc = head.misc,
					  .attr = attr_of(perf, record + sizeof head, size_b - sizeof head)};
	const struct perf_event_attr *attr = &perf->attrs[out->attr].attr;
	uint64_t type = attr->sample_type;
	take_if(&fields, type, PERF_SAMPLE_IDENTIFIER);
	out->ip = take_if(&fields, type, PERF_SAMPLE_IP);
	uint64_t who = take_if(&fields, type, PERF_SAMPLE_TID);
	out->pid = (uint32_t)who;
	out->tid = (uint32_t)(who >> 32);
	out->time_ns = take_if(&fields, type, PERF_SAMPLE_TIME);
	take_if(&fields, type, PERF_SAMPLE_ADDR);
	take_if(&fields, type, PERF_SAMPLE_ID);
	take_if(&fields, type, PERF_SAMPLE_STREAM_ID);
	take_if(&fields, type, PERF_SAMPLE_CPU);
	out->period = type & PERF_SAMPLE_PERIOD ? take(&fields) : attr->freq ? 0 : attr->sample_period;
	if (type & PERF_SAMPLE_READ)
		skip_read(&fields, attr->read_format);
	out->has_stack = (int)has(type, PERF_SAMPLE_STACK_USER);
	out->has_chain = (int)has(type, PERF_SAMPLE_CALLCHAIN);
	if (out->has_chain) {
		out->chain_count = take(&fields);
		out->chain = fields.at;
		skip(&fields, out->chain_count);
	}
	return fields.broken ? -EBADMSG : 0;
}

/* In records that are not samples, pid, tid and time come at the end, if the event has sample_id_all. */
uint64_t sonde_perf_time(const struct sonde_perf *perf, const uint8_t *record, size_t size_b)
{
	struct perf_event_header head;
	struct sonde_perf_sample sample;
	uint64_t time_ns = 0, type;
	memcpy(&head, record, sizeof head);
	if (head.type == PERF_RECORD_SAMPLE)
		return sonde_perf_sample_read(perf, record, size_b, &sample) ? 0 : sample.time_ns;
	if (!perf->attr_count || !perf->attrs[0].attr.sample_id_all || head.type >= 64)
		return 0;
	type = perf->attrs[0].attr.sample_type;
	if (!(type & PERF_SAMPLE_TIME))
		return 0;
	size_t behind_b = 8 * (1 + has(type, PERF_SAMPLE_ID) + has(type, PERF_SAMPLE_STREAM_ID) +
			       has(type, PERF_SAMPLE_CPU) + has(type, PERF_SAMPLE_IDENTIFIER));
	if (size_b < sizeof head + behind_b)
		return 0;
	memcpy(&time_ns, record + size_b - behind_b, 8);
	return time_ns;
}
