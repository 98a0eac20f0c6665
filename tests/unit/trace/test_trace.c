/* test_trace.c: recordings that are written, truncated, damaged and forged. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "trace/check.h"
#include "trace/reader.h"
#include "trace/writer.h"
#include "util/error.h"

static char folder[] = "/tmp/sonde-test-trace-XXXXXX";
static char path[64];

static int enter(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof path, "%s/a.sonde", folder);
	return 0;
}

static int leave(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

static struct sonde_writer *created(const struct sonde_writer_options *options)
{
	struct sonde_writer *writer;
	unlink(path);
	assert_int_equal(sonde_writer_open(&writer, path, options), 0);
	return writer;
}

static struct sonde_reader *opened(void)
{
	struct sonde_reader *reader;
	int rc = sonde_reader_open(&reader, path);
	if (rc)
		print_error("%s\n", sonde_error_text());
	assert_int_equal(rc, 0);
	return reader;
}

static void put_string(struct sonde_writer *writer, uint32_t id, const char *text)
{
	struct sonde_meta_string record = {{SONDE_META_STRING, 0, 0}, id, (uint32_t)strlen(text)};
	assert_int_equal(sonde_writer_meta(writer, &record, sizeof record, text, record.len_b), 0);
}

/* A chunk of `type` over [time, time + 9] whose body is body_b bytes of a pattern that does not compress well. */
static void put_chunk(struct sonde_writer *writer, uint16_t type, uint64_t time_ns, size_t body_b)
{
	uint8_t *body = malloc(body_b + 1);
	uint64_t summary[2] = {time_ns, ~time_ns};
	uint64_t random = time_ns * 2654435761u + 1;
	for (size_t i = 0; i < body_b; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		body[i] = (uint8_t)(random >> 60);
	}
	struct sonde_chunk chunk = {.type = type,
				    .process = 1,
				    .thread = 2,
				    .time_min_ns = time_ns,
				    .time_max_ns = time_ns + 9,
				    .count = (uint32_t)body_b,
				    .summary = summary,
				    .summary_b = sizeof summary,
				    .body = body,
				    .body_b = (uint32_t)body_b};
	assert_int_equal(sonde_writer_chunk(writer, &chunk), 0);
	free(body);
}

/* Five chunks: META, SAMPLES, META, EVENTS (raw: too short to compress), ZONES. */
static void write_small(void)
{
	struct sonde_writer *writer = created(NULL);
	put_string(writer, 1, "one");
	put_string(writer, 2, "two");
	put_chunk(writer, SONDE_CHUNK_SAMPLES, 100, 700);
	put_string(writer, 3, "three");
	put_chunk(writer, SONDE_CHUNK_EVENTS, 200, 40);
	put_chunk(writer, SONDE_CHUNK_ZONES, 300, 500);
	assert_int_equal(sonde_writer_close(writer), 0);
}

static uint8_t *slurp(size_t *size_b)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = malloc(1 << 20);
	assert_non_null(file);
	*size_b = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	return bytes;
}

static void spit(const void *bytes, size_t size_b)
{
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size_b, file), size_b);
	assert_int_equal(fclose(file), 0);
}

/* --- writing and reading ------------------------------------------------------------------------------------------ */

static void round_trips(void **state)
{
	(void)state;
	static const uint16_t types[] = {SONDE_CHUNK_META, SONDE_CHUNK_SAMPLES, SONDE_CHUNK_META, SONDE_CHUNK_EVENTS,
					 SONDE_CHUNK_ZONES};
	write_small();
	struct stat stat_of;
	assert_int_equal(stat(path, &stat_of), 0);
	assert_int_equal(stat_of.st_mode & 07777, 0600);
	struct sonde_reader *reader = opened();
	uint64_t offset;
	assert_true(sonde_reader_is_closed(reader));
	assert_int_equal(sonde_reader_damaged_b(reader, &offset), 0);
	assert_int_equal(sonde_reader_count(reader), 5);
	assert_int_equal(sonde_reader_head(reader)->major, SONDE_FILE_MAJOR);
	assert_int_not_equal(sonde_reader_head(reader)->arch, 0);
	assert_string_equal(sonde_reader_path(reader), path);
	struct sonde_chunk_data data = {0};
	sonde_buf_init(&data.buf, SONDE_READER_BUF_MAX_B);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(sonde_reader_entry(reader, i)->head.type, types[i]);
		assert_int_equal(sonde_reader_entry(reader, i)->head.seq, i);
		assert_int_equal(sonde_reader_read(reader, i, &data), 0);
		assert_int_equal((uintptr_t)data.body % 16, 0);
	}
	assert_int_equal(sonde_reader_read(reader, 0, &data), 0);
	assert_int_equal(data.head->count, 2);
	assert_memory_equal(data.body + 16, "one\0\0\0\0", 8); /* padded to 24 */
	assert_memory_equal(data.body + 24 + 16, "two\0\0\0\0", 8);
	assert_int_equal(sonde_reader_read(reader, 1, &data), 0);
	assert_int_equal(data.head->codec, SONDE_CODEC_ZSTD);
	assert_true(data.head->stored_b < 700);
	uint64_t random = (uint64_t)100 * 2654435761u + 1;
	for (size_t i = 0; i < 700; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		assert_int_equal(data.body[i], (uint8_t)(random >> 60));
	}
	assert_int_equal(sonde_reader_summary(reader, 3, &data), 0);
	assert_int_equal(data.head->codec, SONDE_CODEC_RAW);
	assert_null(data.body);
	uint64_t time_ns;
	memcpy(&time_ns, data.summary, sizeof time_ns);
	assert_int_equal(time_ns, 200);
	assert_int_equal(sonde_reader_read(reader, 5, &data), -ERANGE);
	sonde_buf_fini(&data.buf);
	sonde_reader_close(reader);
}

static void never_overwrites_unasked(void **state)
{
	(void)state;
	struct sonde_writer *writer;
	write_small();
	assert_int_equal(sonde_writer_open(&writer, path, NULL), -EEXIST);
	assert_non_null(strstr(sonde_error_text(), "a.sonde"));
	struct sonde_writer_options options = {.overwrite = 1};
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(sonde_writer_open(&writer, path, &options), 0);
	assert_int_equal(sonde_writer_close(writer), 0);
	struct stat stat_of;
	assert_int_equal(stat(path, &stat_of), 0);
	assert_int_equal(stat_of.st_mode & 07777, 0600);
	struct sonde_reader *reader = opened();
	assert_int_equal(sonde_reader_count(reader), 0);
	assert_true(sonde_reader_is_closed(reader));
	sonde_reader_close(reader);
}

/* How many files there are in the directory of `path`, but for the two dots. */
static size_t files_beside(void)
{
	char pattern[sizeof path + 8];
	glob_t found = {0};
	snprintf(pattern, sizeof pattern, "%s*", path);
	size_t count = glob(pattern, 0, NULL, &found) ? 0 : found.gl_pathc;
	globfree(&found);
	return count;
}

static uint64_t count_of_chunks(void)
{
	struct sonde_reader *reader = opened();
	uint64_t count = sonde_reader_count(reader);
	sonde_reader_close(reader);
	return count;
}

/* The old content goes when recording has begun, all at once; through a link, too. */
static void overwrites_when_recording_begins(void **state)
{
	(void)state;
	struct sonde_writer_options options = {.overwrite = 1};
	struct sonde_writer *writer;
	char link[sizeof path + 8];
	write_small();
	uint64_t chunks = count_of_chunks();
	snprintf(link, sizeof link, "%s.link", path);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(sonde_writer_open(&writer, link, &options), 0);
	put_chunk(writer, SONDE_CHUNK_SAMPLES, 1, 100);
	assert_int_equal(count_of_chunks(), chunks);
	sonde_writer_discard(writer);
	assert_int_equal(count_of_chunks(), chunks);
	assert_int_equal(files_beside(), 2);
	assert_int_equal(sonde_writer_open(&writer, link, &options), 0);
	put_chunk(writer, SONDE_CHUNK_SAMPLES, 1, 100);
	assert_int_equal(sonde_writer_commit(writer), 0);
	assert_int_equal(count_of_chunks(), 1); /* readable before it is closed */
	assert_int_equal(files_beside(), 2);
	put_chunk(writer, SONDE_CHUNK_SAMPLES, 2, 100);
	assert_int_equal(sonde_writer_close(writer), 0);
	assert_int_equal(count_of_chunks(), 2);
	assert_int_equal(unlink(link), 0);
}

static void refuses_what_is_too_large(void **state)
{
	(void)state;
	struct sonde_writer *writer = created(NULL);
	struct sonde_chunk chunk = {.type = SONDE_CHUNK_EVENTS, .body = "", .body_b = SONDE_CHUNK_MAX_RAW_B + 1};
	assert_int_equal(sonde_writer_chunk(writer, &chunk), -E2BIG);
	chunk = (struct sonde_chunk){.type = SONDE_CHUNK_INDEX};
	assert_int_equal(sonde_writer_chunk(writer, &chunk), -EINVAL);
	struct sonde_meta_string record = {{SONDE_META_STRING, 0, 0}, 1, 0};
	assert_int_equal(sonde_writer_meta(writer, &record, sizeof record, "", SONDE_CHUNK_MAX_RAW_B), -E2BIG);
	assert_int_equal(sonde_writer_error(writer), 0);
	put_string(writer, 1, "still works");
	assert_int_equal(sonde_writer_close(writer), 0);
	struct sonde_reader *reader = opened();
	assert_int_equal(sonde_reader_count(reader), 1);
	sonde_reader_close(reader);
}

/* The disk is full: what was written before is intact, and the error is reported again until the end. */
static void full_disk_keeps_whole_chunks(void **state)
{
	(void)state;
	struct rlimit before;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_IGN);
	struct rlimit limit = {20000, before.rlim_max};
	struct sonde_writer_options options = {.no_compression = 1};
	struct sonde_writer *writer = created(&options);
	put_string(writer, 1, "one");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	put_chunk(writer, SONDE_CHUNK_SAMPLES, 1, 15000);
	uint64_t size_b = sonde_writer_size_b(writer);
	uint8_t body[8000] = {0};
	struct sonde_chunk chunk = {.type = SONDE_CHUNK_EVENTS, .body = body, .body_b = sizeof body};
	assert_int_equal(sonde_writer_chunk(writer, &chunk), -EFBIG);
	chunk.body_b = 8;
	assert_int_equal(sonde_writer_chunk(writer, &chunk), -EFBIG); /* would fit, but the error sticks */
	assert_int_equal(sonde_writer_error(writer), -EFBIG);
	assert_non_null(strstr(sonde_error_text(), path));
	assert_int_equal(sonde_writer_size_b(writer), size_b);
	assert_int_equal(sonde_writer_close(writer), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_DFL);
	struct stat stat_of;
	assert_int_equal(stat(path, &stat_of), 0);
	assert_int_equal(stat_of.st_size, size_b);
	struct sonde_reader *reader = opened();
	assert_int_equal(sonde_reader_count(reader), 2);
	assert_int_equal(sonde_reader_damaged_b(reader, NULL), 0);
	assert_false(sonde_reader_is_closed(reader));
	sonde_reader_close(reader);
}

/* --- flight recorder ---------------------------------------------------------------------------------------------- */

static void keeps_the_last_seconds(void **state)
{
	(void)state;
	struct sonde_writer_options options = {.keep_ns = 50};
	struct sonde_writer *writer = created(&options);
	put_string(writer, 1, "kept always");
	for (uint64_t time_ns = 100; time_ns <= 200; time_ns += 10)
		put_chunk(writer, SONDE_CHUNK_ZONES, time_ns, 100);
	put_chunk(writer, SONDE_CHUNK_STACKS, 0, 100);
	assert_int_equal(sonde_writer_keep_dump(writer), 0); /* newest end 209: ends ≥ 159 stay, so begins ≥ 150 */
	put_chunk(writer, SONDE_CHUNK_ZONES, 210, 100);
	assert_int_equal(sonde_writer_keep_dump(writer), 0);
	put_chunk(writer, SONDE_CHUNK_ZONES, 220, 100); /* kept, and not requested again */
	assert_int_equal(sonde_writer_close(writer), 0);
	struct sonde_reader *reader = opened();
	assert_int_equal(sonde_reader_entry(reader, 0)->head.type, SONDE_CHUNK_META);
	assert_int_equal(sonde_reader_entry(reader, 1)->head.type, SONDE_CHUNK_STACKS);
	assert_int_equal(sonde_reader_count(reader), 2 + 6 + 1);
	for (size_t i = 2; i < 9; i++) {
		assert_int_equal(sonde_reader_entry(reader, i)->head.seq, i);
		assert_int_equal(sonde_reader_entry(reader, i)->head.time_min_ns, 150 + 10 * (i - 2));
	}
	sonde_reader_close(reader);
}

static void keeps_within_its_memory(void **state)
{
	(void)state;
	struct sonde_writer_options options = {.keep_ns = UINT64_MAX, .max_keep_b = 10000, .no_compression = 1};
	struct sonde_writer *writer = created(&options);
	for (uint64_t i = 0; i < 50; i++)
		put_chunk(writer, SONDE_CHUNK_EVENTS, i, 2900);
	assert_int_equal(sonde_writer_keep_dump(writer), 0);
	assert_int_equal(sonde_writer_close(writer), 0);
	struct sonde_reader *reader = opened();
	assert_int_equal(sonde_reader_count(reader), 3);
	assert_int_equal(sonde_reader_entry(reader, 0)->head.time_min_ns, 47);
	sonde_reader_close(reader);
}

/* All chunks with times except HEAP, since a later HEAP chunk only has changes. */
static void holds_every_type_of_event(void **state)
{
	(void)state;
	const uint16_t held[] = {
	    SONDE_CHUNK_SAMPLES, SONDE_CHUNK_SWITCHES, SONDE_CHUNK_ZONES,      SONDE_CHUNK_EVENTS,
	    SONDE_CHUNK_SERIES,  SONDE_CHUNK_WAITS,    SONDE_CHUNK_ACTIVITIES, SONDE_CHUNK_CALL_STACKS,
	};
	const uint16_t written[] = {SONDE_CHUNK_STACKS, SONDE_CHUNK_HEAP};
	struct sonde_writer_options options = {.keep_ns = 50};
	struct sonde_writer *writer = created(&options);
	for (size_t i = 0; i < sizeof held / sizeof *held; i++)
		put_chunk(writer, held[i], 100, 100);
	for (size_t i = 0; i < sizeof written / sizeof *written; i++)
		put_chunk(writer, written[i], 100, 100);
	assert_int_equal(sonde_writer_close(writer), 0); /* no save was requested: what it holds is dropped */
	struct sonde_reader *reader = opened();
	assert_int_equal(sonde_reader_count(reader), sizeof written / sizeof *written);
	for (size_t i = 0; i < sizeof written / sizeof *written; i++)
		assert_int_equal(sonde_reader_entry(reader, i)->head.type, written[i]);
	sonde_reader_close(reader);
}

/* --- cut off, damaged, growing ------------------------------------------------------------------------------------ */

/* Offsets where the chunks of write_small() end. */
static size_t chunk_ends(uint64_t *ends)
{
	struct sonde_reader *reader = opened();
	size_t count = sonde_reader_count(reader);
	for (size_t i = 0; i < count; i++) {
		const struct sonde_index_entry *entry = sonde_reader_entry(reader, i);
		ends[i] = entry->offset + sonde_check_chunk_b(&entry->head);
	}
	sonde_reader_close(reader);
	return count;
}

static void every_cut_keeps_every_whole_chunk(void **state)
{
	(void)state;
	write_small();
	uint64_t ends[8];
	size_t count = chunk_ends(ends);
	size_t size_b;
	uint8_t *bytes = slurp(&size_b);
	for (size_t cut_b = 0; cut_b < size_b; cut_b++) {
		struct sonde_reader *reader;
		spit(bytes, cut_b);
		int rc = sonde_reader_open(&reader, path);
		if (cut_b < sizeof(struct sonde_file_head)) {
			assert_int_equal(rc, -EBADMSG);
			continue;
		}
		assert_int_equal(rc, 0);
		size_t whole = 0;
		while (whole < count && ends[whole] <= cut_b)
			whole++;
		assert_int_equal(sonde_reader_count(reader), whole);
		assert_false(sonde_reader_is_closed(reader));
		if (whole < count) {
			uint64_t offset, end = whole ? ends[whole - 1] : sizeof(struct sonde_file_head);
			assert_int_equal(sonde_reader_damaged_b(reader, &offset), cut_b - end);
			assert_int_equal(offset, end);
		}
		sonde_reader_close(reader);
	}
	free(bytes);
}

/* Opens what is on disk and reads all of it: how many chunks were handed out, each of which must be one of `bytes`. */
static size_t read_all(const uint8_t *bytes, uint64_t *damaged_b)
{
	struct sonde_reader *reader;
	size_t good = 0;
	*damaged_b = 1;
	if (sonde_reader_open(&reader, path))
		return 0;
	struct sonde_chunk_data data = {0};
	sonde_buf_init(&data.buf, SONDE_READER_BUF_MAX_B);
	for (size_t i = 0; i < sonde_reader_count(reader); i++) {
		if (sonde_reader_read(reader, i, &data))
			continue;
		const struct sonde_index_entry *entry = sonde_reader_entry(reader, i);
		assert_memory_equal(bytes + entry->offset, data.head, sizeof *data.head);
		assert_memory_equal(bytes + entry->offset + sizeof *data.head, data.summary, data.head->summary_b);
		good++;
	}
	*damaged_b = sonde_reader_damaged_b(reader, NULL);
	sonde_buf_fini(&data.buf);
	sonde_reader_close(reader);
	return good;
}

static void a_flipped_bit_anywhere_is_noticed(void **state)
{
	(void)state;
	write_small();
	uint64_t ends[8], damaged_b;
	size_t count = chunk_ends(ends);
	size_t size_b;
	uint8_t *bytes = slurp(&size_b);
	uint8_t *flipped = malloc(size_b);
	assert_int_equal(read_all(bytes, &damaged_b), count);
	assert_int_equal(damaged_b, 0);
	for (size_t at = 0; at < size_b; at++) {
		memcpy(flipped, bytes, size_b);
		flipped[at] ^= (uint8_t)(1u << (at % 8));
		for (int with_index = 0; with_index < 2; with_index++) {
			spit(flipped, with_index ? size_b : ends[count - 1]);
			if (!with_index && at >= ends[count - 1])
				continue;
			size_t good = read_all(bytes, &damaged_b);
			if (at < sizeof(struct sonde_file_head))
				assert_int_equal(good, 0);
			else
				assert_int_equal(good, at < ends[count - 1] ? count - 1 : count);
			assert_true(damaged_b > 0);
		}
	}
	free(flipped);
	free(bytes);
}

static void finds_chunks_behind_damage(void **state)
{
	(void)state;
	write_small();
	uint64_t ends[8], damaged_b;
	chunk_ends(ends);
	size_t size_b;
	uint8_t *bytes = slurp(&size_b);
	memset(bytes + ends[0], 0xee, ends[2] - ends[0]); /* chunks 1 and 2 */
	spit(bytes, ends[4]);
	struct sonde_reader *reader = opened();
	uint64_t offset;
	assert_int_equal(sonde_reader_count(reader), 3);
	assert_int_equal(sonde_reader_entry(reader, 1)->head.seq, 3);
	assert_int_equal(sonde_reader_damaged_b(reader, &offset), ends[2] - ends[0]);
	assert_int_equal(offset, ends[0]);
	sonde_reader_close(reader);
	assert_int_equal(read_all(bytes, &damaged_b), 3);
	free(bytes);
}

static void follows_a_growing_file(void **state)
{
	(void)state;
	struct sonde_writer *writer = created(NULL);
	put_chunk(writer, SONDE_CHUNK_SAMPLES, 1, 300);
	struct sonde_reader *reader = opened();
	assert_int_equal(sonde_reader_count(reader), 1);
	assert_int_equal(sonde_reader_refresh(reader), 0);
	put_chunk(writer, SONDE_CHUNK_SAMPLES, 2, 300);
	put_chunk(writer, SONDE_CHUNK_SAMPLES, 3, 300);
	assert_int_equal(sonde_reader_refresh(reader), 2);
	assert_int_equal(sonde_reader_count(reader), 3);
	uint64_t size_b = sonde_writer_size_b(writer);
	put_chunk(writer, SONDE_CHUNK_SAMPLES, 4, 300);
	size_t now_b;
	uint8_t *bytes = slurp(&now_b);
	assert_int_equal(truncate(path, (off_t)size_b + 70), 0); /* as if the write were under way */
	assert_int_equal(sonde_reader_refresh(reader), 0);
	assert_int_equal(sonde_reader_damaged_b(reader, NULL), 70);
	spit(bytes, now_b);
	free(bytes);
	assert_int_equal(sonde_reader_refresh(reader), 1);
	assert_int_equal(sonde_reader_damaged_b(reader, NULL), 0);
	assert_false(sonde_reader_is_closed(reader));
	assert_int_equal(sonde_writer_close(writer), 0);
	assert_int_equal(sonde_reader_refresh(reader), 0);
	assert_true(sonde_reader_is_closed(reader));
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(sonde_reader_refresh(reader), -ESTALE);
	struct sonde_chunk_data data = {0};
	sonde_buf_init(&data.buf, SONDE_READER_BUF_MAX_B);
	assert_int_equal(sonde_reader_read(reader, 2, &data), -EBADMSG); /* and no SIGBUS */
	assert_non_null(strstr(sonde_error_text(), "cut off"));
	sonde_buf_fini(&data.buf);
	sonde_reader_close(reader);
}

/* --- foreign and forged files ------------------------------------------------------------------------------------- */

static void expect_refused(const void *bytes, size_t size_b, const char *sentence)
{
	struct sonde_reader *reader;
	spit(bytes, size_b);
	assert_true(sonde_reader_open(&reader, path) < 0);
	if (!strstr(sonde_error_text(), sentence))
		print_error("'%s' is not in '%s'\n", sentence, sonde_error_text());
	assert_non_null(strstr(sonde_error_text(), sentence));
}

static void refuses_foreign_files(void **state)
{
	(void)state;
	struct sonde_reader *reader;
	char elf[100] = "\177ELF";
	expect_refused("", 0, "a.sonde: not a sonde recording (the file is empty)");
	expect_refused(elf, sizeof elf, "a.sonde: not a sonde recording (magic at byte 0)");
	expect_refused("hello", 5, "a.sonde: not a sonde recording (magic at byte 0)");
	expect_refused("SONDERECx", 9, "a.sonde: cut off at byte 9");
	write_small();
	size_t size_b;
	uint8_t *bytes = slurp(&size_b);
	bytes[8] = 2;
	expect_refused(bytes, size_b, "format version 2.0 (at byte 8); this sonde reads version 1");
	bytes[8] = 1;
	bytes[20] ^= 1;
	expect_refused(bytes, size_b, "checksum does not match (at byte 56)");
	bytes[20] ^= 1;
	bytes[12] = 63;
	expect_refused(bytes, size_b, "a file header of 63 bytes (at byte 12)");
	free(bytes);
	assert_int_equal(sonde_reader_open(&reader, folder), -EISDIR);
	assert_int_equal(sonde_reader_open(&reader, "/nonexistent/x.sonde"), -ENOENT);
	assert_int_equal(sonde_reader_open(&reader, "/dev/null"), -EINVAL);
}

/* A file with one chunk head of the given sizes and a valid checksum over nothing. */
static size_t forge(uint8_t *bytes, struct sonde_chunk_head head)
{
	write_small();
	size_t size_b;
	uint8_t *small = slurp(&size_b);
	memcpy(bytes, small, sizeof(struct sonde_file_head));
	free(small);
	head.magic = SONDE_CHUNK_MAGIC;
	memcpy(bytes + sizeof(struct sonde_file_head), &head, sizeof head);
	memset(bytes + sizeof(struct sonde_file_head) + sizeof head, 'x', 100);
	return sizeof(struct sonde_file_head) + sizeof head + 100;
}

static void refuses_hostile_sizes(void **state)
{
	(void)state;
	static const struct sonde_chunk_head heads[] = {
	    {.type = SONDE_CHUNK_META, .codec = SONDE_CODEC_ZSTD, .raw_b = UINT32_MAX, .stored_b = 100},
	    {.type = SONDE_CHUNK_META, .codec = SONDE_CODEC_RAW, .raw_b = UINT32_MAX, .stored_b = UINT32_MAX},
	    {.type = SONDE_CHUNK_META, .codec = SONDE_CODEC_RAW, .raw_b = 50, .stored_b = 100},
	    {.type = SONDE_CHUNK_META, .codec = SONDE_CODEC_ZSTD, .raw_b = 100, .stored_b = 1u << 30},
	    {.type = SONDE_CHUNK_META, .summary_b = UINT32_MAX},
	    {.type = SONDE_CHUNK_META, .summary_b = 101},
	    {.type = 0, .summary_b = 100},
	};
	uint8_t bytes[1024];
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		spit(bytes, forge(bytes, heads[i]));
		struct sonde_reader *reader = opened();
		assert_int_equal(sonde_reader_count(reader), 0);
		assert_int_equal(sonde_reader_damaged_b(reader, NULL), 164);
		sonde_reader_close(reader);
	}
}

/* A valid chunk that decompresses to another size than its head claims. */
static void refuses_a_body_of_another_size(void **state)
{
	(void)state;
	struct sonde_writer *writer = created(NULL);
	put_chunk(writer, SONDE_CHUNK_EVENTS, 1, 1000);
	uint64_t size_b = sonde_writer_size_b(writer);
	assert_int_equal(sonde_writer_close(writer), 0);
	size_t whole_b;
	uint8_t *bytes = slurp(&whole_b);
	struct sonde_chunk_head head;
	uint8_t *at = bytes + sizeof(struct sonde_file_head);
	for (int more = -1; more <= 1; more++) {
		memcpy(&head, at, sizeof head);
		head.raw_b = (uint32_t)(1000 + more);
		head.check = sonde_check_chunk(&head, at + sizeof head, at + sizeof head + head.summary_b);
		memcpy(at, &head, sizeof head);
		spit(bytes, size_b);
		struct sonde_reader *reader = opened();
		struct sonde_chunk_data data = {0};
		sonde_buf_init(&data.buf, SONDE_READER_BUF_MAX_B);
		assert_int_equal(sonde_reader_count(reader), 1);
		assert_int_equal(sonde_reader_read(reader, 0, &data), more ? -EBADMSG : 0);
		assert_int_equal(sonde_reader_damaged_b(reader, NULL),
				 more ? size_b - sizeof(struct sonde_file_head) : 0);
		sonde_buf_fini(&data.buf);
		sonde_reader_close(reader);
	}
	free(bytes);
}

/* Nothing but heads that claim 16 MB each must not be read 16 MB at a time for ever. */
static void a_file_of_heads_ends_soon(void **state)
{
	(void)state;
	write_small();
	size_t size_b, file_b = (size_t)24 << 20;
	uint8_t *small = slurp(&size_b);
	uint8_t *bytes = calloc(1, file_b);
	struct sonde_chunk_head head = {.magic = SONDE_CHUNK_MAGIC,
					.type = SONDE_CHUNK_META,
					.raw_b = SONDE_CHUNK_MAX_RAW_B,
					.stored_b = SONDE_CHUNK_MAX_RAW_B};
	memcpy(bytes, small, sizeof(struct sonde_file_head));
	for (size_t at = sizeof(struct sonde_file_head); at + sizeof head <= file_b; at += sizeof head)
		memcpy(bytes + at, &head, sizeof head);
	spit(bytes, file_b);
	struct sonde_reader *reader = opened();
	assert_int_equal(sonde_reader_count(reader), 0);
	assert_int_equal(sonde_reader_damaged_b(reader, NULL), file_b - sizeof(struct sonde_file_head));
	sonde_reader_close(reader);
	free(bytes);
	free(small);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(round_trips),
	    cmocka_unit_test(never_overwrites_unasked),
	    cmocka_unit_test(overwrites_when_recording_begins),
	    cmocka_unit_test(refuses_what_is_too_large),
	    cmocka_unit_test(full_disk_keeps_whole_chunks),
	    cmocka_unit_test(keeps_the_last_seconds),
	    cmocka_unit_test(keeps_within_its_memory),
	    cmocka_unit_test(holds_every_type_of_event),
	    cmocka_unit_test(every_cut_keeps_every_whole_chunk),
	    cmocka_unit_test(a_flipped_bit_anywhere_is_noticed),
	    cmocka_unit_test(finds_chunks_behind_damage),
	    cmocka_unit_test(follows_a_growing_file),
	    cmocka_unit_test(refuses_foreign_files),
	    cmocka_unit_test(refuses_hostile_sizes),
	    cmocka_unit_test(refuses_a_body_of_another_size),
	    cmocka_unit_test(a_file_of_heads_ends_soon),
	};
	return cmocka_run_group_tests(tests, enter, leave);
}
