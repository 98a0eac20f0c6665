/* order.h: comparing numbers for qsort() and bsearch(). */
#ifndef SONDE_BASE_ORDER_H
#define SONDE_BASE_ORDER_H

#include <stdint.h>

/* Below 0, 0 or above 0, as a is below, equal to or above b. */
static inline int sonde_order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

#endif
