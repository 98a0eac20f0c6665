/* unwind_chain.c: a chain of calls to unwind, compiled with -O2 -fomit-frame-pointer -fexceptions, whatever options the
 * other files have. */
#include "unwind_chain.h"

#include <alloca.h>
#include <stdlib.h>
#include <string.h>

#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

static void clean(char **text)
{
	free(*text);
}

__attribute__((noinline)) static int with_cleanup(void (*leaf)(void))
{
	__attribute__((cleanup(clean))) char *text = strdup("kept over the call");
	leaf();
	return text ? text[0] : 0;
}

__attribute__((noinline)) static int realigned(int depth, void (*leaf)(void))
{
	_Alignas(64) char aligned[64];
	char *extra = alloca((size_t)depth * 16 + 1);
	KEEP(aligned);
	KEEP(extra);
	return with_cleanup(leaf) + ((size_t)aligned % 64 != 0);
}

__attribute__((noinline)) static int variable(int depth, void (*leaf)(void))
{
	char frame[depth * 100 + 1];
	KEEP(frame);
	memset(frame, 1, sizeof frame);
	return (depth % 2 ? realigned(depth, leaf) : with_cleanup(leaf)) + frame[depth];
}

__attribute__((noinline)) static int recursive(int left, int depth, void (*leaf)(void))
{
	int inner = left ? recursive(left - 1, depth, leaf) : variable(depth, leaf);
	KEEP(&inner);
	return inner + 1;
}

__attribute__((noinline)) static int large(int depth, void (*leaf)(void))
{
	char frame[100000];
	KEEP(frame);
	frame[99999] = (char)depth;
	return recursive(depth, depth, leaf) + frame[99999];
}

int unwind_chain_run(int depth, void (*leaf)(void))
{
	int sum = large(depth, leaf);
	KEEP(&sum);
	return sum + 1;
}
