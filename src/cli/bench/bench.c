/* bench.c: `sonde bench`: runs one command repeatedly, or two interleaved, and reports how fast it is, or by how much
 * they differ.
 *
 * The runs are made by bench/runs.c, their figures and verdicts by analyze/diff/versus.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench/runs.h"
#include "cli/common/command.h"
#include "cli/common/output.h"
#include "cli/common/forward.h"
#include "util/error.h"
#include "util/quantity.h"

struct request {
	struct sonde_bench_runs runs;
	char **words;
	const char *baseline, *output;
	int gate, json, force;
	struct sonde_bench_machine machine;
	struct sonde_output out;
};

#define AT(member) offsetof(struct request, member)

static int set_margin(void *context, const char *value)
{
	return sonde_quantity_share(&((struct request *)context)->runs.margin, value);
}

static const struct sonde_option options[] = {
    {"vs", 0, "COMMAND", "compare with this baseline (a shell line), interleaved", SONDE_TEXT(AT(baseline))},
    {"warmup", 'w', "N", "warm-up runs before the measured ones (default 3)",
     SONDE_NUMBER(AT(runs.warmup), 0, SONDE_BENCH_RUNS_MOST)},
    {"runs", 'r', "N", "measured runs (default: until ±2 % or half the margin)",
     SONDE_NUMBER(AT(runs.runs), 2, SONDE_BENCH_RUNS_MOST)},
    {"margin", 'm', "SHARE", "smallest difference that matters (default 1%)", SONDE_BY(set_margin)},
    {"prepare", 0, "COMMAND", "run this shell line before each run, untimed", SONDE_TEXT(AT(runs.prepare))},
    {"ignore-failure", 'i', NULL, "also count runs that fail", SONDE_FLAG(AT(runs.ignore_failure))},
    {"show-output", 0, NULL, "show the command's output (default: /dev/null)", SONDE_FLAG(AT(runs.show_output))},
    {SONDE_FORWARD_KEEP_ARGUMENTS(AT(runs.keep_arguments))},
    {"gate", 0, NULL, "exit 1 if regressed, 3 inconclusive, 4 not comparable", SONDE_FLAG(AT(gate))},
    {"json", 0, NULL, "print JSON, with the keys below", SONDE_FLAG(AT(json))},
    {"output", 'o', "FILE", "output file (default: standard output)", SONDE_TEXT(AT(output))},
    {"force", 'f', NULL, "overwrite FILE if it exists", SONDE_FLAG(AT(force))},
    {0},
};

static int complain(const char *what)
{
	fprintf(stderr, "sonde bench: %s\n", what);
	return SONDE_EXIT_OURS;
}

static int show(struct request *request)
{
	struct sonde_bench_runs *runs = &request->runs;
	struct sonde_format_options style;
	int code = sonde_versus_evaluate(&runs->versus);
	if (code)
		return sonde_error(-code, "out of memory for %zu runs", runs->versus.count);
	sonde_output_style(&style, request->out.file);
	if (request->json)
		sonde_bench_json(&runs->show, request->out.file);
	else
		sonde_bench_text(&runs->show, &style, request->out.file);
	return 0;
}

static int exit_code(const struct request *request, int code)
{
	const struct sonde_bench_runs *runs = &request->runs;
	int status = sonde_bench_runs_exit(runs, code);
	if (status || !request->gate)
		return status;
	if (runs->show.interrupted) /* the user chose when to stop */
		return SONDE_EXIT_INCONCLUSIVE;
	return sonde_bench_gate(sonde_versus_verdict(&runs->versus));
}

static int measure(struct request *request)
{
	char *baseline[] = {(char *)(uintptr_t)request->baseline, NULL};
	sonde_bench_machine_here(&request->machine);
	request->runs.show.machine = &request->machine;
	int code = sonde_bench_runs_init(&request->runs, request->words, request->baseline ? baseline : NULL,
					 request->baseline != NULL);
	code = code ? code : sonde_bench_runs_measure(&request->runs);
	if (!code && request->runs.show.error)
		complain(request->runs.error);
	return code ? code : show(request);
}

static int word(void *context, const struct sonde_option *option, const char *value)
{
	(void)context;
	(void)option;
	return sonde_command_wrong("bench", "unexpected argument '%s': an option was expected", value);
}

static int run(int argc, char **argv)
{
	struct request request = {.runs = {.warmup = SONDE_BENCH_WARMUPS, .margin = SONDE_BENCH_MARGIN}};
	struct sonde_parse parse = {
	    .command = sonde_command_find("bench"), .context = &request, .found = word, .stop_at_word = 1};
	int code = sonde_command_parse(&parse, argc, argv);
	if (code || parse.done)
		return code;
	request.words = argv + parse.remainder;
	if (!*request.words)
		return sonde_command_wrong("bench", "no command given: sonde bench [options] -- COMMAND");
	if (request.gate && !request.baseline)
		return sonde_command_wrong("bench", "--gate compares: name the baseline with --vs");
	if (sonde_output_open(&request.out, request.output, request.force))
		return complain(sonde_error_text());
	code = measure(&request);
	if (code)
		complain(sonde_error_text());
	int closed = sonde_output_close(&request.out, code);
	if (closed && !code)
		complain(sonde_error_text());
	int status = closed && !code ? SONDE_EXIT_OURS : exit_code(&request, code);
	sonde_bench_runs_fini(&request.runs);
	return status;
}

#define SONDE_VERSUS(id, key, unit, label, meaning) "metrics." key "\t" meaning "\n"
const struct sonde_command sonde_command_bench = {
    .name = "bench",
    .title = "benchmark a command, or compare two commands",
    .usage = "[options] -- COMMAND [ARGUMENT…]",
    .options = options,
    .examples = "sonde bench -- ./app --size 100\n"
		"sonde bench 'sort big.txt | uniq -c'\n"
		"sonde bench --vs './old input' -- ./new input\n"
		"sonde bench --gate --vs './main' -- ./branch && echo ship it",
    .run = run,
    .glossary = "Keys of --json: times in seconds, sizes in bytes\nverdict\timproved, unchanged (the interval lies "
		"wholly inside the margin), regressed or inconclusive\nspeedup\tbaseline ÷ candidate, in the metric "
		"named by \"metric\"; above 1: the candidate is faster\nci95_low, ci95_high\t95 % interval of the "
		"speedup\np\tprobability of so large a difference by chance, corrected for the number of "
		"metrics\nmetric\tcpu_s if both commands keep "
		"one core busy, since other programs disturb it less; else wall_s\n"
#include "analyze/diff/versus.def"
		"metrics.….candidate, metrics.….baseline\tmean, ci95_low, ci95_high, std, min, median, max, "
		"outliers\nhost\tthe machine; results of different machines are not comparable (sonde "
		"diff)\nruns\teach pair in order: candidate and baseline, and which ran first\n",
};
#undef SONDE_VERSUS
