/* counters.c: memory of processes, as counters (firefox/rows.h). */
#include "export/firefox/rows.h"

#include <errno.h>
#include <stdlib.h>

#include "util/array.h"
#include "util/error.h"

int sonde_firefox_counter(struct sonde_firefox *firefox, const char *name, uint32_t process)
{
	if (SONDE_ARRAY_RESERVE(firefox->counters, firefox->counter_cap, firefox->counter_count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu counters", firefox->counter_count + 1);
	uint32_t number = sonde_intern(&firefox->counter_names, name, &firefox->error);
	if (!firefox->error)
		firefox->counters[firefox->counter_count++] = (struct sonde_firefox_counter){
		    .name = number ? firefox->counter_names.texts[number - 1] : "", .process = process};
	return firefox->error;
}

int sonde_firefox_point(struct sonde_firefox *firefox, uint32_t counter, uint64_t time_ns, uint64_t value)
{
	const struct sonde_spool_row row = {
	    .group = counter, .time = time_ns, .value = value, .text_at = firefox->points.row_count};
	return sonde_spool_add(&firefox->points, &row);
}

/* --- output ------------------------------------------------------------------------------------------------------- */

/* Returns the position of a process's first thread among the threads that are written; −1 = none. */
static int64_t thread_of(const struct sonde_firefox *firefox, uint32_t process)
{
	int64_t number = 0;
	for (uint32_t id = 1; id <= sonde_session_thread_count(firefox->session); id++) {
		if (!sonde_firefox_has(firefox, id))
			continue;
		if (sonde_session_thread(firefox->session, id)->process == process)
			return number;
		number++;
	}
	return -1;
}

/* Writes the points of a counter as changes, as the format requires; the first is the change from 0. */
static void put_points(struct sonde_json *json, const struct sonde_firefox *firefox, uint32_t counter)
{
	const struct sonde_spool_row *rows = firefox->points.rows + firefox->points.begins[counter];
	size_t count = firefox->points.counts[counter];
	sonde_json_put_object(json, "samples");
	sonde_json_put_uint(json, "length", count);
	sonde_json_put_array(json, "time");
	for (size_t i = 0; i < count; i++)
		sonde_firefox_ms(json, sonde_firefox_after(firefox, rows[i].time));
	sonde_json_end(json);
	sonde_json_put_array(json, "count");
	for (size_t i = 0; i < count; i++)
		sonde_json_int(json, (int64_t)(rows[i].value - (i ? rows[i - 1].value : 0)));
	sonde_json_end(json);
	sonde_json_end(json);
}

void sonde_firefox_counters(const struct sonde_firefox *firefox, struct sonde_json *json)
{
	sonde_json_put_array(json, "counters");
	for (uint32_t i = 0; i < firefox->counter_count; i++) {
		const struct sonde_firefox_counter *counter = &firefox->counters[i];
		const struct sonde_process *process = sonde_session_process(firefox->session, counter->process);
		int64_t thread = process ? thread_of(firefox, counter->process) : -1;
		char pid[24];
		if (thread < 0 || !firefox->points.rows || !firefox->points.counts[i])
			continue;
		snprintf(pid, sizeof pid, "%u", process->pid);
		sonde_json_object(json);
		sonde_json_put_text(json, "name", counter->name);
		sonde_json_put_text(json, "category", "Memory");
		sonde_json_put_text(json, "description", counter->name);
		sonde_json_put_text(json, "pid", pid);
		sonde_json_key(json, "mainThreadIndex");
		sonde_json_int(json, thread);
		put_points(json, firefox, i);
		sonde_json_end(json);
	}
	sonde_json_end(json);
}
