/* pprof.h: the tables of a profile.proto, for pprof.c, and the choice of the value to import. */
#ifndef SONDE_IMPORT_PPROF_H
#define SONDE_IMPORT_PPROF_H

#include <stddef.h>
#include <stdint.h>

#include "import/out.h"
#include "import/proto.h"

enum { SONDE_PPROF_TYPES_MAX = 64 };

struct sonde_pprof_text {
	const uint8_t *bytes;
	size_t size_b;
};

struct sonde_pprof_type {
	uint64_t type, unit; /* string indices */
};

struct sonde_pprof_mapping {
	uint64_t id, start, limit, offset, file, build_id;
	uint32_t module; /* module of the recording; 0 = not yet created */
};

struct sonde_pprof_function {
	uint64_t id, name, system_name, file, line;
	uint32_t name_text, file_text; /* strings of the recording */
	int is_written;
};

struct sonde_pprof_location {
	uint64_t id, mapping, address;
	const uint8_t *bytes; /* the encoded message, from which the lines are read later */
	size_t size_b;
	struct sonde_trie_frame frame; /* module 0 = not yet created */
};

/* Rows of a repeated message, with an index by id. */
struct sonde_pprof_rows {
	void *rows;
	size_t count, cap;
	struct sonde_map map;
};

struct sonde_pprof {
	struct sonde_import_job *job;
	uint8_t *bytes;
	size_t size_b;
	struct sonde_pprof_text *texts;
	size_t text_count, text_cap;
	struct sonde_pprof_type types[SONDE_PPROF_TYPES_MAX], period_type;
	size_t type_count;
	struct sonde_pprof_rows mappings, functions, locations;
	struct sonde_map places; /* (module, address) pairs already used by a location */
	uint64_t samples, default_type, time_ns, duration_ns, period;
	int64_t value, count; /* indices of the weight and the sample count; −1 = none */
	double scale_ns;      /* ns per unit of the value */
	uint64_t each;        /* the value that corresponds to one sample; 0 = unknown */
};

int sonde_pprof_read(struct sonde_pprof *pprof);
void sonde_pprof_fini(struct sonde_pprof *pprof);

/* Returns the row with an id; NULL = none. */
void *sonde_pprof_find(const struct sonde_pprof_rows *rows, size_t row_b, uint64_t id);
/* Copies a string, truncated to max_b − 1 bytes, and returns `out`. */
const char *sonde_pprof_text(const struct sonde_pprof *pprof, uint64_t index, char *out, size_t max_b);

/* Chooses the value and adds its note; -EINVAL if the user has to choose with --type. */
int sonde_pprof_choose(struct sonde_pprof *pprof);
/* Writes the name of a value type to `out`, for notes, and returns `out`. */
const char *sonde_pprof_type_name(const struct sonde_pprof *pprof, size_t i, char *out, size_t max_b);

#endif
