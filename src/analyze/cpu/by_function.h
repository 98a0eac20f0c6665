/* by_function.h: folded samples, summed by function.
 *
 * Inlined functions are functions of their own. A function that is several times on a stack counts once in its total,
 * so that no total exceeds the whole. Row 0 is [kernel]: kernel code without a name of its own.
 */
#ifndef SONDE_ANALYZE_CPU_BY_FUNCTION_H
#define SONDE_ANALYZE_CPU_BY_FUNCTION_H

#include "analyze/cpu/samples.h"

#define SONDE_KERNEL_NAME "[kernel]"

struct sonde_function_weight {
	struct sonde_weight self, total;
};

/* The function of location i of a frame (0 = innermost): its id, or 0 for unnamed kernel code. */
uint32_t sonde_function_of(const struct sonde_session *session, const struct sonde_frame *frame, uint32_t i);

/* What to show of a function id; [kernel] for 0. */
const char *sonde_function_name(const struct sonde_session *session, uint32_t id);
const char *sonde_function_module(const struct sonde_session *session, uint32_t id);

/* malloc'ed rows by function id, 0 … count − 1. `samples` is folded. */
int sonde_by_function(const struct sonde_samples *samples, struct sonde_function_weight **out, size_t *count);

/* The id of the function with this name that has the largest total (or of the largest self time when name is NULL);
 * 0 = none. */
uint32_t sonde_function_pick(const struct sonde_session *session, const struct sonde_function_weight *rows,
			     size_t count, const char *name);

#endif
