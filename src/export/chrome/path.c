/* path.c: the critical path as a track of its own: a slice for each step, named by what it was spent on.
 *
 * The steps are the rows of the section "critical-steps", which analysis put into the options: the longest where there
 * are very many; then the track has gaps, and what was left out is said behind the events (otherData).
 */
#include "export/chrome/event.h"
#include "report/report.h"

#define TRACK (1u << 29) /* pids are below 2^22, tracks of states begin at 2^30 */
#define SECTION "critical-steps"

static void put_title(struct sonde_chrome *chrome, struct sonde_chrome_event event)
{
	event.phase = "M";
	event.name = "thread_name";
	event.category = "__metadata";
	event.time_ns = chrome->base_ns;
	sonde_chrome_begin(chrome, &event);
	sonde_chrome_args(chrome);
	sonde_json_put_text(&chrome->json, "name", "critical path");
	sonde_chrome_end(chrome);
	event.name = "thread_sort_index";
	sonde_chrome_begin(chrome, &event);
	sonde_chrome_args(chrome);
	sonde_json_key(&chrome->json, "sort_index");
	sonde_json_raw(&chrome->json, "-1");
	sonde_chrome_end(chrome);
}

static void put_step(struct sonde_chrome *chrome, const struct sonde_section *section, size_t row,
		     struct sonde_chrome_event event)
{
	struct sonde_json *json = &chrome->json;
	const char *name = sonde_report_cell_text(section, row, "name"),
		   *kind = sonde_report_cell_text(section, row, "kind");
	event.phase = "X";
	event.name = *name ? name : kind;
	event.time_ns = sonde_session_run(chrome->session)->start_ns + sonde_report_cell_uint(section, row, "start_ns");
	sonde_chrome_begin(chrome, &event);
	sonde_chrome_micros(chrome, "dur", sonde_report_cell_uint(section, row, "duration_ns"));
	sonde_chrome_args(chrome);
	sonde_json_put_text(json, "kind", kind);
	sonde_json_put_text(json, "state", sonde_report_cell_text(section, row, "state"));
	sonde_json_put_text(json, "thread", sonde_report_cell_text(section, row, "thread"));
	sonde_json_put_uint(json, "tid", sonde_report_cell_uint(section, row, "tid"));
	sonde_chrome_end(chrome);
}

void sonde_chrome_path(struct sonde_chrome *chrome)
{
	const struct sonde_section *section = sonde_report_find(chrome->options->report, SECTION);
	uint32_t root = sonde_session_run(chrome->session)->root_process;
	struct sonde_chrome_event event = {.category = "critical path", .process = root ? root : 1, .track = TRACK};
	if (!section || !section->table.row_count)
		return;
	put_title(chrome, event);
	for (size_t row = 0; row < section->table.row_count; row++)
		put_step(chrome, section, row, event);
	chrome->path_steps = section->table.row_count;
	chrome->path_left_out = section->table.omitted;
}
