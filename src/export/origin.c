/* origin.c: sentences about the origin of an imported recording, and about what any recording lacks (origin.h). */
#include "export/origin.h"

#include <stdio.h>
#include <string.h>

#include "export/missing.h"

/* The facts that `sonde import` writes (docs/FORMAT.md): prefix of the key, and the words that precede the value. */
static const struct {
	const char *key, *words;
} facts[] = {
    {"import.from", "imported from "},
    {"import.file", "imported file: "},
    {"import.note.", ""},
};

/* "merged.3.import.from" → returns "import.from" and sets *part to 3, the part of a merged recording; 0 = the whole
 * recording. */
static const char *key_of(const char *key, unsigned *part)
{
	int len = 0;
	*part = 0;
	if (sscanf(key, "merged.%9u.%n", part, &len) != 1 || !len) {
		*part = 0;
		return key;
	}
	return key + len;
}

/* Makes a sentence from a fact of the recording; returns 1 if the fact's key is one of the above, else 0. */
static int say(struct sonde_origin *origin, const char *whole, const char *value)
{
	unsigned part;
	char of[40] = "";
	const char *key = key_of(whole, &part);
	if (part)
		snprintf(of, sizeof of, "recording %u: ", part);
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
		if (!strncmp(key, facts[i].key, strlen(facts[i].key))) {
			snprintf(origin->text, sizeof origin->text, "%s%s%s", of, facts[i].words, value);
			return 1;
		}
	return 0;
}

const char *sonde_origin_next(struct sonde_origin *origin, const struct sonde_session *session)
{
	const char *key, *value;
	while (origin->args < SONDE_ORIGIN_MAX && origin->at < sonde_session_info_count(session)) {
		sonde_session_info_at(session, origin->at++, &key, &value);
		if (!say(origin, key, value))
			continue;
		origin->args++;
		return origin->text;
	}
	return NULL;
}

size_t sonde_origin_missing(const struct sonde_session *session, char *out, size_t out_b)
{
	const struct sonde_missing missing = sonde_missing_of(session);
	char closed[32] = "", lost[64] = "", damaged[96] = "";
	if (missing.cut)
		snprintf(closed, sizeof closed, "it was not closed properly");
	if (missing.lost)
		snprintf(lost, sizeof lost, "%s%llu records were lost", *closed ? ", " : "",
			 (unsigned long long)missing.lost);
	if (missing.damaged_b || missing.skipped)
		snprintf(damaged, sizeof damaged, "%s%llu bytes and %llu chunks could not be read",
			 *closed || *lost ? ", " : "", (unsigned long long)missing.damaged_b,
			 (unsigned long long)missing.skipped);
	int len = snprintf(out, out_b, "%s%s%s", closed, lost, damaged);
	return len > 0 ? (size_t)len : 0;
}
