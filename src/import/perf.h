/* perf.h: perf.data: what its head says, its records in order of time, and who was mapped where, for the files perf*.c.
 *
 * Layouts: linux/perf_event.h, and tools/perf/Documentation/perf.data-file-format.txt of the kernel's sources.
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
	int weighed; /* its samples become samples of CPU time */
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
	struct sonde_map ids; /* of events → attr + 1 */
	struct sonde_perf_build_id *build_ids;
	uint32_t build_id_count, build_id_cap;
	struct sonde_map build_id_map;        /* by path → index + 1 */
	uint32_t machine;                     /* ELF's number, 0 = not known */
	uint64_t clock_wall_ns, clock_own_ns; /* the wall clock, and theirs, at one moment; 0 = not known */
	struct sonde_perf_index *index;
	size_t count, cap;
	uint64_t first_ns, last_ns; /* of samples and of what comes with a time */
	struct sonde_arena arena;
	int is_cut;
	uint64_t compressed, switches, unknown, hostname;
};

/* Reads head, features and the index of records. */
int sonde_perf_open(struct sonde_perf *perf);
void sonde_perf_fini(struct sonde_perf *perf);
/* A record into `out` (SONDE_PERF_RECORD_MAX_B): its size, or a negative errno. */
int sonde_perf_record(struct sonde_perf *perf, uint64_t offset, uint8_t *out);

/* perf_sample.c: what is read of a sample. */
struct sonde_perf_sample {
	uint32_t attr; /* index */
	uint32_t pid, tid;
	uint64_t ip, time_ns, period;
	const uint8_t *chain; /* of u64, unaligned */
	uint64_t chain_count;
	int has_chain, has_stack; /* a copy of the stack follows */
	uint16_t misc;
};

/* 0, or -EBADMSG without a sentence: a record that makes no sense. */
int sonde_perf_sample_read(const struct sonde_perf *perf, const uint8_t *record, size_t size_b,
			   struct sonde_perf_sample *out);
/* Time of any record; 0 = it has none. */
uint64_t sonde_perf_time(const struct sonde_perf *perf, const uint8_t *record, size_t size_b);

/* perf_maps.c: mappings of processes. */
struct sonde_perf_image {
	const char *path;
	uint32_t module; /* 0 = not asked for yet, or a process's own */
	uint32_t flags;
	const uint8_t *build_id;
	uint32_t build_id_b;
};

struct sonde_perf_map {
	uint64_t start, end, offset;
	struct sonde_perf_image *image;
};

struct sonde_perf_maps {
	struct sonde_perf_map *rows; /* in order, apart */
	uint32_t count, cap;
};

enum { SONDE_PERF_MAPS_MAX = 16384 };

/* What it covers makes way. -ENOMEM; -EFBIG without a sentence: there are too many already. */
int sonde_perf_maps_add(struct sonde_perf_maps *maps, const struct sonde_perf_map *map);
const struct sonde_perf_map *sonde_perf_maps_find(const struct sonde_perf_maps *maps, uint64_t address);
int sonde_perf_maps_copy(struct sonde_perf_maps *out, const struct sonde_perf_maps *from);
void sonde_perf_maps_fini(struct sonde_perf_maps *maps);

#endif
