/* old_versions.c: calls functions as programs linked against an old glibc do (x86-64): condition variables from before
 * 2.3.2, and posix_spawn() from before 2.15, which runs a script without "#!" in a shell. Destroying a new condition
 * with the old function would free its first word. Prints the results.
 */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#if defined(__x86_64__) && defined(__GLIBC__)
__asm__(".symver old_init, pthread_cond_init@GLIBC_2.2.5\n"
	".symver old_wait, pthread_cond_wait@GLIBC_2.2.5\n"
	".symver old_signal, pthread_cond_signal@GLIBC_2.2.5\n"
	".symver old_destroy, pthread_cond_destroy@GLIBC_2.2.5\n"
	".symver old_spawn, posix_spawn@GLIBC_2.2.5\n");
int old_init(pthread_cond_t *, const pthread_condattr_t *);
int old_wait(pthread_cond_t *, pthread_mutex_t *);
int old_signal(pthread_cond_t *);
int old_destroy(pthread_cond_t *);
int old_spawn(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const *,
	      char *const *);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static int is_set;

static void *set(void *unused)
{
	usleep(20000);
	pthread_mutex_lock(&lock);
	is_set = 1;
	old_signal(&changed);
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void)
{
	static const char script[] = "old_versions.script";
	char *arguments[] = {(char *)(size_t)script, NULL};
	pthread_t thread;
	pid_t child;
	int status = -1;
	alarm(20);
	old_init(&changed, NULL);
	pthread_create(&thread, NULL, set, NULL);
	pthread_mutex_lock(&lock);
	while (!is_set)
		old_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	old_destroy(&changed);
	puts("conditions");
	FILE *file = fopen(script, "w");
	if (!file || fputs("exit 3\n", file) < 0 || fclose(file) || chmod(script, 0700))
		return 1;
	int code = old_spawn(&child, script, NULL, NULL, arguments, environ);
	if (!code)
		waitpid(child, &status, 0);
	printf("script: %d, ended with %d\n", code, WEXITSTATUS(status));
	return unlink(script);
}
#else
int main(void)
{
	return 0;
}
#endif
