/* flush_log.c: a log that is flushed after each line. */
#include <stdio.h>

static FILE *out;

static void __attribute__((noinline)) log_line(int number)
{
	fprintf(out, "request %d: done\n", number);
	fflush(out);
}

int main(void)
{
	out = tmpfile();
	if (!out)
		return 1;
	for (int i = 0; i < 500000; i++)
		log_line(i);
	fclose(out);
	return 0;
}
