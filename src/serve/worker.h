/* worker.h: the one thread that computes: a session is not for several at once, and connections go on meanwhile. */
#ifndef SONDE_SERVE_WORKER_H
#define SONDE_SERVE_WORKER_H

#include <stddef.h>

struct sonde_worker;

/* Part of what is to be done. `run` is called in the worker's thread, once, or in that of sonde_worker_end() with
 * `late` set, then without doing anything but to say so. */
struct sonde_work {
	void (*run)(struct sonde_work *work, int late);
	struct sonde_work *next; /* the worker's */
};

/* `most`: how many may wait. 0 or -ENOMEM, -EAGAIN. */
int sonde_worker_new(struct sonde_worker **out, size_t most);

/* In the order of calls. -EBUSY with a sentence where too many wait. */
int sonde_worker_put(struct sonde_worker *worker, struct sonde_work *work);

/* Gives up what waits, and takes no more; -EBUSY where it is not done with what it does within `patience_ms`: then it
 * goes on, and cannot be freed. */
int sonde_worker_end(struct sonde_worker *worker, unsigned patience_ms);

/* One that has ended, or NULL. */
void sonde_worker_free(struct sonde_worker *worker);

#endif
