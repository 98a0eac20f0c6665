/* nvml_stand_in.c: a stand-in for libnvidia-ml.so.1 with two devices whose figures are known, for tests without a
 * GPU.
 *
 * The first draws 100 W, fills its memory from 50 % to 95 % within its first second, was slowed down for its power from
 * then on, moves 2 GB/s in and 1 GB/s out over PCIe and 1 GiB/s over NVLink, and has the counters of GPM. The second
 * draws 50 W, is idle, and tells no bytes: its counters have 32 bits. Built as OLD it has what a driver of 2018 had:
 * no bytes, no GPM, the old name for why clocks are low.
 *
 * NVML_STAND_IN holds words: "nodriver", "nodevice", "mismatch" (what beginning says), "unsupported" (the second tells
 * memory alone), "lost" (it is gone after half a second), "again" (the first one's joules fall once), "stuck" (the
 * first one's power is not told any more after half a second), "dear" (each call takes 2 ms of CPU time), "slow" (it
 * takes 0.3 s to begin), "named" (the first one's name moves cursors). NVML_STAND_IN_PID names a file with the number
 * of a process that holds 1 GB of the first.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, UNSUPPORTED = 3, NOT_LOADED = 9, LOST = 15, MISMATCH = 18 };
#define GB 1000000000ull
#define TOTAL_B (80 * GB)

struct device {
	int index;
} devices[] = {{0}, {1}};

static double begun_s;

static double now_s(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Returns the seconds since the stand-in was initialised. */
static double age_s(void)
{
	return now_s(CLOCK_MONOTONIC) - begun_s;
}

static int is_requested(const char *word)
{
	const char *words = getenv("NVML_STAND_IN");
	return words && strstr(words, word);
}

/* Checks a device; called first by every function. */
static int check(const struct device *device)
{
	double end_s = now_s(CLOCK_THREAD_CPUTIME_ID) + 2e-3;
	while (is_requested("dear") && now_s(CLOCK_THREAD_CPUTIME_ID) < end_s)
		;
	return device->index == 1 && is_requested("lost") && age_s() > 0.5 ? LOST : OK;
}

/* Like check(), for figures that the second device may not report. */
static int check_more(const struct device *device)
{
	int code = check(device);
	return code ? code : device->index == 1 && is_requested("unsupported") ? UNSUPPORTED : OK;
}

int nvmlInit_v2(void)
{
	begun_s = now_s(CLOCK_MONOTONIC);
	if (is_requested("slow"))
		usleep(300000);
	return is_requested("nodriver") ? NOT_LOADED : is_requested("mismatch") ? MISMATCH : OK;
}

int nvmlShutdown(void)
{
	return OK;
}

int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
	snprintf(out, size, "999.1");
	return OK;
}

int nvmlDeviceGetCount_v2(unsigned *out)
{
	*out = is_requested("nodevice") ? 0 : 2;
	return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **out)
{
	*out = &devices[index];
	return OK;
}

int nvmlDeviceGetName(const struct device *device, char *out, unsigned size)
{
	const char *first = is_requested("named") ? "Stand-in \033[31m\n\377" : "Stand-in one";
	snprintf(out, size, "%s", device->index ? "Stand-in <b>two" : first);
	return OK;
}

int nvmlDeviceGetUUID(const struct device *device, char *out, unsigned size)
{
	snprintf(out, size, "GPU-0000000%d", device->index);
	return OK;
}

int nvmlDeviceGetUtilizationRates(const struct device *device, unsigned *out)
{
	int code = check_more(device);
	out[0] = device->index ? 0 : 40;
	out[1] = 0;
	return code;
}

int nvmlDeviceGetMemoryInfo(const struct device *device, unsigned long long *out)
{
	double share = device->index ? 0.1 : age_s() < 1 ? 0.5 + 0.45 * age_s() : 0.95;
	out[0] = TOTAL_B;
	out[1] = TOTAL_B - (unsigned long long)(share * (double)TOTAL_B);
	out[2] = 7; /* used memory, which must not be read: its meaning changes between versions */
	return check(device);
}

int nvmlDeviceGetClockInfo(const struct device *device, int which, unsigned *out)
{
	*out = which == 2 ? 2600 : which == 1 ? 1500 : 1;
	return check_more(device);
}

int nvmlDeviceGetMaxClockInfo(const struct device *device, int which, unsigned *out)
{
	*out = which == 1 ? 2000 : 1;
	return check_more(device);
}

static int reasons_of(const struct device *device, unsigned long long *out)
{
	*out = device->index || age_s() < 1 ? 0x1 : 0x4;
	return check_more(device);
}

int nvmlDeviceGetPowerUsage(const struct device *device, unsigned *out)
{
	while (!device->index && is_requested("stuck") && age_s() > 0.5)
		sleep(1000);
	*out = device->index ? 50000 : 100000;
	return check_more(device);
}

int nvmlDeviceGetEnforcedPowerLimit(const struct device *device, unsigned *out)
{
	*out = 400000;
	return check_more(device);
}

/* Returns the energy used so far, in mJ. */
int nvmlDeviceGetTotalEnergyConsumption(const struct device *device, unsigned long long *out)
{
	*out = 7000000000ull + (unsigned long long)(age_s() * (device->index ? 50000 : 100000));
	if (!device->index && is_requested("again") && age_s() > 1)
		*out -= 7000000000ull;
	return check_more(device);
}

int nvmlDeviceGetTemperature(const struct device *device, int which, unsigned *out)
{
	*out = which == 0 ? 60 : 1;
	return check_more(device);
}

struct process {
	unsigned pid;
	unsigned long long used_b;
	unsigned instances[2];
};

int nvmlDeviceGetComputeRunningProcesses_v2(const struct device *device, unsigned *count, struct process *out)
{
	const char *name = getenv("NVML_STAND_IN_PID");
	FILE *file = name && !device->index ? fopen(name, "r") : NULL;
	unsigned pid = 0, found = 0;
	if (file && fscanf(file, "%u", &pid) == 1 && *count > 2) {
		out[found++] = (struct process){.pid = pid, .used_b = GB};
		out[found++] = (struct process){.pid = 1, .used_b = ~0ull}; /* not reported */
	}
	if (file)
		fclose(file);
	*count = found;
	return check_more(device);
}

#ifdef OLD

int nvmlDeviceGetCurrentClocksThrottleReasons(const struct device *device, unsigned long long *out)
{
	return reasons_of(device, out);
}

#else

int nvmlDeviceGetCurrentClocksEventReasons(const struct device *device, unsigned long long *out)
{
	return reasons_of(device, out);
}

struct field {
	unsigned id, scope;
	long long times[2];
	int type, code;
	unsigned long long value;
};

/* 138, 139: KiB over all links, sent and received; 197, 198: bytes over PCIe. */
int nvmlDeviceGetFieldValues(const struct device *device, int count, struct field *fields)
{
	double age = age_s();
	for (int i = 0; i < count; i++) {
		struct field *field = &fields[i];
		int is_link = field->id == 138 || field->id == 139, is_pcie = field->id == 197 || field->id == 198;
		field->type = device->index ? 1 : 3;
		field->code = (is_link && field->scope == 0xffffffffu && !device->index) || is_pcie ? OK : UNSUPPORTED;
		field->value = 5000000000000ull + (unsigned long long)(age * (field->id == 198 ? 2e9 : 1e9));
		if (is_link)
			field->value = 1000 + (unsigned long long)(age * 1048576);
	}
	return check(device);
}

struct take {
	double at_s;
};

struct metric {
	unsigned id;
	int code;
	double value;
	const char *names[3];
};

struct get {
	unsigned version, count;
	struct take *first, *second;
	struct metric metrics[];
};

int nvmlGpmQueryDeviceSupport(const struct device *device, unsigned *out)
{
	out[1] = device->index == 0 && out[0] == 1;
	return OK;
}

int nvmlGpmSampleAlloc(struct take **out)
{
	*out = calloc(1, sizeof **out);
	return OK;
}

int nvmlGpmSampleFree(struct take *take)
{
	free(take);
	return OK;
}

int nvmlGpmSampleGet(const struct device *device, struct take *take)
{
	take->at_s = age_s();
	return check(device);
}

/* Multiprocessors 80 %, warps 50 %, tensor cores 25 %, memory's bandwidth 40 %, which is no number with "again". */
int nvmlGpmMetricsGet(struct get *get)
{
	static const struct {
		unsigned id;
		double value;
	} known[] = {{2, 80}, {3, 50}, {5, 25}, {10, 40}, {20, 77}, {21, 77}};
	if (get->version != 1 || !(get->first->at_s < get->second->at_s))
		return 2;
	for (unsigned i = 0; i < get->count; i++) {
		get->metrics[i].code = OK;
		get->metrics[i].value = 0.0 / 0.0;
		for (size_t k = 0; k < sizeof known / sizeof *known; k++)
			if (known[k].id == get->metrics[i].id && !(known[k].id == 10 && is_requested("again")))
				get->metrics[i].value = known[k].value;
	}
	return OK;
}

#endif
