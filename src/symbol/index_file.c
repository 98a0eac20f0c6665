/* index_file.c: stores an index as a cache file: a header, then segments, spans, nodes, units and texts as in memory.
 *
 * Files are specific to a machine and a version of this program; others are ignored and rebuilt. Although the cache
 * directory is private to the user, every reference is checked once, so that a damaged file cannot lead a lookup
 * outside the arrays.
 *
 * Two processes may read different units of a module at the same time: the later one to store merges the units of the
 * other. The file is replaced as a whole, so if both store at exactly the same moment, the units of one may be lost and
 * have to be read again. The file is never damaged.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "symbol/cache.h"
#include "symbol/index.h"

#define MAGIC "SONDEIDX"
#define VERSION 2
#define FILE_MAX_B ((size_t)32 << 20)

struct head {
	char magic[8];
	uint32_t version;
	uint32_t build_id_b;
	uint8_t build_id[24];
	uint64_t segment_count, span_count, node_count, unit_count, texts_b;
	uint64_t units_of;
	uint64_t check;
};

/* The checksum of the data. It takes eight bytes per multiplication, so that checking 100 MB does not take longer than
 * parsing DWARF. */
static uint64_t check_words(const uint8_t *data, size_t size_b)
{
	uint64_t hash = size_b;
	for (; size_b >= 8; data += 8, size_b -= 8) {
		uint64_t word;
		memcpy(&word, data, sizeof word);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	return hash ^ sonde_hash_bytes(data, size_b);
}

static uint64_t body_size_b(const struct head *head)
{
	return head->segment_count * sizeof(struct sonde_index_segment) +
	       head->span_count * sizeof(struct sonde_index_span) + head->node_count * sizeof(struct sonde_index_node) +
	       head->unit_count * sizeof(struct sonde_index_unit) + head->texts_b;
}

static int is_head_ok(const struct head *head, uint64_t body_b, const uint8_t *build_id, size_t build_id_b)
{
	return !memcmp(head->magic, MAGIC, sizeof head->magic) && head->version == VERSION &&
	       head->build_id_b == build_id_b && !memcmp(head->build_id, build_id, build_id_b) &&
	       head->segment_count < FILE_MAX_B && head->span_count < FILE_MAX_B && head->node_count < FILE_MAX_B &&
	       head->unit_count < FILE_MAX_B && head->texts_b < FILE_MAX_B && body_size_b(head) == body_b;
}

static int are_references_ok(const struct sonde_index *index)
{
	size_t texts_b = index->texts.size_b;
	int bad = 0;
	for (size_t i = 0; i < index->segment_count; i++) {
		const struct sonde_index_segment *segment = &index->segments[i];
		bad |= segment->start >= segment->end || (i && segment->start < index->segments[i - 1].end) ||
		       segment->span > index->span_count || segment->span_count > index->span_count - segment->span;
	}
	for (size_t i = 0; i < index->span_count; i++) {
		const struct sonde_index_span *span = &index->spans[i];
		bad |= span->file >= texts_b || (span->node != SONDE_INDEX_NONE && span->node >= index->node_count);
	}
	for (size_t i = 0; i < index->node_count; i++) {
		const struct sonde_index_node *node = &index->nodes[i];
		bad |= node->name >= texts_b || node->call_file >= texts_b ||
		       (node->parent != SONDE_INDEX_NONE && node->parent >= i);
	}
	for (size_t i = 0; i < index->unit_count; i++) {
		const struct sonde_index_unit *unit = &index->units[i];
		bad |= unit->low >= unit->high || (i && unit->low < index->units[i - 1].low);
	}
	return !bad;
}

static void *take(const uint8_t **at, size_t size_b)
{
	void *copy = malloc(size_b ? size_b : 1);
	if (copy)
		memcpy(copy, *at, size_b);
	*at += size_b;
	return copy;
}

static int unpack(struct sonde_index *index, const struct head *head, const uint8_t *body)
{
	index->segment_count = index->segment_capacity = head->segment_count;
	index->span_count = index->span_capacity = head->span_count;
	index->node_count = index->node_capacity = head->node_count;
	index->unit_count = index->unit_capacity = head->unit_count;
	index->units_of = head->units_of;
	index->check = head->check;
	index->loaded = (struct sonde_index_mark){.node = (uint32_t)head->node_count, .span = head->span_count};
	index->segments = take(&body, head->segment_count * sizeof *index->segments);
	index->spans = take(&body, head->span_count * sizeof *index->spans);
	index->nodes = take(&body, head->node_count * sizeof *index->nodes);
	index->units = take(&body, head->unit_count * sizeof *index->units);
	int rc = sonde_texts_load(&index->texts, body, head->texts_b);
	if (rc)
		return rc;
	if (!index->segments || !index->spans || !index->nodes || !index->units)
		return -ENOMEM;
	return are_references_ok(index) ? 0 : -EBADMSG;
}

static int read_all(int fd, uint8_t **out, size_t *out_b)
{
	struct stat facts;
	if (fstat(fd, &facts) || facts.st_size < (off_t)sizeof(struct head) || (uint64_t)facts.st_size > FILE_MAX_B)
		return -EBADMSG;
	size_t size_b = (size_t)facts.st_size, done = 0;
	uint8_t *data = malloc(size_b);
	if (!data)
		return -ENOMEM;
	for (ssize_t got = 1; got > 0 && done<size_b; done += got> 0 ? (size_t)got : 0)
		got = read(fd, data + done, size_b - done);
	*out = data;
	*out_b = done;
	return done == size_b ? 0 : -EBADMSG;
}

int sonde_index_load(struct sonde_index *out, const uint8_t *build_id, size_t build_id_b)
{
	struct sonde_cache_key key = {build_id, build_id_b, "symbols"};
	struct head head;
	uint8_t *data = NULL;
	size_t size_b;
	*out = (struct sonde_index){0};
	int fd = sonde_cache_read(&key);
	if (fd < 0)
		return -ENOENT;
	int rc = read_all(fd, &data, &size_b);
	close(fd);
	if (!rc) {
		memcpy(&head, data, sizeof head);
		const uint8_t *body = data + sizeof head;
		size_b -= sizeof head;
		if (!is_head_ok(&head, size_b, build_id, build_id_b) || check_words(body, size_b) != head.check)
			rc = -EBADMSG;
		else
			rc = unpack(out, &head, body);
	}
	free(data);
	if (rc)
		sonde_index_fini(out);
	return rc;
}

static uint8_t *put(uint8_t *at, const void *data, size_t size_b)
{
	if (size_b)
		memcpy(at, data, size_b);
	return at + size_b;
}

/* The checksum in the current file; 0 = none. */
static uint64_t stored_check(const struct sonde_cache_key *key)
{
	struct head head;
	int fd = sonde_cache_read(key);
	if (fd < 0)
		return 0;
	ssize_t got = read(fd, &head, sizeof head);
	close(fd);
	return got == (ssize_t)sizeof head ? head.check : 0;
}

/* Merges the contents of the current file, if any, with the units read into `index` since it was loaded. */
static int combine(struct sonde_index *out, const struct sonde_index *index, const struct sonde_cache_key *key,
		   int with_file)
{
	*out = (struct sonde_index){0};
	if (with_file)
		sonde_index_load(out, key->build_id, key->build_id_b);
	out->unit_count = 0;
	out->units_of = index->units_of;
	for (size_t i = 0; i < index->unit_count; i++) {
		struct sonde_index_unit *unit = sonde_index_add_unit(out);
		if (!unit)
			return -ENOMEM;
		*unit = index->units[i];
	}
	int rc = sonde_index_merge(out, index, &index->loaded);
	sonde_index_sort(out);
	return rc;
}

static struct head make_head(const struct sonde_index *index, const struct sonde_cache_key *key)
{
	struct head head = {.magic = MAGIC,
			    .version = VERSION,
			    .build_id_b = (uint32_t)key->build_id_b,
			    .segment_count = index->segment_count,
			    .span_count = index->span_count,
			    .node_count = index->node_count,
			    .unit_count = index->unit_count,
			    .texts_b = index->texts.size_b ? index->texts.size_b : 1,
			    .units_of = index->units_of};
	memcpy(head.build_id, key->build_id, key->build_id_b);
	return head;
}

static int write_file(const struct sonde_index *index, const struct sonde_cache_key *key, uint64_t *check)
{
	struct head head = make_head(index, key);
	size_t body_b = body_size_b(&head);
	if (body_b > FILE_MAX_B - sizeof head)
		return -E2BIG;
	uint8_t *body = malloc(body_b);
	if (!body)
		return -ENOMEM;
	uint8_t *at = put(body, index->segments, index->segment_count * sizeof *index->segments);
	at = put(at, index->spans, index->span_count * sizeof *index->spans);
	at = put(at, index->nodes, index->node_count * sizeof *index->nodes);
	at = put(at, index->units, index->unit_count * sizeof *index->units);
	put(at, index->texts.size_b ? index->texts.data : "", head.texts_b);
	*check = head.check = check_words(body, body_b);
	int rc = sonde_cache_write(key, &head, sizeof head, body, body_b);
	free(body);
	return rc;
}

int sonde_index_store(struct sonde_index *index, const uint8_t *build_id, size_t build_id_b)
{
	struct sonde_cache_key key = {build_id, build_id_b, "symbols"};
	if (build_id_b > sizeof((struct head *)NULL)->build_id)
		return -EINVAL;
	uint64_t check = stored_check(&key);
	int is_same = !check || check == index->check;
	int rc = is_same ? write_file(index, &key, &check) : -EAGAIN;
	for (int with_file = !is_same; rc == -EAGAIN || (rc == -E2BIG && with_file >= 0); with_file--) {
		struct sonde_index combined;
		rc = combine(&combined, index, &key, with_file);
		if (!rc)
			rc = write_file(&combined, &key, &check);
		sonde_index_fini(&combined);
	}
	if (!rc)
		index->check = check;
	return rc;
}
