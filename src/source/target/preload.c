/* preload.c: adds our object to LD_PRELOAD through the dynamic loader's $LIB, so that each machine type gets its own
 * object. This avoids the warning that a loader writes to the program's standard error if it finds an object of another
 * machine type.
 */
#include "source/target/preload.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run/paths.h"
#include "util/error.h"

int sonde_preload_probe(const char *object, char *why, size_t why_b)
{
	char path[PATH_MAX];
	int result = sonde_paths_object(path, sizeof path, object);
	if (result)
		snprintf(why, why_b, "%s", sonde_error_text());
	else if (strpbrk(path, ": ")) {
		snprintf(why, why_b, "%s: LD_PRELOAD takes no path with a blank or a colon; install sonde elsewhere",
			 path);
		result = -EINVAL;
	}
	return result;
}

int sonde_preload_is_hidden(pid_t pid, const char *object)
{
	char path[PATH_MAX], there[PATH_MAX + 32];
	if (sonde_paths_object(path, sizeof path, object))
		return 0;
	snprintf(there, sizeof there, "/proc/%d/root%s", (int)pid, path);
	return access(there, R_OK) && errno == ENOENT;
}

int sonde_preload_add(struct sonde_launch *launch, const char *object)
{
	char path[PATH_MAX], tree[PATH_MAX], preload[PATH_MAX + 64];
	int result = sonde_paths_object(path, sizeof path, object);
	if (result)
		return result;
	snprintf(tree, sizeof tree, "%.*s/preload", (int)(strrchr(path, '/') - path), path);
	if (access(tree, X_OK))
		snprintf(preload, sizeof preload, "%s", path);
	else
		snprintf(preload, sizeof preload, "%s/$LIB/%s", tree, object);
	result = sonde_launch_prepend(launch, "LD_PRELOAD", preload, ':');
	/* AddressSanitizer ends a program if something else was loaded before its runtime. */
	return result ? result : sonde_launch_prepend(launch, "ASAN_OPTIONS", "verify_asan_link_order=0", ':');
}
