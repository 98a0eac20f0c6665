/* waits.c: programs that wait in known ways, and measure it themselves: waits MODE [ROUNDS].
 *
 * Prints what it measured, in ns, as "name value", for comparison with a recording of the same run.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "no_inline.h"

enum { THREADS = 4 };

static pthread_mutex_t outer_lock = PTHREAD_MUTEX_INITIALIZER, inner_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t items;
static int rounds = 20, has_item;

/* What the program itself measured, summed by all threads. Holding counts if others ask for the lock when it ends, and
 * some have waited for it before it began. */
struct known {
	_Atomic uint64_t waited_ns, held_ns, holds;
	_Atomic int askers, holders, has_waiters, counts;
	_Atomic uint64_t from_ns;
};

static struct known outer, inner, table;
static _Atomic uint64_t waited_ns, count;

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void rest(long ns)
{
	struct timespec time = {0, ns};
	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static uint64_t ask(struct known *known)
{
	known->askers++;
	return now_ns();
}

/* How long it waited, which is added when it has given the lock up: a call in tail position would not be in its stack.
 */
static uint64_t begin_hold(struct known *known, uint64_t requested_ns)
{
	uint64_t taken_ns = now_ns();
	known->askers--;
	if (!known->holders++) {
		known->counts = known->has_waiters;
		known->from_ns = taken_ns;
	}
	return taken_ns - requested_ns;
}

/* Ends a hold. Only the end of the last holder's hold counts. */
static void end_hold(struct known *known)
{
	if (--known->holders || !known->askers)
		return;
	known->held_ns += known->counts ? now_ns() - known->from_ns : 0;
	known->holds += (uint64_t)known->counts;
	known->has_waiters = 1;
}

static void say(const char *name, const struct known *known)
{
	printf("%s_waited %llu\n%s_held %llu\n%s_holds %llu\n", name, (unsigned long long)known->waited_ns, name,
	       (unsigned long long)known->held_ns, name, (unsigned long long)known->holds);
}

/* A thread's first wait, which includes the start of recording: of a kind that is not compared. */
static void begin_waiting(void)
{
	poll(NULL, 0, 1);
}

static void add_wait(uint64_t from_ns)
{
	waited_ns += now_ns() - from_ns;
}

static void say_waited(void)
{
	printf("waited %llu\ncalls %llu\n", (unsigned long long)waited_ns, (unsigned long long)count);
}

static NO_INLINE void with_outer(long ns)
{
	uint64_t requested_ns = ask(&outer);
	pthread_mutex_lock(&outer_lock);
	uint64_t waited = begin_hold(&outer, requested_ns);
	rest(ns);
	end_hold(&outer);
	pthread_mutex_unlock(&outer_lock);
	outer.waited_ns += waited;
}

static NO_INLINE void with_inner(long ns)
{
	uint64_t requested_ns = ask(&inner);
	pthread_mutex_lock(&inner_lock);
	uint64_t waited = begin_hold(&inner, requested_ns);
	rest(ns);
	end_hold(&inner);
	pthread_mutex_unlock(&inner_lock);
	inner.waited_ns += waited;
}

/* Takes two locks, of which either is the bottleneck in turn. */
static void *convoy_run(void *arg)
{
	(void)arg;
	for (int i = 0; i < rounds; i++) {
		with_outer(i & 1 ? 1000000 : 3000000);
		with_inner(i & 1 ? 3000000 : 1000000);
	}
	return NULL;
}

static void start(pthread_t *threads, int many, void *(*run)(void *))
{
	for (int i = 0; i < many; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			abort();
}

static void finish(pthread_t *threads, int many)
{
	for (int i = 0; i < many; i++)
		pthread_join(threads[i], NULL);
}

static void convoy(void)
{
	pthread_t threads[THREADS];
	start(threads, THREADS, convoy_run);
	finish(threads, THREADS);
	say("outer", &outer);
	say("inner", &inner);
}

/* Locks a recursive mutex twice: it is held until it was unlocked twice. */
static NO_INLINE void *nest(void *arg)
{
	pthread_mutex_t *lock = arg;
	for (int i = 0; i < rounds; i++) {
		uint64_t requested_ns = ask(&outer);
		pthread_mutex_lock(lock);
		uint64_t waited = begin_hold(&outer, requested_ns);
		rest(4000000);
		pthread_mutex_lock(lock);
		rest(1000000);
		pthread_mutex_unlock(lock);
		rest(1000000);
		end_hold(&outer);
		pthread_mutex_unlock(lock);
		outer.waited_ns += waited;
	}
	return NULL;
}

static void nested(void)
{
	static pthread_mutex_t lock;
	pthread_mutexattr_t attr;
	pthread_t threads[2];
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&lock, &attr);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, nest, &lock))
			abort();
	finish(threads, 2);
	say("outer", &outer);
}

static NO_INLINE void *consume(void *arg)
{
	(void)arg;
	begin_waiting();
	for (int i = 0; i < rounds; i++) {
		uint64_t requested_ns = now_ns();
		while (sem_wait(&items))
			;
		add_wait(requested_ns);
		count++;
	}
	return NULL;
}

static void semaphore(void)
{
	pthread_t threads[1];
	sem_init(&items, 0, 0);
	start(threads, 1, consume);
	for (int i = 0; i < rounds; i++) {
		rest(2000000);
		sem_post(&items);
	}
	finish(threads, 1);
	say_waited();
}

static NO_INLINE void *wait_for_item(void *arg)
{
	(void)arg;
	begin_waiting();
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&outer_lock);
		uint64_t requested_ns = now_ns();
		while (!has_item) {
			pthread_cond_wait(&ready, &outer_lock);
			count++;
		}
		add_wait(requested_ns);
		has_item = 0;
		pthread_mutex_unlock(&outer_lock);
	}
	return NULL;
}

static void condition(void)
{
	pthread_t threads[1];
	start(threads, 1, wait_for_item);
	for (int i = 0, left; i < rounds; i++) {
		do {
			rest(1000000);
			pthread_mutex_lock(&outer_lock);
			left = has_item;
			has_item = 1;
			pthread_cond_signal(&ready);
			pthread_mutex_unlock(&outer_lock);
		} while (left);
	}
	finish(threads, 1);
	say_waited();
}

static NO_INLINE void *read_table(void *arg)
{
	(void)arg;
	begin_waiting();
	for (int i = 0; i < rounds; i++) {
		uint64_t requested_ns = now_ns();
		pthread_rwlock_rdlock(&table_lock);
		add_wait(requested_ns);
		pthread_rwlock_unlock(&table_lock);
		rest(500000);
	}
	return NULL;
}

static void readers(void)
{
	pthread_t threads[2];
	pthread_rwlock_wrlock(&table_lock);
	start(threads, 2, read_table);
	rest(20000000);
	pthread_rwlock_unlock(&table_lock);
	for (int i = 0; i < rounds; i++) {
		pthread_rwlock_wrlock(&table_lock);
		rest(1000000);
		pthread_rwlock_unlock(&table_lock);
		rest(1000000);
	}
	finish(threads, 2);
	say_waited();
}

/* Two readers hold it at once, 3 ms and 6 ms; the one that gives it up last takes longest. */
static NO_INLINE void read_for(long ns)
{
	pthread_barrier_wait(&barrier);
	uint64_t requested_ns = ask(&table);
	pthread_rwlock_rdlock(&table_lock);
	uint64_t waited = begin_hold(&table, requested_ns);
	rest(ns);
	end_hold(&table);
	pthread_rwlock_unlock(&table_lock);
	table.waited_ns += waited;
	rest(1000000);
}

static NO_INLINE void *read_short(void *arg)
{
	(void)arg;
	for (int i = 0; i < rounds; i++)
		read_for(3000000);
	return NULL;
}

static NO_INLINE void *read_long(void *arg)
{
	(void)arg;
	for (int i = 0; i < rounds; i++)
		read_for(6000000);
	return NULL;
}

static NO_INLINE void write_table(void)
{
	uint64_t requested_ns = ask(&table);
	pthread_rwlock_wrlock(&table_lock);
	uint64_t waited = begin_hold(&table, requested_ns);
	rest(100000);
	end_hold(&table);
	pthread_rwlock_unlock(&table_lock);
	table.waited_ns += waited;
}

static void read_holders(void)
{
	pthread_t threads[2];
	pthread_barrier_init(&barrier, NULL, 2);
	start(&threads[0], 1, read_short);
	start(&threads[1], 1, read_long);
	for (int i = 0; i < rounds; i++) {
		write_table();
		rest(3000000);
	}
	finish(threads, 2);
	say("table", &table);
}

/* No thread waits for this lock. */
static void uncontended(void)
{
	uint64_t sum = 0;
	for (int i = 0; i < rounds * 10000; i++) {
		pthread_mutex_lock(&outer_lock);
		sum += (uint64_t)i;
		pthread_mutex_unlock(&outer_lock);
	}
	printf("sum %llu\n", (unsigned long long)sum);
}

static NO_INLINE void doze(void)
{
	uint64_t from_ns = now_ns();
	rest(5000000);
	add_wait(from_ns);
	count++;
}

static void sleeper(void)
{
	begin_waiting();
	for (int i = 0; i < rounds; i++)
		doze();
	say_waited();
}

static void *meet(void *arg)
{
	(void)arg;
	for (int i = 0; i < rounds; i++)
		pthread_barrier_wait(&barrier);
	return NULL;
}

static void meeting(void)
{
	pthread_t threads[THREADS];
	pthread_barrier_init(&barrier, NULL, THREADS);
	start(threads, THREADS, meet);
	finish(threads, THREADS);
	printf("calls %d\n", rounds * THREADS);
}

/* Results of every kind of mutex, as they are without us. */
static void results(void)
{
	static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK};
	struct timespec past = {0, 0};
	for (int i = 0; i < 3; i++) {
		pthread_mutexattr_t attr;
		pthread_mutex_t mutex;
		pthread_mutexattr_init(&attr);
		pthread_mutexattr_settype(&attr, types[i]);
		pthread_mutex_init(&mutex, &attr);
		printf("lock %d", pthread_mutex_lock(&mutex));
		printf(" try %d", pthread_mutex_trylock(&mutex));
		printf(" timed %d", pthread_mutex_timedlock(&mutex, &past));
		for (int k = 0; k < 4; k++)
			if (types[i] != PTHREAD_MUTEX_NORMAL || !k)
				printf(" unlock %d", pthread_mutex_unlock(&mutex));
		printf(" destroy %d\n", pthread_mutex_destroy(&mutex));
	}
	errno = 7;
	sem_init(&items, 0, 1);
	int code = sem_wait(&items);
	printf("semaphore %d errno %d\n", code, errno);
	code = sem_timedwait(&items, &past);
	printf("late %d errno %d\n", code, errno);
	errno = 0;
	code = waitpid(-1, NULL, 0);
	printf("no child %d errno %d\n", code, errno);
}

static void *die_holding(void *arg)
{
	pthread_mutex_lock(arg);
	return NULL;
}

static void robust(void)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t mutex;
	pthread_t thread;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&mutex, &attr);
	if (pthread_create(&thread, NULL, die_holding, &mutex))
		abort();
	pthread_join(thread, NULL);
	int code = pthread_mutex_lock(&mutex);
	printf("owner dead %d consistent %d unlock %d\n", code == EOWNERDEAD, pthread_mutex_consistent(&mutex),
	       pthread_mutex_unlock(&mutex));
}

static void unlock_outer(void *arg)
{
	(void)arg;
	count++;
	pthread_mutex_unlock(&outer_lock);
}

static void *wait_for_ever(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&outer_lock);
	pthread_cleanup_push(unlock_outer, NULL);
	for (;;)
		pthread_cond_wait(&ready, &outer_lock);
	pthread_cleanup_pop(1);
}

/* Cancelled in waits: clean-up handlers run, locks are free again. */
static void cancelled(void)
{
	pthread_t threads[THREADS];
	start(threads, THREADS, wait_for_ever);
	rest(20000000);
	for (int i = 0; i < THREADS; i++)
		pthread_cancel(threads[i]);
	for (int i = 0; i < THREADS; i++) {
		void *result;
		pthread_join(threads[i], &result);
		if (result != PTHREAD_CANCELED)
			abort();
	}
	printf("cleaned %llu lock %d\n", (unsigned long long)count, pthread_mutex_trylock(&outer_lock));
}

/* A child goes on with locks of its own. */
static void forked(void)
{
	pid_t child;
	pthread_t threads[2];
	start(threads, 2, convoy_run);
	rest(10000000);
	fflush(stdout);
	child = fork();
	if (!child) {
		pthread_mutex_init(&outer_lock, NULL);
		pthread_mutex_init(&inner_lock, NULL);
		outer = inner = (struct known){0};
		convoy();
		exit(0);
	}
	finish(threads, 2);
	int status = 0;
	waitpid(child, &status, 0);
	printf("child %d\nparent_waited %llu\n", status, (unsigned long long)(outer.waited_ns + inner.waited_ns));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
	    {"convoy", convoy},   {"semaphore", semaphore},       {"condition", condition},     {"readers", readers},
	    {"nested", nested},   {"read-holders", read_holders}, {"uncontended", uncontended}, {"sleep", sleeper},
	    {"barrier", meeting}, {"results", results},           {"robust", robust},           {"cancel", cancelled},
	    {"fork", forked}};
	if (argc > 2)
		rounds = atoi(argv[2]);
	for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++) {
		if (strcmp(argv[1], modes[i].name))
			continue;
		modes[i].run();
		return 0;
	}
	fprintf(stderr, "usage: waits convoy|semaphore|condition|… [ROUNDS]\n");
	return 2;
}
