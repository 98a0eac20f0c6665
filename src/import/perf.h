/* perf.h: perf.data: its head, its records by time, and the mappings of processes; private to the files perf*.c.
 *
 * Layouts: linux/perf_event.h, and tools/perf/Documentation/perf.data-file-format.txt of the kernel sources.
 */
#ifndef SONDE_IMPORT_PERF_H
#define SONDE_IMPORT_PERF_H

#include <linux/perf_event.h>
#include <string.h>

#include "import/elf.h"
#include "import/out.h"

enum { SONDE_PERF_ATTRS_MAX = 256, SONDE_PERF_RECORD_MAX_B = 65536, SONDE_PERF_PATH_MAX_B = 4096 };

struct sonde_perf_attr {
	struct perf_event_attr attr;
	uint64_t samples, period_sum;
	int weighed; /* the samples of this event become CPU samples */
};

struct sonde_perf_index {
	uint64_t time_ns, offset;
};

struct sonde_perf_build_id {
	char *path;
	uint8_t bytes[SONDE_BUILD_ID_MAX_B];
	uint8_t size_b;
};

struct sonde_perf {
	struct sonde_import_job *job;
	int is_pipe;
	uint64_t data_at, data_b;
	struct sonde_perf_attr *attrs; /* SONDE_PERF_ATTRS_MAX */
	uint32_t attr_count;
	struct sonde_map ids; /* event id → attr + 1 */
	struct sonde_perf_build_id *build_ids;
	uint32_t build_id_count;
	size_t build_id_cap;
	struct sonde_map build_id_map;        /* by path → index + 1 */
	uint32_t machine;                     /* ELF machine number, 0 = unknown */
	uint64_t clock_wall_ns, clock_own_ns; /* wall clock and perf's clock at the same time; 0 = unknown */
	struct sonde_perf_index *index;
	size_t count, cap;
	uint64_t first_ns, last_ns; /* range of the times of samples and other records */
	struct sonde_arena arena;
	int is_cut;
	uint64_t compressed, switches, unknown;
};

/* Reads the head, the features and the index of records. */
int sonde_perf_open(struct sonde_perf *perf);
void sonde_perf_fini(struct sonde_perf *perf);
/* Reads a record into `out`, of SONDE_PERF_RECORD_MAX_B bytes; returns the record's size, or a negative errno. */
int sonde_perf_record(struct sonde_perf *perf, uint64_t offset, uint8_t *out);

/* perf_sample.c: the fields of a sample that are used. */
struct sonde_perf_sample {
	uint32_t attr; /* index */
	uint32_t pid, tid;
	uint64_t ip, time_ns, period;
	const uint8_t *chain; /* array of u64, unaligned */
	uint64_t chain_count;
	int has_chain, has_stack; /* has_stack: a copy of the stack follows */
	uint16_t misc;
};

/* 0, or -EBADMSG without a message for a malformed record. */
int sonde_perf_sample_read(const struct sonde_perf *perf, const uint8_t *record, size_t size_b,
			   struct sonde_perf_sample *out);
/* Time of any kind of record; 0 = none. */
uint64_t sonde_perf_time(const struct sonde_perf *perf, const uint8_t *record, size_t size_b);

/* perf_maps.c: a file or other image that processes map. */
struct sonde_perf_image {
	const char *path;
	uint32_t module; /* 0 = not created yet, or the image is private to a process */
	uint32_t flags;
	const uint8_t *build_id;
	uint32_t build_id_b;
};

struct sonde_perf_map {
	uint64_t start, end, offset;
	struct sonde_perf_image *image;
};

struct sonde_perf_maps {
	struct sonde_perf_map *rows; /* sorted, without overlaps */
	uint32_t count;
	size_t cap;
};

enum { SONDE_PERF_MAPS_MAX = 16384 };

/* Adds a mapping, which replaces the parts of others that it overlaps. -ENOMEM; -EFBIG without a message if there are
 * too many already. */
int sonde_perf_maps_add(struct sonde_perf_maps *maps, const struct sonde_perf_map *map);
const struct sonde_perf_map *sonde_perf_maps_find(const struct sonde_perf_maps *maps, uint64_t address);
int sonde_perf_maps_copy(struct sonde_perf_maps *out, const struct sonde_perf_maps *from);
void sonde_perf_maps_fini(struct sonde_perf_maps *maps);

#endif
