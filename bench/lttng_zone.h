/* lttng_zone.h: a zone as LTTng-UST tracepoints: a begin that carries its site, and an end. Included several times by
 * LTTng's own headers. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER sonde_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng_zone.h"

#if !defined(SONDE_BENCH_LTTNG_ZONE_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SONDE_BENCH_LTTNG_ZONE_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(sonde_bench, zone_begin, LTTNG_UST_TP_ARGS(unsigned, site),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(unsigned, site, site)))
LTTNG_UST_TRACEPOINT_EVENT(sonde_bench, zone_end, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())

#endif

#include <lttng/tracepoint-event.h>
