/* rows.c: times as the firefox format writes them (firefox/rows.h). */
#include "export/firefox/rows.h"

#include <inttypes.h>
#include <stdio.h>

void sonde_firefox_ms(struct sonde_json *json, uint64_t ns)
{
	char text[40];
	snprintf(text, sizeof text, "%" PRIu64 ".%06u", ns / 1000000, (unsigned)(ns % 1000000));
	sonde_json_raw(json, text);
}

/* Times before the start, such as that of a process, become 0. */
uint64_t sonde_firefox_after(const struct sonde_firefox *firefox, uint64_t time_ns)
{
	uint64_t start_ns = sonde_session_head(firefox->session)->start_mono_ns;
	return time_ns > start_ns ? time_ns - start_ns : 0;
}
