/* roof.h: the measured ceilings of a machine: FLOP/s by instruction set and precision, bytes/s by memory level.
 *
 * Ceilings are measured once (measure.h) and stored in the user's cache under the machine's fingerprint; a recording
 * contains those of the machine that it was made on. A figure is the best of several runs, with their median and
 * minimum; runs = 0 means not measured. Bytes are those that the program's own loads and stores access: the line fills
 * that a cache performs before a write are not counted.
 */
#ifndef SONDE_ROOF_ROOF_H
#define SONDE_ROOF_ROOF_H

#include <stddef.h>
#include <stdint.h>

enum sonde_roof_threads { SONDE_ROOF_ONE = 0, SONDE_ROOF_ALL, SONDE_ROOF_THREADS };
enum sonde_roof_precision { SONDE_ROOF_FP64 = 0, SONDE_ROOF_FP32, SONDE_ROOF_PRECISIONS };
enum sonde_roof_level { SONDE_ROOF_L1 = 0, SONDE_ROOF_L2, SONDE_ROOF_L3, SONDE_ROOF_DRAM, SONDE_ROOF_LEVELS };
enum sonde_roof_access { SONDE_ROOF_READ = 0, SONDE_ROOF_COPY, SONDE_ROOF_TRIAD, SONDE_ROOF_ACCESSES };

/* Instruction sets in ascending order. Without FMA, a multiplication and an addition are separate instructions. */
enum sonde_roof_set {
	SONDE_ROOF_SCALAR = 0,
	SONDE_ROOF_SCALAR_FMA,
	SONDE_ROOF_SSE2,
	SONDE_ROOF_AVX,
	SONDE_ROOF_AVX2_FMA,
	SONDE_ROOF_AVX512_FMA,
	SONDE_ROOF_NEON_FMA,
	SONDE_ROOF_SETS
};

struct sonde_roof_figure {
	double best, median, least; /* per second */
	unsigned runs;              /* 0 = not measured */
};

struct sonde_roof {
	char fingerprint[17]; /* covers the fields below, up to `caches` */
	char cpu[128];        /* "" = unknown */
	char machine[32];     /* x86_64 */
	char caches[64];      /* "32K 1024K 36608K": L1d, L2, L3 of the first CPU; 0K = unknown */
	uint64_t cpus;        /* online */
	uint64_t memory_gib;  /* rounded up */
	uint64_t measured_s;  /* Unix time */
	uint64_t threads;     /* team size: the CPUs that the measurement was allowed to use */
	double stolen;        /* fraction of CPU time stolen by the hypervisor during the measurement */
	struct sonde_roof_figure flops[SONDE_ROOF_SETS][SONDE_ROOF_PRECISIONS][SONDE_ROOF_THREADS];
	struct sonde_roof_figure bytes[SONDE_ROOF_LEVELS][SONDE_ROOF_ACCESSES][SONDE_ROOF_THREADS];
	uint64_t set_b[SONDE_ROOF_LEVELS][SONDE_ROOF_THREADS]; /* working set per thread; 0 = level not measured */
	/* why a level was not measured; "" = measured, or unknown */
	char why[SONDE_ROOF_LEVELS][SONDE_ROOF_THREADS][128];
	/* Datasheet figures for all CPUs; 0 = unknown. */
	double datasheet_flops[SONDE_ROOF_PRECISIONS], datasheet_bytes;
};

/* Stable names, used as keys in files and shown to users. */
const char *sonde_roof_set_title(enum sonde_roof_set set);                  /* "AVX-512 FMA" */
const char *sonde_roof_precision_name(enum sonde_roof_precision precision); /* "fp64" */
const char *sonde_roof_level_name(enum sonde_roof_level level);             /* "L1", "DRAM" */
const char *sonde_roof_access_name(enum sonde_roof_access access);          /* "read" */

/* The highest figure over all instruction sets, or over all kinds of access; NULL = none was measured. */
const struct sonde_roof_figure *sonde_roof_peak(const struct sonde_roof *roof, enum sonde_roof_precision precision,
						enum sonde_roof_threads threads);
const struct sonde_roof_figure *sonde_roof_bandwidth(const struct sonde_roof *roof, enum sonde_roof_level level,
						     enum sonde_roof_threads threads);

/* How far the median run stayed below the best run, as a fraction; 0 if not measured. */
double sonde_roof_spread(const struct sonde_roof_figure *figure);

/* Reasons why ceilings may be too low (they are never too high); a reason that does not apply is 0. */
struct sonde_roof_doubt {
	double spread;  /* the largest spread, if runs differed too much */
	int is_all_low; /* all CPUs together did less than one alone */
	double stolen;  /* fraction of CPU time that a hypervisor took */
};

/* True if the ceilings may be too low: then no finding may depend on how close work is to them. `out` may be NULL. */
int sonde_roof_is_doubtful(const struct sonde_roof *roof, struct sonde_roof_doubt *out);

/* Loads this machine's ceilings from the cache: -ENOENT with a message if they were never measured, -EBADMSG if the
 * file belongs to another machine or is damaged. */
int sonde_roof_load(struct sonde_roof *out);

/* Stores the ceilings atomically; the message names the cause of a failure. */
int sonde_roof_store(const struct sonde_roof *roof);

/* Ceilings as texts "roof.KEY" = value: `get` returns a key's value or NULL, `put` receives each in turn. -ENOENT if
 * there are none, -EBADMSG if one of them is not a number. */
typedef const char *sonde_roof_get(void *context, const char *key);
typedef void sonde_roof_put(void *context, const char *key, const char *value);
int sonde_roof_from_keys(struct sonde_roof *out, sonde_roof_get *get, void *context);
void sonde_roof_to_keys(const struct sonde_roof *roof, sonde_roof_put *put, void *context);

/* Reads datasheet figures from a file of lines "fp64 1.2T", "fp32 2.4T", "dram 140G", with comments after '#'. */
int sonde_roof_datasheet(struct sonde_roof *roof, const char *path);

#endif
