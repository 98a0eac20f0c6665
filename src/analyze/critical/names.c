/* names.c: what the time of a critical path was spent on, by kind and name: zones, functions and threads
 * (critical/active.c), and waiting steps. */
#include "analyze/critical/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/cpu/by_function.h"
#include "analyze/critical/sums.h"
#include "analyze/device/sums.h"
#include "format/device.h"
#include "session/device_labels.h"
#include "util/error.h"

struct naming {
	const struct sonde_critical *critical;
	const struct sonde_critical_path *path;
	struct sonde_critical_sums sums;
};

/* --- names -------------------------------------------------------------------------------------------------------- */

const char *sonde_critical_state_name(uint8_t state)
{
	static const char *const names[SONDE_CRITICAL_KINDS] = {
	    [SONDE_CRITICAL_RUNNING] = "running",   [SONDE_CRITICAL_UNSEEN] = "unseen",
	    [SONDE_CRITICAL_RUNNABLE] = "runnable", [SONDE_CRITICAL_WAKING] = "waking",
	    [SONDE_CRITICAL_BLOCKED] = "blocked",   [SONDE_CRITICAL_UNBORN] = "not known",
	    [SONDE_CRITICAL_DEVICE] = "device",     [SONDE_CRITICAL_QUEUED] = "queued",
	    [SONDE_CRITICAL_NOTICING] = "noticing"};
	return names[state < SONDE_CRITICAL_KINDS ? state : SONDE_CRITICAL_UNBORN];
}

static enum sonde_critical_element_kind step_element(const struct sonde_critical_step *step)
{
	if (step->kind != SONDE_CRITICAL_DEVICE && step->call && sonde_wait_row(step->call)->name)
		return sonde_critical_element_of_wait(step->call);
	return step->kind == SONDE_CRITICAL_RUNNING || step->kind == SONDE_CRITICAL_UNSEEN
		   ? SONDE_CRITICAL_ELEMENT_THREAD
		   : SONDE_CRITICAL_ELEMENT_OTHER;
}

const char *sonde_critical_step_kind(const struct sonde_critical_step *step)
{
	static const char *const kinds[SONDE_CRITICAL_KINDS] = {[SONDE_CRITICAL_RUNNING] = "thread",
								[SONDE_CRITICAL_UNSEEN] = "thread",
								[SONDE_CRITICAL_RUNNABLE] = "wait for a CPU",
								[SONDE_CRITICAL_WAKING] = "wake-up",
								[SONDE_CRITICAL_BLOCKED] = "blocked",
								[SONDE_CRITICAL_UNBORN] = "not known",
								[SONDE_CRITICAL_DEVICE] = "device",
								[SONDE_CRITICAL_QUEUED] = "wait for a GPU",
								[SONDE_CRITICAL_NOTICING] = "wake-up by a GPU"};
	const char *call = step->kind == SONDE_CRITICAL_DEVICE ? sonde_activity_row(step->call)->name
			   : step->call                        ? sonde_wait_row(step->call)->name
							       : NULL;
	return call ? call : kinds[step->kind < SONDE_CRITICAL_KINDS ? step->kind : SONDE_CRITICAL_UNBORN];
}

const char *sonde_critical_step_name(const struct sonde_session *session, const struct sonde_critical_step *step,
				     struct sonde_report *report)
{
	const struct sonde_operation *operation = sonde_session_operation(session, step->queue ? step->object : 0);
	const struct sonde_object *object = sonde_session_object(session, step->queue ? 0 : step->object);
	const struct sonde_thread *thread = sonde_session_thread(session, step->thread);
	if (operation)
		return operation->name;
	if (object && *object->name)
		return object->name;
	if (object && object->address)
		return sonde_report_text(report, "0x%" PRIx64, object->address);
	if (step->kind == SONDE_CRITICAL_UNBORN)
		return sonde_report_text(report, "before %s started", thread ? thread->name : "it");
	return thread ? thread->name : "";
}

const char *sonde_critical_step_where(const struct sonde_session *session, const struct sonde_critical_step *step,
				      struct sonde_report *report)
{
	const struct sonde_queue *queue = sonde_session_queue(session, step->queue);
	const struct sonde_thread *thread = sonde_session_thread(session, step->thread);
	if (!queue)
		return thread ? thread->name : "";
	const char *device = sonde_device_label(session, queue->device, report);
	const char *on = *device ? " on " : "";
	char label[SONDE_DEVICE_LABEL_MAX_B];
	sonde_queue_label_put(session, step->queue, label, sizeof label);
	return sonde_report_text(report, "%s%s%s", label, on, device);
}

static int is_external(uint8_t call)
{
	enum sonde_wait_group group = sonde_wait_row(call)->group;
	return call == SONDE_WAIT_SLEEP || group == SONDE_WAIT_GROUP_IO;
}

static int add_steps(struct naming *naming, struct sonde_critical_elements *out)
{
	const struct sonde_critical_path *path = naming->path;
	for (size_t i = 0; i < path->count; i++) {
		const struct sonde_critical_step *step = &path->steps[i];
		uint64_t ns = sonde_critical_step_end(path, i) - step->from_ns;
		out->by_state_ns[step->kind] += ns;
		if (step->kind == SONDE_CRITICAL_BLOCKED && is_external(step->call))
			out->external_ns += ns;
		if (step->kind == SONDE_CRITICAL_RUNNING || step->kind == SONDE_CRITICAL_UNSEEN)
			continue;
		uint8_t state = (uint8_t)(step->kind | (step->object ? 0x80 : 0));
		uint64_t key = sonde_critical_key(SONDE_CRITICAL_CLASS_STEP, state, step->call,
						  step->object ? step->object : step->thread);
		int rc = sonde_critical_sum_add(&naming->sums, key, ns, 1);
		if (rc)
			return rc;
		if (ns)
			sonde_critical_sum_of(&naming->sums, key)->step = *step;
	}
	return 0;
}

static struct sonde_critical_element element_of(const struct naming *naming, const struct sonde_critical_sum *sum,
						struct sonde_report *report)
{
	const struct sonde_session *session = naming->critical->session;
	uint32_t id = (uint32_t)sum->key;
	struct sonde_critical_element element = {
	    .ns = sum->ns, .count = sum->count, .state = (uint8_t)(sum->key >> 48 & 0x7f)};
	const struct sonde_site *site = sonde_session_site(session, id);
	const struct sonde_thread *thread = sonde_session_thread(session, id);
	switch ((enum sonde_critical_class)(sum->key >> 56)) {
	case SONDE_CRITICAL_CLASS_ZONE:
		element.kind = "zone";
		element.is = SONDE_CRITICAL_ELEMENT_ZONE;
		element.name = site ? site->name : "";
		break;
	case SONDE_CRITICAL_CLASS_FUNCTION:
		element.kind = "function";
		element.is = SONDE_CRITICAL_ELEMENT_FUNCTION;
		element.name = sonde_function_name(session, id);
		element.is_estimated = 1;
		break;
	case SONDE_CRITICAL_CLASS_THREAD:
		element.kind = "thread";
		element.is = SONDE_CRITICAL_ELEMENT_THREAD;
		element.name = thread ? thread->name : "";
		break;
	case SONDE_CRITICAL_CLASS_STEP:
		element.kind = sonde_critical_step_kind(&sum->step);
		element.is = step_element(&sum->step);
		element.name = sonde_critical_step_name(session, &sum->step, report);
		element.is_estimated =
		    naming->critical->has_looks && sum->step.kind == SONDE_CRITICAL_BLOCKED && sum->step.call;
		break;
	}
	return element;
}

static int compare_names(const void *left, const void *right)
{
	const struct sonde_critical_element *a = left, *b = right;
	int order = strcmp(a->kind, b->kind);
	order = order ? order : strcmp(a->name, b->name);
	return order ? order : (a->state > b->state) - (a->state < b->state);
}

static int compare_times(const void *left, const void *right)
{
	const struct sonde_critical_element *a = left, *b = right;
	return a->ns != b->ns ? (a->ns < b->ns ? 1 : -1) : compare_names(left, right);
}

/* Merges sums of equal kind and name into one element. */
static int make_elements(struct sonde_critical_elements *out, const struct naming *naming, struct sonde_report *report)
{
	out->rows = malloc((naming->sums.count + 1) * sizeof *out->rows);
	if (!out->rows)
		return sonde_error(ENOMEM, "out of memory for %zu elements", naming->sums.count);
	for (size_t i = 0; i < naming->sums.count; i++) {
		out->rows[i] = element_of(naming, &naming->sums.row[i], report);
		if (!out->rows[i].name)
			return sonde_error(ENOMEM, "out of memory for names");
	}
	qsort(out->rows, naming->sums.count, sizeof *out->rows, compare_names);
	for (size_t i = 0; i < naming->sums.count; i++) {
		struct sonde_critical_element *last = out->count ? &out->rows[out->count - 1] : NULL;
		if (last && !compare_names(last, &out->rows[i])) {
			last->ns += out->rows[i].ns;
			last->count += out->rows[i].count;
		} else {
			out->rows[out->count++] = out->rows[i];
		}
	}
	qsort(out->rows, out->count, sizeof *out->rows, compare_times);
	return 0;
}

int sonde_critical_elements_find(struct sonde_critical_elements *out, const struct sonde_critical *critical,
				 const struct sonde_critical_path *path, struct sonde_report *report)
{
	struct naming naming = {.critical = critical, .path = path};
	*out = (struct sonde_critical_elements){0};
	int rc = sonde_critical_active_add(&naming.sums, critical, path, SONDE_CRITICAL_RUNNING);
	rc = rc < 0 ? rc : sonde_critical_active_add(&naming.sums, critical, path, SONDE_CRITICAL_UNSEEN);
	rc = rc < 0 ? rc : add_steps(&naming, out);
	rc = rc < 0 ? rc : make_elements(out, &naming, report);
	sonde_critical_sums_fini(&naming.sums);
	if (rc < 0)
		sonde_critical_elements_fini(out);
	return rc < 0 ? rc : 0;
}

void sonde_critical_elements_fini(struct sonde_critical_elements *elements)
{
	free(elements->rows);
	*elements = (struct sonde_critical_elements){0};
}
