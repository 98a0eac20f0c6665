/* fuzz_tiles.c: libFuzzer target: any bytes are a recording whose timeline is requested, whole and in parts.
 *
 * Inputs of even length get the checksums that their bytes have, as in fuzz_reader.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mend.h"
#include "session/session.h"
#include "tiles/tiles.h"

#define CHECK(promise)                                                                                \
	do {                                                                                          \
		if (!(promise)) {                                                                     \
			fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #promise); \
			abort();                                                                      \
		}                                                                                     \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_b);

static void look(struct sonde_tiles *tiles, const struct sonde_tile_view *view)
{
	struct sonde_tile_rows rows = {0};
	for (size_t id = 0; id < sonde_tiles_lane_count(tiles) && id < 100; id++) {
		const struct sonde_tile_lane *lane = sonde_tiles_lane(tiles, id);
		CHECK(lane->id == id && lane->title && lane->unit);
		if (sonde_tiles_bins(tiles, id, view, &rows))
			continue;
		for (size_t i = 0; i < rows.count; i++) {
			CHECK(rows.all[i].many > 0 && rows.all[i].from_ns <= rows.all[i].to_ns);
			CHECK(lane->form == SONDE_TILE_CURVE || rows.all[i].name < sonde_tiles_name_count(tiles));
		}
	}
	sonde_tile_rows_fini(&rows);
}

static void find(struct sonde_tiles *tiles)
{
	size_t count = sonde_tiles_name_count(tiles), of;
	uint8_t *names = malloc(count + 1);
	struct sonde_tile_finds finds = {0};
	struct sonde_tile_arrow arrows[8];
	struct sonde_tile_step steps[8];
	const struct sonde_tile_view all = {0, UINT64_MAX, 1};
	if (!names)
		return;
	memset(names, 1, count + 1);
	const struct sonde_tile_search search = {
	    .names = names, .to_ns = UINT64_MAX, .longest_ns = UINT64_MAX, .limit = 10};
	if (!sonde_tiles_find(tiles, &search, &finds))
		for (size_t i = 1; i < finds.count; i++)
			CHECK(finds.all[i].from_ns >= finds.all[i - 1].from_ns);
	CHECK(sonde_tiles_arrows(tiles, &all, 8, arrows, &of) <= of);
	CHECK(sonde_tiles_steps(tiles, &all, 8, steps, &of) <= of);
	sonde_tile_finds_fini(&finds);
	free(names);
}

static void look_at_all(struct sonde_session *session)
{
	const struct sonde_run *run = sonde_session_run(session);
	struct sonde_tiles *tiles;
	if (sonde_tiles_open(&tiles, session))
		return;
	const struct sonde_tile_view views[] = {
	    {run->start_ns, run->end_ns > run->start_ns ? run->end_ns : run->start_ns + 1, 100},
	    {run->start_ns, run->start_ns + 1, 1000},
	    {0, UINT64_MAX, 500},
	    {run->start_ns + 10000, run->start_ns + 10100, 50},
	    {UINT64_MAX - 1000, UINT64_MAX, 16384},
	};
	for (size_t i = 0; i < sizeof views / sizeof *views; i++)
		look(tiles, &views[i]);
	find(tiles);
	sonde_tiles_close(tiles);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_b)
{
	const struct sonde_session_options options = {.no_symbols = 1};
	struct sonde_session *session;
	char path[64];
	uint8_t *copy = malloc(size_b + 1);
	int fd = memfd_create("recording", MFD_CLOEXEC);
	CHECK(copy && fd >= 0);
	memcpy(copy, bytes, size_b);
	if (size_b % 2 == 0)
		mend_checksums(copy, size_b);
	CHECK(write(fd, copy, size_b) == (ssize_t)size_b);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (!sonde_session_open(&session, path, &options)) {
		look_at_all(session);
		sonde_session_close(session);
	}
	close(fd);
	free(copy);
	return 0;
}
