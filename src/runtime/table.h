/* table.h: statistics as a text table on a file descriptor, for programs that print their own summary. */
#ifndef SONDE_RUNTIME_TABLE_H
#define SONDE_RUNTIME_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/runtime.h"

/* Computes mean and sample standard deviation of out->count durations from their sum and sum of squares. */
void sonde_table_moments(struct sonde_stats *out, uint64_t sum_ns, double square_ns);
void sonde_table_print(int fd, const struct sonde_stats *rows, size_t count, uint64_t lost);

#endif
