/* index_file.c: an index as a cache file: a head, then segments, spans, nodes and texts as they lie in memory.
 *
 * Files are of one machine and one version of this program; what differs is compiled anew. Although the cache directory
 * is the user's own, every reference is checked once, so that a damaged file cannot lead a look-up outside the arrays.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "symbol/cache.h"
#include "symbol/elf.h"
#include "symbol/index.h"

#define MAGIC "SONDEIDX"
#define VERSION 1
#define FILE_MAX_B ((size_t)2 << 30)

struct head {
	char magic[8];
	uint32_t version;
	uint32_t build_id_b;
	uint8_t build_id[24];
	uint64_t segment_count, span_count, node_count, texts_b;
	uint64_t check;
};

/* Eight bytes a multiplication: reading 100 MB must not take longer than parsing DWARF does. */
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
	       head->texts_b;
}

static int is_head_ok(const struct head *head, uint64_t body_b, const uint8_t *build_id, size_t build_id_b)
{
	return !memcmp(head->magic, MAGIC, sizeof head->magic) && head->version == VERSION &&
	       head->build_id_b == build_id_b && !memcmp(head->build_id, build_id, build_id_b) &&
	       head->segment_count < FILE_MAX_B && head->span_count < FILE_MAX_B && head->node_count < FILE_MAX_B &&
	       head->texts_b < FILE_MAX_B && body_size_b(head) == body_b;
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
	index->segments = take(&body, head->segment_count * sizeof *index->segments);
	index->spans = take(&body, head->span_count * sizeof *index->spans);
	index->nodes = take(&body, head->node_count * sizeof *index->nodes);
	int error = sonde_texts_load(&index->texts, body, head->texts_b);
	if (error)
		return error;
	if (!index->segments || !index->spans || !index->nodes)
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
	int error = read_all(fd, &data, &size_b);
	close(fd);
	if (!error) {
		memcpy(&head, data, sizeof head);
		const uint8_t *body = data + sizeof head;
		size_b -= sizeof head;
		if (!is_head_ok(&head, size_b, build_id, build_id_b) || check_words(body, size_b) != head.check)
			error = -EBADMSG;
		else
			error = unpack(out, &head, body);
	}
	free(data);
	if (error)
		sonde_index_fini(out);
	return error;
}

static uint8_t *put(uint8_t *at, const void *data, size_t size_b)
{
	if (size_b)
		memcpy(at, data, size_b);
	return at + size_b;
}

int sonde_index_store(const struct sonde_index *index, const uint8_t *build_id, size_t build_id_b)
{
	struct sonde_cache_key key = {build_id, build_id_b, "symbols"};
	struct head head = {.magic = MAGIC,
			    .version = VERSION,
			    .build_id_b = (uint32_t)build_id_b,
			    .segment_count = index->segment_count,
			    .span_count = index->span_count,
			    .node_count = index->node_count,
			    .texts_b = index->texts.size_b ? index->texts.size_b : 1};
	if (build_id_b > sizeof head.build_id)
		return -EINVAL;
	memcpy(head.build_id, build_id, build_id_b);
	size_t body_b = body_size_b(&head);
	uint8_t *body = body_b < FILE_MAX_B ? malloc(body_b) : NULL;
	if (!body)
		return -ENOMEM;
	uint8_t *at = put(body, index->segments, index->segment_count * sizeof *index->segments);
	at = put(at, index->spans, index->span_count * sizeof *index->spans);
	at = put(at, index->nodes, index->node_count * sizeof *index->nodes);
	put(at, index->texts.size_b ? index->texts.data : "", head.texts_b);
	head.check = check_words(body, body_b);
	int error = sonde_cache_write(&key, &head, sizeof head, body, body_b);
	free(body);
	return error;
}
