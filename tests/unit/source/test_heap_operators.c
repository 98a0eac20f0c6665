/* test_heap_operators.c: the operators that a call is forwarded to, while objects are loaded and unloaded, on a
 * synthetic list of objects. An object's number and an operator's number stand for a function. */
#include "inject/heap/operators.c" /* NOLINT: its inside */

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { OBJECTS = 2000, OBJECT_B = 1 << 16, THREADS = 4, ROUNDS = 10000 };

#define PLACE UINT64_C(0x7f0000000000)

/* --- what it asks of its surroundings ---------------------------------------------------------------------------- */

__thread struct hook_thread *hook_self;
__thread uint64_t heap_left;
_Atomic uint8_t heap_filter[1u << HEAP_FILTER_BITS];
_Atomic uint8_t heap_none;

static struct {
	uintptr_t number; /* 0 = nothing is there */
} places[OBJECTS];
static struct inject_objects_count counted = {.is_known = 1};
static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER;
static unsigned bindings, held;

int inject_calls_begin(void)
{
	return 1;
}

void inject_calls_end(void)
{
}

static int is_full;

int inject_connect_spares(uint64_t size_b)
{
	(void)size_b;
	return !is_full;
}

void *inject_connect_page(size_t size_b)
{
	return calloc(1, size_b);
}

uint64_t hook_thread_hold_signals(void)
{
	return 0;
}

void hook_thread_let_signals(uint64_t before)
{
	(void)before;
}

void *heap_record_new(void *block, size_t size_b, const struct hook_caller *caller)
{
	(void)size_b, (void)caller;
	return block;
}

void heap_record_deleted(const void *block)
{
	(void)block;
}

int inject_is_bound(void)
{
	return 1;
}

void *inject_next(const char *name)
{
	(void)name;
	return NULL;
}

int inject_objects_hold(void (*visit)(const struct inject_objects_count *count, void *data), void *data)
{
	pthread_mutex_lock(&list);
	held++;
	visit(&counted, data);
	pthread_mutex_unlock(&list);
	return 1;
}

int inject_objects_find(uintptr_t address, struct inject_object *out)
{
	uintptr_t place = (address - PLACE) / OBJECT_B;
	if (place >= OBJECTS || !places[place].number)
		return 0;
	*out = (struct inject_object){.base = PLACE + place * OBJECT_B,
				      .dynamic = (const ElfW(Dyn) *)(PLACE + place * OBJECT_B + 64)}; /* NOLINT */
	return 1;
}

/* The list is held. */
uint32_t inject_objects_ranges(struct inject_objects_range *out, uint32_t most, struct inject_objects_count *count)
{
	uint32_t found = 0;
	for (uint32_t i = 0; i < OBJECTS; i++) {
		if (places[i].number && found < most)
			out[found] = (struct inject_objects_range){PLACE + (uint64_t)i * OBJECT_B,
								   PLACE + (uint64_t)(i + 1) * OBJECT_B};
		found += places[i].number != 0;
	}
	*count = counted;
	return found;
}

void inject_objects_bind(const struct inject_object *from, const char *const *wanted, uint32_t count, void **out)
{
	uintptr_t number = from->dynamic ? places[(from->base - PLACE) / OBJECT_B].number : 0;
	for (uint32_t i = 0; i < count; i++)
		if (!out[i] && number)
			out[i] = (void *)(number << 8 | (uintptr_t)(wanted + i - names)); /* NOLINT: not called */
	bindings++;
}

/* --- objects ----------------------------------------------------------------------------------------------------- */

static uintptr_t latest;

static uintptr_t load(uint32_t place)
{
	pthread_mutex_lock(&list);
	uintptr_t number = places[place].number = ++latest;
	counted.loads++;
	pthread_mutex_unlock(&list);
	return number;
}

static void unload(uint32_t place)
{
	pthread_mutex_lock(&list);
	places[place].number = 0;
	counted.unloads++;
	pthread_mutex_unlock(&list);
}

static void close_object(uint32_t place)
{
	heap_operators_close();
	unload(place);
	heap_operators_closed();
}

static const void *code_in(uint32_t place, uint32_t page)
{
	return (const void *)(PLACE + (uint64_t)place * OBJECT_B + ((uint64_t)page << PAGE_BITS) + 100); /* NOLINT */
}

static uintptr_t called(uint32_t place, uint32_t page, enum which which)
{
	uintptr_t real = (uintptr_t)find(which, "", code_in(place, page));
	return real ? real >> 8 | (real & 0xff) << 32 : 0;
}

static void calls(uint32_t place, uint32_t page, uintptr_t number)
{
	for (uint32_t which = 0; which < OPERATOR_COUNT; which++)
		assert_int_equal(called(place, page, which), number | (uintptr_t)which << 32);
}

static void clean(void)
{
	for (uint32_t i = 0; i < OBJECTS; i++)
		if (places[i].number)
			close_object(i);
	bindings = held = 0;
}

/* --- tests ------------------------------------------------------------------------------------------------------- */

static void an_object_is_bound_once(void **unused)
{
	(void)unused;
	clean();
	uintptr_t number = load(3);
	for (uint32_t i = 0; i < 100; i++)
		for (uint32_t page = 0; page < 5; page++)
			calls(3, page, number);
	assert_int_equal(bindings, 1);
	assert_in_range(held, 5, 6); /* a page each; the first also finds that others have gone */
}

static void nothing_is_bound_anew_when_nothing_has_gone(void **unused)
{
	(void)unused;
	clean();
	uintptr_t number = load(3);
	calls(3, 0, number);
	unsigned before = bindings;
	for (uint32_t i = 0; i < 100; i++) {
		heap_operators_close();
		heap_operators_closed();
		calls(3, 0, number);
	}
	assert_int_equal(bindings, before);
	close_object(9);
	calls(3, 0, number);
	assert_int_equal(bindings, before + 1);
}

static void another_in_the_same_place_has_its_own(void **unused)
{
	(void)unused;
	clean();
	for (uint32_t i = 0; i < 1000; i++) {
		calls(3, 0, load(3));
		close_object(3);
		assert_int_equal(called(3, 0, 0), 0);
	}
}

/* Its destructors call operators after dlclose() was called, and the other's constructors before that has returned. */
static void another_comes_before_we_know(void **unused)
{
	(void)unused;
	clean();
	uintptr_t first = load(3);
	calls(3, 0, first);
	heap_operators_close();
	calls(3, 0, first);
	calls(3, 1, first);
	unload(3);
	uintptr_t second = load(3);
	calls(3, 0, second);
	calls(3, 1, second);
	heap_operators_closed();
	calls(3, 0, second);
	calls(3, 1, second);
}

/* The loader's own names go without dlclose(), and no object has all. */
static void what_goes_unseen_is_seen_with_the_next_look(void **unused)
{
	(void)unused;
	clean();
	uintptr_t first = load(3), second = load(4);
	calls(3, 0, first);
	calls(4, 0, second);
	unload(3);
	calls(4, 1, second); /* look-ups */
	calls(3, 0, load(3));
	calls(4, 0, second);
}

static void more_objects_than_are_kept_are_bound_rightly(void **unused)
{
	(void)unused;
	clean();
	uintptr_t first = load(0);
	for (uint32_t i = 1; i < OBJECTS; i++)
		load(i);
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < OBJECTS; i++)
			calls(i, i % 16, first + i);
}

static void generations_come_again(void **unused)
{
	(void)unused;
	clean();
	calls(3, 0, load(3));
	uint32_t before = atomic_load(&generation);
	unload(3);
	while (atomic_load(&generation) != before + GENERATIONS) {
		heap_operators_close();
		heap_operators_closed();
	}
	calls(3, 0, load(3));
}

static void a_count_that_is_not_known_is_no_count(void **unused)
{
	(void)unused;
	clean();
	counted.is_known = 0;
	for (uint32_t i = 0; i < 10; i++) {
		calls(3, 0, load(3));
		places[3].number = 0;
		assert_int_equal(called(3, 0, 0), 0);
	}
	counted.is_known = 1;
}

/* Each call looks up its own. */
static void without_room_nothing_is_kept(void **unused)
{
	(void)unused;
	struct bound *kept = atomic_exchange(&bound, NULL);
	is_full = 1;
	for (uint32_t i = 0; i < 10; i++) {
		calls(3, 0, load(3));
		close_object(3);
		assert_int_equal(called(3, 0, 0), 0);
	}
	is_full = 0;
	atomic_store(&bound, kept);
}

/* The thread that had the list is not there to give it up. */
static void forked_children_ask_without_the_list(void **unused)
{
	(void)unused;
	clean();
	uintptr_t first = load(3), second = load(7);
	calls(3, 0, first);
	heap_operators_fork();
	is_forked = 1;
	unsigned before = held;
	for (uint32_t page = 8; page < 12; page++) { /* not looked up before */
		calls(3, page, first);
		calls(7, page, second);
	}
	assert_int_equal(held, before);
	is_forked = 0;
	close_object(3);
	heap_operators_fork(); /* lists again: the first one is gone */
	is_forked = 1;
	assert_null(find_inherited(0, (uintptr_t)code_in(3, 0)));
	calls(7, 13, second);
	is_forked = 0;
}

/* An operator that jumps to another calls it from ours. */
static void one_calls_another_from_where_it_stands(void **unused)
{
	(void)unused;
	clean();
	uintptr_t number = load(3);
	calls(3, 0, number);
	last = code_in(3, 2);
	assert_int_equal((uintptr_t)find(1, "", (const void *)(uintptr_t)&find) >> 8, number); /* NOLINT */
}

static void operators_of_nobody_are_ours(void **unused)
{
	(void)unused;
	clean();
	char *block = alloc_Znwm(100);
	assert_non_null(block);
	memset(block, 1, 100);
	free_ZdlPv(block);
	block = alloc_ZnwmSt11align_val_t(100, 256);
	assert_int_equal((uintptr_t)block % 256, 0);
	free_ZdlPvSt11align_val_t(block, 256);
}

static _Atomic int is_over;

static void *calls_its_own(void *argument)
{
	uint32_t place = *(uint32_t *)argument;
	uintptr_t number = places[place].number;
	for (uint32_t i = 0; !atomic_load(&is_over); i++)
		if (called(place, i % 16, i % OPERATOR_COUNT) != (number | (uintptr_t)(i % OPERATOR_COUNT) << 32))
			return argument;
	return NULL;
}

/* The next object that would have the same entry. */
static uint32_t rival_of(uint32_t place)
{
	uintptr_t wanted = PLACE + place * (uint64_t)OBJECT_B + 64, other;
	do
		other = PLACE + ++place * (uint64_t)OBJECT_B + 64;
	while (first_entry(wanted) != first_entry(other));
	return place;
}

/* Entries are reused all the time, but never while another thread reads them. */
static void threads_get_their_own_while_others_come_and_go(void **unused)
{
	(void)unused;
	static uint32_t numbers[THREADS];
	pthread_t threads[THREADS];
	clean();
	for (uint32_t i = 0; i < THREADS; i++) {
		numbers[i] = i;
		load(i);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, calls_its_own, &numbers[i]), 0);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t place = rival_of(i % THREADS);
		heap_operators_close();
		calls(place, 0, load(place));
		unload(place);
		heap_operators_closed();
	}
	atomic_store(&is_over, 1);
	for (uint32_t i = 0; i < THREADS; i++) {
		void *failed;
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_object_is_bound_once),
	    cmocka_unit_test(nothing_is_bound_anew_when_nothing_has_gone),
	    cmocka_unit_test(another_in_the_same_place_has_its_own),
	    cmocka_unit_test(another_comes_before_we_know),
	    cmocka_unit_test(what_goes_unseen_is_seen_with_the_next_look),
	    cmocka_unit_test(more_objects_than_are_kept_are_bound_rightly),
	    cmocka_unit_test(generations_come_again),
	    cmocka_unit_test(a_count_that_is_not_known_is_no_count),
	    cmocka_unit_test(without_room_nothing_is_kept),
	    cmocka_unit_test(forked_children_ask_without_the_list),
	    cmocka_unit_test(one_calls_another_from_where_it_stands),
	    cmocka_unit_test(operators_of_nobody_are_ours),
	    cmocka_unit_test(threads_get_their_own_while_others_come_and_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
