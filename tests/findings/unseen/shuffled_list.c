/* shuffled_list.c: a linked list whose nodes lie anywhere in memory. */
#include <stdio.h>
#include <stdlib.h>

struct node {
	struct node *next;
	long value, unused[6];
};

enum { NODES = 1000000 };

static long __attribute__((noinline)) sum_of(const struct node *node)
{
	long sum = 0;
	for (; node; node = node->next)
		sum += node->value;
	return sum;
}

int main(void)
{
	struct node *nodes = malloc(NODES * sizeof *nodes);
	unsigned *order = malloc(NODES * sizeof *order), state = 1;
	long sum = 0;
	if (!nodes || !order)
		return 1;
	for (unsigned i = 0; i < NODES; i++)
		order[i] = i;
	for (unsigned i = NODES - 1; i > 0; i--) {
		state = state * 1664525u + 1013904223u;
		unsigned other = (unsigned)((unsigned long long)state * (i + 1) >> 32), saved = order[i];
		order[i] = order[other];
		order[other] = saved;
	}
	for (unsigned i = 0; i < NODES; i++) {
		nodes[order[i]].value = i;
		nodes[order[i]].next = i + 1 < NODES ? &nodes[order[i + 1]] : NULL;
	}
	for (int round = 0; round < 10; round++)
		sum += sum_of(&nodes[order[0]]);
	printf("%ld\n", sum);
	free(nodes);
	free(order);
	return 0;
}
