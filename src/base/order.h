/* order.h: three-way comparison of integers for qsort() and bsearch(). */
#ifndef SONDE_BASE_ORDER_H
#define SONDE_BASE_ORDER_H

#include <stdint.h>

/* Negative, 0 or positive when a is less than, equal to or greater than b. */
static inline int sonde_order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

#endif
