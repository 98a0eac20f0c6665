/* follow.c: follows a recording that is still being written (follow.h). */
#include "serve/follow.h"

#include <stdio.h>
#include <string.h>

#include "util/json.h"

/* Readings of the system (SERIES) do not count, because they arrive even if the program does nothing.
 */
uint64_t sonde_follow_events(const struct sonde_follow *follow)
{
	const struct sonde_session *session = *follow->session;
	uint64_t count = 0;
	for (uint32_t type = 0; type < SONDE_CHUNK_TYPES; type++)
		if (sonde_chunk_row(type).times != SONDE_CHUNK_TIMES_NONE && type != SONDE_CHUNK_SERIES)
			count += sonde_session_event_count(session, type);
	return count;
}

int sonde_follow_refresh(struct sonde_follow *follow)
{
	if (!follow->is_live || *follow->ended)
		return 0;
	int found = sonde_session_refresh(*follow->session);
	atomic_store(&follow->file_b, sonde_session_run(*follow->session)->file_b);
	if (found > 0) /* the tiles of the shorter recording stay until the list of tracks is requested again */
		atomic_fetch_add(&follow->revision, 1);
	return found > 0 ? 1 : found;
}

void sonde_follow_end(struct sonde_follow *follow, const char *sentence)
{
	struct sonde_session *whole;
	snprintf(follow->ended, sizeof follow->ended, "%s", sentence);
	if (!sonde_session_open(&whole, sonde_session_path(*follow->session), NULL)) {
		sonde_session_close(*follow->session);
		*follow->session = whole;
	}
	atomic_fetch_add(&follow->revision, 1);
}

void sonde_follow_say(const struct sonde_follow *follow, char *out, size_t out_b)
{
	const struct sonde_run *run = sonde_session_run(*follow->session);
	struct sonde_json json;
	FILE *stream = fmemopen(out, out_b, "w");
	if (!stream) {
		snprintf(out, out_b, "{}");
		return;
	}
	sonde_json_init(&json, stream, 0);
	sonde_json_object(&json);
	sonde_json_put_uint(&json, "revision", atomic_load(&follow->revision));
	sonde_json_put_uint(&json, "duration_ns", run->end_ns - run->start_ns);
	sonde_json_put_uint(&json, "events", sonde_follow_events(follow));
	sonde_json_put_text(&json, "ended", *follow->ended ? follow->ended : NULL);
	sonde_json_end(&json);
	fclose(stream);
}
