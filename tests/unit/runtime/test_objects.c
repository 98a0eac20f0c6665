/* test_objects.c: symbols found in loaded objects without the loader equal what the loader finds: each function of
 * each object loaded here, by both kinds of tables. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/hook/next.h"
#include "inject/hook/objects.h"

/* --- symbols, as the files have them ----------------------------------------------------------------------------- */

struct image {
	const char *bytes;
	size_t size_b;
	const ElfW(Sym) * symbols;
	const char *strings;
	const ElfW(Half) * versions;
	size_t count;
};

static int read_image(const char *path, struct image *out)
{
	struct stat facts;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	*out = (struct image){.bytes = NULL};
	if (fd < 0 || fstat(fd, &facts))
		return -1;
	out->size_b = (size_t)facts.st_size;
	out->bytes = mmap(NULL, out->size_b, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	assert_true(out->bytes != MAP_FAILED);
	const ElfW(Ehdr) *head = (const void *)out->bytes;
	const ElfW(Shdr) *sections = (const void *)(out->bytes + head->e_shoff);
	for (int i = 0; i < head->e_shnum; i++) {
		if (sections[i].sh_type == SHT_GNU_versym)
			out->versions = (const void *)(out->bytes + sections[i].sh_offset);
		if (sections[i].sh_type != SHT_DYNSYM)
			continue;
		out->symbols = (const void *)(out->bytes + sections[i].sh_offset);
		out->count = sections[i].sh_size / sizeof(ElfW(Sym));
		out->strings = out->bytes + sections[sections[i].sh_link].sh_offset;
	}
	return out->count ? 0 : -1;
}

static int is_exported(const struct image *image, size_t i)
{
	const ElfW(Sym) *symbol = &image->symbols[i];
	return symbol->st_shndx != SHN_UNDEF && (symbol->st_info & 15) == STT_FUNC &&
	       symbol->st_info >> 4 != STB_LOCAL && !(image->versions && image->versions[i] & 0x8000);
}

static unsigned compare(const struct inject_object *object, void *handle, const struct image *image)
{
	unsigned found = 0;
	for (size_t i = 1; i < image->count; i++) {
		const char *name = image->strings + image->symbols[i].st_name;
		if (!is_exported(image, i))
			continue;
		char wrong[512];
		snprintf(wrong, sizeof wrong, "%s_", name);
		void *function = inject_objects_function(object, name), *expected = dlsym(handle, name);
		if (function != expected)
			fail_msg("%s of %s: %p instead of %p", name, object->path, function, expected);
		if (!dlsym(handle, wrong) && inject_objects_function(object, wrong))
			fail_msg("%s of %s is there", wrong, object->path);
		found++;
	}
	return found;
}

/* --- tests ------------------------------------------------------------------------------------------------------- */

static unsigned functions_of(const char *path)
{
	struct inject_object object;
	struct image image;
	struct link_map *map;
	void *handle = dlopen(path, RTLD_NOW);
	assert_non_null(handle);
	assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
	assert_true(inject_objects_find((uintptr_t)map->l_ld, &object));
	assert_ptr_equal(object.dynamic, map->l_ld);
	assert_int_equal(object.base, map->l_addr);
	assert_int_equal(read_image(map->l_name, &image), 0);
	unsigned found = compare(&object, handle, &image);
	munmap((void *)(uintptr_t)image.bytes, image.size_b); /* NOLINT: it was made so */
	dlclose(handle);
	return found;
}

static void functions_are_those_that_the_loader_finds(void **unused)
{
	(void)unused;
	assert_true(functions_of("libc.so.6") > 1000);
	assert_true(functions_of("libm.so.6") > 100);
	assert_int_equal(functions_of(OBJECTS_SYSV_PATH), 1);
	assert_int_equal(functions_of(OBJECTS_GNU_PATH), 1);
}

static int compare_with_next(const char *name)
{
	struct inject_object self;
	void *found = NULL, *kept = &self;
	assert_true(inject_objects_find((uintptr_t)&compare_with_next, &self));
	inject_objects_bind(&self, &name, 1, &found);
	assert_ptr_equal(found, dlsym(RTLD_NEXT, name));
	inject_objects_bind(&self, &name, 1, &kept);
	assert_ptr_equal(kept, &self);
	return found != NULL;
}

/* The test's own definition is passed over. */
int sigandset(void);
__attribute__((visibility("default"), noinline)) int sigandset(void)
{
	return 7;
}

static void calls_are_bound_as_the_loader_does(void **unused)
{
	(void)unused;
	assert_true(compare_with_next("malloc"));
	assert_true(compare_with_next("pthread_create"));
	assert_true(compare_with_next("_expect_function_call"));
	assert_true(compare_with_next("sigandset"));
	assert_false(compare_with_next("no_such_function_anywhere"));
}

/* Without asking the loader: its list is walked, and resolvers of IFUNCs are called as it does. */
static void next_functions_are_those_that_the_loader_finds(void **unused)
{
	(void)unused;
	struct link_map *map;
	struct image image;
	unsigned count = 0, resolved = 0;
	void *handle = dlopen("libc.so.6", RTLD_NOW);
	assert_non_null(handle);
	assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
	assert_int_equal(read_image(map->l_name, &image), 0);
	for (size_t i = 1; i < image.count; i++) {
		const ElfW(Sym) *symbol = &image.symbols[i];
		const char *name = image.strings + symbol->st_name;
		int is_ifunc = (symbol->st_info & 15) == STT_GNU_IFUNC && symbol->st_shndx != SHN_UNDEF &&
			       !(image.versions && image.versions[i] & 0x8000);
		if (!is_ifunc && !is_exported(&image, i))
			continue;
		void *found = inject_next(name), *expected = dlsym(RTLD_NEXT, name);
		if (found != expected)
			fail_msg("%s: %p instead of %p", name, found, expected);
		assert_ptr_equal(inject_next_initial(name), expected);
		count++;
		resolved += (unsigned)is_ifunc;
	}
	assert_true(count > 1000);
	print_message("%u functions, %u of them chosen by a resolver\n", count, resolved);
	assert_null(inject_next("no_such_function_anywhere"));
	assert_null(inject_next("environ")); /* a variable */
	assert_ptr_equal(inject_next_allocator("aligned_alloc"), dlsym(RTLD_NEXT, "aligned_alloc"));
	munmap((void *)(uintptr_t)image.bytes, image.size_b); /* NOLINT: it was made so */
	dlclose(handle);
}

/* Called by an unknown caller: by any of them. */
static void strays_are_bound_to_whoever_has_it(void **unused)
{
	(void)unused;
	const char *names[] = {"objects_sysv", "malloc", "no_such_function"};
	void *found[3] = {NULL}, *handle = dlopen(OBJECTS_SYSV_PATH, RTLD_NOW | RTLD_LOCAL);
	struct inject_object nobody = {.dynamic = NULL};
	assert_non_null(handle);
	inject_objects_bind(&nobody, names, 3, found);
	assert_ptr_equal(found[0], dlsym(handle, "objects_sysv"));
	assert_ptr_equal(found[1], dlsym(RTLD_NEXT, "malloc"));
	assert_null(found[2]);
	dlclose(handle);
}

static void addresses_lie_in_objects_or_not(void **unused)
{
	(void)unused;
	struct inject_object object;
	int local = 0;
	assert_true(inject_objects_find((uintptr_t)&addresses_lie_in_objects_or_not, &object));
	assert_true(inject_objects_find((uintptr_t)dlsym(RTLD_NEXT, "malloc"), &object));
	assert_false(inject_objects_find((uintptr_t)&local, &object));
	assert_false(inject_objects_find(0, &object));
	assert_false(inject_objects_find(UINTPTR_MAX, &object));
}

static int is_in(const struct inject_objects_range *ranges, uint32_t count, uintptr_t address)
{
	while (count-- > 0)
		if (address >= ranges[count].start && address < ranges[count].end)
			return 1;
	return 0;
}

static void objects_are_counted_as_they_come_and_go(void **unused)
{
	(void)unused;
	struct inject_objects_count first, then, last;
	struct inject_objects_range ranges[256];
	inject_objects_counted(&first);
	assert_true(first.is_known);
	void *handle = dlopen(OBJECTS_SYSV_PATH, RTLD_NOW);
	uintptr_t inside = (uintptr_t)dlsym(handle, "objects_sysv");
	uint32_t count = inject_objects_ranges(ranges, 256, &then);
	assert_int_equal(then.loads, first.loads + 1);
	assert_int_equal(then.unloads, first.unloads);
	assert_in_range(count, 3, 256);
	assert_true(is_in(ranges, count, inside));
	assert_true(is_in(ranges, count, (uintptr_t)&is_in));
	dlclose(handle);
	assert_int_equal(inject_objects_ranges(ranges, 1, &last), count - 1);
	assert_int_equal(inject_objects_ranges(ranges, 256, &last), count - 1);
	assert_false(is_in(ranges, count - 1, inside));
	assert_int_equal(last.loads, then.loads);
	assert_int_equal(last.unloads, then.unloads + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(functions_are_those_that_the_loader_finds),
	    cmocka_unit_test(calls_are_bound_as_the_loader_does),
	    cmocka_unit_test(next_functions_are_those_that_the_loader_finds),
	    cmocka_unit_test(strays_are_bound_to_whoever_has_it),
	    cmocka_unit_test(addresses_lie_in_objects_or_not),
	    cmocka_unit_test(objects_are_counted_as_they_come_and_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
