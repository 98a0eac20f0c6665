/* device.h: put device work into a profile: what GPUs and other accelerators do, and what the host does for them.
 *
 * `sonde record --gpu` records CUDA and OpenCL by itself, with what is said here. This is for programs and layers above
 * other interfaces (Vulkan, SYCL, an accelerator of your own) that know when their device did what:
 *
 *	uint32_t device = sonde_device_add(&(struct sonde_device_info){.api = "Vulkan", .name = name});
 *	uint32_t queue = sonde_queue_add(&(struct sonde_queue_info){.device = device, .name = "compute"});
 *	uint32_t blur = sonde_operation_add(&(struct sonde_operation_info){
 *	    .kind = SONDE_OPERATION_KERNEL, .name = "blur", .grid = {64, 64, 1}, .block = {16, 16, 1}});
 *	...
 *	sonde_activity_add(&(struct sonde_activity){
 *	    .operation = blur, .queue = queue, .queued_ns = asked, .start_ns = from, .end_ns = to});
 *
 * An operation is what is done (a kernel with its launch configuration, a copy from one kind of memory to another), an
 * activity is one time that it was done. What is said of activities may be said late, in any order, by any thread.
 *
 * All times are CLOCK_MONOTONIC nanoseconds: a device's own clock is to be converted by who knows it. What is 0 (or
 * NULL) is not known. Texts are copied; names are cut at 4095 bytes, others at 255. Nothing here synchronises a
 * device. Threads as in sonde.h, but not for signal handlers. Only what is said while something is recorded counts: ids
 * are given by this library, belong to the process, and are 0 when nothing is recorded (which is no id: activities
 * that name it are left out and counted).
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
	SONDE_DEVICE_CPU = 2, /* an interface for devices that runs on the processor */
	SONDE_DEVICE_ACCELERATOR = 3,
};

struct sonde_device_info {
	const char *api;    /* "OpenCL", "Vulkan" */
	const char *name;   /* as the driver has it */
	const char *uuid;   /* "GPU-8f9d…" */
	const char *driver; /* its version */
	uint32_t kind;      /* enum sonde_device_kind */
	uint32_t index;     /* among the devices of that API, from 0 */
	uint32_t units;     /* streaming multiprocessors, compute units */
	uint32_t clock_mhz; /* the most */
	uint64_t memory_b;
	/* What a unit has room for at once: occupancy is computed from it. */
	uint32_t warp;           /* threads in a warp (wavefront) */
	uint32_t warps_unit;     /* warps */
	uint32_t blocks_unit;    /* blocks (work-groups) */
	uint32_t registers_unit; /* registers of 32 bits */
	uint64_t shared_unit_b;  /* shared (local) memory */
	/* What it can do at most is computed from these. */
	uint32_t capability;     /* CUDA's compute capability, major × 10 + minor: 90 */
	uint64_t memory_b_per_s; /* bandwidth of its memory: the most */
};

/* One more device, or 0. */
SONDE_CALL(uint32_t, sonde_device_add(const struct sonde_device_info *info), 0)

enum sonde_queue_flag {
	SONDE_QUEUE_OUT_OF_ORDER = 1, /* its activities may overlap */
	SONDE_QUEUE_DEFAULT = 2,      /* a stream that nobody created */
};

/* A queue, stream or engine: what is in it runs one after the other, if it is not out of order. */
struct sonde_queue_info {
	uint32_t device;
	uint32_t flags;   /* enum sonde_queue_flag */
	uint64_t context; /* whatever tells contexts apart */
	uint64_t handle;  /* whatever tells queues apart: a stream's number */
	const char *name;
};

SONDE_CALL(uint32_t, sonde_queue_add(const struct sonde_queue_info *info), 0)

/* Those of a device lie in a queue, those of the host in the thread that made them. */
enum sonde_operation_kind {
	SONDE_OPERATION_KERNEL = 1,
	SONDE_OPERATION_COPY = 2,
	SONDE_OPERATION_FILL = 3,
	SONDE_OPERATION_MAP = 4,
	SONDE_OPERATION_GRAPH = 5,
	SONDE_OPERATION_MARKER = 6,
	/* of the host */
	SONDE_OPERATION_API = 16,
	SONDE_OPERATION_SYNC = 17, /* it waits for a device */
	SONDE_OPERATION_BUILD = 18,
	SONDE_OPERATION_ALLOC = 19,
	SONDE_OPERATION_FREE = 20,
	SONDE_OPERATION_OVERHEAD = 21,
	SONDE_OPERATION_POOL = 22, /* a pool has `size_b` of a device's memory in reserve from `end_ns` on */
};

/* Where copies come from and go to, and what is allocated. */
enum sonde_memory_kind {
	SONDE_MEMORY_UNKNOWN = 0,
	SONDE_MEMORY_PAGEABLE = 1, /* the host's */
	SONDE_MEMORY_PINNED = 2,   /* the host's, page-locked */
	SONDE_MEMORY_DEVICE = 3,
	SONDE_MEMORY_ARRAY = 4,   /* the device's: images, textures */
	SONDE_MEMORY_MANAGED = 5, /* it moves as it is used */
	SONDE_MEMORY_PEER = 6,    /* another device's */
	SONDE_MEMORY_HOST = 7,    /* the host's, pageable or pinned: not known which */
};

struct sonde_operation_info {
	uint32_t kind;             /* enum sonde_operation_kind */
	const char *name;          /* of the kernel, or of the call: "clEnqueueReadBuffer" */
	uint32_t grid[3];          /* blocks (work-groups) in each dimension */
	uint32_t block[3];         /* threads (work-items) of a block in each dimension; 0 = the driver chose them,
				      and the grid is in threads */
	uint32_t registers;        /* of a thread */
	uint32_t local_b;          /* of a thread: spilled, private */
	uint32_t static_shared_b;  /* of a block */
	uint32_t dynamic_shared_b; /* of a block */
	uint32_t shared_unit_b;    /* what of a unit's memory was set apart as shared */
	uint8_t from, to;          /* enum sonde_memory_kind: of copies; of ALLOC and FREE `to` */
	uint32_t from_device;      /* whose memory that is; 0: that of the queue's device, if it is a device's */
	uint32_t to_device;
};

/* One more operation, or 0. Whoever has many activities of one operation adds it once. */
SONDE_CALL(uint32_t, sonde_operation_add(const struct sonde_operation_info *info), 0)

#define SONDE_TID_UNKNOWN UINT32_MAX

struct sonde_activity {
	uint32_t operation;
	uint32_t queue;        /* 0: on the host; of a SYNC which one it waits for, if it is one; of an ALLOC whose memory */
	uint32_t tid;          /* whose thread asked for it, as gettid() says; 0: the calling one; SONDE_TID_UNKNOWN */
	uint64_t queued_ns;    /* when it was asked for: the call began */
	uint64_t submitted_ns; /* when it was handed over to the device */
	uint64_t start_ns, end_ns;
	uint64_t correlation; /* the same for a call and what it has the device do */
	uint64_t size_b;      /* copied, filled, allocated; 0 where a pool is no more */
	uint64_t address;     /* of ALLOC and FREE; whatever tells a process's pools apart */
};

/* SONDE_ERR_ARGUMENT where it ends before it starts or has no operation. */
SONDE_CALL(int, sonde_activity_add(const struct sonde_activity *activity), SONDE_ERR_OFF)
/* Where the calling thread is: the stack of the call that has that correlation. What the call has a device do is found
 * by it in the recording. Its cost is that of reading the thread's stack, of which 32 KB are told: for those who want to
 * know it. A thread's first one, and each from a place that is new, makes system calls. */
SONDE_CALL(int, sonde_call_stack(uint64_t correlation), SONDE_ERR_OFF)
/* So many activities are not known, and why in a few words: the recording counts them. */
SONDE_CALL(int, sonde_activity_lost(const char *cause, uint64_t count), SONDE_ERR_OFF)

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#if defined(SONDE_DISABLE)
#pragma GCC diagnostic pop
#endif

#endif
