/* wanted.c: determines which chunks contain no event of a time range, thread, process or site.
 *
 * The head of a chunk has the time of its first and last event. A zone belongs to the chunk in which it ended, so for
 * ZONES these are end times. How early the zones of a chunk may have begun follows from the longest duration in its
 * summary, which lists the sites of all zones that ended there.
 */
#include "session/wanted.h"

#include <string.h>

#include "trace/reader.h"

/* True if no zone that ended in the chunk is of the wanted site and could have begun early enough. */
static int holds_no_zone(const struct sonde_cursor_wanted *wanted, const struct sonde_chunk_data *data)
{
	struct sonde_zones_summary summary;
	struct sonde_zone_stat stat;
	size_t summary_b = data->head->summary_b;
	uint64_t longest_ns = 0;
	int has_site = !wanted->site;
	if (summary_b < sizeof summary)
		return 0;
	memcpy(&summary, data->summary, sizeof summary);
	uint64_t open_b = (uint64_t)summary.open * sizeof(struct sonde_zone_open);
	if (sizeof summary + open_b + (uint64_t)summary.sites * sizeof stat > summary_b)
		return 0;
	const uint8_t *at = data->summary + sizeof summary + open_b;
	for (uint32_t i = 0; i < summary.sites; i++, at += sizeof stat) {
		memcpy(&stat, at, sizeof stat);
		if (stat.max_ns > longest_ns)
			longest_ns = stat.max_ns;
		has_site = has_site || stat.site == wanted->site;
	}
	uint64_t first_ns = data->head->time_min_ns > longest_ns ? data->head->time_min_ns - longest_ns : 0;
	return !has_site || (wanted->to_ns && first_ns > wanted->to_ns);
}

int sonde_wanted_leaves_out(const struct sonde_cursor_wanted *wanted, struct sonde_reader *reader, size_t i,
			    struct sonde_chunk_data *data)
{
	const struct sonde_chunk_head *head = &sonde_reader_entry(reader, i)->head;
	int is_zones = head->type == SONDE_CHUNK_ZONES;
	int has_thread = is_zones || head->type == SONDE_CHUNK_EVENTS;
	if (head->time_max_ns < wanted->from_ns ||
	    (wanted->process && head->process && head->process != wanted->process) ||
	    (wanted->thread && has_thread && head->thread != wanted->thread))
		return 1;
	if (!is_zones)
		return wanted->to_ns && head->time_min_ns > wanted->to_ns;
	if (!wanted->site && (!wanted->to_ns || head->time_min_ns <= wanted->to_ns))
		return 0;
	return !sonde_reader_summary(reader, i, data) && holds_no_zone(wanted, data);
}
