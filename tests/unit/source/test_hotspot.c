/* test_hotspot.c: frames of a synthetic Java VM: each kind is unwound to the right caller with the right name;
 * anything inconsistent ends the stack; garbage does no harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/hash.h"
#include "fake_recorder.h"
#include "source/stack/hotspot.h"
#include "vm_image.h"

#define STACK 0x7ffe00000000u
#define WORDS 64

static struct vm_image image;
static struct sonde_recorder recorder;
static struct sonde_places *places;
static struct sonde_hotspot *vm;
static struct sonde_process_memory memory;
static uint64_t stack[WORDS];

static int read_stack(void *context, uint64_t address, uint64_t *out)
{
	(void)context;
	if (address & 7 || address < STACK || (address - STACK) / 8 >= WORDS)
		return -1;
	*out = stack[(address - STACK) / 8];
	return 0;
}

static int setup(void **state)
{
	(void)state;
	memset(&recorder, 0, sizeof recorder);
	memset(stack, 0, sizeof stack);
	vm_image_make(&image);
	memory = vm_image_memory(&image);
	places = sonde_places_new(&recorder, "[java]");
	vm = sonde_hotspot_new_from(&memory, VM_BASE, places);
	return places && vm ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	sonde_hotspot_free(vm);
	sonde_places_free(places);
	fake_recorder_fini(&recorder);
	return 0;
}

/* A frame at `pc`, with its stack pointer at stack[sp] and its frame pointer at stack[fp]. */
static struct sonde_generated_frame frame_at(uint64_t pc, size_t sp, size_t fp, int is_leaf)
{
	return (struct sonde_generated_frame){
	    .regs = {.pc = pc, .sp = STACK + sp * 8, .fp = STACK + fp * 8}, .is_leaf = is_leaf, .read = read_stack};
}

static void is_left(struct sonde_generated_frame frame, uint64_t pc, size_t sp, uint64_t fp)
{
	assert_null(sonde_hotspot_problem(vm));
	assert_int_equal(sonde_hotspot_step(vm, &frame), 1);
	assert_int_equal(frame.result, SONDE_UNWIND_STEPPED);
	assert_int_equal(frame.regs.pc, pc);
	assert_int_equal(frame.regs.sp, STACK + sp * 8);
	assert_int_equal(frame.regs.fp, fp);
}

static void is_stopped_at(struct sonde_generated_frame frame)
{
	assert_int_equal(sonde_hotspot_step(vm, &frame), 1);
	assert_int_not_equal(frame.result, SONDE_UNWIND_STEPPED);
}

static const struct fake_place *last_place(void)
{
	assert_int_not_equal(recorder.place_count, 0);
	return &recorder.places[recorder.place_count - 1];
}

/* A call from compiled code: by the size of the frame, with the method that was inlined there. */
static void compiled_frames_are_left_by_their_size(void **state)
{
	(void)state;
	stack[7] = image.call_pc;
	stack[6] = 0x1234;
	is_left(frame_at(image.call_pc, 0, 20, 0), image.call_pc, 8, 0x1234);
	assert_int_equal(last_place()->count, 2);
	assert_string_equal(last_place()->functions[0], "pack.Inner.add");
	assert_string_equal(last_place()->functions[1], "pack.Outer.run");
	assert_int_equal(last_place()->lines[0], 7);
	assert_string_equal(recorder.modules[0].path, "[java]");
}

/* At each instruction of the entry and the exit: how much of the frame there is. */
static void unfinished_frames_are_left_by_their_instructions(void **state)
{
	(void)state;
	static const struct {
		size_t at, words; /* of the frame, below the return address */
		int is_saved;     /* the frame pointer is on the stack */
	} rows[] = {{0, 0, 0}, {7, 0, 0}, {8, 1, 1}, {12, 7, 1}, {17, 7, 1}, {21, 1, 1}, {22, 0, 0}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		memset(stack, 0, sizeof stack);
		stack[rows[i].words] = image.call_pc;
		if (rows[i].words)
			stack[rows[i].words - 1] = 0x5678;
		is_left(frame_at(image.frame_code + rows[i].at, 0, 20, 1), image.call_pc, rows[i].words + 1,
			rows[i].is_saved ? 0x5678 : STACK + 20 * 8);
	}
}

/* Slots below the frame pointer at stack[20]: sender's stack pointer, none, the method, …, the bytecode. */
static void put_interpreted(uint64_t method, uint64_t bytecode)
{
	stack[21] = image.call_pc;
	stack[20] = STACK + 40 * 8;
	stack[19] = STACK + 30 * 8;
	stack[17] = method;
	stack[12] = bytecode;
}

static void interpreted_frames_are_left_by_their_slots(void **state)
{
	(void)state;
	put_interpreted(image.outer, image.bytecodes + 3);
	is_left(frame_at(image.interpreter + 40, 5, 20, 0), image.call_pc, 30, STACK + 40 * 8);
	assert_string_equal(last_place()->functions[0], "pack.Outer.run");
	assert_int_equal(last_place()->lines[0], 7);
}

static void what_is_no_interpreted_frame_ends_the_stack(void **state)
{
	(void)state;
	put_interpreted(image.outer, image.bytecodes + 16); /* behind the method's code */
	is_stopped_at(frame_at(image.interpreter + 40, 5, 20, 0));
	put_interpreted(image.outer + 4, image.bytecodes);
	is_stopped_at(frame_at(image.interpreter + 40, 5, 20, 0));
	put_interpreted(image.outer, image.bytecodes);
	stack[19] = STACK + 10 * 8; /* the sender's stack pointer lies below the frame */
	is_stopped_at(frame_at(image.interpreter + 40, 5, 20, 0));
	stack[19] = STACK + 30 * 8;
	is_stopped_at(frame_at(image.interpreter + 40, 30, 20, 0)); /* as does the frame pointer */
}

/* The caller is who called this stub, on top of the stack or behind the frame pointer; a planted one is not. */
static void stubs_are_left_by_the_call_that_leads_into_them(void **state)
{
	(void)state;
	stack[0] = image.call_pc;
	is_left(frame_at(image.stub + 8, 0, 4, 1), image.call_pc, 1, STACK + 4 * 8);
	stack[0] = 0;
	stack[4] = 0x99;
	stack[5] = image.call_pc;
	is_left(frame_at(image.stub + 8, 0, 4, 1), image.call_pc, 6, 0x99);
	stack[5] = image.frame_code + 8; /* in compiled code, but no call stands in front of it */
	is_stopped_at(frame_at(image.stub + 8, 0, 4, 1));
	stack[5] = image.call_pc;
	vm_image_put(&image, image.call_pc - 4, 0x10); /* a call of something else */
	is_stopped_at(frame_at(image.stub + 8, 0, 4, 1));
}

static void the_entry_from_c_is_left_by_the_frame_pointer(void **state)
{
	(void)state;
	stack[10] = 0x77;
	stack[11] = 0x400123;
	is_left(frame_at(image.stub + 32, 2, 10, 0), 0x400123, 12, 0x77);
}

/* Free and foreign addresses, and a return address into a hole of the code cache. */
static void code_without_a_blob_ends_the_stack(void **state)
{
	(void)state;
	struct sonde_generated_frame foreign = frame_at(0x400000, 0, 0, 0);
	assert_int_equal(sonde_hotspot_step(vm, &foreign), 0);
	is_stopped_at(frame_at(VM_CODE + 0x8000, 0, 20, 0));
	stack[7] = VM_CODE + 0x8000;
	is_stopped_at(frame_at(image.call_pc, 0, 20, 0));
}

/* What is thrown away and what leads round and round. */
static void structures_that_lead_nowhere_are_refused(void **state)
{
	(void)state;
	uint64_t used = VM_CODE + 8;
	stack[7] = image.call_pc;
	image.bytes[used - VM_BASE] = 0;
	is_stopped_at(frame_at(image.call_pc, 0, 20, 0));
	image.bytes[used - VM_BASE] = 1;
	image.bytes[image.scopes + 4 - VM_BASE] = 4; /* the scope is its own caller */
	is_left(frame_at(image.call_pc, 0, 20, 0), image.call_pc, 8, 0);
	assert_int_equal(last_place()->count, 1);
	memset(image.bytes + (image.segments - VM_BASE), 0xfe, 512); /* each segment leads before the heap */
	is_stopped_at(frame_at(image.stub, 0, 20, 0));
}

static struct sonde_hotspot *open_anew(void)
{
	sonde_hotspot_free(vm);
	vm = sonde_hotspot_new_from(&memory, VM_BASE, places);
	assert_non_null(vm);
	return vm;
}

static void a_vm_that_lacks_a_field_is_not_followed(void **state)
{
	(void)state;
	memcpy(image.bytes + (image.structs - VM_BASE), image.bytes + (image.structs - VM_BASE) + 48, 48);
	assert_non_null(strstr(sonde_hotspot_problem(open_anew()), "CodeCache::_heaps"));
	struct sonde_generated_frame frame = frame_at(image.call_pc, 0, 20, 0);
	assert_int_equal(sonde_hotspot_step(vm, &frame), 0);
	vm_image_make(&image);
	vm_image_put(&image, image.structs + 5 * 48 + 32, 1u << 30); /* an offset no structure has */
	assert_non_null(sonde_hotspot_problem(open_anew()));
	memset(image.bytes, 0, 64);
	assert_non_null(strstr(sonde_hotspot_problem(open_anew()), "gHotSpotVMStructs"));
}

/* Any byte may be anything: steps end, and nothing is read or written that is not ours (run under sanitizers). */
static void garbage_is_bounded(void **state)
{
	(void)state;
	static struct vm_image whole;
	vm_image_make(&whole);
	uint64_t seed = 1;
	for (unsigned round = 0; round < 400; round++) {
		memcpy(&image, &whole, sizeof image);
		for (unsigned i = 0; i < 1 + round % 40; i++) {
			seed = sonde_hash_mix(seed + i + 1);
			uint64_t place = seed >> 8;
			uint64_t at = round % 2 ? place % whole.used : VM_CODE - VM_BASE + place % 0x1000;
			image.bytes[at] = seed & 1 ? (uint8_t)(seed >> 4) : 0xff;
		}
		open_anew();
		const uint64_t pcs[] = {image.call_pc, image.frame_code, image.frame_code + 8, image.interpreter + 9,
					image.stub + 1};
		put_interpreted(image.outer, image.bytecodes);
		for (size_t i = 0; i < 10; i++) {
			struct sonde_generated_frame frame = frame_at(pcs[i / 2], 0, 20, i & 1);
			for (unsigned steps = 0; steps < 100 && sonde_hotspot_step(vm, &frame); steps++) {
				if (frame.result != SONDE_UNWIND_STEPPED)
					break;
				frame.is_leaf = 0;
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(compiled_frames_are_left_by_their_size, setup, teardown),
	    cmocka_unit_test_setup_teardown(unfinished_frames_are_left_by_their_instructions, setup, teardown),
	    cmocka_unit_test_setup_teardown(interpreted_frames_are_left_by_their_slots, setup, teardown),
	    cmocka_unit_test_setup_teardown(what_is_no_interpreted_frame_ends_the_stack, setup, teardown),
	    cmocka_unit_test_setup_teardown(stubs_are_left_by_the_call_that_leads_into_them, setup, teardown),
	    cmocka_unit_test_setup_teardown(the_entry_from_c_is_left_by_the_frame_pointer, setup, teardown),
	    cmocka_unit_test_setup_teardown(code_without_a_blob_ends_the_stack, setup, teardown),
	    cmocka_unit_test_setup_teardown(structures_that_lead_nowhere_are_refused, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_vm_that_lacks_a_field_is_not_followed, setup, teardown),
	    cmocka_unit_test_setup_teardown(garbage_is_bounded, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
