/* good_server.c: waits for requests and answers each at once; there are few.
 *
 * sonde: nothing critical: it waits because there are no requests.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "example.h"

enum { REQUESTS = 14, PAUSE_NS = 50000000, ANSWER_ROUNDS = 2000 };

static uint64_t answers;

static void *run_client(void *connection)
{
	int fd = *(int *)connection;
	struct timespec pause = {.tv_nsec = PAUSE_NS};
	for (uint64_t i = 0; i < REQUESTS; i++) {
		uint64_t request = i;
		nanosleep(&pause, NULL);
		must(write(fd, &request, sizeof request) == sizeof request, "write");
		must(read(fd, &request, sizeof request) == sizeof request, "read");
		answers += request;
	}
	close(fd);
	return NULL;
}

NO_INLINE static void serve(int fd)
{
	struct pollfd wanted = {.fd = fd, .events = POLLIN};
	uint64_t request;
	while (poll(&wanted, 1, -1) > 0 && read(fd, &request, sizeof request) == sizeof request) {
		request = mix(request, ANSWER_ROUNDS);
		must(write(fd, &request, sizeof request) == sizeof request, "write");
	}
}

int main(int argc, char **argv)
{
	pthread_t client;
	int ends[2];
	(void)is_fixed(argc, argv);
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
	must(pthread_create(&client, NULL, run_client, &ends[1]) == 0, "pthread_create");
	serve(ends[0]);
	pthread_join(client, NULL);
	printf("answers %016llx\n", (unsigned long long)answers);
	return 0;
}
