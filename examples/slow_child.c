/* slow_child.c: adds up primes that a child process finds and sends through a pipe; the child tries all divisors of
 * each number. The parent only waits, and is not the cause.
 *
 * sonde: hot-function, is_prime() in the child: the critical path goes through the pipe into it.
 * Fix: divisors up to the square root.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "example.h"

enum { LIMIT = 50000 };

NO_INLINE static bool is_prime(uint32_t number, bool fixed)
{
	for (uint32_t divisor = 2; fixed ? divisor * divisor <= number : divisor < number; divisor++)
		if (number % divisor == 0)
			return false;
	return number > 1;
}

static void send_primes(int fd, bool fixed)
{
	for (uint32_t number = 0; number < LIMIT; number++)
		if (is_prime(number, fixed))
			must(write(fd, &number, sizeof number) == sizeof number, "write");
}

int main(int argc, char **argv)
{
	bool fixed = is_fixed(argc, argv);
	int ends[2];
	uint32_t number;
	uint64_t sum = 0;
	must(pipe(ends) == 0, "pipe");
	pid_t child = fork();
	must(child >= 0, "fork");
	if (child == 0) {
		send_primes(ends[1], fixed);
		_exit(0);
	}
	close(ends[1]);
	while (read(ends[0], &number, sizeof number) == sizeof number)
		sum += number;
	waitpid(child, NULL, 0);
	printf("sum %llu\n", (unsigned long long)sum);
	return 0;
}
