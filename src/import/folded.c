/* folded.c: imports folded stacks as written by stackcollapse-*.pl, async-profiler and `sonde export -f folded`: one
 * stack per line, "main;work;inner 12", outermost function first.
 *
 * The numbers are counts of an unnamed quantity, mostly samples. Each count becomes a sample of 1 ms, which a note
 * states. There are no times, so samples follow one another in the order of the lines.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/out.h"
#include "import/text.h"
#include "util/error.h"

enum { LINE_MAX_B = 16 << 20, DEPTH_MAX = 16384, READ_B = 1 << 20, SAMPLE_NS = 1000000, LONG_B = 4096 };
#define TOTAL_MAX (UINT64_C(1) << 62)
#define START_NS 1000000000u

struct folded {
	struct sonde_import_job *job;
	struct sonde_buf line;
	struct sonde_trie_frame *frames; /* DEPTH_MAX */
	uint64_t line_number, total, rows, unreadable, deep, fractions, first_unreadable;
	uint32_t thread;
	uint64_t now_ns;
};

/* Parses the number at the end of a line; *stack_b: length of the stack before it. 0 = no number. */
static int count_read(const char *line, size_t len_b, double *count, size_t *stack_b)
{
	size_t at = len_b;
	while (at && (line[at - 1] >= '0' && line[at - 1] <= '9' ? 1 : line[at - 1] == '.'))
		at--;
	if (at == len_b || !at || (line[at - 1] != ' ' && line[at - 1] != '\t') || len_b - at > 30)
		return 0;
	char number[32];
	memcpy(number, line + at, len_b - at);
	number[len_b - at] = 0;
	char *end;
	*count = strtod(number, &end);
	while (at && (line[at - 1] == ' ' || line[at - 1] == '\t'))
		at--;
	*stack_b = at;
	return !*end && at > 0;
}

/* Splits "a;b;c" into folded->frames, leaf first; returns their number. */
static size_t frames_read(struct folded *folded, char *stack)
{
	size_t count = 0;
	char *end = stack + strlen(stack);
	for (char *at = end; count < DEPTH_MAX && at > stack;) {
		while (at > stack && at[-1] != ';')
			at--;
		if (*at)
			folded->frames[count++] = sonde_out_name(&folded->job->out, at, NULL, 0);
		if (at == stack)
			return count;
		*--at = 0;
	}
	folded->deep += count == DEPTH_MAX;
	return count;
}

static int line_take(struct folded *folded, char *line, size_t len_b)
{
	double real;
	size_t stack_b;
	folded->line_number++;
	while (len_b && (line[len_b - 1] == '\r' || line[len_b - 1] == ' '))
		len_b--;
	if (!len_b || *line == '#')
		return 0;
	if (memchr(line, 0, len_b) || !count_read(line, len_b, &real, &stack_b)) {
		if (!folded->unreadable++)
			folded->first_unreadable = folded->line_number;
		return 0;
	}
	if (real >= (double)(TOTAL_MAX / SAMPLE_NS - folded->total))
		return sonde_error(EFBIG, "%s: line %llu: the counts add up to more than fits into a recording",
				   sonde_input_name(folded->job->input), (unsigned long long)folded->line_number);
	/* a count may have a fraction, which is kept in the weight */
	uint64_t weight_ns = (uint64_t)llround(real * SAMPLE_NS), count = (uint64_t)llround(real);
	folded->fractions += (double)count != real;
	count = count ? count : weight_ns > 0;
	line[stack_b] = 0;
	size_t depth = frames_read(folded, line);
	uint32_t node = sonde_trie_intern(&folded->job->out.trie, folded->frames, depth);
	uint8_t status = depth == DEPTH_MAX ? SONDE_STACK_DEEP : SONDE_STACK_COMPLETE;
	uint64_t rows = folded->rows + count <= SONDE_OUT_ROWS_MAX ? count : count > 0;
	for (uint64_t i = 0; i < rows; i++) {
		uint64_t each_ns = weight_ns / rows + (i < weight_ns % rows);
		sonde_out_sample(folded->job, folded->now_ns, folded->thread, node, each_ns, status);
		folded->now_ns += each_ns;
	}
	folded->rows += rows;
	folded->total += count;
	return folded->job->out.error;
}

static int lines_take(struct folded *folded)
{
	struct sonde_buf *line = &folded->line;
	char *bytes = malloc(READ_B);
	int rc = bytes ? 0 : sonde_error(ENOMEM, "out of memory");
	ssize_t got_b = 0;
	while (!rc && (got_b = sonde_input_read(folded->job->input, bytes, READ_B)) > 0) {
		for (char *at = bytes, *end = bytes + got_b, *stop; !rc && at < end; at = stop + 1) {
			stop = memchr(at, '\n', (size_t)(end - at));
			if (sonde_buf_append(line, at, (size_t)((stop ? stop : end) - at)))
				rc = sonde_error(EFBIG, "%s: line %llu is longer than %d MB",
						 sonde_input_name(folded->job->input),
						 (unsigned long long)folded->line_number + 1, LINE_MAX_B >> 20);
			if (!stop)
				break;
			rc = rc ? rc : line_take(folded, (char *)line->data, line->len_b);
			sonde_buf_clear(line);
		}
	}
	if (!rc && !got_b && line->len_b && !sonde_buf_append(line, "", 1))
		rc = line_take(folded, (char *)line->data, line->len_b - 1);
	free(bytes);
	return rc ? rc : (int)got_b;
}

static void notes(struct folded *folded)
{
	struct sonde_import_job *job = folded->job;
	sonde_out_note(job, "1 sample = 1 ms by convention: the file has counts, but no times");
	sonde_out_note(job, "the timeline is the order of the file's lines: it does not show when anything ran");
	if (sonde_input_is_cut(job->input))
		sonde_out_note(job, "the compressed file is cut off: only its beginning was read");
	if (folded->rows < folded->total)
		sonde_out_note(
		    job, "%llu counts became %llu samples to limit the size: times are right, sample counts are not",
		    (unsigned long long)folded->total, (unsigned long long)folded->rows);
	if (folded->fractions)
		sonde_out_note(job, "%llu counts are not whole numbers: times are right, sample counts are rounded",
			       (unsigned long long)folded->fractions);
	if (folded->unreadable)
		sonde_out_note(job, "%llu line%s without a count at the end %s left out, first line %llu",
			       (unsigned long long)folded->unreadable, folded->unreadable == 1 ? "" : "s",
			       folded->unreadable == 1 ? "is" : "are", (unsigned long long)folded->first_unreadable);
	if (folded->deep)
		sonde_out_note(job, "%llu stacks are more than %d deep: their outermost functions are left out",
			       (unsigned long long)folded->deep, DEPTH_MAX);
}

static int run(struct sonde_import_job *job)
{
	struct folded folded = {.job = job, .now_ns = START_NS};
	const char *name = sonde_input_name(job->input), *slash = strrchr(name, '/');
	name = slash ? slash + 1 : name;
	int rc = sonde_out_begin(job, START_NS, sonde_input_changed_ns(job->input), 0);
	if (rc)
		return rc;
	sonde_buf_init(&folded.line, LINE_MAX_B);
	folded.frames = malloc(DEPTH_MAX * sizeof *folded.frames);
	if (!folded.frames)
		return sonde_error(ENOMEM, "out of memory");
	uint32_t process = sonde_out_process(&job->out, 0, 0, name, START_NS);
	folded.thread = sonde_out_thread(&job->out, process, 0, name, START_NS);
	rc = lines_take(&folded);
	if (!rc && !folded.total)
		rc = sonde_error(EBADMSG, "%s has no stack with a count", sonde_input_name(job->input));
	sonde_buf_fini(&folded.line);
	free(folded.frames);
	if (rc)
		return rc;
	sonde_out_source(&job->out, "cpu", "imported from folded stacks", "1 sample = 1 ms by convention",
			 1e9 / SAMPLE_NS);
	sonde_out_info(&job->out, "import.untimed", "1");
	notes(&folded);
	return sonde_out_end(job, folded.now_ns);
}

/* Matches text of which every line that is complete in `bytes` ends with a count. */
static int matches(const uint8_t *bytes, size_t size_b, int gz)
{
	const char *at = (const char *)bytes, *end = at + size_b;
	size_t lines = 0;
	(void)gz;
	if (!sonde_text_is(bytes, size_b) || sonde_text_is_json(bytes, size_b))
		return 0;
	while (at < end && lines < 20) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		double count;
		size_t len_b = (size_t)((stop ? stop : end) - at), stack_b;
		while (len_b && (at[len_b - 1] == '\r' || at[len_b - 1] == ' '))
			len_b--;
		if (!stop && lines)
			break;
		int counted = count_read(at, len_b, &count, &stack_b);
		if (!stop && !counted && size_b >= LONG_B) /* the stack is longer than the bytes seen here */
			return memchr(at, ';', len_b) != NULL;
		if (len_b && *at != '#' && !counted)
			return 0;
		lines += len_b && *at != '#';
		at += (stop ? stop : end) - at + 1;
	}
	return lines > 0;
}

const struct sonde_import_format sonde_import_format_folded = {
    .name = "folded",
    .title = "folded stacks",
    .matches = matches,
    .run = run,
};
