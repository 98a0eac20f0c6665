/* test_maps.c: mappings replace those that they cover, forked copies stay apart, lines of /proc/PID/maps are read. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "source/stack/image.h"
#include "source/stack/maps.h"

static uint64_t generations;

static struct sonde_image image_a, image_b;

static void add(struct sonde_maps **maps, uint64_t start, uint64_t end, uint64_t offset, struct sonde_image *image)
{
	struct sonde_mapping mapping = {start, end, offset, image};
	assert_int_equal(sonde_maps_add(maps, &mapping), 0);
}

static void holds(const struct sonde_maps *maps, uint64_t address, const struct sonde_image *image, uint64_t offset)
{
	const struct sonde_mapping *found = sonde_maps_find(maps, address);
	assert_non_null(found);
	assert_ptr_equal(found->image, image);
	assert_int_equal(address - found->start + found->offset, offset);
}

static void an_address_is_found_in_its_mapping_only(void **state)
{
	(void)state;
	struct sonde_maps *maps = sonde_maps_new(&generations);
	assert_null(sonde_maps_find(maps, 0x1000));
	add(&maps, 0x3000, 0x5000, 0x100, &image_b);
	add(&maps, 0x1000, 0x2000, 0, &image_a);
	assert_null(sonde_maps_find(maps, 0xfff));
	holds(maps, 0x1000, &image_a, 0);
	holds(maps, 0x1fff, &image_a, 0xfff);
	assert_null(sonde_maps_find(maps, 0x2000));
	holds(maps, 0x4fff, &image_b, 0x20ff);
	assert_null(sonde_maps_find(maps, 0x5000));
	assert_null(sonde_maps_find(maps, UINT64_MAX));
	sonde_maps_unref(maps);
}

static void a_newer_mapping_wins_and_leaves_the_rest(void **state)
{
	(void)state;
	struct sonde_maps *maps = sonde_maps_new(&generations);
	add(&maps, 0x1000, 0x9000, 0x10000, &image_a);
	add(&maps, 0x3000, 0x4000, 0, &image_b); /* a hole in the middle */
	assert_int_equal(sonde_maps_count(maps), 3);
	holds(maps, 0x2fff, &image_a, 0x11fff);
	holds(maps, 0x3000, &image_b, 0);
	holds(maps, 0x4000, &image_a, 0x13000);
	holds(maps, 0x8fff, &image_a, 0x17fff);
	add(&maps, 0x2000, 0x5000, 0x70000, &image_b); /* covers one, cuts two */
	assert_int_equal(sonde_maps_count(maps), 3);
	holds(maps, 0x1fff, &image_a, 0x10fff);
	holds(maps, 0x3000, &image_b, 0x71000);
	holds(maps, 0x5000, &image_a, 0x14000);
	add(&maps, 0, 0x10000, 0, &image_b); /* covers all */
	assert_int_equal(sonde_maps_count(maps), 1);
	add(&maps, 0, 0x10000, 0, &image_a); /* exactly the same place */
	assert_int_equal(sonde_maps_count(maps), 1);
	holds(maps, 0x5000, &image_a, 0x5000);
	sonde_maps_unref(maps);
}

static void a_forked_copy_changes_alone(void **state)
{
	(void)state;
	struct sonde_maps *parent = sonde_maps_new(&generations);
	add(&parent, 0x1000, 0x2000, 0, &image_a);
	struct sonde_maps *child = sonde_maps_ref(parent);
	uint64_t generation = sonde_maps_generation(parent);
	assert_int_equal(sonde_maps_generation(child), generation);
	add(&child, 0x1000, 0x2000, 0, &image_b);
	assert_ptr_not_equal(child, parent);
	holds(parent, 0x1000, &image_a, 0);
	holds(child, 0x1000, &image_b, 0);
	assert_int_equal(sonde_maps_generation(parent), generation);
	assert_int_not_equal(sonde_maps_generation(child), generation);
	sonde_maps_unref(child);
	add(&parent, 0x4000, 0x5000, 0, &image_b); /* the last owner changes in place */
	assert_int_not_equal(sonde_maps_generation(parent), generation);
	sonde_maps_unref(parent);
}

static void there_is_a_limit(void **state)
{
	(void)state;
	struct sonde_maps *maps = sonde_maps_new(&generations);
	struct sonde_mapping mapping = {.image = &image_a};
	int result = 0;
	for (uint64_t i = 0; i < SONDE_MAPS_MAX + 10 && !result; i++) {
		mapping.start = i * 0x2000;
		mapping.end = mapping.start + 0x1000;
		result = sonde_maps_add(&maps, &mapping);
	}
	assert_int_equal(result, -ENOSPC);
	assert_in_range(sonde_maps_count(maps), SONDE_MAPS_MAX - 2, SONDE_MAPS_MAX);
	holds(maps, 0x2000, &image_a, 0);
	mapping.end = mapping.start;
	assert_int_equal(sonde_maps_add(&maps, &mapping), -EINVAL);
	sonde_maps_unref(maps);
}

/* Against a plain array of bytes. */
static void random_mappings_agree_with_a_simple_model(void **state)
{
	(void)state;
	static struct sonde_image images[8];
	static const struct sonde_image *model[256];
	static uint64_t offsets[256];
	struct sonde_maps *maps = sonde_maps_new(&generations);
	srand(7);
	for (int round = 0; round < 3000; round++) {
		unsigned start = (unsigned)rand() % 256, size = 1 + (unsigned)rand() % 40;
		unsigned end = start + size > 256 ? 256 : start + size;
		struct sonde_image *image = &images[rand() % 8];
		add(&maps, start, end, start * 3u, image);
		for (unsigned i = start; i < end; i++) {
			model[i] = image;
			offsets[i] = start * 3u + (i - start);
		}
		for (unsigned i = 0; i < 256; i++) {
			if (model[i])
				holds(maps, i, model[i], offsets[i]);
			else
				assert_null(sonde_maps_find(maps, i));
		}
	}
	sonde_maps_unref(maps);
}

static void lines_of_proc_are_read(void **state)
{
	(void)state;
	char with_path[] =
	    "7f1b436af000-7f1b43845000 r-xp 00026000 fe:1f 3021                /usr/lib/a b.so (deleted)\n";
	char without[] = "ffffffff600000-ffffffff601000 --xp 00000000 00:00 0 \n";
	char data[] = "55d0-55e0 rw-p 00000000 00:00 0                          [heap]";
	struct sonde_maps_line line;
	assert_int_equal(sonde_maps_parse(with_path, &line), 0);
	assert_int_equal(line.start, 0x7f1b436af000);
	assert_int_equal(line.end, 0x7f1b43845000);
	assert_int_equal(line.offset, 0x26000);
	assert_int_equal(line.major, 0xfe);
	assert_int_equal(line.minor, 0x1f);
	assert_int_equal(line.inode, 3021);
	assert_true(line.executable);
	assert_string_equal(line.path, "/usr/lib/a b.so (deleted)");
	assert_int_equal(sonde_maps_parse(without, &line), 0);
	assert_string_equal(line.path, "");
	assert_int_equal(sonde_maps_parse(data, &line), 0);
	assert_false(line.executable);
	assert_string_equal(line.path, "[heap]");
}

static void lines_that_are_not_mappings_are_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {"",
					  "\n",
					  "zz-10 r-xp 0 0:0 0",
					  "10-20",
					  "10-20 r-xp",
					  "10-20 r-x",
					  "20-10 r-xp 0 0:0 0",
					  "10-20 r-xp 0",
					  "10-20 r-xp 0 0:0",
					  "10-20 r-xp 0 0:0 x",
					  "10000000000000000000-2 r-xp 0 0:0 0"};
	struct sonde_maps_line line = {.start = 99};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char *copy = strdup(bad[i]);
		assert_int_equal(sonde_maps_parse(copy, &line), -EBADMSG);
		assert_int_equal(line.start, 99);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_address_is_found_in_its_mapping_only),
	    cmocka_unit_test(a_newer_mapping_wins_and_leaves_the_rest),
	    cmocka_unit_test(a_forked_copy_changes_alone),
	    cmocka_unit_test(there_is_a_limit),
	    cmocka_unit_test(random_mappings_agree_with_a_simple_model),
	    cmocka_unit_test(lines_of_proc_are_read),
	    cmocka_unit_test(lines_that_are_not_mappings_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
