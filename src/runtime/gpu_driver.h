/* gpu_driver.h: what a timer of devices (gpu_timer.c) needs of a driver: events in a stream that have a time.
 *
 * Functions are looked up in what the process has loaded; nothing is loaded, and what was found is never let go, since
 * its addresses are kept. Types are those of the drivers' C interfaces, written down here so that no header of theirs
 * is needed: handles are pointers, results int.
 */
#ifndef SONDE_RUNTIME_GPU_DRIVER_H
#define SONDE_RUNTIME_GPU_DRIVER_H

#include <stddef.h>
#include <stdint.h>

struct sonde_gpu_cuda {
	int (*event_create)(void **event, unsigned flags);
	int (*event_record)(void *event, void *stream);
	int (*event_query)(void *event);
	int (*event_synchronize)(void *event);
	int (*event_elapsed)(float *ms, void *begin, void *end);
	int (*event_destroy)(void *event);
	int (*context_current)(void **context);
	int (*is_capturing)(void *stream, int *status); /* NULL: an old driver, which does not capture */
	int (*capture_mode)(int *mode);                 /* NULL: the same */
	int (*memory)(size_t *free_b, size_t *total_b); /* NULL: it does not tell */
};

struct sonde_gpu_opencl {
	int (*queue_info)(void *queue, uint32_t what, size_t size_b, void *out, size_t *out_b);
	int (*marker)(void *queue, uint32_t count, void *const *after, void **event);
	int (*event_info)(void *event, uint32_t what, size_t size_b, void *out, size_t *out_b);
	int (*event_times)(void *event, uint32_t what, size_t size_b, void *out, size_t *out_b);
	int (*wait)(uint32_t count, void *const *events);
	int (*release)(void *event);
};

struct sonde_gpu_calls {
	union {
		struct sonde_gpu_cuda cuda;
		struct sonde_gpu_opencl opencl;
	};
};

/* An event, and what it is good for: CUDA's belong to a context. */
struct sonde_gpu_mark {
	void *event, *context;
};

enum sonde_gpu_state { SONDE_GPU_FAILED = -1, SONDE_GPU_NOT_YET = 0, SONDE_GPU_DONE = 1 };

struct sonde_gpu_function {
	size_t at; /* of its pointer in struct sonde_gpu_calls */
	const char *name, *or_name;
	int is_optional;
};

/* What answers a sentence answers NULL when all is well. */
struct sonde_gpu_driver {
	const char *soname;  /* looked for among what is loaded */
	const char *missing; /* a sentence */
	const struct sonde_gpu_function *functions;
	size_t function_count;
	int keeps_events; /* they can be recorded again */
	/* Whether times of the stream can be had; the context that its events are of. */
	const char *(*check)(const struct sonde_gpu_calls *calls, void *stream, void **out_context);
	/* Puts the event into the stream; a new one where mark->event is NULL. Where it cannot, that is NULL
	 * behind it. */
	const char *(*record)(const struct sonde_gpu_calls *calls, void *stream, struct sonde_gpu_mark *mark);
	enum sonde_gpu_state (*state)(const struct sonde_gpu_calls *calls, const struct sonde_gpu_mark *mark);
	enum sonde_gpu_state (*wait)(const struct sonde_gpu_calls *calls, const struct sonde_gpu_mark *mark);
	/* Between two that are done. */
	enum sonde_gpu_state (*elapsed)(const struct sonde_gpu_calls *calls, const struct sonde_gpu_mark *begin,
					const struct sonde_gpu_mark *end, uint64_t *out_ns);
	void (*release)(const struct sonde_gpu_calls *calls, const struct sonde_gpu_mark *mark);
	/* Of the device of the thread's context; SONDE_OK, or another of sonde.h. NULL: the driver does not tell. */
	int (*memory)(const struct sonde_gpu_calls *calls, uint64_t *free_b, uint64_t *total_b);
};

extern const struct sonde_gpu_driver sonde_gpu_driver_cuda, sonde_gpu_driver_opencl;

/* By enum sonde_gpu_api; NULL: there is no such. */
const struct sonde_gpu_driver *sonde_gpu_driver_of(int api);

/* 1 = all functions are there. */
int sonde_gpu_driver_find(const struct sonde_gpu_driver *driver, struct sonde_gpu_calls *out);

#endif
