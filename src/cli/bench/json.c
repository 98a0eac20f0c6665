/* json.c: `sonde bench --json`. Keys that readers rely on change only with the version; keys may be added. */
#include <math.h>

#include "cli/bench/show.h"
#include "cli/common/figures.h"
#include "util/json.h"

static double scale_of(enum sonde_versus_metric metric)
{
	return sonde_versus_row(metric)->unit == SONDE_UNIT_NS ? 1e9 : 1;
}

static void put_side(struct sonde_json *json, const struct sonde_versus *versus, enum sonde_versus_side side,
		     enum sonde_versus_metric metric)
{
	const struct sonde_spread *spread = &versus->spread[side][metric];
	sonde_json_put_object(json, side == SONDE_BASELINE ? "baseline" : "candidate");
	sonde_figures_spread_json(json, sonde_versus_row(metric)->unit, spread);
	sonde_json_put_array(json, "outliers");
	for (size_t i = 0; i < versus->count; i++)
		if (sonde_spread_is_outlier(spread, versus->pair[i].value[side][metric]))
			sonde_json_uint(json, i + 1);
	sonde_json_end(json);
	sonde_json_end(json);
}

/* Writes the change of a metric. A change that is a difference has no speed-up, and a metric that is not tested has no
 * verdict. */
static void put_change(struct sonde_json *json, const struct sonde_versus *versus, enum sonde_versus_metric metric)
{
	const struct sonde_change *change = &versus->change[metric];
	sonde_json_put_real(json, "speedup", change->is_ratio ? change->by : NAN);
	sonde_json_put_real(json, "ci95_low", change->is_ratio && isfinite(change->high) ? change->low : NAN);
	sonde_json_put_real(json, "ci95_high", change->is_ratio ? change->high : NAN);
	if (!sonde_versus_is_requested(metric))
		return;
	sonde_json_put_real(json, "p", change->p);
	sonde_json_put_text(json, "verdict", sonde_verdict_name(versus->verdict[metric]));
}

static void put_metrics(struct sonde_json *json, const struct sonde_versus *versus)
{
	sonde_json_put_object(json, "metrics");
	for (int i = 0; i < SONDE_VERSUS_COUNT; i++) {
		enum sonde_versus_metric metric = (enum sonde_versus_metric)i;
		sonde_json_put_object(json, sonde_versus_row(metric)->key);
		put_side(json, versus, SONDE_CANDIDATE, metric);
		if (versus->has_baseline) {
			put_side(json, versus, SONDE_BASELINE, metric);
			put_change(json, versus, metric);
		}
		sonde_json_end(json);
	}
	sonde_json_end(json);
}

/* True if side `side` has a run i: with independent runs, one side may have fewer runs than the other. */
static int is_there(const struct sonde_versus *versus, size_t i, int side)
{
	return !versus->is_unpaired || !isnan(versus->pair[i].value[side][SONDE_VERSUS_WALL]);
}

void sonde_bench_json_runs(struct sonde_json *json, const struct sonde_versus *versus)
{
	sonde_json_array(json);
	for (size_t i = 0; i < versus->count; i++) {
		sonde_json_object(json);
		for (int side = 0; side <= versus->has_baseline; side++) {
			if (!is_there(versus, i, side))
				continue;
			sonde_json_put_object(json, side == SONDE_BASELINE ? "baseline" : "candidate");
			for (int metric = 0; metric < SONDE_VERSUS_COUNT; metric++)
				sonde_json_put_real(json, sonde_versus_row((enum sonde_versus_metric)metric)->key,
						    versus->pair[i].value[side][metric] /
							scale_of((enum sonde_versus_metric)metric));
			sonde_json_end(json);
		}
		if (versus->has_baseline && !versus->is_unpaired)
			sonde_json_put_text(json, "first",
					    versus->pair[i].is_baseline_first ? "baseline" : "candidate");
		sonde_json_end(json);
	}
	sonde_json_end(json);
}

static void put_experiment(struct sonde_json *json, const struct sonde_bench_show *show)
{
	if (!show->experiment)
		return;
	sonde_json_put_text(json, "experiment", show->experiment);
	if (!show->attempt)
		return;
	sonde_json_put_uint(json, "attempt", show->attempt);
	sonde_json_put_text(json, "what", show->what);
	sonde_json_put_bool(json, "in_turn", !show->baseline_at);
	sonde_json_put_text(json, "baseline_at", show->baseline_at);
}

void sonde_bench_json(const struct sonde_bench_show *show, FILE *out)
{
	const struct sonde_versus *versus = show->versus;
	struct sonde_json json;
	sonde_json_init(&json, out, 1);
	sonde_json_object(&json);
	sonde_json_put_text(&json, "schema", "sonde-bench");
	sonde_json_put_uint(&json, "version", SONDE_BENCH_VERSION);
	put_experiment(&json, show);
	sonde_json_put_text(&json, "candidate", show->command[SONDE_CANDIDATE]);
	sonde_json_put_text(&json, "baseline", show->command[SONDE_BASELINE]);
	sonde_json_put_text(&json, "metric", sonde_versus_row(versus->by)->key);
	if (versus->has_baseline)
		put_change(&json, versus, versus->by);
	sonde_json_put_real(&json, "margin", versus->margin);
	sonde_json_put_uint(&json, "count", versus->count);
	sonde_json_put_uint(&json, "warmups", show->warmups);
	sonde_json_put_uint(&json, "failed", show->failed);
	sonde_json_put_real(&json, "shell_s", show->shell_ns ? (double)show->shell_ns / 1e9 : NAN);
	sonde_json_put_bool(&json, "interrupted", show->interrupted);
	sonde_json_put_text(&json, "error", show->error);
	if (show->machine)
		sonde_bench_machine_put(&json, show->machine);
	put_metrics(&json, versus);
	sonde_json_key(&json, "runs");
	sonde_bench_json_runs(&json, versus);
	sonde_json_end(&json);
}
