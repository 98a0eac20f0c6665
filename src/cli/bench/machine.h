/* machine.h: which machine something was measured on, by the keys that recordings have (analyze/diff/machines.h).
 */
#ifndef SONDE_CLI_BENCH_MACHINE_H
#define SONDE_CLI_BENCH_MACHINE_H

#include <jansson.h>
#include <stddef.h>

#include "util/json.h"

enum { SONDE_BENCH_MACHINE_KEYS = 16, SONDE_BENCH_MACHINE_B = 256 };

struct sonde_bench_machine {
	char value[SONDE_BENCH_MACHINE_KEYS][SONDE_BENCH_MACHINE_B]; /* in the order of the keys; "" = not known */
};

/* This one, and what this process may use of it. */
void sonde_bench_machine_here(struct sonde_bench_machine *out);

/* Members of an object "host". */
void sonde_bench_machine_put(struct sonde_json *json, const struct sonde_bench_machine *machine);
void sonde_bench_machine_read(struct sonde_bench_machine *out, const json_t *host);

/* Calls `say` for each difference with a sentence; 0 = times of one say nothing of the other. */
int sonde_bench_machine_compare(const struct sonde_bench_machine *a, const struct sonde_bench_machine *b,
				void (*say)(void *context, const char *sentence), void *context);

/* Whether anything is known of it. */
int sonde_bench_machine_is_known(const struct sonde_bench_machine *machine);

#endif
