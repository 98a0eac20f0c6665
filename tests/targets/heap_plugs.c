/* heap_plugs.c: loads objects with their own C++ operators, one after the other and at once; it is not a C++
 * program.
 *
 * turns A B     20 times: loads A, lets it work, unloads it, and the same with B
 * together A B  loads both, lets them work in turns, unloads A, and lets B work again
 * all A B…      loads all, lets each work, and then again in the other order; says what each did
 * waits A       once the mathematical library was loaded and unloaded: loads A, whose constructor waits for a thread
 * often A       1000 times: loads A, lets it work, unloads it
 * fails A       loads A, does not find an object, lets A work, and says what the loader says of that object
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURNS 20
#define TIMES 1000

static void *load(const char *path)
{
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static int work(void *object)
{
	int (*plugin)(void) = object ? (int (*)(void))dlsym(object, "plugin_works") : NULL;
	return !plugin || plugin();
}

static int do_turns(char **objects)
{
	int failed = 0;
	for (int i = 0; i < 2 * TURNS && !failed; i++) {
		void *object = load(objects[i % 2]);
		failed = work(object) || dlclose(object);
		if (dlopen(objects[i % 2], RTLD_NOW | RTLD_NOLOAD))
			puts("still there");
	}
	return failed;
}

static int do_together(char **objects)
{
	void *first = load(objects[0]), *second = load(objects[1]);
	int failed = work(first) || work(second) || work(first) || work(second);
	return failed || dlclose(first) || work(second) || dlclose(second);
}

static int do_all(char **objects)
{
	void *loaded[64];
	int count = 0, failed = 0;
	for (; objects[count] && count < 64; count++)
		failed |= work(loaded[count] = load(objects[count]));
	for (int i = count; i-- > 0 && !failed;)
		failed = work(loaded[i]);
	for (int i = 0; i < count && !failed; i++) {
		int (*calls)(void) = (int (*)(void))dlsym(loaded[i], "plugin_calls");
		printf("%d: %d\n", i, calls ? calls() : -1);
	}
	return failed;
}

static int do_waits(char **objects)
{
	void *library = dlopen("libm.so.6", RTLD_NOW);
	if (library)
		dlclose(library);
	return work(load(objects[0]));
}

static int do_often(char **objects)
{
	int failed = 0;
	for (int i = 0; i < TIMES && !failed; i++) {
		void *object = load(objects[0]);
		failed = work(object) || dlclose(object);
	}
	return failed;
}

static int do_fails(char **objects)
{
	void *object = load(objects[0]);
	int (*plugin)(void) = object ? (int (*)(void))dlsym(object, "plugin_works") : NULL;
	if (!plugin || load("/nowhere/nothing.so"))
		return 1;
	int failed = plugin();
	const char *said = dlerror();
	puts(said ? said : "nothing");
	said = dlerror();
	puts(said ? said : "nothing");
	return failed;
}

static const struct {
	const char *name;
	int (*run)(char **objects);
} ways[] = {
    {"turns", do_turns}, {"together", do_together}, {"all", do_all},
    {"waits", do_waits}, {"often", do_often},       {"fails", do_fails},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(ways) / sizeof(*ways); i++) {
		if (strcmp(argv[1], ways[i].name) != 0)
			continue;
		int failed = ways[i].run(argv + 2);
		puts(failed ? "failed" : argv[1]);
		return failed;
	}
	return 2;
}
