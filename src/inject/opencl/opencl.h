/* opencl.h: the OpenCL layer (libsonde-opencl.so): what its files share.
 *
 * The program's OpenCL loader loads it, as OPENCL_LAYERS says, and puts the functions of its tables in front of those
 * of the driver. Everything that it finds out is said through sonde/device.h. Threads: of the program, any number; what
 * is shared lies behind one lock, `opencl_lock()`, which is never held while the driver is called: a driver may call
 * the program back with locks of its own held.
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

/* The functions behind ours. */
extern const struct _cl_icd_dispatch *opencl_next;
/* Ours; each file puts its own in. */
void opencl_kernels_fill(struct _cl_icd_dispatch *table);
void opencl_buffers_fill(struct _cl_icd_dispatch *table);
void opencl_images_fill(struct _cl_icd_dispatch *table);
void opencl_shared_fill(struct _cl_icd_dispatch *table);
void opencl_queues_fill(struct _cl_icd_dispatch *table);
void opencl_memory_fill(struct _cl_icd_dispatch *table);
void opencl_programs_fill(struct _cl_icd_dispatch *table);
void opencl_waits_fill(struct _cl_icd_dispatch *table);

void opencl_lock(void);
void opencl_unlock(void);
/* Something is recorded; `of_host`: what the host does, too. */
int opencl_is_on(void);
int opencl_is_of_host(void);
/* Tells where the calling thread is, at level `full`: the stack of the call of that correlation. */
void opencl_stack(uint64_t correlation);
uint32_t opencl_tid(void);
uint64_t opencl_correlation(void);
/* What the program has asked for before, and is done, is told as it exits. Called once drivers are there. */
void opencl_at_exit(void);

/* --- maps from handles (opencl/map.c): under the lock ------------------------------------------------------------ */

struct opencl_slot {
	const void *key;
	uint64_t values[3];
};

struct opencl_map {
	struct opencl_slot *slots;
	uint32_t size, count; /* size: a power of two */
};

struct opencl_slot *opencl_map_find(const struct opencl_map *map, const void *key);
/* What is there of that key is replaced. NULL: it is full. */
struct opencl_slot *opencl_map_put(struct opencl_map *map, const void *key);
void opencl_map_remove(struct opencl_map *map, const void *key);

/* --- operations (opencl/operations.c) ---------------------------------------------------------------------------- */

/* What is called, and what that has the device do. */
struct opencl_what {
	const char *call; /* "clEnqueueReadBuffer": a literal */
	uint32_t kind;    /* enum sonde_operation_kind, of the device */
	const char *name; /* of a kernel (opencl_name()); NULL = that of the call */
	uint32_t grid[3], block[3];
	uint32_t local_b, shared_b;
	uint8_t from, to; /* enum sonde_memory_kind */
	int is_blocking;
	uint64_t size_b;
};

/* The one copy of a text; NULL where there are too many. */
const char *opencl_name(const char *text);
/* The same number for the same operation, or 0. `name` is a literal, or from opencl_name(). */
uint32_t opencl_operation(const struct sonde_operation_info *info);
void opencl_operations_forget(void);

/* --- devices and clocks (opencl/devices.c, opencl/clock.c) ------------------------------------------------------- */

/* Where a device's clock stands: device time + offset is CLOCK_MONOTONIC, with low ≤ offset ≤ high at at_ns. */
struct opencl_clock {
	int64_t low, high;
	uint64_t at_ns;
	int is_known;
};

/* By the host's clock, a call from … to queued a command that was seen to be done; by the device's, it was queued and
 * ended. */
struct opencl_seen {
	uint64_t from_ns, to_ns, done_ns;
	uint64_t queued_ns, end_ns;
};

void opencl_clock_seen(struct opencl_clock *clock, const struct opencl_seen *seen);
uint64_t opencl_clock_time(const struct opencl_clock *clock, uint64_t device_ns);
/* Of times from oldest_ns on. */
uint64_t opencl_clock_error(const struct opencl_clock *clock, uint64_t oldest_ns);

enum { OPENCL_DEVICES = 64 };

/* Its place among those that are known, from 0; OPENCL_DEVICES where there are too many. */
uint32_t opencl_device(cl_device_id handle);
uint32_t opencl_device_number(uint32_t place); /* sonde_device_add()'s; 0 = not told */
struct opencl_clock *opencl_device_clock(uint32_t place);
/* Says how exact times from oldest_ns on are, now and then. */
void opencl_device_say_error(uint32_t place, uint64_t oldest_ns);
void opencl_devices_forget(void);

/* --- queues and commands (opencl/queues.c, opencl/commands.c) ---------------------------------------------------- */

enum { OPENCL_QUEUES = 1024, OPENCL_PROPERTIES = 32 };

struct opencl_queue {
	cl_command_queue handle;
	cl_context context;
	cl_device_id device_handle;
	uint32_t number; /* sonde_queue_add()'s; 0 = not told */
	uint32_t device, refs;
	uint64_t ordinal; /* among all queues of the process, from 1 */
	uint8_t is_used, has_times, is_out_of_order;
	uint8_t is_hidden;    /* the program has not asked for times: it is not to see that there are some */
	uint8_t was_listed;   /* created with a list of properties */
	uint8_t is_awaited;   /* released with commands under way: the last one has a callback */
	uint32_t first, last; /* commands under way, in order; 0 = none */
	uint32_t fresh;       /* of these: since it was looked at */
	cl_queue_properties properties[OPENCL_PROPERTIES + 1]; /* as the program has them */
	uint32_t property_count;                               /* words, with the 0 at the end */
};

/* Under the lock; NULL = not known. */
struct opencl_queue *opencl_queue_find(cl_command_queue handle);
/* The same for one that another way than through us has led to. */
struct opencl_queue *opencl_queue_learn(cl_command_queue handle);
struct opencl_queue *opencl_queue_at(uint32_t place);
/* A released queue that has no command any more is forgotten. */
void opencl_queue_settle(struct opencl_queue *queue);
void opencl_queues_forget(void);

struct opencl_call {
	uint64_t from_ns; /* 0 = nothing is recorded */
	cl_command_queue queue;
	cl_event own, *event; /* what the driver is to fill in */
	int is_known, is_timed;
};

/* Around a call that puts a command into a queue. `event`: the program's, or NULL. end returns the code. */
void opencl_begin(struct opencl_call *call, cl_command_queue queue, cl_event *event);
cl_int opencl_end(struct opencl_call *call, cl_int code, const struct opencl_what *what);
/* Tells what is done; NULL: of all queues. Without a wait. */
void opencl_look(cl_command_queue queue);
/* Whether we hold a reference to it. */
int opencl_commands_hold(cl_event event);
/* What is not done counts as lost. */
void opencl_commands_end(void);
void opencl_commands_forget(void);

/* --- what the host does (opencl/layer.c) ------------------------------------------------------------------------- */

/* When it began, or 0. */
uint64_t opencl_host_begin(void);
struct opencl_host {
	uint32_t kind; /* enum sonde_operation_kind */
	const char *call;
	uint64_t from_ns, correlation, size_b, address;
	uint32_t queue; /* sonde_queue_add()'s, of what waits for one */
	uint8_t to;
};
void opencl_host_end(const struct opencl_host *host);

/* --- memory and kernels (opencl/memory.c, opencl/programs.c) ----------------------------------------------------- */

uint8_t opencl_memory_kind(cl_mem memory);
uint64_t opencl_memory_size(cl_mem memory);
/* Of so many elements of an image, in bytes. */
uint64_t opencl_memory_region(cl_mem image, const size_t region[3]);
/* What the host's memory is: pageable, or what a driver has mapped. */
uint8_t opencl_host_kind(const void *pointer);
void opencl_mapped(cl_mem memory, const void *pointer, uint64_t size_b);
void opencl_unmapped(const void *pointer);

/* Name, local and private memory of a kernel. */
void opencl_kernel_what(cl_kernel kernel, cl_device_id device, struct opencl_what *out);

#endif
