/* device.h: adds device work to a profile: activities of GPUs and other accelerators, and the host's calls for them.
 *
 * `sonde record --gpu` records CUDA and OpenCL automatically, and adds the activities that a program reports by these
 * functions. These functions are for programs and layers on top of other interfaces (Vulkan, SYCL, a custom
 * accelerator) that know the device's timing:
 *
 *	uint32_t device = sonde_device_add(&(struct sonde_device_info){.api = "Vulkan", .name = name});
 *	uint32_t queue = sonde_queue_add(&(struct sonde_queue_info){.device = device, .name = "compute"});
 *	uint32_t blur = sonde_operation_add(&(struct sonde_operation_info){
 *	    .kind = SONDE_OPERATION_KERNEL, .name = "blur", .grid = {64, 64, 1}, .block = {16, 16, 1}});
 *	...
 *	sonde_activity_add(&(struct sonde_activity){
 *	    .operation = blur, .queue = queue, .queued_ns = asked, .start_ns = from, .end_ns = to});
 *
 * An operation is a kind of work (a kernel with its launch configuration, a copy between two kinds of memory); an
 * activity is one execution of it. Activities may be reported late, in any order, from any thread.
 *
 * All times are CLOCK_MONOTONIC nanoseconds: the caller converts a device's own clock. 0 (or NULL) means unknown. Texts
 * are copied; operation names are cut at 4095 bytes, other texts at 255. No function synchronises a device. As in
 * sonde.h, every function may be called from any thread, but none from a signal handler. Calls have an effect only
 * while recording: ids are assigned by this library, belong to the process, and are 0 when nothing is recorded (0 is
 * not a valid id: activities that refer to it are dropped and counted).
 */
#ifndef SONDE_DEVICE_H
#define SONDE_DEVICE_H

#include <sonde/sonde.h>

#if defined(SONDE_DISABLE)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

enum sonde_device_kind {
	SONDE_DEVICE_OTHER = 0,
	SONDE_DEVICE_GPU = 1,
	SONDE_DEVICE_CPU = 2, /* an API device that runs on the CPU */
	SONDE_DEVICE_ACCELERATOR = 3,
};

struct sonde_device_info {
	const char *api;    /* "OpenCL", "Vulkan" */
	const char *name;   /* as reported by the driver */
	const char *uuid;   /* "GPU-8f9d…" */
	const char *driver; /* driver version */
	uint32_t kind;      /* enum sonde_device_kind */
	uint32_t index;     /* index among the devices of that API, from 0 */
	uint32_t units;     /* streaming multiprocessors or compute units */
	uint32_t clock_mhz; /* maximum */
	uint64_t memory_b;
	/* Capacity of one unit, from which occupancy is computed. */
	uint32_t warp;           /* threads per warp (wavefront) */
	uint32_t warps_unit;     /* warps */
	uint32_t blocks_unit;    /* blocks (work-groups) */
	uint32_t registers_unit; /* 32-bit registers */
	uint64_t shared_unit_b;  /* shared (local) memory */
	/* Peak rates are computed from these. */
	uint32_t capability;     /* CUDA's compute capability, major × 10 + minor: 90 */
	uint64_t memory_b_per_s; /* peak memory bandwidth */
};

/* Registers a device; returns its id, or 0. */
SONDE_CALL(uint32_t, sonde_device_add(const struct sonde_device_info *info), 0)

enum sonde_queue_flag {
	SONDE_QUEUE_OUT_OF_ORDER = 1, /* its activities may overlap */
	SONDE_QUEUE_DEFAULT = 2,      /* the default stream, which no one creates explicitly */
};

/* A queue, stream or engine: its activities run one after another unless it is out of order. */
struct sonde_queue_info {
	uint32_t device;
	uint32_t flags;   /* enum sonde_queue_flag */
	uint64_t context; /* any value that distinguishes contexts */
	uint64_t handle;  /* any value that distinguishes queues, such as a stream number */
	const char *name;
};

SONDE_CALL(uint32_t, sonde_queue_add(const struct sonde_queue_info *info), 0)

/* Kernels, copies and fills belong to a queue; host operations belong to the calling thread. */
enum sonde_operation_kind {
	SONDE_OPERATION_KERNEL = 1,
	SONDE_OPERATION_COPY = 2,
	SONDE_OPERATION_FILL = 3,
	SONDE_OPERATION_MAP = 4,
	SONDE_OPERATION_GRAPH = 5,
	SONDE_OPERATION_MARKER = 6,
	/* host operations */
	SONDE_OPERATION_API = 16,
	SONDE_OPERATION_SYNC = 17, /* waits for a device */
	SONDE_OPERATION_BUILD = 18,
	SONDE_OPERATION_ALLOC = 19,
	SONDE_OPERATION_FREE = 20,
	SONDE_OPERATION_OVERHEAD = 21,
	SONDE_OPERATION_POOL = 22, /* from `end_ns` on, a pool reserves `size_b` of a device's memory */
};

/* Source and destination of copies, and the kind of memory allocated. */
enum sonde_memory_kind {
	SONDE_MEMORY_UNKNOWN = 0,
	SONDE_MEMORY_PAGEABLE = 1, /* host memory */
	SONDE_MEMORY_PINNED = 2,   /* page-locked host memory */
	SONDE_MEMORY_DEVICE = 3,
	SONDE_MEMORY_ARRAY = 4,   /* device memory: images, textures */
	SONDE_MEMORY_MANAGED = 5, /* migrates on use */
	SONDE_MEMORY_PEER = 6,    /* memory of another device */
	SONDE_MEMORY_HOST = 7,    /* host memory, unknown whether pageable or pinned */
};

struct sonde_operation_info {
	uint32_t kind;      /* enum sonde_operation_kind */
	const char *name;   /* name of the kernel, or of the API call: "clEnqueueReadBuffer" */
	uint32_t grid[3];   /* blocks (work-groups) in each dimension */
	uint32_t block[3];  /* threads (work-items) per block in each dimension; 0 = the driver chose them, and `grid`
			       counts threads */
	uint32_t registers; /* per thread */
	uint32_t local_b;   /* per thread: spilled or private memory */
	uint32_t static_shared_b;  /* per block */
	uint32_t dynamic_shared_b; /* per block */
	uint32_t shared_unit_b;    /* part of a unit's memory configured as shared memory */
	uint8_t from, to;          /* enum sonde_memory_kind: both ends of a copy; ALLOC and FREE use `to` */
	uint32_t from_device;      /* owner of device memory at each end; 0: the device of the queue */
	uint32_t to_device;
};

/* Registers an operation; returns its id, or 0. Register an operation once and reuse it for all its activities. */
SONDE_CALL(uint32_t, sonde_operation_add(const struct sonde_operation_info *info), 0)

#define SONDE_TID_UNKNOWN UINT32_MAX

struct sonde_activity {
	uint32_t operation;
	uint32_t queue; /* 0: on the host. SYNC: the queue waited for, if any; ALLOC: a queue of the owning device */
	uint32_t tid; /* the thread that requested it, as gettid() returns; 0: the calling thread; SONDE_TID_UNKNOWN */
	uint64_t queued_ns;    /* when it was requested: the start of the API call */
	uint64_t submitted_ns; /* when it was submitted to the device */
	uint64_t start_ns, end_ns;
	uint64_t correlation; /* the same value for an API call and the device work that it starts */
	uint64_t size_b;      /* bytes copied, filled or allocated; 0 when a pool is destroyed */
	uint64_t address; /* ALLOC and FREE: the address; POOL: any value that distinguishes the pools of a process */
};

/* SONDE_ERR_ARGUMENT if it ends before it starts or has no operation. */
SONDE_CALL(int, sonde_activity_add(const struct sonde_activity *activity), SONDE_ERR_OFF)
/* Records the calling thread's stack for the API call with this correlation; the recording uses it for the device work
 * that the call starts. Costs a copy of up to 32 KB of the thread's stack, so call it only when stacks are wanted. The
 * first call in a thread, and each from a new call site, makes system calls. */
SONDE_CALL(int, sonde_call_stack(uint64_t correlation), SONDE_ERR_OFF)
/* Reports `count` lost activities and a short reason: the recording counts them. */
SONDE_CALL(int, sonde_activity_lost(const char *cause, uint64_t count), SONDE_ERR_OFF)

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#if defined(SONDE_DISABLE)
#pragma GCC diagnostic pop
#endif

#endif
