/* test_inflate.c: what zlib deflates comes back, and what zlib refuses is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>

#include "symbol/inflate.h"

#define MOST_B ((size_t)200000)
#define DAMAGES 2000

static uint32_t draw(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* One byte again and again; words of a few, as debug information has them; noise; and all of them in turn. */
static void fill(uint8_t *out, size_t size_b, int kind)
{
	uint32_t state = 1;
	for (size_t i = 0; i < size_b; i++) {
		int of = kind == 3 ? (int)(i >> 12) % 3 : kind;
		out[i] = of == 0 ? 'a'
			 : of == 1
			     ? (uint8_t)(i > 40000 && draw(&state) % 8 ? out[i - 32768 + i % 7] : draw(&state) % 20)
			     : (uint8_t)draw(&state);
	}
}

/* The stream, with what must be there behind it. */
static uint8_t *deflated(const uint8_t *data, size_t size_b, int level, size_t *out_b)
{
	uLongf packed_b = compressBound((uLong)size_b);
	uint8_t *packed = malloc(packed_b + SONDE_INFLATE_SPARE_B);
	assert_non_null(packed);
	assert_int_equal(compress2(packed, &packed_b, data, (uLong)size_b, level), Z_OK);
	memset(packed + packed_b, 0xa5, SONDE_INFLATE_SPARE_B);
	*out_b = packed_b;
	return packed;
}

/* In memory of its own, so that a sanitizer sees what is read and written behind the spare bytes. */
static int inflates(const uint8_t *packed, size_t packed_b, size_t size_b, const uint8_t *expected)
{
	uint8_t *in = malloc(packed_b + SONDE_INFLATE_SPARE_B), *out = malloc(size_b + SONDE_INFLATE_SPARE_B);
	assert_non_null(in);
	assert_non_null(out);
	memcpy(in, packed, packed_b + SONDE_INFLATE_SPARE_B);
	int error = sonde_inflate(out, size_b, in, packed_b);
	if (!error && expected)
		assert_memory_equal(out, expected, size_b);
	free(in);
	free(out);
	return !error;
}

static void what_was_deflated_comes_back(void **state)
{
	static const size_t sizes_b[] = {0, 1, 2, 7, 258, 259, 4096, 65535, 65536, MOST_B};
	(void)state;
	uint8_t *data = malloc(MOST_B);
	assert_non_null(data);
	for (int kind = 0; kind < 4; kind++) {
		fill(data, MOST_B, kind);
		for (size_t i = 0; i < sizeof sizes_b / sizeof *sizes_b; i++) {
			for (int level = 0; level <= 9; level += 3) {
				size_t packed_b;
				uint8_t *packed = deflated(data, sizes_b[i], level, &packed_b);
				assert_true(inflates(packed, packed_b, sizes_b[i], data));
				assert_false(inflates(packed, packed_b, sizes_b[i] + 1, NULL));
				assert_false(inflates(packed, packed_b - 1, sizes_b[i], NULL));
				assert_true(!sizes_b[i] || !inflates(packed, packed_b, sizes_b[i] - 1, NULL));
				free(packed);
			}
		}
	}
	free(data);
}

static int zlib_inflates(const uint8_t *packed, size_t packed_b, size_t size_b)
{
	uLongf out_b = (uLongf)size_b;
	uLong used_b = (uLong)packed_b;
	uint8_t *out = malloc(size_b + 1);
	assert_non_null(out);
	int ok = uncompress2(out, &out_b, packed, &used_b) == Z_OK && out_b == size_b && used_b == packed_b;
	free(out);
	return ok;
}

static void what_zlib_refuses_is_refused(void **state)
{
	(void)state;
	const size_t size_b = 6000;
	uint8_t data[6000];
	uint32_t seed = 7;
	unsigned refused = 0;
	for (int kind = 0; kind < 4; kind++) {
		size_t packed_b;
		fill(data, size_b, kind);
		uint8_t *packed = deflated(data, size_b, kind * 3, &packed_b);
		for (int i = 0; i < DAMAGES; i++) {
			size_t at = draw(&seed) % (i % 2 && packed_b > 100 ? 100 : packed_b);
			uint8_t bit = (uint8_t)(1u << draw(&seed) % 8);
			packed[at] ^= bit;
			int ok = inflates(packed, packed_b, size_b, NULL);
			assert_int_equal(ok, zlib_inflates(packed, packed_b, size_b));
			refused += !ok;
			packed[at] ^= bit;
		}
		free(packed);
	}
	assert_true(refused > DAMAGES);
}

static void noise_is_refused(void **state)
{
	(void)state;
	uint8_t noise[400 + SONDE_INFLATE_SPARE_B];
	uint32_t seed = 3;
	for (int i = 0; i < DAMAGES; i++) {
		for (size_t k = 0; k < sizeof noise; k++)
			noise[k] = (uint8_t)draw(&seed);
		noise[0] = 0x78; /* a right beginning */
		noise[1] = 0x9c;
		assert_false(inflates(noise, 400, 3000, NULL));
		assert_false(inflates(noise, draw(&seed) % 8, 10, NULL));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_was_deflated_comes_back),
	    cmocka_unit_test(what_zlib_refuses_is_refused),
	    cmocka_unit_test(noise_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
