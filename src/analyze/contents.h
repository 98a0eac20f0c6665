/* contents.h: what a recording contains, from counts that are known without reading its events.
 *
 * A pass may name one of these functions as its `has`. If it returns 0, the section would contain nothing but a note,
 * so menus omit the section before any pass has run. The functions take microseconds: they count events from chunk
 * heads, and rows of the session's tables.
 */
#ifndef SONDE_ANALYZE_CONTENTS_H
#define SONDE_ANALYZE_CONTENTS_H

#include "session/session.h"

int sonde_has_nothing(const struct sonde_session *session); /* always 0: rows require an option */
int sonde_has_samples(const struct sonde_session *session);
int sonde_has_sampled_switches(const struct sonde_session *session); /* CPU samples and context switches */
int sonde_has_samples_or_waits(const struct sonde_session *session);
int sonde_has_stacks(const struct sonde_session *session); /* data for any metric of the call tree */
int sonde_has_waits(const struct sonde_session *session);
int sonde_has_zones(const struct sonde_session *session);
int sonde_has_zones_or_spans(const struct sonde_session *session);
int sonde_has_spans(const struct sonde_session *session);
int sonde_has_counters(const struct sonde_session *session);
int sonde_has_iterations(const struct sonde_session *session);
int sonde_has_histograms(const struct sonde_session *session);
int sonde_has_events(const struct sonde_session *session);
int sonde_has_heap(const struct sonde_session *session);
int sonde_has_snapshots(const struct sonde_session *session);
int sonde_has_readings(const struct sonde_session *session);
int sonde_has_resident(const struct sonde_session *session);
int sonde_has_energy(const struct sonde_session *session);
int sonde_has_energy_and_samples(const struct sonde_session *session);
int sonde_has_devices(const struct sonde_session *session); /* devices with activities */

#endif
