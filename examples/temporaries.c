/* temporaries.c: splits lines into words, and copies each word to look at it once.
 *
 * sonde: allocation-churn: some million allocations a second in copy_word(), none of which lives longer than a line.
 * Fix: a word is a pointer into the line, and a length.
 */
#include "example.h"

enum { ROUNDS = 50000, LINE_MAX_B = 1024 };

static char line[LINE_MAX_B];

NO_INLINE static char *copy_word(const char *word, size_t length)
{
	char *copy = malloc(length + 1);
	must(copy, "malloc");
	memcpy(copy, word, length);
	copy[length] = 0;
	return copy;
}

NO_INLINE static uint64_t look_at(const char *word, size_t length)
{
	return (uint64_t)(unsigned char)word[0] * 31 + (unsigned char)word[length - 1] + length;
}

NO_INLINE static uint64_t read_line(bool fixed)
{
	uint64_t sum = 0;
	for (const char *word = line; *word;) {
		size_t length = strcspn(word, " ");
		char *copy = fixed ? NULL : copy_word(word, length);
		sum += look_at(fixed ? word : copy, length);
		free(copy);
		word += length + (word[length] == ' ');
	}
	return sum;
}

int main(int argc, char **argv)
{
	bool fixed = is_fixed(argc, argv);
	uint64_t random = 10, sum = 0;
	for (size_t i = 0; i + 1 < LINE_MAX_B; i++)
		line[i] = i % 4 == 3 ? ' ' : (char)('a' + next_number(&random) % 26);
	for (int i = 0; i < ROUNDS; i++)
		sum += read_line(fixed);
	printf("sum %llu\n", (unsigned long long)sum);
	return 0;
}
