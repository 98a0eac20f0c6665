/* chrome.c: imports trace events in JSON (Chrome's about:tracing, Perfetto, PyTorch's profiler, Tracy, clang's
 * -ftime-trace, bazel, `sonde export -f chrome`), gzipped or not: a list of events, or an object that contains one.
 *
 * The text is parsed once, as a stream (chrome_json.c). Each event is converted into rows (chrome_events.c,
 * chrome_profile.c), which are sorted, on disk if there are many (chrome_rows.c), and written (chrome_write.c).
 * Rejected alternative: a tree of the JSON in memory, which takes ten times the size of the file.
 */
#include "import/chrome.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/error.h"

enum { ARGS_MAX_B = 64 << 20 };

static void fini(struct sonde_chrome *chrome)
{
	for (uint32_t i = 0; i < chrome->thread_count; i++)
		free(chrome->threads[i].open);
	sonde_map_fini(&chrome->names.map);
	sonde_arena_fini(&chrome->names.arena);
	free(chrome->names.rows);
	sonde_map_fini(&chrome->process_map);
	sonde_map_fini(&chrome->thread_map);
	sonde_map_fini(&chrome->span_map);
	sonde_map_fini(&chrome->site_map);
	sonde_map_fini(&chrome->frame_map);
	sonde_map_fini(&chrome->profile_map);
	sonde_buf_fini(&chrome->args);
	sonde_chrome_spill_free(chrome->spill);
	if (chrome->args_fd >= 0)
		close(chrome->args_fd);
	free(chrome->processes);
	free(chrome->threads);
	free(chrome->spans);
	free(chrome->profiles);
	free(chrome->frames);
}

static int run(struct sonde_import_job *job)
{
	struct sonde_chrome chrome = {.job = job, .args_fd = -1, .min_ns = INT64_MAX, .max_ns = INT64_MIN};
	sonde_buf_init(&chrome.args, ARGS_MAX_B);
	int rc = sonde_chrome_spill_new(&chrome.spill, job->options->folder);
	rc = rc ? rc : sonde_chrome_read(&chrome);
	if (!rc) {
		sonde_chrome_close(&chrome);
		rc = chrome.error;
	}
	if (!rc && chrome.min_ns == INT64_MAX)
		rc = sonde_error(EBADMSG, "%s: none of its %llu events has a time", sonde_input_name(job->input),
				 (unsigned long long)chrome.counts.events);
	rc = rc ? rc : sonde_chrome_write(&chrome);
	fini(&chrome);
	return rc;
}

const struct sonde_import_format sonde_import_format_chrome = {
    .name = "chrome",
    .title = SONDE_CHROME_TITLE,
    .matches = sonde_chrome_matches,
    .run = run,
};
