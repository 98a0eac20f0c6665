/* pair_lttng.c: two LTTng-UST tracepoints, for the begin and the end of a zone. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_zone.h"
#include "pair.h"

static void run(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		lttng_ust_tracepoint(sonde_bench, zone_begin, 1);
		pair_work(i);
		lttng_ust_tracepoint(sonde_bench, zone_end);
	}
}

const struct pair_loop pair_lttng = {"lttng", run, &pair_empty};
