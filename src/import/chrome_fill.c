/* chrome_fill.c: parses numbers in the text of trace events and collects the parts of an event (chrome.h).
 *
 * Times are parsed digit by digit, so that they are exact to the nanosecond; a double that counts microseconds since
 * 1970 would not be. The size of an event is limited: excess arguments are dropped and counted, and an oversized
 * profile is rejected.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "import/chrome.h"
#include "util/array.h"
#include "util/error.h"

enum { NODES_MAX = 1 << 22, ID_MAX_B = 128 };

/* --- numbers ------------------------------------------------------------------------------------------------------ */

int sonde_chrome_read_micros(const char *text, size_t len_b, int64_t *out, int *has_fraction)
{
	size_t at = len_b && *text == '-';
	int64_t ns = 0;
	for (; at < len_b && text[at] >= '0' && text[at] <= '9'; at++)
		if ((ns = ns * 10 + (text[at] - '0')) > SONDE_CHROME_TIME_MAX_NS / 1000)
			return 0;
	ns *= 1000;
	if (at < len_b && text[at] == '.') {
		int64_t unit = 100;
		for (at++; at < len_b && text[at] >= '0' && text[at] <= '9'; at++, unit /= 10) {
			ns += unit * (text[at] - '0');
			if (!unit && text[at - 1] != '.')
				continue;
			*has_fraction |= text[at] != '0';
		}
	}
	if (at < len_b) { /* an exponent */
		char number[64];
		if (len_b >= sizeof number)
			return 0;
		memcpy(number, text, len_b);
		number[len_b] = 0;
		double micros = strtod(number, NULL);
		if (!(micros > -(double)SONDE_CHROME_TIME_MAX_NS / 1e3 &&
		      micros < (double)SONDE_CHROME_TIME_MAX_NS / 1e3))
			return 0;
		*out = (int64_t)(micros * 1e3 + (micros < 0 ? -0.5 : 0.5));
		*has_fraction = 1;
		return 1;
	}
	*out = *text == '-' ? -ns : ns;
	return 1;
}

double sonde_chrome_read_real(const char *text, size_t len_b)
{
	char number[64];
	len_b = len_b < sizeof number - 1 ? len_b : sizeof number - 1;
	memcpy(number, text, len_b);
	number[len_b] = 0;
	return strtod(number, NULL);
}

int sonde_chrome_read_whole(const char *text, size_t len_b, uint64_t *bits, int *negative)
{
	size_t at = len_b && *text == '-';
	uint64_t value = 0;
	*negative = (int)at;
	if (at == len_b)
		return 0;
	for (; at < len_b; at++) {
		if (text[at] < '0' || text[at] > '9' || value > (INT64_MAX - 9) / 10)
			return 0;
		value = value * 10 + (uint64_t)(text[at] - '0');
	}
	*bits = *negative ? -value : value;
	return 1;
}

/* --- an event ----------------------------------------------------------------------------------------------------- */

void sonde_chrome_fill_begin(struct sonde_chrome_event *event)
{
	event->phase = 0;
	event->name = event->category = event->pid = event->tid = event->scope = 0;
	event->id = 0;
	event->id_b = 0;
	event->is_global = 0;
	event->has_time = event->has_dur = event->has_start = 0;
	event->arg_count = event->bytes_b = event->node_count = 0;
	event->samples.count = event->deltas.count = event->weights.count = 0;
}

void sonde_chrome_fill_end(struct sonde_chrome_event *event)
{
	free(event->nodes);
	free(event->samples.values);
	free(event->deltas.values);
	free(event->weights.values);
}

int sonde_chrome_fill_bytes(struct sonde_chrome_event *event, const char *text, uint32_t len_b, uint32_t *at)
{
	if (event->bytes_b + len_b > sizeof event->bytes)
		return 0;
	*at = event->bytes_b;
	memcpy(event->bytes + event->bytes_b, text, len_b);
	event->bytes_b += len_b;
	return 1;
}

void sonde_chrome_fill_id(struct sonde_chrome_event *event, const char *text, size_t len_b, int is_global)
{
	uint32_t keep_b = len_b < ID_MAX_B ? (uint32_t)len_b : ID_MAX_B;
	event->id = sonde_hash_bytes(text, len_b);
	event->is_global = is_global;
	event->id_b = sonde_chrome_fill_bytes(event, text, keep_b, &event->id_at) ? keep_b : 0;
}

void sonde_chrome_fill_arg(struct sonde_chrome *chrome, struct sonde_chrome_event *event, struct sonde_chrome_arg arg,
			   const char *text, size_t len_b)
{
	uint32_t keep_b = len_b < SONDE_CHROME_ARG_MAX_B ? (uint32_t)len_b : SONDE_CHROME_ARG_MAX_B;
	chrome->counts.long_args += keep_b < len_b;
	if (event->arg_count == SONDE_CHROME_ARGS_MAX || !arg.key_b ||
	    !sonde_chrome_fill_bytes(event, text, keep_b, &arg.text_at)) {
		chrome->counts.args++;
		return;
	}
	arg.text_b = keep_b;
	event->args[event->arg_count++] = arg;
}

/* --- a profile ---------------------------------------------------------------------------------------------------- */

/* Aborts reading with an out-of-memory error. */
static int no_memory(struct sonde_chrome *chrome)
{
	chrome->error = sonde_error(ENOMEM, "out of memory");
	return 0;
}

static int too_many(struct sonde_chrome *chrome, const char *what)
{
	chrome->error = sonde_error(EFBIG, "%s is too big: one event holds a profile of more than 4 million %s",
				    sonde_input_name(chrome->job->input), what);
	return 0;
}

int sonde_chrome_fill_list(struct sonde_chrome *chrome, struct sonde_chrome_list *list, uint64_t value)
{
	if (list->count == SONDE_CHROME_LIST_MAX)
		return too_many(chrome, "samples");
	if (SONDE_ARRAY_RESERVE(list->values, list->cap, list->count + 1))
		return no_memory(chrome);
	list->values[list->count++] = value;
	return 1;
}

int sonde_chrome_fill_node(struct sonde_chrome *chrome, struct sonde_chrome_event *event)
{
	if (event->node_count == NODES_MAX)
		return too_many(chrome, "calls");
	if (SONDE_ARRAY_RESERVE(event->nodes, event->node_cap, event->node_count + 1))
		return no_memory(chrome);
	event->nodes[event->node_count] = (struct sonde_chrome_node){0};
	return 1;
}
