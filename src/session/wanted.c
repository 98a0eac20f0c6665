/* wanted.c: which chunks hold nothing of a time, a thread, a process or a site.
 *
 * The head of a chunk has the first and last time of its events. A zone counts in the chunk in which it ended, so those
 * of ZONES are of ends; how far back their zones began is known from the longest duration in the summary, and the sites
 * in it are those of all zones that ended there.
 */
#include "session/wanted.h"

#include <string.h>

#include "trace/reader.h"

/* Whether none of the zones that ended in a chunk is of the site that is wanted and began early enough. */
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
