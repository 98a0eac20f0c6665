/* gpu_driver.h: the driver interface of device timers (gpu_timer.c): timestamped events in a stream.
 *
 * Functions are looked up in the libraries that the process has loaded; nothing is loaded, and a library that was found
 * stays loaded, because addresses in it are kept. Types are those of the drivers' C interfaces, declared here so that
 * no driver headers are needed: handles are pointers, results are int.
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
	int (*is_capturing)(void *stream, int *status); /* NULL: an old driver without stream capture */
	int (*capture_mode)(int *mode);                 /* NULL: an old driver, as above */
	int (*memory)(size_t *free_b, size_t *total_b); /* NULL: the driver cannot report memory */
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

/* An event and its owner: CUDA events belong to a context. */
struct sonde_gpu_mark {
	void *event, *context;
};

enum sonde_gpu_state { SONDE_GPU_FAILED = -1, SONDE_GPU_NOT_YET = 0, SONDE_GPU_DONE = 1 };

struct sonde_gpu_function {
	size_t at; /* offset of its pointer in struct sonde_gpu_calls */
	const char *name, *or_name;
	int is_optional;
};

/* Functions that return a message return NULL on success. */
struct sonde_gpu_driver {
	const char *soname;  /* looked for among the loaded libraries */
	const char *missing; /* message if it is not loaded */
	const struct sonde_gpu_function *functions;
	size_t function_count;
	int keeps_events; /* events can be recorded again */
	/* Checks that the stream can be timed; returns the context that its events belong to. */
	const char *(*check)(const struct sonde_gpu_calls *calls, void *stream, void **out_context);
	/* Inserts an event into the stream, creating it if mark->event is NULL. On failure it becomes NULL. */
	const char *(*record)(const struct sonde_gpu_calls *calls, void *stream, struct sonde_gpu_mark *mark);
	enum sonde_gpu_state (*state)(const struct sonde_gpu_calls *calls, const struct sonde_gpu_mark *mark);
	enum sonde_gpu_state (*wait)(const struct sonde_gpu_calls *calls, const struct sonde_gpu_mark *mark);
	/* Time between two finished events. */
	enum sonde_gpu_state (*elapsed)(const struct sonde_gpu_calls *calls, const struct sonde_gpu_mark *begin,
					const struct sonde_gpu_mark *end, uint64_t *out_ns);
	void (*release)(const struct sonde_gpu_calls *calls, const struct sonde_gpu_mark *mark);
	/* Memory of the device of the thread's context; SONDE_OK or another code of sonde.h. NULL: not available. */
	int (*memory)(const struct sonde_gpu_calls *calls, uint64_t *free_b, uint64_t *total_b);
};

extern const struct sonde_gpu_driver sonde_gpu_driver_cuda, sonde_gpu_driver_opencl;

/* The driver interface of an API (enum sonde_gpu_api); NULL if unknown. */
const struct sonde_gpu_driver *sonde_gpu_driver_of(int api);

/* Returns 1 if all functions were found. */
int sonde_gpu_driver_find(const struct sonde_gpu_driver *driver, struct sonde_gpu_calls *out);

#endif
