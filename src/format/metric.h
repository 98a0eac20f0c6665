/* metric.h: the rows of metrics.def: the meaning of the values in SERIES chunks. */
#ifndef SONDE_FORMAT_METRIC_H
#define SONDE_FORMAT_METRIC_H

enum sonde_metric {
#define SONDE_METRIC(id, name, unit, kind, title) SONDE_METRIC_##id,
#include "format/metrics.def"
#undef SONDE_METRIC
	SONDE_METRIC_COUNT
};

/* Stored in recordings. */
enum sonde_metric_kind { SONDE_METRIC_GAUGE = 1, SONDE_METRIC_TOTAL = 2 };

struct sonde_metric_row {
	const char *name, *unit;
	enum sonde_metric_kind kind;
	const char *title; /* shown to users */
};

static inline const struct sonde_metric_row *sonde_metric_row(enum sonde_metric metric)
{
	static const struct sonde_metric_row rows[] = {
#define SONDE_METRIC(id, name, unit, kind, title) {name, unit, SONDE_METRIC_##kind, title},
#include "format/metrics.def"
#undef SONDE_METRIC
	};
	return &rows[metric];
}

#endif
