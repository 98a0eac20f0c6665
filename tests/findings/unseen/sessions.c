/* sessions.c: a table of sessions from which nothing is ever removed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct session {
	struct session *next;
	char buffer[2000];
};

static struct session *sessions;
static unsigned long checked;

static void __attribute__((noinline)) new_session(int number)
{
	struct session *one = malloc(sizeof *one);
	if (!one)
		exit(1);
	memset(one->buffer, number, sizeof one->buffer);
	one->next = sessions;
	sessions = one;
}

static void __attribute__((noinline)) handle(int number)
{
	char *answer = malloc(300);
	if (!answer)
		exit(1);
	for (int i = 0; i < 300; i++)
		answer[i] = (char)(number * i);
	for (int i = 0; i < 300; i++)
		checked = checked * 31 + (unsigned char)answer[i];
	free(answer);
}

int main(void)
{
	for (int i = 0; i < 60000; i++) {
		new_session(i);
		for (int k = 0; k < 8; k++)
			handle(i + k);
	}
	printf("%lu\n", checked);
	return sessions == NULL;
}
