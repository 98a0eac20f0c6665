/* nvml_library.h: the used parts of NVIDIA's management library (NVML), declared here: no NVML header is needed.
 *
 * Loaded at run time as libnvidia-ml.so.1, which comes with the driver. Layouts, numbers and versions are those of the
 * NVML API reference (https://docs.nvidia.com/deploy/nvml-api/). If a function has several versions, the newest one
 * whose layout is declared here is used, by its name in the library:
 *
 *   nvmlInit_v2, nvmlDeviceGetCount_v2, nvmlDeviceGetHandleByIndex_v2: all drivers since 2012
 *   nvmlDeviceGetMemoryInfo: the first version; total − free is the same in the second, which only adds reserved memory
 *   nvmlDeviceGetCurrentClocksEventReasons (R535), else …ThrottleReasons: the same bits
 *   nvmlDeviceGetComputeRunningProcesses_v3, else _v2: same layout; the first version differs and is not used
 *   nvmlGpm…: Hopper and later, R520 and later
 *
 * A missing function is NULL. All functions may be called from any thread; we use one thread at a time.
 */
#ifndef SONDE_SOURCE_DEVICE_NVML_LIBRARY_H
#define SONDE_SOURCE_DEVICE_NVML_LIBRARY_H

#include <stddef.h>

typedef struct sonde_nvml_handle *sonde_nvml_handle;     /* nvmlDevice_t */
typedef struct sonde_nvml_gpm_take *sonde_nvml_gpm_take; /* nvmlGpmSample_t */

enum sonde_nvml_code { /* nvmlReturn_t */
		       SONDE_NVML_SUCCESS = 0,
		       SONDE_NVML_NOT_SUPPORTED = 3,
		       SONDE_NVML_NO_PERMISSION = 4,
		       SONDE_NVML_INSUFFICIENT_SIZE = 7,
		       SONDE_NVML_DRIVER_NOT_LOADED = 9,
		       SONDE_NVML_FUNCTION_NOT_FOUND = 13,
		       SONDE_NVML_GPU_IS_LOST = 15,
		       SONDE_NVML_VERSION_MISMATCH =
			   18, /* library and driver differ: the driver was updated but not reloaded */
		       SONDE_NVML_UNKNOWN = 999
};

enum { SONDE_NVML_TEXT_B = 96 }; /* NVML_DEVICE_NAME_V2_BUFFER_SIZE, NVML_DEVICE_UUID_V2_BUFFER_SIZE */
enum { SONDE_NVML_CLOCK_SM = 1, SONDE_NVML_CLOCK_MEMORY = 2 };
enum { SONDE_NVML_FIELD_NVLINK_SENT = 138, SONDE_NVML_FIELD_NVLINK_RECEIVED = 139 }; /* KiB of data, R450 and later */
enum { SONDE_NVML_FIELD_PCIE_SENT = 197, SONDE_NVML_FIELD_PCIE_RECEIVED = 198 };     /* bytes, R550 and later */
#define SONDE_NVML_ALL_LINKS 0xffffffffu                                             /* a field's scope */
#define SONDE_NVML_NO_VALUE 0xffffffffffffffffu

/* Why clocks are lower than possible: nvmlClocksEventReason…. */
enum sonde_nvml_reason {
	SONDE_NVML_REASON_APPLICATIONS = 0x2,
	SONDE_NVML_REASON_POWER_CAP = 0x4,
	SONDE_NVML_REASON_HARDWARE = 0x8,
	SONDE_NVML_REASON_SYNC_BOOST = 0x10,
	SONDE_NVML_REASON_HEAT = 0x20,
	SONDE_NVML_REASON_HARDWARE_HEAT = 0x40,
	SONDE_NVML_REASON_POWER_BRAKE = 0x80,
	SONDE_NVML_REASON_DISPLAY = 0x100
};

struct sonde_nvml_utilization { /* nvmlUtilization_t: per cent */
	unsigned device, memory;
};

struct sonde_nvml_memory { /* nvmlMemory_t */
	unsigned long long total_b, free_b, used_b;
};

struct sonde_nvml_process { /* nvmlProcessInfo_t of _v2 and _v3 */
	unsigned pid;
	unsigned long long used_b; /* SONDE_NVML_NO_VALUE: not available */
	unsigned instance, compute_instance;
};

enum { SONDE_NVML_REAL, SONDE_NVML_U32, SONDE_NVML_ULONG, SONDE_NVML_U64 }; /* nvmlValueType_t */

struct sonde_nvml_field { /* nvmlFieldValue_t */
	unsigned id, scope;
	long long time_us, latency_us;
	int type, code;
	union {
		double real;
		unsigned u32;
		unsigned long ulong;
		unsigned long long u64;
	} value;
};

/* nvmlGpmMetricId_t: per cent, or MiB a second. */
enum sonde_nvml_gpm_id {
	SONDE_NVML_GPM_SM_ACTIVE = 2,
	SONDE_NVML_GPM_SM_OCCUPANCY = 3,
	SONDE_NVML_GPM_TENSOR_ACTIVE = 5,
	SONDE_NVML_GPM_DRAM = 10,
	SONDE_NVML_GPM_PCIE_SENT = 20,
	SONDE_NVML_GPM_PCIE_RECEIVED = 21
};

struct sonde_nvml_gpm_metric { /* nvmlGpmMetric_t */
	unsigned id;
	int code;
	double value;
	const char *short_name, *long_name, *unit;
};

enum { SONDE_NVML_GPM_VERSION = 1, SONDE_NVML_GPM_CAPACITY = 512 }; /* NVML_GPM_METRIC_MAX grows with newer drivers */

struct sonde_nvml_gpm_get { /* nvmlGpmMetricsGet_t */
	unsigned version, count;
	sonde_nvml_gpm_take first, second;
	struct sonde_nvml_gpm_metric metrics[SONDE_NVML_GPM_CAPACITY];
};

struct sonde_nvml_gpm_support { /* nvmlGpmSupport_t */
	unsigned version, is_supported;
};

_Static_assert(sizeof(struct sonde_nvml_process) == 24, "nvmlProcessInfo_v2_t");
_Static_assert(sizeof(struct sonde_nvml_field) == 40, "nvmlFieldValue_t");
_Static_assert(sizeof(struct sonde_nvml_gpm_metric) == 40, "nvmlGpmMetric_t");
_Static_assert(offsetof(struct sonde_nvml_gpm_get, metrics) == 24, "nvmlGpmMetricsGet_t");

/* Each row: the field, whether it is required, its parameters, its names in the library, newest first. */
#define SONDE_NVML_FUNCTIONS(ROW)                                                                                  \
	ROW(init, 1, (void), "nvmlInit_v2")                                                                        \
	ROW(shutdown, 1, (void), "nvmlShutdown")                                                                   \
	ROW(count, 1, (unsigned *), "nvmlDeviceGetCount_v2")                                                       \
	ROW(device, 1, (unsigned, sonde_nvml_handle *), "nvmlDeviceGetHandleByIndex_v2")                           \
	ROW(driver, 0, (char *, unsigned), "nvmlSystemGetDriverVersion")                                           \
	ROW(name, 0, (sonde_nvml_handle, char *, unsigned), "nvmlDeviceGetName")                                   \
	ROW(uuid, 0, (sonde_nvml_handle, char *, unsigned), "nvmlDeviceGetUUID")                                   \
	ROW(utilization, 0, (sonde_nvml_handle, struct sonde_nvml_utilization *), "nvmlDeviceGetUtilizationRates") \
	ROW(memory, 0, (sonde_nvml_handle, struct sonde_nvml_memory *), "nvmlDeviceGetMemoryInfo")                 \
	ROW(clock, 0, (sonde_nvml_handle, int, unsigned *), "nvmlDeviceGetClockInfo")                              \
	ROW(clock_most, 0, (sonde_nvml_handle, int, unsigned *), "nvmlDeviceGetMaxClockInfo")                      \
	ROW(reasons, 0, (sonde_nvml_handle, unsigned long long *), "nvmlDeviceGetCurrentClocksEventReasons",       \
	    "nvmlDeviceGetCurrentClocksThrottleReasons")                                                           \
	ROW(power, 0, (sonde_nvml_handle, unsigned *), "nvmlDeviceGetPowerUsage")                                  \
	ROW(power_limit, 0, (sonde_nvml_handle, unsigned *), "nvmlDeviceGetEnforcedPowerLimit")                    \
	ROW(energy, 0, (sonde_nvml_handle, unsigned long long *), "nvmlDeviceGetTotalEnergyConsumption")           \
	ROW(temperature, 0, (sonde_nvml_handle, int, unsigned *), "nvmlDeviceGetTemperature")                      \
	ROW(fields, 0, (sonde_nvml_handle, int, struct sonde_nvml_field *), "nvmlDeviceGetFieldValues")            \
	ROW(processes, 0, (sonde_nvml_handle, unsigned *, struct sonde_nvml_process *),                            \
	    "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2")                  \
	ROW(gpm_support, 0, (sonde_nvml_handle, struct sonde_nvml_gpm_support *), "nvmlGpmQueryDeviceSupport")     \
	ROW(gpm_alloc, 0, (sonde_nvml_gpm_take *), "nvmlGpmSampleAlloc")                                           \
	ROW(gpm_free, 0, (sonde_nvml_gpm_take), "nvmlGpmSampleFree")                                               \
	ROW(gpm_take, 0, (sonde_nvml_handle, sonde_nvml_gpm_take), "nvmlGpmSampleGet")                             \
	ROW(gpm_get, 0, (struct sonde_nvml_gpm_get *), "nvmlGpmMetricsGet")

struct sonde_nvml_library {
	void *object; /* of dlopen() */
#define SONDE_NVML_FUNCTION(field, is_needed, parameters, ...) int(*field) parameters;
	SONDE_NVML_FUNCTIONS(SONDE_NVML_FUNCTION)
#undef SONDE_NVML_FUNCTION
};

/* Loads the library without calling the driver. -ENOENT with a message in sonde_error_text(). Unloaded only by
 * sonde_nvml_library_close(). */
int sonde_nvml_library_open(struct sonde_nvml_library *out);
void sonde_nvml_library_close(struct sonde_nvml_library *library);

/* The meaning of a code and, if known, the remedy; static. */
const char *sonde_nvml_library_why(int code);

#endif
