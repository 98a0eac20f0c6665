/* machine.h: identifies the machine of a measurement, with the same keys as recordings (analyze/diff/machines.h). */
#ifndef SONDE_CLI_BENCH_MACHINE_H
#define SONDE_CLI_BENCH_MACHINE_H

#include <jansson.h>
#include <stddef.h>

#include "util/json.h"

enum { SONDE_BENCH_MACHINE_KEYS = 16, SONDE_BENCH_MACHINE_B = 256 };

struct sonde_bench_machine {
	char value[SONDE_BENCH_MACHINE_KEYS][SONDE_BENCH_MACHINE_B]; /* in the order of the keys; "" = unknown */
};

/* Identifies this machine, including the limits on what this process may use of it. */
void sonde_bench_machine_here(struct sonde_bench_machine *out);

/* Writes the members of an object "host". */
void sonde_bench_machine_put(struct sonde_json *json, const struct sonde_bench_machine *machine);
void sonde_bench_machine_read(struct sonde_bench_machine *out, const json_t *host);

/* Calls `say` with a message for each difference; returns 0 if times cannot be compared. */
int sonde_bench_machine_compare(const struct sonde_bench_machine *a, const struct sonde_bench_machine *b,
				void (*say)(void *context, const char *sentence), void *context);

/* True if anything is known about the machine. */
int sonde_bench_machine_is_known(const struct sonde_bench_machine *machine);

#endif
