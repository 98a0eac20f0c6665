/* paths.c: finds injected objects relative to the running binary.
 *
 * In order of trust: the build tree that the binary was linked in (src/cli/sonde next to src/inject), the prefix it was
 * installed into, wherever that was moved (bin next to lib*, including Debian's lib/ARCH), and last the configured
 * libdir. Nothing comes from the environment, so that set-uid and sudo runs load only objects that belong to the
 * binary.
 */
#include "run/paths.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/error.h"

/* The directory of the running binary. */
static int own_directory(char *out, size_t out_b)
{
	ssize_t len = readlink("/proc/self/exe", out, out_b - 1);
	if (len < 0)
		return sonde_error(errno, "/proc/self/exe: %s; is /proc mounted?", strerror(errno));
	out[len] = '\0';
	char *slash = strrchr(out, '/');
	if (slash)
		*slash = '\0';
	return 0;
}

/* The first readable file that matches; directories are visited in sorted order. */
static int first_match(char *out, size_t out_b, const char *pattern)
{
	glob_t matches;
	int found = 0;
	if (glob(pattern, 0, NULL, &matches) != 0)
		return 0;
	for (size_t i = 0; i < matches.gl_pathc && !found; i++) {
		char real[PATH_MAX];
		if (access(matches.gl_pathv[i], R_OK) != 0 || !realpath(matches.gl_pathv[i], real))
			continue;
		found = strlen(real) < out_b;
		if (found)
			memcpy(out, real, strlen(real) + 1);
	}
	globfree(&matches);
	return found;
}

/* Escapes a path so that, as a glob pattern, it matches itself. */
static void escape(char *out, size_t out_b, const char *path)
{
	size_t used = 0;
	for (; *path && used + 2 < out_b; path++) {
		if (strchr("*?[]\\", *path))
			out[used++] = '\\';
		out[used++] = *path;
	}
	out[used] = '\0';
}

int sonde_paths_object(char *out, size_t out_b, const char *name)
{
	static const char *const places[] = {"../inject/", "../" SONDE_LIBDIR "/sonde/", "../lib*/sonde/",
					     "../lib/*/sonde/"};
	char own[PATH_MAX];
	int code = own_directory(own, sizeof own);
	if (code)
		return code;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		char quoted[2 * PATH_MAX], pattern[2 * PATH_MAX + 128];
		escape(quoted, sizeof quoted, own);
		snprintf(pattern, sizeof pattern, "%s/%s%s", quoted, places[i], name);
		if (first_match(out, out_b, pattern))
			return 0;
	}
	char configured[PATH_MAX];
	snprintf(configured, sizeof configured, "%s/%s", SONDE_TARGET_DIR, name);
	if (first_match(out, out_b, configured))
		return 0;
	return sonde_error(ENOENT, "%s: neither next to %s/sonde nor in %s; build or install all of sonde", name, own,
			   SONDE_TARGET_DIR);
}
