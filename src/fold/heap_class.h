/* heap_class.h: log2 classes of block sizes and lifetimes. */
#ifndef SONDE_FOLD_HEAP_CLASS_H
#define SONDE_FOLD_HEAP_CLASS_H

#include <stdint.h>
#include <string.h>

#include "format/record.h"

/* Uses the exponent of a double, because that is faster on processors without a fast bit count. Values beyond a
 * double's precision, and those that would be negative as signed numbers, belong to the last class anyway. */
static inline unsigned sonde_heap_class(uint64_t value)
{
	double real = (double)(int64_t)(value | 1);
	uint64_t bits;
	memcpy(&bits, &real, sizeof bits);
	unsigned class = (unsigned)(bits >> 52) - 1023;
	return class < SONDE_HEAP_CLASSES ? class : SONDE_HEAP_CLASSES - 1;
}

#endif
