/* opencl.h: shared declarations of the OpenCL layer (libsonde-opencl.so).
 *
 * The program's OpenCL loader loads it by OPENCL_LAYERS, and puts the functions of its tables in front of the driver's.
 * Everything is reported through sonde/device.h. Any number of threads of the program may call it; shared state is
 * protected by one lock, `opencl_lock()`, which is never held while the driver is called: a driver may call the program
 * back while it holds locks of its own.
 */
#ifndef SONDE_INJECT_OPENCL_OPENCL_H
#define SONDE_INJECT_OPENCL_OPENCL_H

#include <stddef.h>
#include <stdint.h>

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl_layer.h>

#include "sonde/device.h"

/* The next functions after ours. */
extern const struct _cl_icd_dispatch *opencl_next;
/* Our table; each file adds its own functions. */
void opencl_kernels_fill(struct _cl_icd_dispatch *table);
void opencl_calls_fill(struct _cl_icd_dispatch *table);
void opencl_shared_fill(struct _cl_icd_dispatch *table);
void opencl_queues_fill(struct _cl_icd_dispatch *table);
void opencl_memory_fill(struct _cl_icd_dispatch *table);
void opencl_programs_fill(struct _cl_icd_dispatch *table);
void opencl_waits_fill(struct _cl_icd_dispatch *table);

void opencl_lock(void);
void opencl_unlock(void);
/* True while host activities are recorded. */
int opencl_is_of_host(void);
/* At level `full`: records the calling thread's stack for the call with that correlation. */
void opencl_stack(uint64_t correlation);
uint32_t opencl_tid(void);
uint64_t opencl_correlation(void);
/* Reports completed commands when the program exits. To be called when drivers are loaded. */
void opencl_at_exit(void);

/* --- maps of handles (opencl/map.c): under the lock -------------------------------------------------------------- */

struct opencl_slot {
	const void *key;
	uint64_t values[3];
};

struct opencl_map {
	struct opencl_slot *slots;
	uint32_t size, count; /* size: a power of two */
};

struct opencl_slot *opencl_map_find(const struct opencl_map *map, const void *key);
/* Replaces an existing entry of that key. NULL: the map is full. */
struct opencl_slot *opencl_map_put(struct opencl_map *map, const void *key);
void opencl_map_remove(struct opencl_map *map, const void *key);

/* --- operations (opencl/operations.c) ---------------------------------------------------------------------------- */

/* A call, and the device operation that it enqueues. */
struct opencl_what {
	const char *call; /* "clEnqueueReadBuffer": a literal */
	uint32_t kind;    /* enum sonde_operation_kind of the device operation */
	const char *name; /* name of a kernel (opencl_name()); NULL = the call's name */
	uint32_t grid[3], block[3];
	uint32_t local_b, shared_b;
	uint8_t from, to; /* enum sonde_memory_kind */
	int is_blocking;
	uint64_t size_b;
};

/* A unique copy of a text; NULL if there are too many. */
const char *opencl_name(const char *text);
/* Returns the same number for the same operation, or 0. `name` is a literal, or from opencl_name(). */
uint32_t opencl_operation(const struct sonde_operation_info *info);
void opencl_operations_forget(void);

/* --- devices and clocks (opencl/devices.c, opencl/clock.c) ------------------------------------------------------- */

/* State of a device's clock: device time + offset is CLOCK_MONOTONIC, with low ≤ offset ≤ high at at_ns. */
struct opencl_clock {
	int64_t low, high;
	uint64_t at_ns;
	int is_known;
};

/* Observation of a command. Host clock: start and end of the call that enqueued it, and when it was seen to be
 * complete; device clock: when it was queued and when it ended. */
struct opencl_seen {
	uint64_t from_ns, to_ns, done_ns;
	uint64_t queued_ns, end_ns;
};

void opencl_clock_seen(struct opencl_clock *clock, const struct opencl_seen *seen);
uint64_t opencl_clock_time(const struct opencl_clock *clock, uint64_t device_ns);
/* The maximum error of converted times from oldest_ns on. */
uint64_t opencl_clock_error(const struct opencl_clock *clock, uint64_t oldest_ns);

enum { OPENCL_DEVICES = 64 };

/* Index among the known devices, from 0; OPENCL_DEVICES if there are too many. */
uint32_t opencl_device(cl_device_id handle);
uint32_t opencl_device_number(uint32_t place); /* from sonde_device_add(); 0 = not reported */
struct opencl_clock *opencl_device_clock(uint32_t place);
/* Occasionally reports the accuracy of times from oldest_ns on. */
void opencl_device_say_error(uint32_t place, uint64_t oldest_ns);
void opencl_devices_forget(void);

/* --- queues and commands (opencl/queues.c, opencl/commands.c) ---------------------------------------------------- */

enum { OPENCL_QUEUES = 1024, OPENCL_PROPERTIES = 32 };

struct opencl_queue {
	cl_command_queue handle;
	cl_context context;
	cl_device_id device_handle;
	uint32_t number; /* from sonde_queue_add(); 0 = not reported */
	uint32_t device, refs;
	uint64_t ordinal; /* among all queues of the process, from 1 */
	uint8_t is_used, has_times, is_out_of_order;
	uint8_t is_hidden;    /* profiling was enabled by us: must be hidden from the program */
	uint8_t was_listed;   /* created with a list of properties */
	uint8_t is_awaited;   /* released with commands in flight: the last one has a callback */
	uint32_t first, last; /* commands in flight, in order; 0 = none */
	uint32_t fresh;       /* number of commands added since the last poll */
	cl_queue_properties properties[OPENCL_PROPERTIES + 1]; /* as passed by the program */
	uint32_t property_count;                               /* words, including the final 0 */
};

/* Called with the lock; NULL = unknown. */
struct opencl_queue *opencl_queue_find(cl_command_queue handle);
/* Like opencl_queue_find(), but adds and reports a queue that is not known, because it was not created through us. */
struct opencl_queue *opencl_queue_learn(cl_command_queue handle);
struct opencl_queue *opencl_queue_at(uint32_t place);
/* Forgets a released queue that has no more commands. */
void opencl_queue_settle(struct opencl_queue *queue);
void opencl_queues_forget(void);

struct opencl_call {
	uint64_t from_ns; /* 0 = nothing is recorded */
	cl_command_queue queue;
	cl_event own, *event; /* event for the driver to fill in */
	int is_known, is_timed;
};

/* Before and after a call that enqueues a command. `event`: the program's, or NULL. opencl_end() returns `code`. */
void opencl_begin(struct opencl_call *call, cl_command_queue queue, cl_event *event);
cl_int opencl_end(struct opencl_call *call, cl_int code, const struct opencl_what *what);
/* Polls a queue (NULL: all queues) and reports complete commands. Does not wait. */
void opencl_look(cl_command_queue queue);
/* True if we hold a reference to it. */
int opencl_commands_hold(cl_event event);
/* Counts incomplete commands as lost. */
void opencl_commands_end(void);
void opencl_commands_forget(void);

/* --- host activities (opencl/layer.c) ---------------------------------------------------------------------------- */

/* Returns the start time; 0 = not recorded. */
uint64_t opencl_host_begin(void);
struct opencl_host {
	uint32_t kind; /* enum sonde_operation_kind */
	const char *call;
	uint64_t from_ns, correlation, size_b, address;
	uint32_t queue; /* from sonde_queue_add(), for calls that wait for a queue */
	uint8_t to;
};
void opencl_host_end(const struct opencl_host *host);

/* --- memory and kernels (opencl/memory.c, opencl/programs.c) ----------------------------------------------------- */

uint8_t opencl_memory_kind(cl_mem memory);
/* Bytes of a region of an image. */
uint64_t opencl_memory_region(cl_mem image, const size_t region[3]);
/* The kind of host memory: pageable, or mapped by a driver. */
uint8_t opencl_host_kind(const void *pointer);
/* MANAGED for shared virtual memory, or UNKNOWN. */
uint8_t opencl_shared_kind(const void *pointer);

/* Name, local and private memory of a kernel. */
void opencl_kernel_what(cl_kernel kernel, cl_device_id device, struct opencl_what *out);

#endif
