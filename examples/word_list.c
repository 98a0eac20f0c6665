/* word_list.c: counts the words of a text in a list that is searched from its start.
 *
 * sonde: hot-function: nearly all CPU time is strcmp() of the C library, called by find_word().
 * Fix: the list is sorted once, and searched by bisection.
 */
#include "example.h"

enum { WORDS = 60000, VOCABULARY = 4096, WORD_MAX = 12 };

struct entry {
	char word[WORD_MAX];
	unsigned count;
};

static struct entry entries[VOCABULARY];

static void make_word(char *word, uint32_t number)
{
	snprintf(word, WORD_MAX, "w%05u", number % VOCABULARY);
}

NO_INLINE static struct entry *find_word(const char *word)
{
	for (size_t i = 0; i < VOCABULARY; i++)
		if (strcmp(entries[i].word, word) == 0)
			return &entries[i];
	return NULL;
}

static int by_word(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->word, ((const struct entry *)b)->word);
}

NO_INLINE static struct entry *find_sorted(const char *word)
{
	struct entry wanted;
	memcpy(wanted.word, word, sizeof wanted.word);
	return bsearch(&wanted, entries, VOCABULARY, sizeof *entries, by_word);
}

int main(int argc, char **argv)
{
	bool fixed = is_fixed(argc, argv);
	uint64_t random = 2, sum = 0;
	char word[WORD_MAX] = "";
	for (uint32_t i = 0; i < VOCABULARY; i++)
		make_word(entries[i].word, i * 2731); /* odd: every word once, out of order */
	if (fixed)
		qsort(entries, VOCABULARY, sizeof *entries, by_word);
	for (int i = 0; i < WORDS; i++) {
		make_word(word, next_number(&random));
		struct entry *entry = fixed ? find_sorted(word) : find_word(word);
		sum += entry ? ++entry->count : 0;
	}
	printf("sum %llu\n", (unsigned long long)sum);
	return 0;
}
