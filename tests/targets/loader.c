/* loader.c: loads and unloads two plugins alternately, many times: the second is mostly loaded at the address of the
 * first.
 *
 * loader SECONDS PLUGIN_A PLUGIN_B: A's function plugin_a burns 7 parts, B's function plugin_b 3.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "burn.h"

static int use(const char *path, const char *name, long rounds)
{
	void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!plugin) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	void (*run)(long rounds);
	*(void **)&run = dlsym(plugin, name);
	run(rounds);
	return dlclose(plugin);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	while ((double)thread_cpu_ns() < atof(argv[1]) * 1e9)
		if (use(argv[2], "plugin_a", 7 * BURN_UNIT) || use(argv[3], "plugin_b", 3 * BURN_UNIT))
			return 1;
	return 0;
}
