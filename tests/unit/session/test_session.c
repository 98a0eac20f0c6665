/* test_session.c: tables and cursors over recordings with known contents, and truncated, damaged and forged ones. */
#include <errno.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/varint.h"
#include "fold/hist.h"
#include "trace/columns_read.h"
#include "session/session.h"
#include "session_fixture.h"
#include "trace/reader.h"
#include "util/error.h"
#include "walk.h"

static void put(struct recording *recording, const void *record, size_t record_b, const void *more, size_t more_b)
{
	assert_int_equal(sonde_writer_meta(recording->writer, record, record_b, more, more_b), 0);
}

#define PUT(recording, ...) put(recording, &(__VA_ARGS__), sizeof(__VA_ARGS__), NULL, 0)

/* --- tables ------------------------------------------------------------------------------------------------------- */

static void the_last_record_of_an_id_holds(void **state)
{
	(void)state;
	struct recording recording;
	recording_open(&recording, path);
	uint32_t id = recording_process(&recording, 7, 0, "sh", 100);
	recording_process_end(&recording, id, 900, 30, 40);
	uint32_t name = recording_string(&recording, "gcc");
	PUT(&recording, (struct sonde_meta_process){
			    .head.type = SONDE_META_PROCESS, .id = id, .pid = 7, .name = name, .start_ns = 100});
	recording_source(&recording, "cpu", SONDE_SOURCE_OFF, "", "", 0);
	recording_source(&recording, "gpu", SONDE_SOURCE_OFF, "", "", 0);
	recording_source(&recording, "cpu", SONDE_SOURCE_ON, "perf events", "", 99);
	recording_info(&recording, "k", "old");
	recording_info(&recording, "k", "new");
	recording_close(&recording, 1000, 3 << 8);
	struct sonde_session *session = opened();
	const struct sonde_process *process = sonde_session_process(session, id);
	assert_int_equal(sonde_session_process_count(session), 1);
	assert_string_equal(process->name, "gcc");
	assert_int_equal(process->end_ns, 900);
	assert_int_equal(process->user_ns, 30);
	assert_int_equal(sonde_session_source_count(session), 2);
	assert_int_equal(sonde_session_source(session, 0)->state, SONDE_SOURCE_ON);
	assert_string_equal(sonde_session_source(session, 0)->method, "perf events");
	assert_string_equal(sonde_session_info(session, "k"), "new");
	assert_null(sonde_session_info(session, "nothing"));
	const struct sonde_run *run = sonde_session_run(session);
	assert_int_equal(run->end_ns, 1000);
	assert_int_equal(run->status, 3 << 8);
	assert_true(run->closed && run->cpu_known);
	assert_int_equal(run->user_ns, 30);
	assert_int_equal(run->root_process, id);
	assert_int_equal(run->skipped_records + run->skipped_chunks + run->damaged_b, 0);
	sonde_session_close(session);
}

static void what_does_not_exist_is_null_or_empty(void **state)
{
	(void)state;
	struct recording recording;
	recording_open(&recording, path);
	recording_abandon(&recording);
	struct sonde_session *session = opened();
	assert_null(sonde_session_process(session, 0));
	assert_null(sonde_session_process(session, 1));
	assert_null(sonde_session_site(session, UINT32_MAX));
	assert_null(sonde_session_node(session, 0));
	assert_null(sonde_session_frame(session, 0));
	assert_null(sonde_session_source(session, 0));
	assert_string_equal(sonde_session_string(session, 0), "");
	assert_string_equal(sonde_session_string(session, 12345), "");
	assert_false(sonde_session_run(session)->closed);
	assert_int_equal(sonde_session_run(session)->status, -1);
	sonde_session_close(session);
}

/* Ids that cannot be, records that end early, references to nothing: counted or emptied, never followed. */
static void hostile_records_are_counted(void **state)
{
	(void)state;
	struct recording recording;
	recording_open(&recording, path);
	PUT(&recording, (struct sonde_meta_string){.head.type = SONDE_META_STRING, .id = UINT32_MAX});
	PUT(&recording, (struct sonde_meta_string){.head.type = SONDE_META_STRING, .id = 0});
	PUT(&recording, (struct sonde_meta_string){.head.type = SONDE_META_STRING, .id = 1, .len_b = UINT32_MAX});
	PUT(&recording, (struct sonde_meta_thread){.head.type = SONDE_META_THREAD, .id = 1u << 31});
	PUT(&recording, (struct sonde_meta_symbol){.head.type = SONDE_META_SYMBOL, .count = 1});
	PUT(&recording, (struct sonde_meta_symbol){.head.type = SONDE_META_SYMBOL, .module = UINT32_MAX});
	PUT(&recording, (struct sonde_meta_histogram){.head.type = SONDE_META_HISTOGRAM, .pairs = UINT32_MAX});
	const uint8_t far[] = {0xff, 0xff, 0x7f, 1};
	put(&recording, &(struct sonde_meta_histogram){.head.type = SONDE_META_HISTOGRAM, .pairs = 1},
	    sizeof(struct sonde_meta_histogram), far, sizeof far);
	PUT(&recording, (struct sonde_meta_head){.type = SONDE_META_SITE});
	PUT(&recording, (struct sonde_meta_head){.type = 4242}); /* of a later version */
	recording_flush(&recording);
	const uint64_t endless[] = {SONDE_META_COST | (uint64_t)UINT32_MAX << 32, 0};
	const struct sonde_chunk chunk = {
	    .type = SONDE_CHUNK_META, .count = 1, .body = endless, .body_b = sizeof endless};
	assert_int_equal(sonde_writer_chunk(recording.writer, &chunk), 0);
	/* These are fine, but for what they refer to. */
	PUT(&recording,
	    (struct sonde_meta_process){.head.type = SONDE_META_PROCESS, .id = 2, .parent = 2, .name = 999});
	PUT(&recording, (struct sonde_meta_thread){.head.type = SONDE_META_THREAD, .id = 1, .process = 77});
	PUT(&recording, (struct sonde_meta_lost){.head.type = SONDE_META_LOST, .thread = 5, .count = 1});
	recording_abandon(&recording);
	struct sonde_session *session = opened();
	assert_int_equal(sonde_session_run(session)->skipped_records, 11);
	assert_int_equal(sonde_session_process_count(session), 2);
	assert_int_equal(sonde_session_process(session, 1)->id, 1);
	assert_string_equal(sonde_session_process(session, 1)->name, "");
	assert_int_equal(sonde_session_process(session, 2)->parent, 0);
	assert_string_equal(sonde_session_process(session, 2)->name, "");
	assert_int_equal(sonde_session_thread_count(session), 1);
	assert_int_equal(sonde_session_thread(session, 1)->process, 0);
	assert_int_equal(sonde_session_lost(session, 0)->thread, 0);
	assert_int_equal(sonde_session_histogram_count(session), 0);
	sonde_session_close(session);
}

/* A record of an older or a newer minor version: missing fields are 0, more of them are ignored. */
static void records_may_be_shorter_or_longer(void **state)
{
	(void)state;
	struct recording recording;
	recording_open(&recording, path);
	struct sonde_meta_thread record = {.head.type = SONDE_META_THREAD, .id = 1, .tid = 55, .start_ns = 66};
	put(&recording, &record, 24, NULL, 0); /* without start_ns */
	record.id = 2;
	put(&recording, &record, sizeof record, "more to say", 11);
	recording_abandon(&recording);
	struct sonde_session *session = opened();
	assert_int_equal(sonde_session_run(session)->skipped_records, 0);
	assert_int_equal(sonde_session_thread(session, 1)->tid, 55);
	assert_int_equal(sonde_session_thread(session, 1)->start_ns, 0);
	assert_int_equal(sonde_session_thread(session, 2)->start_ns, 66);
	sonde_session_close(session);
}

static void histograms_come_back_exactly(void **state)
{
	(void)state;
	static const uint64_t values[] = {1, 1, 127, 128, 1000000, UINT64_MAX};
	struct recording recording;
	recording_open(&recording, path);
	recording_histogram(&recording, recording_site(&recording, SONDE_SITE_HISTOGRAM, "h", "ns"), 0, values, 6);
	recording_abandon(&recording);
	struct sonde_session *session = opened();
	const struct sonde_histogram *histogram = sonde_session_histogram(session, 0);
	assert_int_equal(histogram->count, 6);
	assert_int_equal(histogram->max, UINT64_MAX);
	assert_int_equal(histogram->hits[1], 2);
	uint64_t sum = 0;
	for (size_t i = 0; i < SONDE_HIST_BUCKETS; i++)
		sum += histogram->hits[i];
	assert_int_equal(sum, 6);
	for (size_t i = 0; i < 6; i++)
		assert_true(histogram->hits[sonde_hist_bucket(values[i])] > 0);
	sonde_session_close(session);
}

/* --- stacks ------------------------------------------------------------------------------------------------------- */

static const struct sonde_frame *frame_of(const struct sonde_session *session, uint32_t node)
{
	return sonde_session_frame(session, sonde_session_node(session, node)->frame);
}

static const char *name_of(const struct sonde_session *session, uint32_t node, uint32_t location)
{
	return sonde_session_function(session, frame_of(session, node)->locations[location].function)->name;
}

static void stacks_become_functions(void **state)
{
	(void)state;
	static const struct recording_place inlined[] = {{"leaf", "leaf.h", 3, 0}, {"body", "body.c", 9, 0x1000}};
	static const struct recording_place stripped = {NULL, NULL, 0, 0x4000};
	struct recording recording;
	recording_open(&recording, path);
	uint32_t app = recording_module(&recording, "/opt/app", 0);
	uint32_t other = recording_module(&recording, "/opt/lib/other.so", 0);
	uint32_t jit = recording_module(&recording, "", SONDE_MODULE_ANONYMOUS);
	recording_symbol(&recording, app, 0x1010, inlined, 2); /* before its node */
	uint32_t root = recording_node(&recording, 0, app, 0x1010);
	uint32_t same = recording_node(&recording, root, app, 0x1010);
	uint32_t one = recording_node(&recording, same, other, 0x4010);
	uint32_t two = recording_node(&recording, one, other, 0x4020);
	recording_symbol(&recording, other, 0x4010, &stripped, 1);
	recording_symbol(&recording, other, 0x4020, &stripped, 1);
	uint32_t unknown = recording_node(&recording, two, other, 0x9999);
	uint32_t unknown2 = recording_node(&recording, two, other, 0x8888);
	uint32_t generated = recording_node(&recording, two, jit, 0x10);
	uint32_t nowhere = recording_node(&recording, 0, 0, 0x10);
	recording_abandon(&recording);

	struct sonde_session *session = opened();
	assert_int_equal(sonde_session_node_count(session), 8);
	assert_int_equal(sonde_session_node(session, root)->parent, 0);
	assert_int_equal(sonde_session_node(session, same)->parent, root);
	assert_ptr_equal(frame_of(session, root), frame_of(session, same));
	assert_int_equal(frame_of(session, root)->location_count, 2);
	assert_string_equal(name_of(session, root, 0), "leaf");
	assert_string_equal(name_of(session, root, 1), "body");
	assert_int_equal(frame_of(session, root)->locations[0].line, 3);
	const struct sonde_function *body =
	    sonde_session_function(session, frame_of(session, root)->locations[1].function);
	assert_int_equal(body->start, 0x1000);
	assert_string_equal(body->file, "body.c");
	assert_false(body->unnamed);
	assert_string_equal(name_of(session, one, 0), "other.so+0x4000");
	assert_ptr_equal(name_of(session, one, 0), name_of(session, two, 0));
	assert_string_equal(name_of(session, unknown, 0), "[other.so]");
	assert_ptr_equal(name_of(session, unknown, 0), name_of(session, unknown2, 0));
	assert_string_equal(name_of(session, generated, 0), "[anonymous]");
	assert_string_equal(name_of(session, nowhere, 0), "[unknown]");
	sonde_session_close(session);
}

/* This program's own build-id and load address. */
struct self {
	uint8_t build_id[23];
	uint8_t build_id_b;
	uint64_t base;
};

static int find_self(struct dl_phdr_info *info, size_t size_b, void *out)
{
	(void)size_b;
	struct self *self = out;
	self->base = info->dlpi_addr;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_NOTE)
			continue;
		const char *at = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		const char *end = at + info->dlpi_phdr[i].p_memsz;
		while (end - at > (ptrdiff_t)sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *note = (const void *)at;
			const char *name = at + sizeof *note;
			if (note->n_type == NT_GNU_BUILD_ID && memcmp(name, "GNU", 4) == 0) {
				self->build_id_b = (uint8_t)note->n_descsz;
				memcpy(self->build_id, name + 4, note->n_descsz);
			}
			at = name + ((note->n_namesz + 3) & ~3u) + ((note->n_descsz + 3) & ~3u);
		}
	}
	return 1; /* the program is the first */
}

/* What the recording has no symbol for is looked up when it is opened, in a file of the same build only. */
static void missing_symbols_are_looked_up(void **state)
{
	(void)state;
	struct self self = {{0}, 0, 0};
	struct recording recording;
	struct sonde_session *session;
	char program[4096] = "";
	dl_iterate_phdr(find_self, &self);
	assert_true(self.build_id_b > 0);
	assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
	recording_open(&recording, path);
	uint32_t name = recording_string(&recording, program);
	for (uint32_t id = 1; id <= 2; id++) {
		struct sonde_meta_module module = {
		    .head.type = SONDE_META_MODULE, .id = id, .path = name, .build_id_b = self.build_id_b};
		memcpy(module.build_id, self.build_id, sizeof module.build_id);
		module.build_id[0] ^= id == 2; /* of another build */
		PUT(&recording, module);
		uint64_t address = (uint64_t)(uintptr_t)find_self + 1 - self.base;
		recording_node(&recording, 0, id, address);
	}
	recording_abandon(&recording);
	assert_int_equal(sonde_session_open(&session, path, NULL), 0);
	assert_string_equal(name_of(session, 1, 0), "find_self");
	assert_string_equal(name_of(session, 2, 0), "[test_session]");
	assert_int_equal(sonde_session_module(session, 1)->build_id[2 * self.build_id_b], 0);
	sonde_session_close(session);
	session = opened();
	assert_string_equal(name_of(session, 1, 0), "[test_session]"); /* no_symbols */
	sonde_session_close(session);
}

/* Records with names only are used for what the reader's own look-up does not find. */
static void names_only_give_way_to_what_is_found(void **state)
{
	(void)state;
	struct self self = {{0}, 0, 0};
	struct recording recording;
	struct sonde_session *session;
	char program[4096] = "";
	dl_iterate_phdr(find_self, &self);
	assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
	recording_open(&recording, path);
	uint32_t name = recording_string(&recording, program), plain_name = recording_string(&recording, "plain");
	for (uint32_t id = 1; id <= 2; id++) {
		struct sonde_meta_module module = {
		    .head.type = SONDE_META_MODULE, .id = id, .path = name, .build_id_b = self.build_id_b};
		memcpy(module.build_id, self.build_id, sizeof module.build_id);
		module.build_id[0] ^= id == 2;
		PUT(&recording, module);
		uint64_t address = (uint64_t)(uintptr_t)find_self + 1 - self.base;
		recording_node(&recording, 0, id, address);
		struct {
			struct sonde_meta_symbol symbol;
			struct sonde_meta_location location;
		} record = {{.head = {.type = SONDE_META_SYMBOL, .reserved = SONDE_SYMBOL_NAMES_ONLY},
			     .module = id,
			     .count = 1,
			     .address = address},
			    {.function = plain_name, .start = address - 1}};
		PUT(&recording, record);
	}
	recording_abandon(&recording);
	assert_int_equal(sonde_session_open(&session, path, NULL), 0);
	assert_string_equal(name_of(session, 1, 0), "find_self");
	assert_string_equal(name_of(session, 2, 0), "plain"); /* the file is of another build */
	const struct sonde_frame *frame = sonde_session_frame(session, sonde_session_node(session, 1)->frame);
	assert_non_null(strstr(frame->locations[0].file, "test_session.c"));
	assert_int_not_equal(frame->locations[0].line, 0);
	sonde_session_close(session);
	session = opened(); /* no_symbols */
	assert_string_equal(name_of(session, 1, 0), "plain");
	assert_string_equal(name_of(session, 2, 0), "plain");
	sonde_session_close(session);
}

/* One STACKS chunk with the given columns. */
static void put_stacks(struct recording *recording, uint32_t first, uint32_t count, const uint8_t *parents,
		       size_t parents_b)
{
	uint8_t body[256];
	const uint32_t directory[] = {(uint32_t)parents_b, count, count};
	const struct sonde_stacks_summary summary = {.first_node = first};
	memcpy(body, directory, sizeof directory);
	memcpy(body + sizeof directory, parents, parents_b);
	memset(body + sizeof directory + parents_b, 2, 2 * (size_t)count); /* module 2, address +1 */
	const struct sonde_chunk chunk = {.type = SONDE_CHUNK_STACKS,
					  .count = count,
					  .summary = &summary,
					  .summary_b = sizeof summary,
					  .body = body,
					  .body_b = (uint32_t)(sizeof directory + parents_b + 2 * (size_t)count)};
	assert_int_equal(sonde_writer_chunk(recording->writer, &chunk), 0);
}

static void hostile_stacks_end(void **state)
{
	(void)state;
	struct recording recording;
	recording_open(&recording, path);
	const uint8_t self_and_beyond[] = {0, 99, 1};
	const uint8_t cut[] = {0x80, 0x80, 0x80};
	put_stacks(&recording, 1, 3, self_and_beyond, 3);
	put_stacks(&recording, 2, 3, self_and_beyond, 3); /* again */
	put_stacks(&recording, UINT32_MAX, 3, self_and_beyond, 3);
	put_stacks(&recording, 4, 3, cut, 3);
	put_stacks(&recording, 6, 1, self_and_beyond + 2, 1); /* 4 and 5 are lost */
	recording_abandon(&recording);
	struct sonde_session *session = opened();
	assert_int_equal(sonde_session_node_count(session), 6);
	assert_int_equal(sonde_session_node(session, 1)->parent, 0);
	assert_int_equal(sonde_session_node(session, 2)->parent, 0);
	assert_int_equal(sonde_session_node(session, 3)->parent, 2);
	assert_int_equal(sonde_session_node(session, 4)->parent, 0);
	assert_int_equal(sonde_session_node(session, 6)->parent, 5);
	assert_int_equal(frame_of(session, 3)->module, 0); /* there is no module 2 */
	assert_int_equal(frame_of(session, 3)->address, 3);
	assert_string_equal(name_of(session, 5, 0), "[unknown]");
	assert_int_equal(sonde_session_run(session)->skipped_chunks, 3);
	sonde_session_close(session);
}

/* --- events ------------------------------------------------------------------------------------------------------- */

static void short_values_are_taken_eight_at_once(void **state)
{
	(void)state;
	uint64_t times[130], sum = 7;
	uint32_t ids[130];
	uint8_t bytes[132];
	for (size_t i = 0; i < 128; i++)
		bytes[i] = (uint8_t)(127 - i);
	bytes[128] = 0x80 | 1; /* the last value is a long one */
	bytes[129] = 2;
	struct sonde_column column = {bytes, bytes + 130};
	assert_int_equal(sonde_column_times(&column, 129, sum, times), 0);
	assert_int_equal(sonde_column_end(&column), 0);
	for (size_t i = 0; i < 129; i++)
		assert_int_equal(times[i], sum += i < 128 ? 127 - i : 257);
	for (uint32_t max = 100; max <= 300; max += 100) {
		column = (struct sonde_column){bytes, bytes + 130};
		assert_int_equal(sonde_column_ids(&column, 129, max, ids), 0);
		assert_int_equal(sonde_column_end(&column), 0);
		for (uint32_t i = 0; i < 129; i++) {
			uint32_t id = i < 128 ? 127 - i : 257;
			assert_int_equal(ids[i], id <= max ? id : 0);
		}
	}
	for (size_t cut = 0; cut < 130; cut++) {
		column = (struct sonde_column){bytes, bytes + cut};
		assert_int_equal(sonde_column_times(&column, 129, 0, times), -EBADMSG);
		column = (struct sonde_column){bytes, bytes + cut};
		assert_int_equal(sonde_column_ids(&column, 129, 300, ids), -EBADMSG);
	}
}

static void columns_round_trip_at_every_length(void **state)
{
	(void)state;
	uint64_t values[64 * 3], back[64 * 3];
	uint8_t bytes[64 * 3 * SONDE_VARINT_MAX_B], *end = bytes;
	size_t count = 0;
	for (unsigned bit = 0; bit < 64; bit++)
		for (int more = -1; more <= 1; more++)
			values[count++] = ((uint64_t)1 << bit) + (uint64_t)(int64_t)more;
	for (size_t i = 0; i < count; i++)
		end = sonde_varint_put(end, values[i]);
	struct sonde_column column = {bytes, end};
	assert_int_equal(sonde_column_times(&column, count, 5, back), 0);
	uint64_t sum = 5;
	for (size_t i = 0; i < count; i++)
		assert_int_equal(back[i], sum += values[i]);
	column = (struct sonde_column){bytes, end};
	assert_int_equal(sonde_column_deltas(&column, count, back), 0);
	sum = 0;
	for (size_t i = 0; i < count; i++)
		assert_int_equal(back[i], sum += (uint64_t)sonde_varint_unzigzag(values[i]));
	for (const uint8_t *cut = bytes; cut < end; cut++) {
		column = (struct sonde_column){bytes, cut};
		assert_int_equal(sonde_column_times(&column, count, 5, back), -EBADMSG);
	}
	column = (struct sonde_column){bytes, end};
	assert_int_equal(sonde_column_times(&column, count - 1, 5, back), 0);
	assert_int_equal(sonde_column_end(&column), -EBADMSG); /* one value is left */
	assert_int_equal(sonde_column_times(&column, 1, 0, back), 0);
	assert_int_equal(back[0], values[count - 1]);
	assert_int_equal(sonde_column_end(&column), 0);
}

/* Two known columns, found also in a body that has a third. */
static void later_columns_are_passed_over(void **state)
{
	(void)state;
	uint8_t body[12 + 3 + 4 + 5];
	const uint32_t sizes[] = {3, 4, 5};
	struct sonde_column columns[2];
	for (uint32_t known = 2; known <= 3; known++) {
		struct sonde_chunk_head head = {.raw_b = 4 * known + 3 + 4 + (known == 3 ? 5 : 0)};
		struct sonde_chunk_data data = {.head = &head, .body = body};
		memcpy(body, sizes, 4 * known);
		assert_int_equal(sonde_columns_split(columns, 2, &data), 0);
		assert_ptr_equal(columns[0].at, body + 4 * known);
		assert_int_equal(sonde_column_b(&columns[0]), 3);
		assert_int_equal(sonde_column_b(&columns[1]), 4);
		head.raw_b--;
		assert_int_equal(sonde_columns_split(columns, 2, &data), -EBADMSG);
	}
}

static void samples_and_switches_come_back(void **state)
{
	(void)state;
	enum { ROWS = 5000 };
	struct recording recording;
	recording_open(&recording, path);
	uint32_t process = recording_process(&recording, 1, 0, "p", 0);
	for (uint32_t i = 0; i < 3; i++)
		recording_thread(&recording, process, i, "t", 0);
	recording_module(&recording, "/m", 0);
	for (uint32_t i = 0; i < 50; i++)
		recording_node(&recording, i, 1, 0x100 * i);
	for (uint64_t i = 0; i < ROWS; i++) {
		const struct recording_sample sample = {i * i, (uint32_t)(i % 5), (uint32_t)(i * 7 % 60), i << (i % 40),
							(uint8_t)(i % 9)};
		recording_sample(&recording, sample);
		recording_switch_on(&recording, 3 * i, (uint32_t)(i % 4), (enum sonde_switch_kind)(i % 3),
				    i < ROWS / 2 ? -1 : (int)(i % 200)); /* chunks with CPUs, and without */
	}
	recording_abandon(&recording);
	struct sonde_session *session = opened();
	struct sonde_cursor *cursor = cursor_over(session, SONDE_CHUNK_SAMPLES);
	for (uint64_t i = 0; i < ROWS;) {
		const struct sonde_batch *batch = next(cursor, SONDE_CHUNK_SAMPLES);
		for (size_t k = 0; k < batch->count; k++, i++) {
			assert_int_equal(batch->samples.time_ns[k], i * i);
			assert_int_equal(batch->samples.thread[k], i % 5 <= 3 ? i % 5 : 0);
			assert_int_equal(batch->samples.stack[k], i * 7 % 60 <= 50 ? i * 7 % 60 : 0);
			assert_int_equal(batch->samples.weight_ns[k], i << (i % 40));
			assert_int_equal(batch->samples.status[k], i % 9);
		}
	}
	expect_end(cursor);
	cursor = cursor_over(session, SONDE_CHUNK_SWITCHES);
	for (uint64_t i = 0; i < ROWS;) {
		const struct sonde_batch *batch = next(cursor, SONDE_CHUNK_SWITCHES);
		for (size_t k = 0; k < batch->count; k++, i++) {
			assert_int_equal(batch->switches.time_ns[k], 3 * i);
			assert_int_equal(batch->switches.thread[k], i % 4);
			assert_int_equal(batch->switches.kind[k], i % 3);
			assert_int_equal(batch->switches.cpu[k], i < ROWS / 2 ? 0 : i % 200 + 1);
		}
	}
	expect_end(cursor);
	sonde_session_close(session);
}

/* Events with wrong sizes are left out; sites that do not exist become 0; all others are passed on. */
static void hostile_events_are_left_out(void **state)
{
	(void)state;
	union {
		struct sonde_event head;
		struct sonde_event_text text;
		struct sonde_event_arg arg;
		uint64_t words[5];
	} events[6] = {
	    {.text = {{SONDE_EVENT_MESSAGE, 5, 9, 100}, 16}},
	    {.text = {{SONDE_EVENT_MESSAGE, 5, 0, 101}, 17}},
	    {.arg = {.head = {SONDE_EVENT_ARG, 5, 0, 102}, .key_b = 1}},
	    {.text = {{SONDE_EVENT_MESSAGE, 5, 0, 103}, UINT64_MAX}},
	    {.head = {SONDE_EVENT_CPU_SAMPLE, 5, 0, 104}},
	    {.head = {999, 5, 0, 105}},
	};
	struct recording recording;
	recording_open(&recording, path);
	struct sonde_chunk chunk = {.type = SONDE_CHUNK_EVENTS, .count = 6, .body = events, .body_b = sizeof events};
	assert_int_equal(sonde_writer_chunk(recording.writer, &chunk), 0);
	events[2].head.words = 1; /* the walk cannot go on */
	assert_int_equal(sonde_writer_chunk(recording.writer, &chunk), 0);
	recording_abandon(&recording);
	struct sonde_session *session = opened();
	struct sonde_cursor *cursor = cursor_over(session, SONDE_CHUNK_EVENTS);
	const struct sonde_batch *batch = next(cursor, SONDE_CHUNK_EVENTS);
	assert_int_equal(batch->count, 2);
	assert_int_equal(batch->events[0]->time, 100);
	assert_int_equal(batch->events[0]->site, 0);
	assert_int_equal(batch->events[1]->time, 105);
	assert_int_equal(sonde_cursor_next(cursor, &batch), -EBADMSG);
	expect_end(cursor);
	sonde_session_close(session);
}

/* Types that are only in rings, whatever their size. Of an unknown type the head is read. */
static void events_of_rings_are_ignored(void **state)
{
	static const uint16_t types[] = {SONDE_EVENT_CPU_SAMPLE,    SONDE_EVENT_SNAPSHOT,   SONDE_EVENT_DEVICE,
					 SONDE_EVENT_QUEUE,         SONDE_EVENT_OPERATION,  SONDE_EVENT_ACTIVITY,
					 SONDE_EVENT_ACTIVITY_LOST, SONDE_EVENT_CALL_STACK, 16,
					 SONDE_EVENT_GAUGE};
	enum { TYPES = sizeof types / sizeof *types, WORDS = 20 };
	uint64_t words[TYPES][WORDS] = {0};
	(void)state;
	for (size_t i = 0; i < TYPES; i++)
		memcpy(words[i], &(struct sonde_event){types[i], WORDS, 0, 100 + i}, sizeof(struct sonde_event));
	struct recording recording;
	recording_open(&recording, path);
	struct sonde_chunk chunk = {.type = SONDE_CHUNK_EVENTS, .count = TYPES, .body = words, .body_b = sizeof words};
	assert_int_equal(sonde_writer_chunk(recording.writer, &chunk), 0);
	recording_abandon(&recording);
	struct sonde_session *session = opened();
	struct sonde_cursor *cursor = cursor_over(session, SONDE_CHUNK_EVENTS);
	const struct sonde_batch *batch = next(cursor, SONDE_CHUNK_EVENTS);
	assert_int_equal(batch->count, 2);
	assert_int_equal(batch->events[0]->type, 16);
	assert_int_equal(batch->events[1]->type, SONDE_EVENT_GAUGE);
	expect_end(cursor);
	sonde_session_close(session);
}

/* --- cut off, damaged, growing ------------------------------------------------------------------------------------ */

static uint8_t *slurp(size_t *size_b)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = malloc(1 << 20);
	*size_b = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	return bytes;
}

static void make_small(void)
{
	struct recording recording;
	recording_open(&recording, path);
	recording.chunk_rows = 20;
	uint32_t process = recording_process(&recording, 1, 0, "p", 0);
	recording_thread(&recording, process, 1, "t", 0);
	recording_module(&recording, "/m", 0);
	recording_site(&recording, SONDE_SITE_ZONE, "z", "");
	for (uint32_t i = 0; i < 60; i++) {
		uint32_t node = recording_call(&recording, 0, 1, i % 2 ? "odd" : "even", i);
		recording_sample(&recording, (struct recording_sample){i, 1, node, 1, 0});
		recording_begin(&recording, 1, 1, 10 * i);
		recording_end(&recording, 1, 10 * i + 5);
		recording_text(&recording, 1, SONDE_EVENT_MESSAGE, 0, i, "text");
	}
	recording_close(&recording, 1000, 0);
}

static void every_cut_and_every_flip_is_survived(void **state)
{
	(void)state;
	size_t size_b;
	struct walk_counts counts, before = {0};
	make_small();
	uint8_t *bytes = slurp(&size_b);
	for (size_t cut_b = 0; cut_b <= size_b; cut_b++) {
		int rc = walk_bytes(bytes, cut_b, &counts);
		assert_int_equal(rc, cut_b < 64 ? -EBADMSG : 0);
		if (rc)
			continue;
		assert_int_equal(counts.errors, 0);
		assert_true(counts.samples >= before.samples && counts.zones >= before.zones);
		assert_true(counts.events >= before.events);
		before = counts;
	}
	assert_int_equal(before.samples, 60);
	assert_int_equal(before.zones, 60);
	assert_int_equal(before.events, 60);
	for (size_t at = 64; at < size_b; at++) {
		bytes[at] ^= (uint8_t)(1u << at % 8);
		assert_int_equal(walk_bytes(bytes, size_b, &counts), 0);
		bytes[at] ^= (uint8_t)(1u << at % 8);
		assert_true(counts.samples >= 40 && counts.samples <= 60);
		assert_true(counts.zones >= 40 && counts.zones <= 60);
	}
	free(bytes);
}

/* Every type that has times moves the end of a file that was never closed; a span's start is no first event. */
static void a_cut_off_file_ends_with_its_last_event_of_any_type(void **state)
{
	(void)state;
	static const struct {
		enum sonde_chunk_type type;
		uint64_t first_ns;
	} types[] = {
	    {SONDE_CHUNK_SAMPLES, 300},     {SONDE_CHUNK_SWITCHES, 300}, {SONDE_CHUNK_ZONES, 300},
	    {SONDE_CHUNK_EVENTS, 300},      {SONDE_CHUNK_HEAP, 300},     {SONDE_CHUNK_SERIES, 300},
	    {SONDE_CHUNK_CALL_STACKS, 300}, {SONDE_CHUNK_WAITS, 400},    {SONDE_CHUNK_ACTIVITIES, 400},
	};
	static const char body[64];
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		struct recording recording;
		recording_open(&recording, path);
		const uint64_t start_ns = sonde_writer_start_ns(recording.writer);
		struct sonde_chunk chunk = {.type = SONDE_CHUNK_SAMPLES,
					    .count = 1,
					    .time_min_ns = start_ns + 400,
					    .time_max_ns = start_ns + 500,
					    .body = body,
					    .body_b = sizeof body};
		assert_int_equal(sonde_writer_chunk(recording.writer, &chunk), 0);
		chunk.type = (uint16_t)types[i].type;
		chunk.time_min_ns = start_ns + 300;
		chunk.time_max_ns = start_ns + 900;
		assert_int_equal(sonde_writer_chunk(recording.writer, &chunk), 0);
		struct sonde_session *session = opened();
		const struct sonde_run *run = sonde_session_run(session);
		assert_false(run->closed);
		assert_int_equal(run->first_event_ns - start_ns, types[i].first_ns);
		assert_int_equal(run->last_event_ns - start_ns, 900);
		assert_int_equal(run->end_ns - start_ns, 900);
		sonde_session_close(session);
		recording_close(&recording, start_ns + 1000, 0);
	}
}

static void refresh_sees_what_was_added(void **state)
{
	(void)state;
	struct recording recording;
	recording_open(&recording, path);
	uint32_t process = recording_process(&recording, 1, 0, "p", 0);
	recording_module(&recording, "/m", 0);
	uint32_t node = recording_call(&recording, 0, 1, "first", 1);
	recording_sample(&recording, (struct recording_sample){10, 0, node, 1, 0});
	recording_flush(&recording);
	struct sonde_session *session = opened();
	assert_int_equal(sonde_session_function_count(session), 1);
	assert_false(sonde_session_run(session)->closed);
	assert_int_equal(sonde_session_refresh(session), 0);
	struct sonde_cursor *cursor = cursor_over(session, SONDE_CHUNK_SAMPLES);
	next(cursor, SONDE_CHUNK_SAMPLES);
	const struct sonde_batch *batch;
	assert_int_equal(sonde_cursor_next(cursor, &batch), 0);
	recording_thread(&recording, process, 1, "t", 0);
	node = recording_call(&recording, node, 1, "second", 1);
	recording_sample(&recording, (struct recording_sample){20, 1, node, 1, 0});
	recording_close(&recording, 500, 0);
	assert_true(sonde_session_refresh(session) >= 3);
	assert_int_equal(sonde_session_thread_count(session), 1);
	assert_string_equal(name_of(session, 2, 0), "second");
	assert_true(sonde_session_run(session)->closed);
	assert_int_equal(sonde_session_run(session)->end_ns, 500);
	assert_int_equal(next(cursor, SONDE_CHUNK_SAMPLES)->samples.time_ns[0], 20);
	expect_end(cursor);
	sonde_session_close(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_last_record_of_an_id_holds),
	    cmocka_unit_test(what_does_not_exist_is_null_or_empty),
	    cmocka_unit_test(hostile_records_are_counted),
	    cmocka_unit_test(records_may_be_shorter_or_longer),
	    cmocka_unit_test(histograms_come_back_exactly),
	    cmocka_unit_test(stacks_become_functions),
	    cmocka_unit_test(missing_symbols_are_looked_up),
	    cmocka_unit_test(names_only_give_way_to_what_is_found),
	    cmocka_unit_test(hostile_stacks_end),
	    cmocka_unit_test(short_values_are_taken_eight_at_once),
	    cmocka_unit_test(columns_round_trip_at_every_length),
	    cmocka_unit_test(later_columns_are_passed_over),
	    cmocka_unit_test(samples_and_switches_come_back),
	    cmocka_unit_test(hostile_events_are_left_out),
	    cmocka_unit_test(events_of_rings_are_ignored),
	    cmocka_unit_test(every_cut_and_every_flip_is_survived),
	    cmocka_unit_test(a_cut_off_file_ends_with_its_last_event_of_any_type),
	    cmocka_unit_test(refresh_sees_what_was_added),
	};
	return cmocka_run_group_tests(tests, enter, leave);
}
