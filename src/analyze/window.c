/* window.c: the time that a report is about. */
#include "analyze/window.h"

struct sonde_window sonde_window_of(const struct sonde_session *session, const struct sonde_pass_options *options)
{
	const struct sonde_run *run = sonde_session_run(session);
	struct sonde_window window = {.from_ns = run->start_ns, .to_ns = run->end_ns, .what = "wall time"};
	window.held = sonde_session_info(session, "option.keep_ns") != NULL;
	if (window.held) {
		window.from_ns = run->first_event_ns;
		window.to_ns = run->last_event_ns;
		window.what = "wall time that the flight recorder held (first to last event)";
	}
	if (options->selection.from_ns || options->selection.to_ns)
		window.what =
		    window.held ? "the selected time, as far as the flight recorder held it" : "the selected time";
	if (options->selection.from_ns > window.from_ns)
		window.from_ns = options->selection.from_ns;
	if (options->selection.to_ns && options->selection.to_ns < window.to_ns)
		window.to_ns = options->selection.to_ns;
	if (window.to_ns < window.from_ns)
		window.to_ns = window.from_ns;
	return window;
}
