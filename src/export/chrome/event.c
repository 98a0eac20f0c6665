/* event.c: writes events of the chrome format (chrome/event.h). */
#include "export/chrome/event.h"

#include <inttypes.h>
#include <stdio.h>

void sonde_chrome_micros_value(struct sonde_chrome *chrome, int64_t ns)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	char text[40];
	snprintf(text, sizeof text, "%s%" PRIu64 ".%03u", ns < 0 ? "-" : "", size / 1000, (unsigned)(size % 1000));
	sonde_json_raw(&chrome->json, text);
}

void sonde_chrome_micros(struct sonde_chrome *chrome, const char *key, uint64_t ns)
{
	sonde_json_key(&chrome->json, key);
	sonde_chrome_micros_value(chrome, (int64_t)ns);
}

void sonde_chrome_begin(struct sonde_chrome *chrome, const struct sonde_chrome_event *event)
{
	struct sonde_json *json = &chrome->json;
	const struct sonde_thread *thread = sonde_session_thread(chrome->session, event->thread);
	const struct sonde_process *process =
	    sonde_session_process(chrome->session, thread ? thread->process : event->process);
	putc('\n', json->out);
	sonde_json_object(json);
	sonde_json_put_text(json, "ph", event->phase);
	sonde_json_put_text(json, "name", event->name);
	sonde_json_put_text(json, "cat", event->category);
	sonde_json_put_uint(json, "pid", event->pid ? event->pid : process ? process->pid : 0);
	sonde_json_put_uint(json, "tid",
			    event->track ? event->track
			    : thread     ? thread->tid
			    : process    ? process->pid
					 : 0);
	sonde_json_key(json, "ts");
	sonde_chrome_micros_value(chrome, (int64_t)(event->time_ns - chrome->base_ns));
}

void sonde_chrome_args(struct sonde_chrome *chrome)
{
	sonde_json_put_object(&chrome->json, "args");
}

void sonde_chrome_end(struct sonde_chrome *chrome)
{
	sonde_json_end(&chrome->json);
	sonde_json_end(&chrome->json);
}

void sonde_chrome_arrow(struct sonde_chrome *chrome, const char *name, uint64_t number,
			const struct sonde_chrome_moment *from, const struct sonde_chrome_moment *to)
{
	char id[40];
	snprintf(id, sizeof id, "%s:%" PRIu64, name, number);
	for (int ends = 0; ends < 2; ends++) {
		const struct sonde_chrome_moment *at = ends ? to : from;
		struct sonde_chrome_event event = {.phase = ends ? "f" : "s",
						   .name = name,
						   .category = "flow",
						   .thread = at->thread,
						   .track = at->track,
						   .pid = at->pid,
						   .time_ns = at->time_ns};
		sonde_chrome_begin(chrome, &event);
		sonde_json_put_text(&chrome->json, "id", id);
		if (ends)
			sonde_json_put_text(&chrome->json, "bp", "e");
		sonde_chrome_args(chrome);
		sonde_chrome_end(chrome);
	}
}

void sonde_chrome_metadata(struct sonde_chrome *chrome, const char *what, struct sonde_chrome_event event,
			   const char *name)
{
	event.phase = "M";
	event.name = what;
	event.category = "__metadata";
	event.time_ns = chrome->base_ns;
	sonde_chrome_begin(chrome, &event);
	sonde_chrome_args(chrome);
	sonde_json_put_text(&chrome->json, "name", name);
	sonde_chrome_end(chrome);
}
