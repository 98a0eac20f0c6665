/* chrome_waits.c: calls that waited, as complete events on their threads: "mutex", "read".
 *
 * They are written as they come: a thread is in one call at a time, or in one that a signal's handler makes within
 * another, and zones begin and end outside of them or within, so that they nest. What is asked for of the recording's
 * time cuts them, as it cuts weights: their sum is the flame graph's. A lock that was held while others waited is no
 * waiting of its thread, and would overlap what it waits for meanwhile.
 */
#include <inttypes.h>
#include <stdio.h>

#include "export/chrome.h"

void sonde_chrome_object(struct sonde_chrome *chrome, uint32_t id)
{
	const struct sonde_object *object = sonde_session_object(chrome->session, id);
	char address[24];
	if (!object)
		return;
	snprintf(address, sizeof address, "0x%" PRIx64, object->address);
	if (*object->name || object->address)
		sonde_json_put_text(&chrome->json, "object", *object->name ? object->name : address);
}

/* None is not said of calls that move none, like open(). */
static void put_bytes(struct sonde_chrome *chrome, uint32_t kind, uint64_t amount)
{
	int moves = kind == SONDE_WAIT_READ || kind == SONDE_WAIT_WRITE || kind == SONDE_WAIT_SEND ||
		    kind == SONDE_WAIT_RECEIVE;
	if (moves || amount)
		sonde_json_put_uint(&chrome->json, "bytes", amount);
}

static void put_holder(struct sonde_chrome *chrome, uint32_t id)
{
	const struct sonde_thread *thread = sonde_session_thread(chrome->session, id);
	if (!thread)
		return;
	sonde_json_put_text(&chrome->json, "held_by", thread->name);
	sonde_json_put_uint(&chrome->json, "held_by_tid", thread->tid);
}

void sonde_chrome_waits(struct sonde_chrome *chrome, const struct sonde_batch *batch)
{
	const struct sonde_format_options *options = chrome->options;
	const struct sonde_heap_range wanted = {options->from_ns, options->to_ns, options->thread};
	const struct sonde_heap_range range = sonde_weigh_range(chrome->session, &wanted);
	for (size_t i = 0; i < batch->count; i++) {
		const struct sonde_wait_row *row = sonde_wait_row(batch->wait_kind[i]);
		uint64_t start_ns = batch->start_ns[i], dur_ns = batch->dur_ns[i];
		uint32_t thread = batch->thread_of[i];
		if (!row->name || row->group == SONDE_WAIT_GROUP_HELD || (range.thread && !range.thread[thread]) ||
		    !sonde_weigh_cut(&range, &start_ns, &dur_ns))
			continue;
		struct sonde_chrome_event event = {
		    .phase = "X", .name = row->name, .category = "wait", .thread = thread, .time_ns = start_ns};
		sonde_chrome_begin(chrome, &event);
		sonde_chrome_micros(chrome, "dur", dur_ns);
		sonde_chrome_args(chrome);
		sonde_json_put_text(&chrome->json, "kind", row->name);
		sonde_chrome_object(chrome, batch->object[i]);
		if (batch->status[i] & SONDE_WAIT_SAMPLED) /* what was found so often from outside */
			sonde_json_put_uint(&chrome->json, "sampled_looks", batch->amount[i]);
		else
			put_bytes(chrome, batch->wait_kind[i], batch->amount[i]);
		put_holder(chrome, batch->other[i]);
		sonde_chrome_end(chrome);
	}
}
