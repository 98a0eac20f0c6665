/* early_operators.c: calls every C++ operator (src/inject/heap/operators.def) that an injected object interposes. */
#include <stddef.h>
#include <stdint.h>

#include "early_names.h"

#define SIZE_B 10u
#define ALIGN_B 64u

#define NEW(symbol, parameters, ...) void *symbol parameters __attribute__((visibility("default")));
#define DELETE(symbol, parameters, ...) void symbol parameters __attribute__((visibility("default")));
#include "inject/heap/operators.def"
#undef NEW
#undef DELETE

static int is_for_aligned(const char *symbol)
{
	for (; *symbol; symbol++)
		if (symbol[0] == 'a' && symbol[1] == 'l' && symbol[2] == 'i')
			return 1;
	return 0;
}

static void *block_for(const char *symbol)
{
	return is_for_aligned(symbol) ? _ZnwmSt11align_val_t(SIZE_B, ALIGN_B) : _Znwm(SIZE_B);
}

static void give_back(const char *symbol, void *block)
{
	if (is_for_aligned(symbol))
		_ZdlPvSt11align_val_t(block, ALIGN_B);
	else
		_ZdlPv(block);
}

void early_operators(unsigned long *calls, unsigned long *faults)
{
	static const char nothrow[1];
	size_t size_b = SIZE_B, align_b = ALIGN_B;
	void *block;
#define NEW(symbol, parameters, arguments, ...)                                       \
	block = symbol arguments;                                                     \
	*faults += !block || (is_for_aligned(#symbol) && (uintptr_t)block % ALIGN_B); \
	give_back(#symbol, block);                                                    \
	++*calls;
#define DELETE(symbol, parameters, arguments) \
	block = block_for(#symbol);           \
	symbol arguments;                     \
	++*calls;
#include "inject/heap/operators.def"
#undef NEW
#undef DELETE
}
