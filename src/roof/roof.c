/* roof.c: ceilings as keys and values, for files and recordings, and the datasheet parser.
 *
 * Each row of `figures` is one table of figures; a figure is written as "BEST MEDIAN LEAST RUNS". Missing keys were not
 * measured and stay unset.
 */
#include "roof/roof.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

#define VERSION "1"
#define KEY_B 96

static const struct {
	const char *name, *title;
} sets[SONDE_ROOF_SETS] = {
    [SONDE_ROOF_SCALAR] = {"scalar", "scalar"},
    [SONDE_ROOF_SCALAR_FMA] = {"scalar-fma", "scalar FMA"},
    [SONDE_ROOF_SSE2] = {"sse2", "SSE2"},
    [SONDE_ROOF_AVX] = {"avx", "AVX"},
    [SONDE_ROOF_AVX2_FMA] = {"avx2-fma", "AVX2 FMA"},
    [SONDE_ROOF_AVX512_FMA] = {"avx512-fma", "AVX-512 FMA"},
    [SONDE_ROOF_NEON_FMA] = {"neon-fma", "NEON FMA"},
};

static const char *const precisions[SONDE_ROOF_PRECISIONS] = {"fp64", "fp32"};
static const char *const levels[SONDE_ROOF_LEVELS] = {"L1", "L2", "L3", "DRAM"};
static const char *const accesses[SONDE_ROOF_ACCESSES] = {"read", "copy", "triad"};
static const char *const threads_names[SONDE_ROOF_THREADS] = {"one", "all"};

const char *sonde_roof_set_title(enum sonde_roof_set set)
{
	return sets[set].title;
}

const char *sonde_roof_precision_name(enum sonde_roof_precision precision)
{
	return precisions[precision];
}

const char *sonde_roof_level_name(enum sonde_roof_level level)
{
	return levels[level];
}

const char *sonde_roof_access_name(enum sonde_roof_access access)
{
	return accesses[access];
}

static const struct sonde_roof_figure *higher(const struct sonde_roof_figure *best,
					      const struct sonde_roof_figure *figure)
{
	return figure->runs && (!best || figure->best > best->best) ? figure : best;
}

const struct sonde_roof_figure *sonde_roof_peak(const struct sonde_roof *roof, enum sonde_roof_precision precision,
						enum sonde_roof_threads threads)
{
	const struct sonde_roof_figure *best = NULL;
	for (int set = 0; set < SONDE_ROOF_SETS; set++)
		best = higher(best, &roof->flops[set][precision][threads]);
	return best;
}

const struct sonde_roof_figure *sonde_roof_bandwidth(const struct sonde_roof *roof, enum sonde_roof_level level,
						     enum sonde_roof_threads threads)
{
	const struct sonde_roof_figure *best = NULL;
	for (int access = 0; access < SONDE_ROOF_ACCESSES; access++)
		best = higher(best, &roof->bytes[level][access][threads]);
	return best;
}

/* --- walking over all keys, for reading and writing --------------------------------------------------------------- */

/* Callbacks for each kind of field; each returns 0 or a negative errno. */
struct visitor {
	int (*text)(struct visitor *visitor, const char *key, char *text, size_t text_b);
	int (*number)(struct visitor *visitor, const char *key, uint64_t *number);
	int (*real)(struct visitor *visitor, const char *key, double *real);
	int (*figure)(struct visitor *visitor, const char *key, struct sonde_roof_figure *figure);
	sonde_roof_get *get;
	sonde_roof_put *put;
	void *context;
};

static int visit_machine(struct visitor *visitor, struct sonde_roof *roof)
{
	int code = visitor->text(visitor, "roof.fingerprint", roof->fingerprint, sizeof roof->fingerprint);
	code = code ? code : visitor->text(visitor, "roof.cpu", roof->cpu, sizeof roof->cpu);
	code = code ? code : visitor->text(visitor, "roof.machine", roof->machine, sizeof roof->machine);
	code = code ? code : visitor->text(visitor, "roof.caches", roof->caches, sizeof roof->caches);
	code = code ? code : visitor->number(visitor, "roof.cpus", &roof->cpus);
	code = code ? code : visitor->number(visitor, "roof.memory_gib", &roof->memory_gib);
	code = code ? code : visitor->number(visitor, "roof.measured_s", &roof->measured_s);
	code = code ? code : visitor->number(visitor, "roof.threads", &roof->threads);
	code = code ? code : visitor->real(visitor, "roof.stolen", &roof->stolen);
	code = code ? code : visitor->real(visitor, "roof.datasheet.fp64", &roof->datasheet_flops[SONDE_ROOF_FP64]);
	code = code ? code : visitor->real(visitor, "roof.datasheet.fp32", &roof->datasheet_flops[SONDE_ROOF_FP32]);
	return code ? code : visitor->real(visitor, "roof.datasheet.dram", &roof->datasheet_bytes);
}

static int visit_flops(struct visitor *visitor, struct sonde_roof *roof, int set, int threads)
{
	char key[KEY_B];
	int code = 0;
	for (int precision = 0; precision < SONDE_ROOF_PRECISIONS && !code; precision++) {
		snprintf(key, sizeof key, "roof.flops.%s.%s.%s", sets[set].name, precisions[precision],
			 threads_names[threads]);
		code = visitor->figure(visitor, key, &roof->flops[set][precision][threads]);
	}
	return code;
}

static int visit_bytes(struct visitor *visitor, struct sonde_roof *roof, int level, int threads)
{
	char key[KEY_B];
	snprintf(key, sizeof key, "roof.set_b.%s.%s", levels[level], threads_names[threads]);
	int code = visitor->number(visitor, key, &roof->set_b[level][threads]);
	snprintf(key, sizeof key, "roof.why.%s.%s", levels[level], threads_names[threads]);
	code = code ? code : visitor->text(visitor, key, roof->why[level][threads], sizeof roof->why[0][0]);
	for (int access = 0; access < SONDE_ROOF_ACCESSES && !code; access++) {
		snprintf(key, sizeof key, "roof.bytes.%s.%s.%s", levels[level], accesses[access],
			 threads_names[threads]);
		code = visitor->figure(visitor, key, &roof->bytes[level][access][threads]);
	}
	return code;
}

static int visit(struct visitor *visitor, struct sonde_roof *roof)
{
	int code = visit_machine(visitor, roof);
	for (int threads = 0; threads < SONDE_ROOF_THREADS; threads++) {
		for (int set = 0; set < SONDE_ROOF_SETS && !code; set++)
			code = visit_flops(visitor, roof, set, threads);
		for (int level = 0; level < SONDE_ROOF_LEVELS && !code; level++)
			code = visit_bytes(visitor, roof, level, threads);
	}
	return code;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static int put_text(struct visitor *visitor, const char *key, char *text, size_t text_b)
{
	(void)text_b;
	if (*text)
		visitor->put(visitor->context, key, text);
	return 0;
}

static int put_number(struct visitor *visitor, const char *key, uint64_t *number)
{
	char text[32];
	snprintf(text, sizeof text, "%" PRIu64, *number);
	if (*number)
		visitor->put(visitor->context, key, text);
	return 0;
}

static int put_real(struct visitor *visitor, const char *key, double *real)
{
	char text[32];
	snprintf(text, sizeof text, "%.6g", *real);
	if (*real > 0)
		visitor->put(visitor->context, key, text);
	return 0;
}

static int put_figure(struct visitor *visitor, const char *key, struct sonde_roof_figure *figure)
{
	char text[128];
	snprintf(text, sizeof text, "%.6g %.6g %.6g %u", figure->best, figure->median, figure->least, figure->runs);
	if (figure->runs)
		visitor->put(visitor->context, key, text);
	return 0;
}

void sonde_roof_to_keys(const struct sonde_roof *roof, sonde_roof_put *put, void *context)
{
	struct sonde_roof copy = *roof;
	struct visitor visitor = {.text = put_text,
				  .number = put_number,
				  .real = put_real,
				  .figure = put_figure,
				  .put = put,
				  .context = context};
	put(context, "roof.version", VERSION);
	visit(&visitor, &copy);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static int damaged(const char *key, const char *value)
{
	return sonde_error(EBADMSG, "%s: '%.60s' was not written by sonde: measure again with sonde roofline --measure",
			   key, value);
}

static int get_text(struct visitor *visitor, const char *key, char *text, size_t text_b)
{
	const char *value = visitor->get(visitor->context, key);
	if (value && strlen(value) >= text_b)
		return damaged(key, value);
	snprintf(text, text_b, "%s", value ? value : "");
	return 0;
}

static int get_number(struct visitor *visitor, const char *key, uint64_t *number)
{
	const char *value = visitor->get(visitor->context, key);
	char *end = NULL;
	*number = value ? strtoull(value, &end, 10) : 0;
	return value && (*value < '0' || *value > '9' || *end) ? damaged(key, value) : 0;
}

static int get_real(struct visitor *visitor, const char *key, double *real)
{
	const char *value = visitor->get(visitor->context, key);
	char *end = NULL;
	*real = value ? strtod(value, &end) : 0;
	return value && (end == value || *end || !isfinite(*real) || *real < 0) ? damaged(key, value) : 0;
}

static int get_figure(struct visitor *visitor, const char *key, struct sonde_roof_figure *figure)
{
	const char *value = visitor->get(visitor->context, key);
	struct sonde_roof_figure read = {0};
	int end = 0;
	if (!value)
		return 0;
	int fields = sscanf(value, "%lf %lf %lf %u%n", &read.best, &read.median, &read.least, &read.runs, &end);
	if (fields != 4 || value[end] || !isfinite(read.best) || !(read.least > 0 && read.least <= read.median) ||
	    !(read.median <= read.best) || !read.runs)
		return damaged(key, value);
	*figure = read;
	return 0;
}

int sonde_roof_from_keys(struct sonde_roof *out, sonde_roof_get *get, void *context)
{
	struct sonde_roof roof = {0};
	struct visitor visitor = {.text = get_text,
				  .number = get_number,
				  .real = get_real,
				  .figure = get_figure,
				  .get = get,
				  .context = context};
	const char *version = get(context, "roof.version");
	if (!version)
		return sonde_error(ENOENT, "no measured ceilings: run sonde roofline --measure once on this machine");
	if (strcmp(version, VERSION))
		return sonde_error(EBADMSG,
				   "the measured ceilings have version %.20s, but " VERSION
				   " is needed: run sonde roofline --measure again",
				   version);
	int code = visit(&visitor, &roof);
	if (!code)
		*out = roof;
	return code;
}

/* --- the datasheet ------------------------------------------------------------------------------------------------ */

static int parse_rate(double *out, const char *text)
{
	static const char prefixes[] = "KMGTP";
	char *end;
	double rate = strtod(text, &end);
	const char *prefix = *end && end != text ? strchr(prefixes, *end) : NULL;
	for (const char *at = prefixes; prefix && at <= prefix; at++)
		rate *= 1000;
	end += prefix != NULL;
	if (end == text || *end || !isfinite(rate) || rate <= 0)
		return -EINVAL;
	*out = rate;
	return 0;
}

static int take_line(struct sonde_roof *roof, char *line, const char *path, unsigned number)
{
	char key[32], value[64], more[2];
	line[strcspn(line, "#\n")] = '\0';
	int words = sscanf(line, "%31s %63s %1s", key, value, more);
	if (words <= 0)
		return 0;
	double *place = !strcmp(key, "fp64")   ? &roof->datasheet_flops[SONDE_ROOF_FP64]
			: !strcmp(key, "fp32") ? &roof->datasheet_flops[SONDE_ROOF_FP32]
			: !strcmp(key, "dram") ? &roof->datasheet_bytes
					       : NULL;
	if (words == 2 && place && !parse_rate(place, value))
		return 0;
	return sonde_error(EINVAL,
			   "%s:%u: write 'fp64 1.2T', 'fp32 2.4T' or 'dram 140G': FLOP/s and bytes/s of the "
			   "whole machine",
			   path, number);
}

int sonde_roof_datasheet(struct sonde_roof *roof, const char *path)
{
	struct sonde_roof copy = *roof;
	char line[512];
	unsigned number = 0;
	int code = 0;
	FILE *file = fopen(path, "re");
	if (!file)
		return sonde_error(errno, "%s: %s", path, strerror(errno));
	while (!code && fgets(line, sizeof line, file))
		code = take_line(&copy, line, path, ++number);
	if (!code && ferror(file))
		code = sonde_error(EIO, "%s: cannot be read", path);
	fclose(file);
	if (!code)
		*roof = copy;
	return code;
}
