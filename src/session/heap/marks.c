/* marks.c: computes what changed between points in time, site by site, in a single pass.
 *
 * A chunk between two points is reported from its summary; one that contains points is decoded once, however many there
 * are. Chunks after the last point are not read.
 */
#include <errno.h>
#include <stdlib.h>

#include "fold/heap_worth.h"
#include "session/heap/heap.h"
#include "session/state.h"
#include "util/search.h"

struct marking {
	struct sonde_session *session;
	const struct sonde_heap_marks *marks;
	struct sonde_chunk_data data;
};

/* The first point at or after a time; marks->count if there is none. */
static size_t mark_of(const struct sonde_heap_marks *marks, uint64_t time_ns)
{
	return SONDE_SEARCH(i, 0, marks->count, marks->times_ns[i] < time_ns);
}

static uint32_t known_site(const struct marking *marking, uint32_t site)
{
	return site <= marking->session->heap_sites.count ? site : 0;
}

static void tell(const struct marking *marking, uint32_t site, size_t mark, const struct sonde_heap_alive *change)
{
	marking->marks->add(marking->marks->state, known_site(marking, site), mark, change);
}

static int add_whole(struct marking *marking, size_t mark)
{
	struct sonde_heap_summary summary;
	struct sonde_heap_stats stats;
	const struct sonde_heap_stat *stat = &stats.row;
	if (sonde_heap_summary(marking->session, &marking->data, &summary, &stats))
		return -EBADMSG;
	while (sonde_heap_stats_next(&stats)) {
		struct sonde_heap_alive change = {stat->begins - stat->ends, stat->begun_b - stat->ended_b,
						  stat->begun_variance - stat->ended_variance};
		tell(marking, stat->site, mark, &change);
	}
	return 0;
}

static int add_events(struct marking *marking, size_t mark)
{
	const struct sonde_heap_marks *marks = marking->marks;
	struct sonde_heap_columns columns;
	int rc = sonde_heap_columns_read(&columns, marking->session, &marking->data);
	for (size_t i = 0; !rc && i < marking->data.head->count; i++) {
		while (mark < marks->count && marks->times_ns[mark] < columns.time_ns[i])
			mark++;
		if (mark == marks->count)
			break;
		struct sonde_heap_worth worth = sonde_heap_worth(columns.sizes[i], columns.mean_b);
		uint64_t sign = columns.ends[i] ? UINT64_MAX : 1;
		struct sonde_heap_alive change = {sign * worth.blocks, sign * worth.size_b,
						  columns.ends[i] ? -worth.variance : worth.variance};
		tell(marking, columns.sites[i], mark, &change);
	}
	free(columns.time_ns);
	return rc;
}

int sonde_session_heap_marks(struct sonde_session *session, const struct sonde_heap_marks *marks)
{
	struct marking marking = {.session = session, .marks = marks};
	int rc = 0;
	sonde_buf_init(&marking.data.buf, SONDE_READER_BUF_MAX_B);
	for (size_t i = 0; rc != -ENOMEM && i < sonde_reader_count(session->reader); i++) {
		const struct sonde_chunk_head *head = &sonde_reader_entry(session->reader, i)->head;
		size_t first = mark_of(marks, head->time_min_ns), last = mark_of(marks, head->time_max_ns);
		if (!sonde_heap_is_chunk(head) || first == marks->count)
			continue;
		int bad = first == last ? sonde_reader_summary(session->reader, i, &marking.data)
					: sonde_reader_read(session->reader, i, &marking.data);
		if (!bad)
			bad = first == last ? add_whole(&marking, first) : add_events(&marking, first);
		rc = bad ? bad : rc;
	}
	sonde_buf_fini(&marking.data.buf);
	return rc;
}
