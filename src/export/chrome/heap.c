/* heap.c: what was alive of each heap (curves.h), as a counter of its process. */
#include "export/chrome/event.h"
#include "export/curves.h"

static int put_point(void *context, const struct sonde_curve *curve, uint64_t time_ns, uint64_t live_b)
{
	struct sonde_chrome *chrome = context;
	struct sonde_chrome_event head = {
	    .phase = "C", .name = curve->name, .category = "heap", .process = curve->process, .time_ns = time_ns};
	sonde_chrome_begin(chrome, &head);
	sonde_chrome_args(chrome);
	sonde_json_put_uint(&chrome->json, "bytes", live_b);
	sonde_chrome_end(chrome);
	return 0;
}

int sonde_chrome_heaps(struct sonde_chrome *chrome)
{
	return sonde_curves_heaps(chrome->session, chrome->options, put_point, chrome, &chrome->heaps_damaged);
}
