/* import_notes.c: notes on an imported recording: the kind of file it was made from, what was left out, and what is a
 * convention (summary/facts.h). */
#include <stdio.h>

#include "analyze/summary/facts.h"

enum { NOTES_MAX = 64 };

void sonde_import_notes(const struct sonde_summary_facts *facts, struct sonde_report *report)
{
	const char *from = sonde_session_info(facts->session, "import.from");
	const char *file = sonde_session_info(facts->session, "import.file");
	if (!from)
		return;
	sonde_report_note(report, NULL, 0, "imported from %s: %s", from, file ? file : "");
	for (int i = 1; i <= NOTES_MAX; i++) {
		char key[40];
		snprintf(key, sizeof key, "import.note.%d", i);
		const char *note = sonde_session_info(facts->session, key);
		if (!note)
			break;
		sonde_report_note(report, NULL, 0, "%s", note);
	}
}
