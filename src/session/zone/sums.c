/* sums.c: sums of zones from the chunk summaries, without decoding the bodies. */
#include <errno.h>
#include <string.h>

#include "fold/pair.h"
#include "session/state.h"
#include "util/error.h"

/* Receiver of the sums. */
struct stats_taker {
	const struct sonde_session *session;
	int (*take)(void *context, uint32_t process, uint32_t thread, const struct sonde_zone_stat *stat);
	void *context;
};

/* Returns the result of `take`, or −EBADMSG before its first call. */
static int take_stats(const struct stats_taker *taker, const struct sonde_chunk_data *data)
{
	const struct sonde_session *session = taker->session;
	const struct sonde_chunk_head *head = data->head;
	struct sonde_zones_summary summary;
	size_t summary_b = head->summary_b;
	if (summary_b < sizeof summary)
		return -EBADMSG;
	memcpy(&summary, data->summary, sizeof summary);
	uint64_t need_b = sizeof summary + (uint64_t)summary.open * sizeof(struct sonde_zone_open) +
			  (uint64_t)summary.sites * sizeof(struct sonde_zone_stat);
	if (need_b > summary_b)
		return -EBADMSG;
	uint32_t process = head->process <= session->processes.count ? head->process : 0;
	uint32_t thread = head->thread <= session->threads.count ? head->thread : 0;
	const uint8_t *at = data->summary + sizeof summary + summary.open * sizeof(struct sonde_zone_open);
	int rc = 0;
	for (uint32_t i = 0; !rc && i < summary.sites; i++, at += sizeof(struct sonde_zone_stat)) {
		struct sonde_zone_stat from;
		memcpy(&from, at, sizeof from);
		from.site = from.site <= session->sites.count ? from.site : 0;
		rc = taker->take(taker->context, process, thread, &from);
	}
	return rc;
}

uint64_t sonde_session_zones_unmatched(struct sonde_session *session)
{
	struct sonde_chunk_data data = {0};
	struct sonde_zones_summary summary;
	uint64_t unmatched = 0;
	sonde_buf_init(&data.buf, SONDE_READER_BUF_MAX_B);
	for (size_t i = 0; i < sonde_reader_count(session->reader); i++) {
		const struct sonde_chunk_head *head = &sonde_reader_entry(session->reader, i)->head;
		if (head->type != SONDE_CHUNK_ZONES || head->version > SONDE_CHUNK_VERSION ||
		    sonde_reader_summary(session->reader, i, &data) || data.head->summary_b < sizeof summary)
			continue;
		memcpy(&summary, data.summary, sizeof summary);
		unmatched += summary.unmatched;
	}
	sonde_buf_fini(&data.buf);
	return unmatched;
}

uint64_t sonde_session_event_count(const struct sonde_session *session, enum sonde_chunk_type type)
{
	uint64_t count = 0;
	for (size_t i = 0; i < sonde_reader_count(session->reader); i++) {
		const struct sonde_chunk_head *head = &sonde_reader_entry(session->reader, i)->head;
		count += head->type == type && head->version <= SONDE_CHUNK_VERSION ? head->count : 0;
	}
	return count;
}

int sonde_session_zone_stats_each(struct sonde_session *session,
				  int (*take)(void *context, uint32_t process, uint32_t thread,
					      const struct sonde_zone_stat *stat),
				  void *context)
{
	struct stats_taker taker = {.session = session, .take = take, .context = context};
	struct sonde_chunk_data data = {0};
	int error = 0, stopped = 0;
	sonde_buf_init(&data.buf, SONDE_READER_BUF_MAX_B);
	for (size_t i = 0; !stopped && i < sonde_reader_count(session->reader); i++) {
		const struct sonde_chunk_head *head = &sonde_reader_entry(session->reader, i)->head;
		if (head->type != SONDE_CHUNK_ZONES || head->version > SONDE_CHUNK_VERSION)
			continue;
		int bad = sonde_reader_summary(session->reader, i, &data);
		if (!bad) {
			int rc = take_stats(&taker, &data);
			if (rc == -EBADMSG)
				bad = sonde_error(EBADMSG, "%s: the zone summary of chunk %zu is damaged",
						  sonde_session_path(session), i);
			else
				stopped = rc;
		} else if (bad == -ENOMEM) {
			stopped = bad;
		}
		error = bad ? bad : error;
	}
	sonde_buf_fini(&data.buf);
	return stopped ? stopped : error;
}

static int merge_stat(void *context, uint32_t process, uint32_t thread, const struct sonde_zone_stat *stat)
{
	struct sonde_zone_stat *stats = context;
	(void)process;
	(void)thread;
	sonde_pair_merge(&stats[stat->site], stat);
	return 0;
}

int sonde_session_zone_stats(struct sonde_session *session, struct sonde_zone_stat *stats)
{
	for (size_t i = 0; i <= session->sites.count; i++)
		stats[i] = (struct sonde_zone_stat){.site = (uint32_t)i};
	return sonde_session_zone_stats_each(session, merge_stat, stats);
}
