/* grow_by_one.c: 512 lists grow in turn, by one number at a time: each is followed in memory by another list, so every
 * growth copies the whole list.
 *
 * sonde: allocation-churn: the time is realloc()'s copying, called by append().
 * Fix: the capacity doubles when a list is full.
 */
#include "example.h"

enum { LISTS = 512, NUMBERS = 3000 };

struct list {
	double *numbers;
	size_t count, capacity;
};

NO_INLINE static void append(struct list *list, double number, bool fixed)
{
	if (list->count == list->capacity) {
		list->capacity = fixed ? list->capacity * 2 + 8 : list->capacity + 1;
		list->numbers = realloc(list->numbers, list->capacity * sizeof number);
		must(list->numbers, "realloc");
	}
	list->numbers[list->count++] = number;
}

int main(int argc, char **argv)
{
	bool fixed = is_fixed(argc, argv);
	struct list lists[LISTS] = {0};
	uint64_t random = 11;
	double sum = 0;
	for (int i = 0; i < NUMBERS; i++)
		for (size_t k = 0; k < LISTS; k++)
			append(&lists[k], next_number(&random) % 1000, fixed);
	for (size_t k = 0; k < LISTS; k++) {
		for (size_t i = 0; i < lists[k].count; i++)
			sum += lists[k].numbers[i];
		free(lists[k].numbers);
	}
	printf("sum %.0f\n", sum);
	return 0;
}
