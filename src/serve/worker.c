/* worker.c: the computing thread, with a bounded queue.
 *
 * The mutex protects all fields except the thread. A pass cannot be interrupted: sonde_worker_end() waits a little for
 * it. If it takes longer, the process may simply exit, since nothing that the worker does outlives the process.
 */
#include "serve/worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "util/error.h"

struct sonde_worker {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct sonde_work *first, **last;
	size_t count, most;
	int ends, has_ended;
};

static struct sonde_work *take(struct sonde_worker *worker)
{
	struct sonde_work *work = worker->first;
	if (!work)
		return NULL;
	worker->first = work->next;
	if (!worker->first)
		worker->last = &worker->first;
	worker->count--;
	return work;
}

static void *work_on(void *argument)
{
	struct sonde_worker *worker = argument;
	pthread_mutex_lock(&worker->mutex);
	while (!worker->ends) {
		struct sonde_work *work = take(worker);
		if (!work) {
			pthread_cond_wait(&worker->changed, &worker->mutex);
			continue;
		}
		pthread_mutex_unlock(&worker->mutex);
		work->run(work, 0);
		pthread_mutex_lock(&worker->mutex);
	}
	worker->has_ended = 1;
	pthread_cond_broadcast(&worker->changed);
	pthread_mutex_unlock(&worker->mutex);
	return NULL;
}

int sonde_worker_new(struct sonde_worker **out, size_t most)
{
	struct sonde_worker *worker = calloc(1, sizeof *worker);
	if (!worker)
		return sonde_error(ENOMEM, "out of memory for a thread");
	worker->most = most;
	worker->last = &worker->first;
	pthread_mutex_init(&worker->mutex, NULL);
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC); /* setting the wall clock changes no deadline */
	pthread_cond_init(&worker->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	int code = pthread_create(&worker->thread, NULL, work_on, worker);
	if (code) {
		free(worker);
		return sonde_error(code, "no thread could be started");
	}
	*out = worker;
	return 0;
}

int sonde_worker_put(struct sonde_worker *worker, struct sonde_work *work)
{
	int rc = 0;
	pthread_mutex_lock(&worker->mutex);
	if (worker->count == worker->most || worker->ends) {
		rc = sonde_error(EBUSY, "too many requests at once: try again in a moment");
	} else {
		work->next = NULL;
		*worker->last = work;
		worker->last = &work->next;
		worker->count++;
		pthread_cond_broadcast(&worker->changed);
	}
	pthread_mutex_unlock(&worker->mutex);
	return rc;
}

int sonde_worker_end(struct sonde_worker *worker, unsigned patience_ms)
{
	struct timespec until;
	struct sonde_work *work;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += patience_ms / 1000;
	until.tv_nsec += (long)(patience_ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&worker->mutex);
	worker->ends = 1;
	pthread_cond_broadcast(&worker->changed);
	int code = 0;
	while (!worker->has_ended && !code)
		code = pthread_cond_timedwait(&worker->changed, &worker->mutex, &until);
	int ended = worker->has_ended;
	pthread_mutex_unlock(&worker->mutex);
	if (!ended)
		return sonde_error(EBUSY, "an answer is still being computed");
	pthread_join(worker->thread, NULL);
	while ((work = take(worker))) /* no more work is queued at this point */
		work->run(work, 1);
	return 0;
}

void sonde_worker_free(struct sonde_worker *worker)
{
	if (!worker)
		return;
	pthread_cond_destroy(&worker->changed);
	pthread_mutex_destroy(&worker->mutex);
	free(worker);
}
