/* cuda_forks.c: forks repeatedly while the object loaded by CUDA's driver (CUDA_INJECTION64_PATH) reads the loader's
 * list of objects, which takes 50 ms here. Each child reads the list itself and loads something. Usage: cuda_forks;
 * prints how many of 20 children finished, and how often a thread "sonde-cuda" read the list. */
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef int callback(struct dl_phdr_info *info, size_t info_b, void *data);

static atomic_int looks;

static void pause_ms(int ms)
{
	struct timespec rest = {0, ms * 1000000L};
	nanosleep(&rest, NULL);
}

/* Slow callback for the other thread: the loader's lock is held while it runs. */
static int slowly(struct dl_phdr_info *info, size_t info_b, void *data)
{
	(void)info, (void)info_b, (void)data;
	looks++;
	pause_ms(50);
	return 1;
}

__attribute__((visibility("default"))) int dl_iterate_phdr(callback *call, void *data)
{
	int (*real)(callback *, void *) = (int (*)(callback *, void *))dlsym(RTLD_NEXT, "dl_iterate_phdr");
	char name[16] = "";
	prctl(PR_GET_NAME, name);
	if (!strcmp(name, "sonde-cuda"))
		real(slowly, NULL);
	return real(call, data);
}

static int nothing(struct dl_phdr_info *info, size_t info_b, void *data)
{
	(void)info, (void)info_b, (void)data;
	return 1;
}

int main(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *handle = path ? dlopen(path, RTLD_NOW) : NULL;
	int (*begin)(void) = handle ? (int (*)(void))dlsym(handle, "InitializeInjection") : NULL;
	int ended = 0;
	if (begin)
		begin();
	for (int i = 0; i < 20; i++) {
		int status = 0;
		pause_ms(30);
		pid_t pid = fork();
		if (!pid) {
			alarm(5);
			dl_iterate_phdr(nothing, NULL);
			_exit(dlopen("libm.so.6", RTLD_NOW) == NULL);
		}
		waitpid(pid, &status, 0);
		ended += status == 0;
		if (status) /* the child waits for ever: one such child is enough */
			break;
	}
	fprintf(stderr, "looked %d times\n", looks);
	printf("%d of 20 children\n", ended);
	return 0;
}
