/* by_function.h: sums folded samples by function.
 *
 * Inlined functions are separate functions. A function that occurs several times on a stack counts once in its total,
 * so that no total exceeds the whole. Row 0 is [kernel]: kernel code without a name.
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

/* Display name of a function id; [kernel] for 0. */
const char *sonde_function_name(const struct sonde_session *session, uint32_t id);
const char *sonde_function_module(const struct sonde_session *session, uint32_t id);

/* Allocated rows by function id, 0 … count − 1; the caller frees them. `samples` must be folded. */
int sonde_by_function(const struct sonde_samples *samples, struct sonde_function_weight **out, size_t *count);

/* The function of this name with the largest total (if name is NULL, the function with the largest self time); 0 =
 * none. */
uint32_t sonde_function_pick(const struct sonde_session *session, const struct sonde_function_weight *rows,
			     size_t count, const char *name);

#endif
