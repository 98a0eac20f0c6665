/* machine.c: a stack machine that interprets recursive Fibonacci numbers, and sorts and hashes in library routines.
 *
 * Every call of the interpreted program has a zone, and so has every routine, as somebody would instrument an
 * interpreter: there are many short zones of uneven length and some long ones, at a depth that changes all the time.
 */
#include "machine.h"

#include <stdlib.h>

#include <sonde/sonde.h>

enum op { PUSH, ARG, ADD, SUBTRACT, LESS, JUMP_ZERO, CALL, RETURN, SORT, HASH, DROP };

enum { STACK = 512, ARRAY = 200, FIB = 0, MAIN = 22, MAIN_ARGUMENT = 12 };

/* fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2); and main(n): fib(n), sort, two hashes, the sum of these. */
static const int64_t code[] = {
    ARG,  PUSH, 2,   LESS,     JUMP_ZERO, 8,        ARG,  RETURN,         // 0: fib
    ARG,  PUSH, 1,   SUBTRACT,                                            // 8
    CALL, FIB,  ARG, PUSH,     2,         SUBTRACT,                       // 12
    CALL, FIB,  ADD, RETURN,                                              // 18
    ARG,  CALL, FIB, DROP,     SORT,      HASH,     HASH, ADD,    RETURN, // 22: main
};
_Static_assert(sizeof code / sizeof *code == MAIN + 9, "main's place in the code");

struct machine {
	int64_t stack[STACK];
	unsigned top;
	uint32_t array[ARRAY];
	uint32_t seed;
	uint64_t zones;
};

static void push(struct machine *machine, int64_t value)
{
	machine->stack[machine->top++] = value;
}

static int64_t pop(struct machine *machine)
{
	return machine->stack[--machine->top];
}

static int compare(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	return (a > b) - (a < b);
}

static void sort(struct machine *machine)
{
	SONDE_ZONE("sort");
	machine->zones++;
	for (unsigned i = 0; i < ARRAY; i++)
		machine->array[i] = machine->seed = machine->seed * 1664525u + 1013904223u;
	qsort(machine->array, ARRAY, sizeof *machine->array, compare);
}

static int64_t hash(struct machine *machine)
{
	SONDE_ZONE("hash");
	machine->zones++;
	uint32_t hash = 2166136261u;
	for (unsigned i = 0; i < ARRAY; i++)
		hash = (hash ^ machine->array[i]) * 16777619u;
	return hash;
}

static int64_t call(struct machine *machine, int64_t pc, int64_t argument)
{
	SONDE_ZONE("call");
	machine->zones++;
	for (;;) {
		int64_t right;
		switch ((enum op)code[pc++]) {
		case PUSH:
			push(machine, code[pc++]);
			break;
		case ARG:
			push(machine, argument);
			break;
		case ADD:
			right = pop(machine);
			push(machine, pop(machine) + right);
			break;
		case SUBTRACT:
			right = pop(machine);
			push(machine, pop(machine) - right);
			break;
		case LESS:
			right = pop(machine);
			push(machine, pop(machine) < right);
			break;
		case JUMP_ZERO:
			pc = pop(machine) ? pc + 1 : code[pc];
			break;
		case CALL:
			push(machine, call(machine, code[pc], pop(machine)));
			pc++;
			break;
		case RETURN:
			return pop(machine);
		case SORT:
			sort(machine);
			break;
		case HASH:
			push(machine, hash(machine));
			break;
		case DROP:
			pop(machine);
			break;
		}
	}
}

uint64_t machine_run(uint64_t zones)
{
	struct machine machine = {.seed = 1};
	while (machine.zones < zones)
		call(&machine, MAIN, MAIN_ARGUMENT);
	return machine.zones;
}
