/* regex_each.c: a regular expression that is compiled for each line that it is matched with. */
#include <regex.h>
#include <stdio.h>

static int __attribute__((noinline)) matches(const char *line)
{
	regex_t pattern;
	if (regcomp(&pattern, "^(error|warning) [0-9]+: .*(disk|network|memory)", REG_EXTENDED) != 0)
		return 0;
	int found = regexec(&pattern, line, 0, NULL, 0) == 0;
	regfree(&pattern);
	return found;
}

int main(void)
{
	int count = 0;
	char line[80];
	for (int i = 0; i < 20000; i++) {
		snprintf(line, sizeof line, "%s %d: the %s is full", i % 3 ? "error" : "note", i, i % 2 ? "disk" : "queue");
		count += matches(line);
	}
	printf("%d\n", count);
	return 0;
}
