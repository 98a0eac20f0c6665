/* leak.c: answers requests; the exit path for requests of missing items forgets to free the request.
 *
 * sonde: memory-leak: a third of what make_request() allocates is unreachable at the end.
 * Fix: a single exit path, which frees. The fix saves no time.
 */
#include "example.h"

enum { REQUESTS = 240000, TEXT_B = 240, ROUNDS = 1000 };

struct request {
	uint64_t key;
	char text[TEXT_B];
};

NO_INLINE static struct request *make_request(uint64_t key)
{
	struct request *request = malloc(sizeof *request);
	must(request, "malloc");
	request->key = key;
	memset(request->text, 'a' + (int)(key % 26), sizeof request->text);
	return request;
}

NO_INLINE static uint64_t answer(uint64_t key, bool fixed)
{
	struct request *request = make_request(key);
	uint64_t found = mix(request->key, ROUNDS);
	if (found % 3 == 0) {
		if (fixed)
			free(request);
		return 0;
	}
	found += (unsigned char)request->text[found % TEXT_B];
	free(request);
	return found;
}

int main(int argc, char **argv)
{
	bool fixed = is_fixed(argc, argv);
	uint64_t random = 12, sum = 0;
	for (int i = 0; i < REQUESTS; i++)
		sum += answer(next_number(&random), fixed);
	printf("sum %016llx\n", (unsigned long long)sum);
	return 0;
}
