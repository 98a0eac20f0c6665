/* folded.c: folded stacks, as read by flamegraph.pl, inferno and speedscope: "app;worker;main;hot 12".
 *
 * Root first. The first frame is the process's name, and the next is the thread's name if it differs. The number counts
 * samples, as those tools label it; CPU time without samples (measured in the kernel, lost, or not sampled) counts as
 * the number of samples that it would have had. CPU time by stack is in pprof and callgrind. For the heap, the number
 * is bytes or blocks (flamegraph.pl --countname bytes); for waiting, it is ns. Names are cleaned (clean.h), and their
 * semicolons, the separator here, become colons, as in perf's folding. Lines are sorted, one per stack.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/clean.h"
#include "export/format.h"
#include "export/stacks.h"
#include "util/arena.h"
#include "util/error.h"

enum { LINE_MAX_B = 64 << 20 };

struct line {
	const char *text;
	uint64_t count, unsampled_ns;
};

struct fold {
	const struct sonde_session *session;
	int is_sampled;
	struct sonde_stack_lines stack;
	struct sonde_buf text;
	struct sonde_arena arena;
	struct line *lines;
};

static void put_frame(struct fold *fold, const char *name)
{
	if (fold->text.len_b)
		sonde_buf_text(&fold->text, ";");
	size_t start = fold->text.len_b;
	sonde_clean(&fold->text, *name ? name : "[unknown]", 0);
	for (size_t i = start; i < fold->text.len_b; i++)
		if (fold->text.data[i] == ';')
			fold->text.data[i] = ':';
}

static void put_thread(struct fold *fold, uint32_t id)
{
	const struct sonde_thread *thread = sonde_session_thread(fold->session, id);
	const struct sonde_process *process = thread ? sonde_session_process(fold->session, thread->process) : NULL;
	put_frame(fold, process ? process->name : "");
	if (thread && *thread->name && (!process || strcmp(thread->name, process->name)))
		put_frame(fold, thread->name);
}

static int put_stack(struct fold *fold, const struct sonde_stack *stack, struct line *line)
{
	int rc = sonde_stack_expand(&fold->stack, fold->session, stack->node, stack->leaf);
	if (rc)
		return rc;
	sonde_buf_clear(&fold->text);
	put_thread(fold, stack->thread);
	for (size_t i = fold->stack.count; i > 0; i--)
		put_frame(fold, sonde_stack_function_name(fold->session, fold->stack.at[i - 1].function));
	if (sonde_buf_error(&fold->text))
		return sonde_buf_error(&fold->text);
	line->count = fold->is_sampled ? stack->count : stack->weight;
	line->unsampled_ns = stack->unsampled_ns;
	line->text = sonde_arena_strndup(&fold->arena, (const char *)fold->text.data, fold->text.len_b);
	return line->text ? 0 : sonde_error(ENOMEM, "out of memory for folded stacks");
}

static int by_text(const void *left, const void *right)
{
	return strcmp(((const struct line *)left)->text, ((const struct line *)right)->text);
}

/* Writes the lines. CPU time without samples is converted to whole samples, and the remainder is carried to the next
 * line, so that the sum is right. */
static void put_lines(const struct line *lines, size_t count, uint64_t period_ns, FILE *out)
{
	uint64_t unsampled_ns = period_ns / 2;
	for (size_t i = 0; i < count;) {
		uint64_t sum = 0;
		size_t first = i;
		for (; i < count && !strcmp(lines[first].text, lines[i].text); i++)
			sum += lines[i].count, unsampled_ns += lines[i].unsampled_ns;
		sum += unsampled_ns / period_ns;
		unsampled_ns %= period_ns;
		if (sum)
			fprintf(out, "%s %" PRIu64 "\n", lines[first].text, sum);
	}
}

static int export(struct sonde_session *session, const struct sonde_format_options *options, FILE *out)
{
	struct sonde_stacks stacks;
	int rc = sonde_export_stacks_fold(&stacks, session, options);
	if (rc)
		return rc;
	struct fold fold = {.session = session,
			    .is_sampled = sonde_weigh_of(&options->weigh) == SONDE_WEIGH_OF_SAMPLES};
	sonde_buf_init(&fold.text, LINE_MAX_B);
	fold.lines = calloc(stacks.count + 1, sizeof *fold.lines);
	if (!fold.lines)
		rc = sonde_error(ENOMEM, "out of memory for %zu folded stacks", stacks.count);
	for (size_t i = 0; i < stacks.count && !rc; i++)
		rc = put_stack(&fold, &stacks.rows[i], &fold.lines[i]);
	if (!rc) {
		qsort(fold.lines, stacks.count, sizeof *fold.lines, by_text);
		put_lines(fold.lines, stacks.count, sonde_session_period_ns(session), out);
	}
	free(fold.lines);
	sonde_stack_lines_fini(&fold.stack);
	sonde_buf_fini(&fold.text);
	sonde_arena_fini(&fold.arena);
	sonde_export_stacks_fini(&stacks);
	return rc;
}

const struct sonde_format sonde_format_folded = {
    .name = "folded",
    .extension = ".folded",
    .title = "folded stacks, for flame graph scripts",
    .weighs = 1,
    .export = export,
};
