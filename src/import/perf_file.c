/* perf_file.c: reads the head of perf.data, its features and the offsets of its records (perf.h). Records of several
 * CPUs are not in time order, so an index of offsets and times is kept and sorted. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "import/perf.h"
#include "util/array.h"
#include "util/error.h"

enum { IDS_MAX = 1 << 20, FEATURE_MAX_B = 64 << 20, BUILD_IDS_MAX = 1 << 20, TEXT_MAX_B = 4096 };
enum {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_RELEASE = 4,
	FEATURE_ARCH = 6,
	FEATURE_COMMAND = 11,
	FEATURE_CLOCK = 29
};
enum { /* user-space perf types, not the kernel's */
       RECORD_ATTR = 64,
       RECORD_TRACING_DATA = 66,
       RECORD_BUILD_ID = 67,
       RECORD_AUXTRACE = 71,
       RECORD_FEATURE = 80,
       RECORD_COMPRESSED = 81,
       RECORD_COMPRESSED2 = 83,
};

struct section {
	uint64_t at, size_b;
};

struct file_head {
	char magic[8];
	uint64_t size_b, attr_b;
	struct section attrs, data, types;
	uint64_t features[4];
};
_Static_assert(sizeof(struct file_head) == 104, "perf.data header");

static int at_read(struct sonde_perf *perf, uint64_t at, void *to, size_t size_b)
{
	ssize_t got_b = sonde_input_at(perf->job->input, at, to, size_b);
	if (got_b < 0)
		return (int)got_b;
	return (size_t)got_b == size_b
		   ? 0
		   : sonde_error(EBADMSG, "%s: cut off at byte %llu", sonde_input_name(perf->job->input),
				 (unsigned long long)(at + (uint64_t)got_b));
}

int sonde_perf_record(struct sonde_perf *perf, uint64_t offset, uint8_t *out)
{
	struct perf_event_header head;
	int rc = at_read(perf, offset, &head, sizeof head);
	if (!rc && head.size < sizeof head)
		rc = sonde_error(EBADMSG, "%s: impossible record of %u bytes at byte %llu",
				 sonde_input_name(perf->job->input), head.size, (unsigned long long)offset);
	rc = rc ? rc : at_read(perf, offset, out, head.size);
	return rc ? rc : head.size;
}

/* --- events ------------------------------------------------------------------------------------------------------- */

/* Adds an event's ids and its attr, which is longer or shorter if another version of perf wrote it. */
static int attr_add(struct sonde_perf *perf, const uint8_t *bytes, size_t size_b, const uint64_t *ids, size_t id_count)
{
	if (perf->attr_count == SONDE_PERF_ATTRS_MAX)
		return sonde_error(EFBIG, "%s is too big: it has more than %d events",
				   sonde_input_name(perf->job->input), SONDE_PERF_ATTRS_MAX);
	struct sonde_perf_attr *attr = &perf->attrs[perf->attr_count++];
	memcpy(&attr->attr, bytes, size_b < sizeof attr->attr ? size_b : sizeof attr->attr);
	for (size_t i = 0; i < id_count && perf->ids.count < IDS_MAX; i++)
		if (sonde_map_set(&perf->ids, sonde_hash_mix(ids[i]), perf->attr_count))
			return sonde_error(ENOMEM, "out of memory for events");
	return 0;
}

static int attrs_read(struct sonde_perf *perf, const struct file_head *head)
{
	uint8_t bytes[1024];
	uint64_t ids[512];
	struct section of;
	if (head->attr_b < PERF_ATTR_SIZE_VER0 + sizeof of || head->attr_b > sizeof bytes ||
	    head->attrs.size_b % head->attr_b)
		return sonde_error(EBADMSG, "%s: event descriptions of %llu bytes are impossible",
				   sonde_input_name(perf->job->input), (unsigned long long)head->attr_b);
	size_t attr_b = head->attr_b - sizeof of;
	uint64_t left = IDS_MAX; /* shared by all events */
	int rc = 0;
	for (uint64_t i = 0; !rc && i < head->attrs.size_b / head->attr_b; i++) {
		rc = at_read(perf, head->attrs.at + i * head->attr_b, bytes, head->attr_b);
		memcpy(&of, bytes + attr_b, sizeof of);
		rc = rc ? rc : attr_add(perf, bytes, attr_b, NULL, 0);
		uint64_t count = of.size_b / 8 < left ? of.size_b / 8 : left;
		left -= count;
		for (uint64_t k = 0; !rc && k < count; k += 512) {
			uint64_t some = count - k < 512 ? count - k : 512;
			rc = at_read(perf, of.at + k * 8, ids, some * 8);
			for (uint64_t n = 0; !rc && n < some; n++)
				if (sonde_map_set(&perf->ids, sonde_hash_mix(ids[n]), perf->attr_count))
					rc = sonde_error(ENOMEM, "out of memory for events");
		}
	}
	return rc;
}

/* Handles the attr record of a pipe. The size stored in the attr says where the ids begin. */
static int attr_record(struct sonde_perf *perf, const uint8_t *record, size_t size_b)
{
	uint32_t attr_b = 0;
	if (size_b < 8 + PERF_ATTR_SIZE_VER0)
		return 0;
	memcpy(&attr_b, record + 12, sizeof attr_b);
	if (attr_b < PERF_ATTR_SIZE_VER0 || attr_b % 8 || attr_b > size_b - 8)
		return 0;
	uint64_t ids[SONDE_PERF_RECORD_MAX_B / 8];
	size_t count = (size_b - 8 - attr_b) / 8;
	memcpy(ids, record + 8 + attr_b, count * 8);
	return attr_add(perf, record + 8, attr_b, ids, count);
}

/* --- features ----------------------------------------------------------------------------------------------------- */

/* Handles a build_id_event, which consists of header, pid, 24 bytes of id, and path. */
static int build_id_add(struct sonde_perf *perf, const uint8_t *event, size_t size_b)
{
	struct perf_event_header head;
	if (size_b < 37 || perf->build_id_count == BUILD_IDS_MAX)
		return 0;
	memcpy(&head, event, sizeof head);
	uint8_t id_b = head.misc & (1u << 15) ? event[32] : SONDE_BUILD_ID_MAX_B;
	if (SONDE_ARRAY_RESERVE(perf->build_ids, perf->build_id_cap, perf->build_id_count + 1))
		return sonde_error(ENOMEM, "out of memory for build-ids");
	struct sonde_perf_build_id *row = &perf->build_ids[perf->build_id_count];
	row->size_b = id_b <= SONDE_BUILD_ID_MAX_B ? id_b : 0;
	memcpy(row->bytes, event + 12, SONDE_BUILD_ID_MAX_B);
	size_t path_b = strnlen((const char *)event + 36, size_b - 36);
	row->path = sonde_arena_strndup(&perf->arena, (const char *)event + 36, path_b);
	if (!row->path)
		return sonde_error(ENOMEM, "out of memory for build-ids");
	perf->build_id_count++;
	uint64_t hash = sonde_hash_bytes(row->path, strlen(row->path));
	return sonde_map_add(&perf->build_id_map, hash, perf->build_id_count)
		   ? sonde_error(ENOMEM, "out of memory for build-ids")
		   : 0;
}

static void text_copy(char *out, size_t max_b, const uint8_t *bytes, size_t size_b)
{
	uint32_t len_b = 0;
	*out = 0;
	if (size_b < 4)
		return;
	memcpy(&len_b, bytes, 4);
	size_b = len_b < size_b - 4 ? len_b : size_b - 4;
	size_b = size_b < max_b - 1 ? size_b : max_b - 1;
	memcpy(out, bytes + 4, size_b);
	out[size_b] = 0;
}

static const struct {
	const char *name;
	uint32_t machine;
} machines[] = {{"x86_64", EM_X86_64}, {"i686", EM_386},      {"aarch64", EM_AARCH64},
		{"arm", EM_ARM},       {"riscv64", EM_RISCV}, {"ppc64le", EM_PPC64}};

static int feature_take(struct sonde_perf *perf, uint32_t feature, const uint8_t *bytes, size_t size_b)
{
	char text[TEXT_MAX_B];
	int rc = 0;
	if (feature == FEATURE_BUILD_ID) {
		for (size_t at = 0; !rc && at + 8 <= size_b;) {
			struct perf_event_header head;
			memcpy(&head, bytes + at, sizeof head);
			if (head.size < 8 || head.size > size_b - at)
				break;
			rc = build_id_add(perf, bytes + at, head.size);
			at += head.size;
		}
	} else if (feature == FEATURE_ARCH) {
		text_copy(text, sizeof text, bytes, size_b);
		for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
			if (!strcmp(machines[i].name, text))
				perf->machine = machines[i].machine;
	} else if (feature == FEATURE_CLOCK && size_b >= 24) {
		memcpy(&perf->clock_wall_ns, bytes + 8, 8);
		memcpy(&perf->clock_own_ns, bytes + 16, 8);
	}
	return rc;
}

static int features_read(struct sonde_perf *perf, const struct file_head *head)
{
	uint64_t at = head->data.at + head->data.size_b;
	int rc = 0;
	for (uint32_t bit = 0; !rc && bit < 256; bit++) {
		struct section of;
		if (!(head->features[bit / 64] >> bit % 64 & 1))
			continue;
		if (at_read(perf, at, &of, sizeof of)) {
			perf->is_cut = 1;
			return 0;
		}
		at += sizeof of;
		if (bit != FEATURE_BUILD_ID && bit != FEATURE_ARCH && bit != FEATURE_CLOCK)
			continue;
		if (of.size_b > FEATURE_MAX_B)
			return sonde_error(EFBIG, "%s: a feature of %llu bytes is too big",
					   sonde_input_name(perf->job->input), (unsigned long long)of.size_b);
		uint8_t *bytes = malloc(of.size_b + 1);
		if (!bytes)
			return sonde_error(ENOMEM, "out of memory for a feature");
		if (at_read(perf, of.at, bytes, of.size_b))
			perf->is_cut = 1;
		else
			rc = feature_take(perf, bit, bytes, of.size_b);
		free(bytes);
	}
	return rc;
}

/* --- records ------------------------------------------------------------------------------------------------------ */

static int index_add(struct sonde_perf *perf, uint64_t time_ns, uint64_t offset)
{
	if (SONDE_ARRAY_RESERVE(perf->index, perf->cap, perf->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu records", perf->count + 1);
	perf->index[perf->count++] = (struct sonde_perf_index){time_ns, offset};
	return 0;
}

static int sample_count(struct sonde_perf *perf, const uint8_t *record, size_t size_b)
{
	struct sonde_perf_sample sample;
	if (sonde_perf_sample_read(perf, record, size_b, &sample)) {
		perf->unknown++;
		return 0;
	}
	struct sonde_perf_attr *attr = &perf->attrs[sample.attr];
	attr->samples++;
	attr->period_sum += sample.period;
	return 1;
}

/* Returns the number of raw bytes, without a record header, that follow a record. */
static uint64_t tail_of(const uint8_t *record, size_t size_b)
{
	struct perf_event_header head;
	uint64_t aux_b = 0;
	uint32_t tracing_b = 0;
	memcpy(&head, record, sizeof head);
	if (head.type == RECORD_AUXTRACE && size_b >= 16)
		memcpy(&aux_b, record + 8, 8);
	if (head.type == RECORD_TRACING_DATA && size_b >= 12)
		memcpy(&tracing_b, record + 8, 4);
	return aux_b ? aux_b : (tracing_b + 7u) / 8 * 8;
}

static int record_take(struct sonde_perf *perf, uint64_t at, const uint8_t *record, size_t size_b)
{
	struct perf_event_header head;
	memcpy(&head, record, sizeof head);
	uint64_t time_ns = sonde_perf_time(perf, record, size_b);
	int keeps = 0;
	switch (head.type) {
	case RECORD_ATTR:
		return perf->is_pipe ? attr_record(perf, record, size_b) : 0;
	case RECORD_BUILD_ID:
		return build_id_add(perf, record, size_b);
	case RECORD_FEATURE:
		return size_b >= 16 ? feature_take(perf, record[8], record + 16, size_b - 16) : 0;
	case RECORD_COMPRESSED:
	case RECORD_COMPRESSED2:
		perf->compressed++;
		return 0;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		perf->switches++;
		return 0;
	case PERF_RECORD_SAMPLE:
		keeps = sample_count(perf, record, size_b);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		keeps = 1;
		break;
	default:
		break;
	}
	if (time_ns && keeps) {
		perf->first_ns = time_ns < perf->first_ns || !perf->first_ns ? time_ns : perf->first_ns;
		perf->last_ns = time_ns > perf->last_ns ? time_ns : perf->last_ns;
	}
	return keeps ? index_add(perf, time_ns, at) : 0;
}

static int records_read(struct sonde_perf *perf)
{
	uint8_t *record = malloc(SONDE_PERF_RECORD_MAX_B);
	uint64_t at = perf->data_at, end = perf->data_at + perf->data_b, size_b = sonde_input_size_b(perf->job->input);
	int rc = record ? 0 : sonde_error(ENOMEM, "out of memory");
	if (end > size_b || end < at || !perf->data_b) { /* data_b 0: perf was killed */
		perf->is_cut = !perf->is_pipe;
		end = size_b;
	}
	while (!rc && at + sizeof(struct perf_event_header) <= end) {
		int got_b = sonde_perf_record(perf, at, record);
		if (got_b < 0 || at + (uint64_t)got_b > end) {
			perf->is_cut = 1;
			break;
		}
		rc = record_take(perf, at, record, (size_t)got_b);
		uint64_t tail_b = tail_of(record, (size_t)got_b);
		if (tail_b > end - at - (uint64_t)got_b)
			break;
		at += (uint64_t)got_b + tail_b;
	}
	free(record);
	return rc;
}

static int by_time(const void *left, const void *right)
{
	const struct sonde_perf_index *a = left, *b = right;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int has_samples(const struct sonde_perf *perf)
{
	for (uint32_t i = 0; i < perf->attr_count; i++)
		if (perf->attrs[i].samples)
			return 1;
	return 0;
}

int sonde_perf_open(struct sonde_perf *perf)
{
	const char *name = sonde_input_name(perf->job->input);
	struct file_head head = {0};
	perf->attrs = calloc(SONDE_PERF_ATTRS_MAX, sizeof *perf->attrs);
	if (!perf->attrs)
		return sonde_error(ENOMEM, "out of memory");
	int rc = at_read(perf, 0, &head, 16);
	if (rc)
		return rc;
	if (memcmp(head.magic, "PERFILE2", 8))
		return sonde_error(EBADMSG, "%s is not perf.data: it does not start with PERFILE2", name);
	perf->is_pipe = head.size_b == 16;
	if (perf->is_pipe) {
		perf->data_at = 16;
		perf->data_b = sonde_input_size_b(perf->job->input) - 16;
	} else {
		if (head.size_b < sizeof head || head.size_b > 4096)
			return sonde_error(EBADMSG, "%s: a header of %llu bytes is impossible", name,
					   (unsigned long long)head.size_b);
		rc = at_read(perf, 0, &head, sizeof head);
		perf->data_at = head.data.at;
		perf->data_b = head.data.size_b;
		rc = rc ? rc : attrs_read(perf, &head);
		if (!rc && head.data.size_b && head.data.at + head.data.size_b >= head.data.at)
			rc = features_read(perf, &head);
	}
	rc = rc ? rc : records_read(perf);
	if (!rc && perf->compressed && !has_samples(perf))
		return sonde_error(EBADMSG,
				   "%s is compressed (perf record -z), which cannot be read: convert it with perf "
				   "inject -i %s -o plain.data",
				   name, name);
	if (!rc && !perf->attr_count)
		return sonde_error(EBADMSG, "%s describes no events", name);
	if (!rc && perf->count)
		qsort(perf->index, perf->count, sizeof *perf->index, by_time);
	return rc;
}

void sonde_perf_fini(struct sonde_perf *perf)
{
	sonde_map_fini(&perf->ids);
	sonde_map_fini(&perf->build_id_map);
	sonde_arena_fini(&perf->arena);
	free(perf->build_ids);
	free(perf->attrs);
	free(perf->index);
}
