/* array.h: arrays that grow. Not thread-safe.
 *
 *	if (SONDE_ARRAY_RESERVE(list->rows, list->capacity, list->count + 1))
 *		return sonde_error(ENOMEM, "out of memory for rows");
 *	list->rows[list->count++] = row;
 *
 * The owner frees the array with free().
 */
#ifndef SONDE_UTIL_ARRAY_H
#define SONDE_UTIL_ARRAY_H

#include <stddef.h>

/* Grows the array if `count` exceeds `*capacity`. `array`: the address of a pointer to elements of `element_b` bytes.
 * Capacities at least double, so that appending one by one costs amortised constant time. */
int sonde_array_grow(void *array, size_t *capacity, size_t count, size_t element_b);
int sonde_array_grow_zeros(void *array, size_t *capacity, size_t count, size_t element_b);

static inline int sonde_array_reserve(void *array, size_t *capacity, size_t count, size_t element_b)
{
	return count <= *capacity ? 0 : sonde_array_grow(array, capacity, count, element_b);
}

static inline int sonde_array_reserve_zeros(void *array, size_t *capacity, size_t count, size_t element_b)
{
	return count <= *capacity ? 0 : sonde_array_grow_zeros(array, capacity, count, element_b);
}

/* Makes room for `count` elements: 0, or -ENOMEM, which leaves the array and its capacity (a size_t) as they are. New
 * elements are not initialised. */
#define SONDE_ARRAY_RESERVE(array, capacity, count) sonde_array_reserve(&(array), &(capacity), (count), sizeof *(array))

/* Like SONDE_ARRAY_RESERVE(), but all new elements, up to the capacity, are zeros: for tables that are indexed by
 * number. */
#define SONDE_ARRAY_RESERVE_ZEROS(array, capacity, count) \
	sonde_array_reserve_zeros(&(array), &(capacity), (count), sizeof *(array))

#endif
