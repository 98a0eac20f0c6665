/* heap_class.h: classes of sizes and lifetimes of blocks: log2. */
#ifndef SONDE_FOLD_HEAP_CLASS_H
#define SONDE_FOLD_HEAP_CLASS_H

#include <stdint.h>
#include <string.h>

#include "format/record.h"

/* By the exponent of a double, which processors without a fast bit count make faster; what is beyond the precision of
 * one, or below 0 as a signed number, is in the last class anyway. */
static inline unsigned sonde_heap_class(uint64_t value)
{
	double real = (double)(int64_t)(value | 1);
	uint64_t bits;
	memcpy(&bits, &real, sizeof bits);
	unsigned class = (unsigned)(bits >> 52) - 1023;
	return class < SONDE_HEAP_CLASSES ? class : SONDE_HEAP_CLASSES - 1;
}

#endif
