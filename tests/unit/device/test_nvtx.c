/* test_nvtx.c: texts of NVTX annotations: wide characters, long, numbered, and with numbers that PyTorch appends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "inject/nvtx/nvtx.h"

static void wide_texts_become_utf8(void **state)
{
	(void)state;
	char out[32];
	assert_int_equal(nvtx_text_utf8(out, sizeof(out), L"größe ∑ 𝄞"), 16);
	assert_string_equal(out, "größe ∑ 𝄞");
	static const wchar_t wrong[] = {L'a', 0xd800, 0x110000, L'b', 0};
	assert_int_equal(nvtx_text_utf8(out, sizeof(out), wrong), 8);
	assert_string_equal(out, "a\xef\xbf\xbd\xef\xbf\xbd"
				 "b");
	assert_int_equal(nvtx_text_utf8(out, sizeof(out), L""), 0);
}

static void what_does_not_fit_is_cut_between_characters(void **state)
{
	(void)state;
	char out[4];
	assert_int_equal(nvtx_text_utf8(out, sizeof(out), L"aé∑"), 3);
	assert_string_equal(out, "aé");
	assert_int_equal(nvtx_text_cut("aé∑", 6, 6), 6);
	assert_int_equal(nvtx_text_cut("aé∑", 6, 5), 3);
	assert_int_equal(nvtx_text_cut("aé∑", 6, 2), 1);
	/* Text that is not UTF-8: at most three bytes are lost. */
	assert_true(nvtx_text_cut("\x80\x80\x80\x80\x80\x80\x80\x80", 8, 7) >= 3);
}

static void names_have_forms(void **state)
{
	(void)state;
	char out[16];
	assert_int_equal(nvtx_text_form(out, sizeof(out), "step 12, 0.5", 12), 11);
	assert_memory_equal(out, "step #, #.#", 11);
	assert_int_equal(nvtx_text_form(out, 4, "step 12", 7), 4);
	assert_int_equal(nvtx_text_form(out, sizeof(out), "", 0), 0);
}

static void numbers_of_pytorch_are_no_part_of_a_name(void **state)
{
	(void)state;
	static const char op[] = "aten::mm, seq = 12, op_id = 7", none[] = ", seq = 12";
	assert_int_equal(nvtx_text_bare(op, sizeof(op) - 1), 8);
	assert_int_equal(nvtx_text_bare(none, sizeof(none) - 1), sizeof(none) - 1);
	assert_int_equal(nvtx_text_bare("forward", 7), 7);
}

static void hashes_tell_texts_apart(void **state)
{
	(void)state;
	assert_true(nvtx_text_hash(1, "step 1", 6) == nvtx_text_hash(1, "step 1", 6));
	assert_true(nvtx_text_hash(1, "step 1", 6) != nvtx_text_hash(1, "step 2", 6));
	assert_true(nvtx_text_hash(1, "step 1", 6) != nvtx_text_hash(2, "step 1", 6));
	assert_true(nvtx_text_hash(1, "a\0", 2) != nvtx_text_hash(1, "a", 1));
	assert_true(nvtx_text_hash(1, "0123456789abcdef", 16) != nvtx_text_hash(1, "89abcdef01234567", 16));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(wide_texts_become_utf8),  cmocka_unit_test(what_does_not_fit_is_cut_between_characters),
	    cmocka_unit_test(names_have_forms),        cmocka_unit_test(numbers_of_pytorch_are_no_part_of_a_name),
	    cmocka_unit_test(hashes_tell_texts_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
