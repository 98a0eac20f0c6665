/* machines.c: compares the machines of two recordings (diff/machines.h). */
#include "analyze/diff/machines.h"

#include <string.h>

#include "analyze/diff/diff.h"

const struct sonde_machine_key sonde_machine_keys[] = {
    {"host.cpu", "processors", 1},       {"host.machine", "machine types", 1},
    {"host.cpus", "numbers of CPUs", 1}, {"run.cpus", "usable CPUs", 1},
    {"host.kernel", "kernels", 0},       {"host.governor", "frequency governors", 0},
    {"host.smt", "SMT settings", 0},     {"host.transparent_hugepage", "huge page settings", 0},
    {"host.clocksource", "clocks", 0},
};
const size_t sonde_machine_key_count = sizeof sonde_machine_keys / sizeof *sonde_machine_keys;

int sonde_diff_machines(struct sonde_diff *diff)
{
	for (size_t i = 0; i < sonde_machine_key_count; i++) {
		const struct sonde_machine_key *key = &sonde_machine_keys[i];
		const char *a = sonde_session_info(diff->baseline, key->key);
		const char *b = sonde_session_info(diff->candidate, key->key);
		if (!a || !b || !strcmp(a, b))
			continue;
		diff->is_comparable &= !key->decides;
		sonde_report_note(diff->report, NULL, 1, "the %s differ: %s, %s%s", key->what, a, b,
				  key->decides ? ": the two are not comparable" : "");
	}
	return 0;
}
