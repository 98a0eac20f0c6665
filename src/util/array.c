/* array.c: arrays that grow (array.h). */
#include "util/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 16 }; /* elements */

int sonde_array_grow(void *array, size_t *capacity, size_t count, size_t element_b)
{
	size_t wanted = *capacity > (size_t)-1 / 2 ? count : 2 * *capacity, size_b;
	if (wanted < count)
		wanted = count;
	if (wanted < LEAST)
		wanted = LEAST;
	if (__builtin_mul_overflow(wanted, element_b, &size_b))
		return -ENOMEM;
	void *elements;
	memcpy(&elements, array, sizeof elements); /* of any type: a cast to void ** would break strict aliasing */
	elements = realloc(elements, size_b);
	if (!elements)
		return -ENOMEM;
	memcpy(array, &elements, sizeof elements);
	*capacity = wanted;
	return 0;
}

int sonde_array_grow_zeros(void *array, size_t *capacity, size_t count, size_t element_b)
{
	size_t before = *capacity;
	int rc = sonde_array_grow(array, capacity, count, element_b);
	if (rc)
		return rc;
	char *elements;
	memcpy(&elements, array, sizeof elements);
	memset(elements + before * element_b, 0, (*capacity - before) * element_b);
	return 0;
}
