/* caesar.c: strlen() in the condition of a loop that writes the string. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void __attribute__((noinline)) shift(char *text)
{
	for (size_t i = 0; i < strlen(text); i++)
		text[i] = (char)('a' + (text[i] - 'a' + 3) % 26);
}

int main(void)
{
	enum { SIZE = 160000 };
	char *text = malloc(SIZE + 1);
	if (!text)
		return 1;
	for (int i = 0; i < SIZE; i++)
		text[i] = (char)('a' + i % 26);
	text[SIZE] = 0;
	shift(text);
	shift(text);
	printf("%.10s\n", text);
	free(text);
	return 0;
}
