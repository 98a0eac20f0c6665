/* packet.c: packets, tracks and events of the perfetto format.
 *
 * All packets form one sequence, whose tables of interned names grow on demand. Each entry is written in a packet of
 * its own before the first packet that uses it: it cannot be part of that packet, because the begin of a zone may be
 * held in memory while other packets are written. Tables are limited in size; names beyond the limit are written
 * inline. Field numbers: trace_packet.proto and its parts, of github.com/google/perfetto.
 */
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "export/clean.h"
#include "export/perfetto/perfetto.h"
#include "export/proto.h"
#include "util/error.h"

enum { TABLE_MAX = 1 << 16 };
enum { TRACE_PACKET = 1, PACKET_SEQUENCE = 10, PACKET_FLAGS = 13, FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2 };
enum { PACKET_TIME = 8, PACKET_EVENT = 11, PACKET_INTERNED = 12, PACKET_TRACK = 60 };
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5, TRACK_COUNTER = 8 };
enum { COUNTER_UNIT = 3, COUNTER_UNIT_NAME = 6, UNIT_NS = 1, UNIT_COUNT = 2, UNIT_BYTES = 3 };
enum {
	EVENT_CATEGORY_ID = 3,
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_ID = 10,
	EVENT_TRACK = 11,
	EVENT_CATEGORY = 22,
	EVENT_PLACE = 34,
	EVENT_NAME = 23,
	EVENT_COUNTER = 30,
	EVENT_COUNTER_REAL = 44,
	EVENT_FLOW = 47,
	EVENT_FLOW_ENDS = 48,
};
enum { ARG_NAME_ID = 1, ARG_BOOL = 2, ARG_UINT = 3, ARG_INT = 4, ARG_REAL = 5, ARG_TEXT = 6, ARG_NAME = 10 };
enum { TABLE_CATEGORIES = 1, TABLE_NAMES = 2, TABLE_KEYS = 3, TABLE_PLACES = 4 };

/* --- packets ------------------------------------------------------------------------------------------------------ */

static void put_packet(struct sonde_perfetto *perfetto, struct sonde_buf *packet, struct sonde_buf *to)
{
	struct sonde_buf *head = &perfetto->head;
	sonde_proto_uint(packet, PACKET_SEQUENCE, 1);
	sonde_proto_uint(packet, PACKET_FLAGS, perfetto->is_begun ? FLAG_NEEDS_STATE : FLAG_CLEARED);
	perfetto->is_begun = 1;
	if (!perfetto->error)
		perfetto->error = sonde_buf_error(packet);
	if (!perfetto->error && to) {
		sonde_proto_message(to, TRACE_PACKET, packet);
		perfetto->error = sonde_buf_error(to);
	} else if (!perfetto->error) {
		sonde_buf_clear(head);
		sonde_proto_tag(head, TRACE_PACKET, SONDE_PROTO_BYTES);
		sonde_buf_varint(head, packet->len_b);
		perfetto->error = sonde_buf_error(head);
		fwrite(head->data, 1, head->len_b, perfetto->out);
		fwrite(packet->data, 1, packet->len_b, perfetto->out);
	}
	sonde_buf_clear(packet);
}

void sonde_perfetto_put(struct sonde_perfetto *perfetto, struct sonde_buf *to)
{
	put_packet(perfetto, &perfetto->packet, to);
}

const char *sonde_perfetto_clean(struct sonde_perfetto *perfetto, const char *text)
{
	return sonde_clean_text(&perfetto->scratch, text);
}

void sonde_perfetto_define(struct sonde_perfetto *perfetto, uint32_t table)
{
	sonde_proto_message(&perfetto->table, table, &perfetto->entry);
	sonde_proto_message(&perfetto->interned, PACKET_INTERNED, &perfetto->table);
	put_packet(perfetto, &perfetto->interned, NULL);
}

/* Returns the number of a cleaned text in a table; 0 = the caller must write it inline. */
static uint32_t number_of(struct sonde_perfetto *perfetto, struct sonde_intern *intern, uint32_t table,
			  const char *text)
{
	size_t before = intern->count;
	if (before >= TABLE_MAX)
		return 0;
	uint32_t number = sonde_intern(intern, text, &perfetto->error);
	if (intern->count > before) {
		sonde_proto_uint(&perfetto->entry, 1, number);
		sonde_proto_text(&perfetto->entry, 2, intern->texts[number - 1]);
		sonde_perfetto_define(perfetto, table);
	}
	return number;
}

/* --- tracks ------------------------------------------------------------------------------------------------------- */

uint64_t sonde_perfetto_track_new(struct sonde_perfetto *perfetto)
{
	return ++perfetto->track_count;
}

uint64_t sonde_perfetto_track(struct sonde_perfetto *perfetto, enum sonde_perfetto_kind kind, uint64_t a, uint64_t b,
			      int *is_new)
{
	uint64_t hash = sonde_hash_pair(sonde_hash_pair(a, b), (uint64_t)kind);
	uint64_t number = sonde_map_find(&perfetto->tracks, hash, NULL, NULL);
	*is_new = !number;
	if (number)
		return number;
	number = sonde_perfetto_track_new(perfetto);
	if (!perfetto->error && (number > UINT32_MAX || sonde_map_add(&perfetto->tracks, hash, (uint32_t)number)))
		perfetto->error = sonde_error(ENOMEM, "out of memory for %llu tracks", (unsigned long long)number);
	return number;
}

static void put_unit(struct sonde_perfetto *perfetto, const char *unit)
{
	if (!strcmp(unit, "ns") || !strcmp(unit, "B"))
		sonde_proto_uint(&perfetto->inner, COUNTER_UNIT, *unit == 'n' ? UNIT_NS : UNIT_BYTES);
	else if (*unit)
		sonde_proto_text(&perfetto->inner, COUNTER_UNIT_NAME, sonde_perfetto_clean(perfetto, unit));
	else
		sonde_proto_uint(&perfetto->inner, COUNTER_UNIT, UNIT_COUNT);
	sonde_proto_message(&perfetto->event, TRACK_COUNTER, &perfetto->inner);
}

void sonde_perfetto_describe(struct sonde_perfetto *perfetto, uint64_t track, uint64_t parent, const char *name,
			     const char *unit)
{
	sonde_proto_uint(&perfetto->event, TRACK_UUID, track);
	if (parent)
		sonde_proto_uint(&perfetto->event, TRACK_PARENT, parent);
	sonde_proto_text(&perfetto->event, TRACK_NAME, sonde_perfetto_clean(perfetto, name));
	if (unit)
		put_unit(perfetto, unit);
	sonde_proto_message(&perfetto->packet, PACKET_TRACK, &perfetto->event);
	sonde_perfetto_put(perfetto, NULL);
}

uint64_t sonde_perfetto_process(struct sonde_perfetto *perfetto, uint32_t id)
{
	enum { PID = 1, COMMAND = 2, NAME = 6 };
	const struct sonde_process *process = sonde_session_process(perfetto->session, id);
	int is_new;
	uint64_t track = sonde_perfetto_track(perfetto, SONDE_PERFETTO_PROCESS, process ? id : 0, 0, &is_new);
	if (!is_new)
		return track;
	if (!process) {
		sonde_perfetto_describe(perfetto, track, 0, "machine", NULL);
		return track;
	}
	sonde_proto_uint(&perfetto->inner, PID, process->pid);
	if (*process->command)
		sonde_proto_text(&perfetto->inner, COMMAND, sonde_perfetto_clean(perfetto, process->command));
	sonde_proto_text(&perfetto->inner, NAME, sonde_perfetto_clean(perfetto, process->name));
	sonde_proto_uint(&perfetto->event, TRACK_UUID, track);
	sonde_proto_message(&perfetto->event, TRACK_PROCESS, &perfetto->inner);
	sonde_proto_message(&perfetto->packet, PACKET_TRACK, &perfetto->event);
	sonde_perfetto_put(perfetto, NULL);
	return track;
}

uint64_t sonde_perfetto_thread(struct sonde_perfetto *perfetto, uint32_t id)
{
	enum { PID = 1, TID = 2, NAME = 5 };
	const struct sonde_thread *thread = sonde_session_thread(perfetto->session, id);
	const struct sonde_process *process = sonde_session_process(perfetto->session, thread ? thread->process : 0);
	int is_new;
	uint64_t parent = sonde_perfetto_process(perfetto, process ? process->id : 0);
	if (!thread || !process)
		return parent;
	uint64_t track = sonde_perfetto_track(perfetto, SONDE_PERFETTO_THREAD, id, 0, &is_new);
	if (!is_new)
		return track;
	sonde_proto_uint(&perfetto->inner, PID, process->pid);
	sonde_proto_uint(&perfetto->inner, TID, thread->tid);
	sonde_proto_text(&perfetto->inner, NAME, sonde_perfetto_clean(perfetto, thread->name));
	sonde_proto_uint(&perfetto->event, TRACK_UUID, track);
	sonde_proto_uint(&perfetto->event, TRACK_PARENT, parent);
	sonde_proto_message(&perfetto->event, TRACK_THREAD, &perfetto->inner);
	sonde_proto_message(&perfetto->packet, PACKET_TRACK, &perfetto->event);
	sonde_perfetto_put(perfetto, NULL);
	return track;
}

uint64_t sonde_perfetto_counter(struct sonde_perfetto *perfetto, enum sonde_perfetto_kind kind, uint64_t a, uint64_t b,
				uint64_t parent, const char *name, const char *unit)
{
	int is_new;
	uint64_t track = sonde_perfetto_track(perfetto, kind, a, b, &is_new);
	if (is_new)
		sonde_perfetto_describe(perfetto, track, parent, name, unit);
	return track;
}

/* --- events ------------------------------------------------------------------------------------------------------- */

static void put_fixed(struct sonde_buf *out, uint32_t field, uint64_t value)
{
	uint8_t bytes[8];
	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
	sonde_proto_tag(out, field, SONDE_PROTO_FIXED64);
	sonde_buf_append(out, bytes, sizeof bytes);
}

static void put_real(struct sonde_buf *out, uint32_t field, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	put_fixed(out, field, bits);
}

/* Writes a text as a reference to a table, or inline. Most texts were used recently: texts that need no cleaning are
 * found by their bytes in a cache. */
static void put_named(struct sonde_perfetto *perfetto, struct sonde_buf *out, struct sonde_intern *intern,
		      uint32_t table, const uint32_t fields[2], const char *text)
{
	size_t length_b = strlen(text), slot = (length_b * 31 + (unsigned char)*text) % SONDE_PERFETTO_LATELY;
	uint32_t *lately = &perfetto->lately[table - 1][slot];
	if (*lately && !strcmp(intern->texts[*lately - 1], text)) {
		sonde_proto_uint(out, fields[0], *lately);
		return;
	}
	const char *clean = sonde_perfetto_clean(perfetto, text);
	uint32_t number = number_of(perfetto, intern, table, clean);
	*lately = number ? number : *lately;
	if (number)
		sonde_proto_uint(out, fields[0], number);
	else
		sonde_proto_text(out, fields[1], clean);
}

void sonde_perfetto_begin(struct sonde_perfetto *perfetto, const struct sonde_perfetto_event *event)
{
	static const uint32_t category[] = {EVENT_CATEGORY_ID, EVENT_CATEGORY}, name[] = {EVENT_NAME_ID, EVENT_NAME};
	struct sonde_buf *out = &perfetto->event;
	sonde_proto_uint(&perfetto->packet, PACKET_TIME, event->time_ns);
	sonde_proto_uint(out, EVENT_TYPE, event->type);
	sonde_proto_uint(out, EVENT_TRACK, event->track);
	if (event->category)
		put_named(perfetto, out, &perfetto->categories, TABLE_CATEGORIES, category, event->category);
	if (event->name)
		put_named(perfetto, out, &perfetto->names, TABLE_NAMES, name, event->name);
}

void sonde_perfetto_place(struct sonde_perfetto *perfetto, uint32_t id)
{
	enum { ID = 1, FILE_NAME = 2, FUNCTION = 3, LINE = 4 };
	const struct sonde_site *site = sonde_session_site(perfetto->session, id);
	if (!site || (!*site->file && !*site->function))
		return;
	if (!perfetto->places[id]) {
		sonde_proto_uint(&perfetto->entry, ID, id);
		sonde_proto_text(&perfetto->entry, FILE_NAME, sonde_perfetto_clean(perfetto, site->file));
		sonde_proto_text(&perfetto->entry, FUNCTION, sonde_perfetto_clean(perfetto, site->function));
		sonde_proto_uint(&perfetto->entry, LINE, site->line);
		sonde_perfetto_define(perfetto, TABLE_PLACES);
	}
	perfetto->places[id] = 1;
	sonde_proto_uint(&perfetto->event, EVENT_PLACE, id);
}

void sonde_perfetto_end(struct sonde_perfetto *perfetto, struct sonde_buf *to)
{
	sonde_proto_message(&perfetto->packet, PACKET_EVENT, &perfetto->event);
	sonde_perfetto_put(perfetto, to);
}

void sonde_perfetto_flow(struct sonde_perfetto *perfetto, uint64_t number, int ends)
{
	put_fixed(&perfetto->event, ends ? EVENT_FLOW_ENDS : EVENT_FLOW, number);
}

void sonde_perfetto_close(struct sonde_perfetto *perfetto, uint64_t track, uint64_t time_ns, struct sonde_buf *to)
{
	const struct sonde_perfetto_event event = {.type = SONDE_PERFETTO_END, .track = track, .time_ns = time_ns};
	sonde_perfetto_begin(perfetto, &event);
	sonde_perfetto_end(perfetto, to);
}

void sonde_perfetto_point(struct sonde_perfetto *perfetto, uint64_t track, uint64_t time_ns, double value)
{
	const struct sonde_perfetto_event event = {.type = SONDE_PERFETTO_COUNT, .track = track, .time_ns = time_ns};
	sonde_perfetto_begin(perfetto, &event);
	put_real(&perfetto->event, EVENT_COUNTER_REAL, value);
	sonde_perfetto_end(perfetto, NULL);
}

void sonde_perfetto_point_int(struct sonde_perfetto *perfetto, uint64_t track, uint64_t time_ns, int64_t value)
{
	const struct sonde_perfetto_event event = {.type = SONDE_PERFETTO_COUNT, .track = track, .time_ns = time_ns};
	sonde_perfetto_begin(perfetto, &event);
	sonde_proto_uint(&perfetto->event, EVENT_COUNTER, (uint64_t)value);
	sonde_perfetto_end(perfetto, NULL);
}

/* --- arguments ---------------------------------------------------------------------------------------------------- */

static void begin_arg(struct sonde_perfetto *perfetto, const char *key)
{
	static const uint32_t fields[] = {ARG_NAME_ID, ARG_NAME};
	put_named(perfetto, &perfetto->inner, &perfetto->keys, TABLE_KEYS, fields, key);
}

static void end_arg(struct sonde_perfetto *perfetto)
{
	sonde_proto_message(&perfetto->event, EVENT_ANNOTATION, &perfetto->inner);
}

void sonde_perfetto_arg_text(struct sonde_perfetto *perfetto, const char *key, const char *value)
{
	begin_arg(perfetto, key);
	sonde_proto_text(&perfetto->inner, ARG_TEXT, sonde_perfetto_clean(perfetto, value));
	end_arg(perfetto);
}

void sonde_perfetto_arg_uint(struct sonde_perfetto *perfetto, const char *key, uint64_t value)
{
	begin_arg(perfetto, key);
	sonde_proto_uint(&perfetto->inner, ARG_UINT, value);
	end_arg(perfetto);
}

void sonde_perfetto_arg_int(struct sonde_perfetto *perfetto, const char *key, int64_t value)
{
	begin_arg(perfetto, key);
	sonde_proto_uint(&perfetto->inner, ARG_INT, (uint64_t)value);
	end_arg(perfetto);
}

void sonde_perfetto_arg_real(struct sonde_perfetto *perfetto, const char *key, double value)
{
	begin_arg(perfetto, key);
	put_real(&perfetto->inner, ARG_REAL, value);
	end_arg(perfetto);
}

void sonde_perfetto_arg_bool(struct sonde_perfetto *perfetto, const char *key, int value)
{
	begin_arg(perfetto, key);
	sonde_proto_uint(&perfetto->inner, ARG_BOOL, value != 0);
	end_arg(perfetto);
}

void sonde_perfetto_args(struct sonde_perfetto *perfetto)
{
	const struct sonde_args *args = &perfetto->annotations.args;
	for (size_t i = 0; i < args->count; i++) {
		struct sonde_track_arg arg = args->args[i];
		char text[SONDE_ARGS_OWN_B];
		if (i < args->ours)
			arg.key = sonde_args_own(args, arg.key, text);
		sonde_perfetto_arg(perfetto, &arg);
	}
}
