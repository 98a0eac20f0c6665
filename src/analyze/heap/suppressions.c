/* suppressions.c: known leaks that are not reported (heap/suppressions.h). */
#include "analyze/heap/suppressions.h"

#include <string.h>

/* LeakSanitizer's kStdSuppressions: thread-local storage that some glibc versions leak, and the text of dlerror(). */
static const char *const built_in = "leak:*pthread_exit*\nleak:*tls_get_addr*\nleak:*dlerror*\n";

/* Finds the part of a pattern up to its next * in a name, from `from` on; NULL = not found. */
static const char *seek(const char *part, size_t part_b, const char *from)
{
	size_t left_b = strlen(from);
	for (; left_b >= part_b; from++, left_b--)
		if (!memcmp(from, part, part_b))
			return from;
	return NULL;
}

int sonde_suppressions_match(const char *pattern, size_t pattern_b, const char *name)
{
	int at_start = pattern_b && *pattern == '^', at_end = pattern_b && pattern[pattern_b - 1] == '$';
	const char *from = name, *end = pattern + pattern_b - at_end;
	if (!*name || !pattern_b)
		return 0;
	for (const char *part = pattern + at_start; part < end;) {
		size_t part_b = strcspn(part, "*");
		part_b = part_b < (size_t)(end - part) ? part_b : (size_t)(end - part);
		int is_first = part == pattern + at_start, is_last = part + part_b == end;
		const char *found = seek(part, part_b, from);
		if (is_last && at_end && part_b) /* must match at the end of the name */
			found = strlen(from) >= part_b ? seek(part, part_b, from + strlen(from) - part_b) : NULL;
		if (!found || (is_first && at_start && found != name))
			return 0;
		from = found + part_b;
		part += part_b + (part + part_b < end);
	}
	return !at_end || !*from || (end > pattern && end[-1] == '*');
}

static int matches_frame(const struct sonde_session *session, const struct sonde_frame *frame, const char *pattern,
			 size_t pattern_b)
{
	const struct sonde_module *module = sonde_session_module(session, frame->module);
	if (module && sonde_suppressions_match(pattern, pattern_b, module->path))
		return 1;
	for (uint32_t i = 0; i < frame->location_count; i++) {
		const struct sonde_location *location = &frame->locations[i];
		const struct sonde_function *function = sonde_session_function(session, location->function);
		if ((function && sonde_suppressions_match(pattern, pattern_b, function->name)) ||
		    sonde_suppressions_match(pattern, pattern_b, location->file))
			return 1;
	}
	return 0;
}

static int matches_stack(const struct sonde_session *session, uint32_t stack, const char *pattern, size_t pattern_b)
{
	const struct sonde_node *node;
	for (; (node = sonde_session_node(session, stack)); stack = node->parent) {
		const struct sonde_frame *frame = sonde_session_frame(session, node->frame);
		if (frame && matches_frame(session, frame, pattern, pattern_b))
			return 1;
	}
	return 0;
}

static int take(const struct sonde_session *session, const char *text, uint32_t stack)
{
	while (text && *text) {
		size_t line_b = strcspn(text, "\n");
		if (line_b > 5 && !strncmp(text, "leak:", 5) && matches_stack(session, stack, text + 5, line_b - 5))
			return 1;
		text += line_b + (text[line_b] == '\n');
	}
	return 0;
}

int sonde_suppressions_take(const struct sonde_session *session, const char *text, uint32_t stack)
{
	return take(session, built_in, stack) || take(session, text, stack);
}
