/* by_function.c: sums folded samples by function. A counter per function tracks its occurrences on the current path:
 * only the outermost one adds to the total. */
#include "analyze/cpu/by_function.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

struct fold {
	const struct sonde_session *session;
	struct sonde_function_weight *rows;
	uint32_t *active;
	size_t count;
};

uint32_t sonde_function_of(const struct sonde_session *session, const struct sonde_frame *frame, uint32_t i)
{
	uint32_t id = frame->locations[i].function;
	const struct sonde_function *function = sonde_session_function(session, id);
	if (function && !function->unnamed)
		return id;
	const struct sonde_module *module = sonde_session_module(session, frame->module);
	return module && (module->flags & SONDE_MODULE_KERNEL) ? 0 : id;
}

const char *sonde_function_name(const struct sonde_session *session, uint32_t id)
{
	const struct sonde_function *function = sonde_session_function(session, id);
	return function ? function->name : SONDE_KERNEL_NAME;
}

const char *sonde_function_module(const struct sonde_session *session, uint32_t id)
{
	const struct sonde_function *function = sonde_session_function(session, id);
	const struct sonde_module *module = function ? sonde_session_module(session, function->module) : NULL;
	return module ? module->name : "";
}

static void enter(struct fold *fold, uint32_t id, struct sonde_weight total)
{
	if (id < fold->count && fold->active[id]++ == 0)
		sonde_weight_add(&fold->rows[id].total, total);
}

static void leave(struct fold *fold, uint32_t id)
{
	if (id < fold->count)
		fold->active[id]--;
}

static void visit_function(void *state, const struct sonde_visit *visit)
{
	struct fold *fold = state;
	const struct sonde_frame *frame = visit->frame;
	uint32_t count = frame ? frame->location_count : 0;
	if (visit->leaving) {
		for (uint32_t i = 0; i < count; i++)
			leave(fold, sonde_function_of(fold->session, frame, i));
		return;
	}
	for (uint32_t i = count; i > 0; i--)
		enter(fold, sonde_function_of(fold->session, frame, i - 1), visit->total);
	if (count && sonde_function_of(fold->session, frame, 0) < fold->count)
		sonde_weight_add(&fold->rows[sonde_function_of(fold->session, frame, 0)].self, visit->self);
	if (!sonde_weight_is_any(visit->kernel))
		return;
	sonde_weight_add(&fold->rows[0].self, visit->kernel);
	enter(fold, 0, visit->kernel);
	leave(fold, 0);
}

int sonde_by_function(const struct sonde_samples *samples, struct sonde_function_weight **out, size_t *count)
{
	struct fold fold = {.session = samples->session, .count = sonde_session_function_count(samples->session) + 1};
	fold.rows = calloc(fold.count, sizeof *fold.rows);
	fold.active = calloc(fold.count, sizeof *fold.active);
	int rc = fold.rows && fold.active ? 0 : sonde_error(ENOMEM, "out of memory for %zu functions", fold.count);
	if (rc == 0)
		rc = sonde_samples_walk(samples, visit_function, &fold);
	free(fold.active);
	if (rc < 0) {
		free(fold.rows);
		return rc;
	}
	if (samples->kernel) { /* kernel threads: without a stack */
		sonde_weight_add(&fold.rows[0].self, samples->kernel[0]);
		sonde_weight_add(&fold.rows[0].total, samples->kernel[0]);
	}
	*out = fold.rows;
	*count = fold.count;
	return 0;
}

uint32_t sonde_function_pick(const struct sonde_session *session, const struct sonde_function_weight *rows,
			     size_t count, const char *name)
{
	uint32_t best = 0;
	uint64_t most = 0;
	for (uint32_t id = 1; id < count; id++) {
		if (name && strcmp(sonde_function_name(session, id), name) != 0)
			continue;
		uint64_t weight = name ? rows[id].total.ns : rows[id].self.ns;
		if (weight > most) {
			best = id;
			most = weight;
		}
	}
	return best;
}
