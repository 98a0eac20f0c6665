/* worker.h: the single computing thread: a session must be used by one thread only, and connections are served while it
 * computes. */
#ifndef SONDE_SERVE_WORKER_H
#define SONDE_SERVE_WORKER_H

#include <stddef.h>

struct sonde_worker;

/* Embedded in each work item. `run` is called once: in the worker's thread, or with `late` set in the thread of
 * sonde_worker_end(). If `late`, it must only report that the work was cancelled. */
struct sonde_work {
	void (*run)(struct sonde_work *work, int late);
	struct sonde_work *next; /* used by the worker */
};

/* Starts a worker. `most`: capacity of the queue. 0, -ENOMEM or -EAGAIN. */
int sonde_worker_new(struct sonde_worker **out, size_t most);

/* Queues an item; items run in the order in which they were queued. -EBUSY with a message if the queue is full. */
int sonde_worker_put(struct sonde_worker *worker, struct sonde_work *work);

/* Cancels queued items, and accepts no more; -EBUSY if the current item does not finish within `patience_ms`: the item
 * then keeps running, and the worker cannot be freed. */
int sonde_worker_end(struct sonde_worker *worker, unsigned patience_ms);

/* Frees a worker that has ended, or NULL. */
void sonde_worker_free(struct sonde_worker *worker);

#endif
