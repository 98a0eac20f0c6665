/* heap_plugs.c: loads objects that have C++ operators of their own, one after the other and at once; it is no C++
 * program.
 *
 * turns A B     20 times: loads A, lets it work, unloads it, and the same with B
 * together A B  loads both, lets them work in turns, unloads A, and lets B work again
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURNS 20

static int work(void *object)
{
	int (*plugin)(void) = object ? (int (*)(void))dlsym(object, "plugin_works") : NULL;
	return !plugin || plugin();
}

static int do_turns(char **objects)
{
	int failed = 0;
	for (int i = 0; i < 2 * TURNS && !failed; i++) {
		void *object = dlopen(objects[i % 2], RTLD_NOW | RTLD_LOCAL);
		failed = work(object) || dlclose(object);
		if (dlopen(objects[i % 2], RTLD_NOW | RTLD_NOLOAD))
			puts("still there");
	}
	return failed;
}

static int do_together(char **objects)
{
	void *first = dlopen(objects[0], RTLD_NOW | RTLD_LOCAL), *second = dlopen(objects[1], RTLD_NOW | RTLD_LOCAL);
	int failed = work(first) || work(second) || work(first) || work(second);
	return failed || dlclose(first) || work(second) || dlclose(second);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	int failed = strcmp(argv[1], "turns") ? do_together(argv + 2) : do_turns(argv + 2);
	puts(failed ? "failed" : argv[1]);
	return failed;
}
