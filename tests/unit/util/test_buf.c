/* test_buf.c: the growing buffer, varints, the arena and error messages. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/varint.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/error.h"

static void varint_round_trips(void **state)
{
	(void)state;
	const uint64_t values[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX - 1, UINT64_MAX};
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		uint8_t bytes[SONDE_VARINT_MAX_B];
		uint8_t *end = sonde_varint_put(bytes, values[i]);
		uint64_t back = 0;
		assert_ptr_equal(sonde_varint_get(bytes, end, &back), end);
		assert_int_equal(back, values[i]);
		for (const uint8_t *cut = bytes; cut < end; cut++)
			assert_null(sonde_varint_get(bytes, cut, &back));
		assert_int_equal(sonde_varint_unzigzag(sonde_varint_zigzag((int64_t)values[i])), (int64_t)values[i]);
	}
}

static void varint_refuses_65_bits(void **state)
{
	(void)state;
	const uint8_t bytes[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
	uint64_t value;
	assert_null(sonde_varint_get(bytes, bytes + sizeof bytes, &value));
}

static void buf_stops_at_its_maximum(void **state)
{
	(void)state;
	struct sonde_buf buf;
	sonde_buf_init(&buf, 1000);
	assert_int_equal(sonde_buf_printf(&buf, "%0900d", 7), 0);
	assert_int_equal(buf.len_b, 900);
	assert_int_equal(sonde_buf_printf(&buf, "%0101d", 7), -E2BIG);
	assert_int_equal(sonde_buf_text(&buf, "x"), -E2BIG);
	assert_non_null(strstr(sonde_error_text(), "1000"));
	sonde_buf_clear(&buf);
	assert_int_equal(sonde_buf_text(&buf, "x"), 0);
	sonde_buf_fini(&buf);
}

static void arena_gives_zeroed_aligned_memory(void **state)
{
	(void)state;
	struct sonde_arena arena = {0};
	for (size_t size = 1; size < 200000; size = size * 3 + 1) {
		unsigned char *memory = sonde_arena_alloc(&arena, size);
		assert_int_equal((uintptr_t)memory % 16, 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(memory[i], 0);
		memset(memory, 0xee, size);
	}
	assert_string_equal(sonde_arena_printf(&arena, "%d %s", 5, "x"), "5 x");
	assert_null(sonde_arena_alloc(&arena, SIZE_MAX - 5));
	sonde_arena_fini(&arena);
}

static void errors_steer_no_terminal(void **state)
{
	(void)state;
	assert_int_equal(sonde_error(ENOENT, "%s: %s", "a\x1b[2J\n\xc2\x9b\x7f\xe2\x80\xae", "größe → ж"), -ENOENT);
	assert_string_equal(sonde_error_text(), "a?[2J??????"
						"?: größe → ж");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(varint_round_trips),       cmocka_unit_test(varint_refuses_65_bits),
	    cmocka_unit_test(buf_stops_at_its_maximum), cmocka_unit_test(arena_gives_zeroed_aligned_memory),
	    cmocka_unit_test(errors_steer_no_terminal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
