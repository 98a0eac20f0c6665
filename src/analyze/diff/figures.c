/* figures.c: rows of figures: sorted, merged and found by name (diff/figures.h). */
#include "analyze/diff/figures.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/error.h"

int sonde_diff_figure_put(struct sonde_diff_figures *figures, const struct sonde_diff_figure *row)
{
	if (SONDE_ARRAY_RESERVE(figures->row, figures->cap, figures->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu figures", figures->count + 1);
	figures->row[figures->count++] = *row;
	return 0;
}

int sonde_diff_figure_by_name(const void *left, const void *right)
{
	const struct sonde_diff_figure *a = left, *b = right;
	int order = strcmp(a->name, b->name);
	return order ? order : strcmp(a->module, b->module);
}

void sonde_diff_figures_join(struct sonde_diff_figures *figures)
{
	size_t count = 0;
	if (figures->count)
		qsort(figures->row, figures->count, sizeof *figures->row, sonde_diff_figure_by_name);
	for (size_t i = 0; i < figures->count; i++) {
		struct sonde_diff_figure *last = count ? &figures->row[count - 1] : NULL;
		if (!last || sonde_diff_figure_by_name(last, &figures->row[i])) {
			figures->row[count++] = figures->row[i];
			continue;
		}
		for (int k = 0; k < SONDE_DIFF_VALUES; k++)
			last->value[k] += k == SONDE_DIFF_MEDIAN ? NAN : figures->row[i].value[k];
	}
	figures->count = count;
}

const struct sonde_diff_figure *sonde_diff_figure_find(const struct sonde_diff_figures *figures, const char *name,
						       const char *module)
{
	const struct sonde_diff_figure key = {.name = name, .module = module};
	return figures->count ? bsearch(&key, figures->row, figures->count, sizeof key, sonde_diff_figure_by_name)
			      : NULL;
}
