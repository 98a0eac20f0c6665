/* nvml_device.c: a table of the items read from a GPU, and how they become readings (device/nvml_device.h).
 *
 * The driver's units are converted: per cent to thousandths, MHz to Hz, mJ to µJ, KiB to B. Two kinds of values are
 * converted to running totals, so that differences over any interval are right: means over the time between two
 * readings (GPM counters), and states that hold from one reading to the next (the reasons why clocks are low). PCIe
 * bytes are taken from 64-bit counters, else from GPM: 32 bits overflow in a twentieth of a second, and
 * nvmlDeviceGetPcieThroughput() samples 20 ms only.
 */
#include "source/device/nvml_device.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define FAILURES_MAX 3u
#define GPM_LEAST_NS 90000000u /* minimum between two samples; NVIDIA recommends 100 ms */
#define RECEIVED 0
#define SENT 1

static void put(struct sonde_nvml_device *device, enum sonde_metric metric, uint64_t time_ns, uint64_t value)
{
	const struct sonde_nvml_reading reading = {.time_ns = time_ns,
						   .value = value > INT64_MAX ? INT64_MAX : (int64_t)value,
						   .metric = metric,
						   .device = device->index};
	device->put(device->context, &reading);
}

/* The increase of a counter since its first reading. A counter that fell has restarted. */
static uint64_t risen(struct sonde_nvml_total *total, uint64_t now)
{
	if (total->has_last && now > total->last)
		total->sum += now - total->last;
	total->last = now;
	total->has_last = 1;
	return total->sum;
}

/* --- items with one number per call ------------------------------------------------------------------------------ */

static int read_utilization(struct sonde_nvml_device *device, uint64_t now_ns)
{
	struct sonde_nvml_utilization use;
	int code = device->library->utilization(device->handle, &use);
	if (!code)
		put(device, SONDE_METRIC_DEVICE_UTILIZATION, now_ns, use.device > 100 ? 1000 : use.device * 10u);
	return code;
}

static int read_memory(struct sonde_nvml_device *device, uint64_t now_ns)
{
	struct sonde_nvml_memory memory;
	int code = device->library->memory(device->handle, &memory);
	if (code || memory.free_b > memory.total_b)
		return code ? code : SONDE_NVML_UNKNOWN;
	put(device, SONDE_METRIC_DEVICE_MEMORY_TOTAL, now_ns, memory.total_b);
	put(device, SONDE_METRIC_DEVICE_MEMORY_USED, now_ns, memory.total_b - memory.free_b);
	return 0;
}

static int read_clock(struct sonde_nvml_device *device, uint64_t now_ns, int which, enum sonde_metric metric)
{
	unsigned mhz;
	int code = device->library->clock(device->handle, which, &mhz);
	if (!code)
		put(device, metric, now_ns, mhz * 1000000ull);
	return code;
}

static int read_clock_sm(struct sonde_nvml_device *device, uint64_t now_ns)
{
	return read_clock(device, now_ns, SONDE_NVML_CLOCK_SM, SONDE_METRIC_DEVICE_CLOCK_SM);
}

static int read_clock_memory(struct sonde_nvml_device *device, uint64_t now_ns)
{
	return read_clock(device, now_ns, SONDE_NVML_CLOCK_MEMORY, SONDE_METRIC_DEVICE_CLOCK_MEMORY);
}

static int read_clock_most(struct sonde_nvml_device *device, uint64_t now_ns)
{
	unsigned mhz;
	int code = device->library->clock_most(device->handle, SONDE_NVML_CLOCK_SM, &mhz);
	if (!code)
		put(device, SONDE_METRIC_DEVICE_CLOCK_SM_MOST, now_ns, mhz * 1000000ull);
	return code;
}

static int read_power(struct sonde_nvml_device *device, uint64_t now_ns)
{
	unsigned mw;
	int code = device->library->power(device->handle, &mw);
	if (!code)
		put(device, SONDE_METRIC_DEVICE_POWER, now_ns, mw);
	return code;
}

static int read_power_limit(struct sonde_nvml_device *device, uint64_t now_ns)
{
	unsigned mw;
	int code = device->library->power_limit(device->handle, &mw);
	if (!code)
		put(device, SONDE_METRIC_DEVICE_POWER_LIMIT, now_ns, mw);
	return code;
}

static int read_energy(struct sonde_nvml_device *device, uint64_t now_ns)
{
	unsigned long long mj;
	int code = device->library->energy(device->handle, &mj);
	if (!code)
		put(device, SONDE_METRIC_DEVICE_ENERGY, now_ns, risen(&device->energy_mj, mj) * 1000);
	return code;
}

static int read_temperature(struct sonde_nvml_device *device, uint64_t now_ns)
{
	unsigned celsius;
	int code = device->library->temperature(device->handle, 0, &celsius);
	if (!code)
		put(device, SONDE_METRIC_DEVICE_TEMPERATURE, now_ns, celsius);
	return code;
}

/* --- why clocks are low ------------------------------------------------------------------------------------------- */

/* For heat and power, the driver sets the generic hardware flag next to a specific one; the generic flag counts only if
 * it is set alone. */
static const struct {
	enum sonde_metric metric;
	uint64_t reasons, but;
} slow_rows[] = {
    {SONDE_METRIC_DEVICE_SLOWED_POWER, SONDE_NVML_REASON_POWER_CAP | SONDE_NVML_REASON_POWER_BRAKE, 0},
    {SONDE_METRIC_DEVICE_SLOWED_HEAT, SONDE_NVML_REASON_HEAT | SONDE_NVML_REASON_HARDWARE_HEAT, 0},
    {SONDE_METRIC_DEVICE_SLOWED_HARDWARE, SONDE_NVML_REASON_HARDWARE,
     SONDE_NVML_REASON_HARDWARE_HEAT | SONDE_NVML_REASON_POWER_BRAKE},
    {SONDE_METRIC_DEVICE_SLOWED_SETTING,
     SONDE_NVML_REASON_APPLICATIONS | SONDE_NVML_REASON_SYNC_BOOST | SONDE_NVML_REASON_DISPLAY, 0},
};

/* Reads why the clocks are low. A reason counts until the next reading. Its series starts when the reason is first
 * seen. */
static int read_reasons(struct sonde_nvml_device *device, uint64_t now_ns)
{
	unsigned long long reasons;
	int code = device->library->reasons(device->handle, &reasons);
	if (code)
		return code;
	for (size_t i = 0; i < sizeof slow_rows / sizeof *slow_rows; i++) {
		struct sonde_nvml_slow *slow = &device->slow[i];
		int was = device->reasons & slow_rows[i].reasons && !(device->reasons & slow_rows[i].but);
		int is = reasons & slow_rows[i].reasons && !(reasons & slow_rows[i].but);
		slow->sum_ns += was ? now_ns - device->reasons_ns : 0;
		slow->is_told |= is;
		if (slow->is_told)
			put(device, slow_rows[i].metric, now_ns, slow->sum_ns);
	}
	device->reasons = reasons;
	device->reasons_ns = now_ns;
	return 0;
}

/* --- byte counters ----------------------------------------------------------------------------------------------- */

/* Returns −1 if the field has no value, or one that overflows too soon. */
static int value_of(const struct sonde_nvml_field *field, uint64_t unit_b, uint64_t *out)
{
	if (field->code || (field->type != SONDE_NVML_U64 && field->type != SONDE_NVML_ULONG))
		return -1;
	*out = field->value.u64 * unit_b;
	return 0;
}

/* Reads two byte counters, received and sent. */
static int read_fields(struct sonde_nvml_device *device, struct sonde_nvml_field *fields, uint64_t unit_b,
		       struct sonde_nvml_total *totals, const enum sonde_metric *metrics)
{
	uint64_t values[2];
	int code = device->library->fields(device->handle, 2, fields);
	if (code)
		return code;
	for (int i = 0; i < 2; i++)
		if (value_of(&fields[i], unit_b, &values[i]))
			return fields[i].code ? fields[i].code : SONDE_NVML_NOT_SUPPORTED;
	uint64_t now_ns = sonde_clock_now_ns();
	for (int i = 0; i < 2; i++)
		put(device, metrics[i], now_ns, risen(&totals[i], values[i]));
	return 0;
}

static int read_pcie(struct sonde_nvml_device *device, uint64_t now_ns)
{
	static const enum sonde_metric metrics[] = {SONDE_METRIC_DEVICE_PCIE_RECEIVED, SONDE_METRIC_DEVICE_PCIE_SENT};
	struct sonde_nvml_field fields[] = {{.id = SONDE_NVML_FIELD_PCIE_RECEIVED}, {.id = SONDE_NVML_FIELD_PCIE_SENT}};
	(void)now_ns;
	int code = read_fields(device, fields, 1, device->pcie, metrics);
	device->has_pcie |= !code;
	return code;
}

static int read_nvlink(struct sonde_nvml_device *device, uint64_t now_ns)
{
	static const enum sonde_metric metrics[] = {SONDE_METRIC_DEVICE_NVLINK_RECEIVED,
						    SONDE_METRIC_DEVICE_NVLINK_SENT};
	struct sonde_nvml_field fields[] = {{.id = SONDE_NVML_FIELD_NVLINK_RECEIVED, .scope = SONDE_NVML_ALL_LINKS},
					    {.id = SONDE_NVML_FIELD_NVLINK_SENT, .scope = SONDE_NVML_ALL_LINKS}};
	(void)now_ns;
	return read_fields(device, fields, 1024, device->nvlink, metrics);
}

/* --- processes ---------------------------------------------------------------------------------------------------- */

static void put_process(struct sonde_nvml_device *device, uint64_t now_ns, pid_t pid, uint64_t used_b)
{
	const struct sonde_nvml_reading reading = {.time_ns = now_ns,
						   .value = used_b > INT64_MAX ? INT64_MAX : (int64_t)used_b,
						   .metric = SONDE_METRIC_DEVICE_MEMORY_USED,
						   .device = device->index,
						   .pid = pid};
	device->put(device->context, &reading);
}

/* Processes that were reported before and are missing now hold no memory. */
static int read_processes(struct sonde_nvml_device *device, uint64_t now_ns)
{
	struct sonde_nvml_process found[SONDE_NVML_PROCESSES_MAX];
	unsigned count = SONDE_NVML_PROCESSES_MAX, recorded = 0;
	pid_t pids[SONDE_NVML_PROCESSES_MAX];
	int code = device->library->processes(device->handle, &count, found);
	if (code)
		return code;
	for (unsigned i = 0; i < count && i < SONDE_NVML_PROCESSES_MAX; i++) {
		if (found[i].used_b == SONDE_NVML_NO_VALUE || (pid_t)found[i].pid <= 0)
			continue;
		pids[recorded++] = (pid_t)found[i].pid;
		put_process(device, now_ns, (pid_t)found[i].pid, found[i].used_b);
	}
	for (unsigned i = 0; i < device->pid_count; i++) {
		unsigned at = 0;
		while (at < recorded && pids[at] != device->pids[i])
			at++;
		if (at == recorded)
			put_process(device, now_ns, device->pids[i], 0);
	}
	memcpy(device->pids, pids, recorded * sizeof *pids);
	device->pid_count = recorded;
	return 0;
}

/* --- GPM ---------------------------------------------------------------------------------------------------------- */

static const struct {
	enum sonde_nvml_gpm_id id;
	enum sonde_metric metric;
	double scale; /* factor that converts to a fraction of 1, or to B per second */
	int is_pcie;
} gpm_rows[] = {
    {SONDE_NVML_GPM_SM_ACTIVE, SONDE_METRIC_DEVICE_SM_ACTIVE, 0.01, 0},
    {SONDE_NVML_GPM_SM_OCCUPANCY, SONDE_METRIC_DEVICE_SM_OCCUPANCY, 0.01, 0},
    {SONDE_NVML_GPM_TENSOR_ACTIVE, SONDE_METRIC_DEVICE_TENSOR_ACTIVE, 0.01, 0},
    {SONDE_NVML_GPM_DRAM, SONDE_METRIC_DEVICE_DRAM_ACTIVE, 0.01, 0},
    {SONDE_NVML_GPM_PCIE_RECEIVED, SONDE_METRIC_DEVICE_PCIE_RECEIVED, 1048576.0, 1},
    {SONDE_NVML_GPM_PCIE_SENT, SONDE_METRIC_DEVICE_PCIE_SENT, 1048576.0, 1},
};
enum { GPM_ROWS = sizeof gpm_rows / sizeof *gpm_rows };

/* Allocates two samples; the driver computes their difference. */
static int gpm_open(struct sonde_nvml_device *device)
{
	const struct sonde_nvml_library *library = device->library;
	struct sonde_nvml_gpm_support support = {.version = SONDE_NVML_GPM_VERSION};
	if (!library->gpm_support || !library->gpm_alloc || !library->gpm_free || !library->gpm_take ||
	    !library->gpm_get)
		return SONDE_NVML_FUNCTION_NOT_FOUND;
	int code = library->gpm_support(device->handle, &support);
	if (code || !support.is_supported)
		return code ? code : SONDE_NVML_NOT_SUPPORTED;
	for (int i = 0; i < 2 && !code; i++)
		code = library->gpm_alloc(&device->takes[i]);
	return code;
}

static void gpm_put(struct sonde_nvml_device *device, size_t row, const struct sonde_nvml_gpm_metric *metric,
		    uint64_t from_ns, uint64_t to_ns)
{
	double value = metric->value * gpm_rows[row].scale, time = (double)(to_ns - from_ns);
	if (metric->code || !(value >= 0) || (gpm_rows[row].is_pcie && (device->has_pcie || value > 1e13)))
		return;
	device->has_gpm_pcie |= gpm_rows[row].is_pcie;
	value = !gpm_rows[row].is_pcie && value > 1 ? 1 : value;
	device->gpm_sums[row] += value * (gpm_rows[row].is_pcie ? time / 1e9 : time);
	put(device, gpm_rows[row].metric, to_ns, (uint64_t)(device->gpm_sums[row] + 0.5));
}

static int read_gpm(struct sonde_nvml_device *device, uint64_t now_ns)
{
	struct sonde_nvml_gpm_get get = {.version = SONDE_NVML_GPM_VERSION, .count = GPM_ROWS};
	if (device->take_ns && now_ns - device->take_ns < GPM_LEAST_NS)
		return 0;
	int code = device->library->gpm_take(device->handle, device->takes[device->take_at]);
	uint64_t before_ns = device->take_ns;
	if (code)
		return code;
	get.first = device->takes[!device->take_at];
	get.second = device->takes[device->take_at];
	device->take_at = !device->take_at;
	device->take_ns = now_ns;
	if (!before_ns)
		return 0;
	for (size_t i = 0; i < GPM_ROWS; i++)
		get.metrics[i].id = (unsigned)gpm_rows[i].id;
	code = device->library->gpm_get(&get);
	for (size_t i = 0; i < GPM_ROWS && !code; i++)
		gpm_put(device, i, &get.metrics[i], before_ns, now_ns);
	return code;
}

/* --- public functions -------------------------------------------------------------------------------------------- */

#define NEEDS(field) offsetof(struct sonde_nvml_library, field)

/* PCIe counters precede GPM, which provides PCIe as well. */
static const struct item {
	const char *what;
	size_t function; /* required library function */
	int is_energy, is_detail;
	int (*read)(struct sonde_nvml_device *device, uint64_t now_ns);
} items[] = {
    {"utilisation", NEEDS(utilization), 0, 0, read_utilization},
    {"memory", NEEDS(memory), 0, 0, read_memory},
    {"power", NEEDS(power), 1, 0, read_power},
    {"energy", NEEDS(energy), 1, 0, read_energy},
    {"clock of the multiprocessors", NEEDS(clock), 0, 0, read_clock_sm},
    {"why clocks are low", NEEDS(reasons), 0, 0, read_reasons},
    {"PCIe bytes", NEEDS(fields), 0, 0, read_pcie},
    {"NVLink bytes", NEEDS(fields), 0, 0, read_nvlink},
    {"activity of multiprocessors, tensor cores and memory (GPM)", NEEDS(gpm_get), 0, 0, read_gpm},
    {"clock of memory", NEEDS(clock), 0, 1, read_clock_memory},
    {"highest clock", NEEDS(clock_most), 0, 1, read_clock_most},
    {"power limit", NEEDS(power_limit), 1, 1, read_power_limit},
    {"temperature", NEEDS(temperature), 0, 1, read_temperature},
    {"memory of processes", NEEDS(processes), 0, 1, read_processes},
};
enum { ITEMS = sizeof items / sizeof *items };
_Static_assert((unsigned)ITEMS <= (unsigned)SONDE_NVML_ITEMS_MAX, "a state each");

static int is_there(const struct sonde_nvml_library *library, size_t function)
{
	void *pointer;
	memcpy(&pointer, (const char *)library + function, sizeof pointer);
	return pointer != NULL;
}

/* A text from the driver. */
static void text_of(int (*get)(sonde_nvml_handle, char *, unsigned), sonde_nvml_handle handle, char *out)
{
	if (!get || get(handle, out, SONDE_NVML_TEXT_B))
		out[0] = '\0';
	out[SONDE_NVML_TEXT_B - 1] = '\0';
}

int sonde_nvml_device_open(struct sonde_nvml_device *device, const struct sonde_nvml_library *library, uint32_t index)
{
	*device = (struct sonde_nvml_device){.library = library, .index = index};
	int code = library->device(index, &device->handle);
	if (code) {
		device->lost_code = code;
		return code;
	}
	text_of(library->name, device->handle, device->name);
	text_of(library->uuid, device->handle, device->uuid);
	for (size_t i = 0; i < ITEMS; i++)
		if (!is_there(library, items[i].function))
			device->items[i].code = SONDE_NVML_FUNCTION_NOT_FOUND;
		else if (items[i].read == read_gpm)
			device->items[i].code = gpm_open(device);
	return 0;
}

void sonde_nvml_device_close(struct sonde_nvml_device *device)
{
	for (int i = 0; i < 2; i++)
		if (device->takes[i])
			device->library->gpm_free(device->takes[i]);
	device->takes[0] = device->takes[1] = NULL;
}

static int is_final(int code)
{
	return code == SONDE_NVML_NOT_SUPPORTED || code == SONDE_NVML_NO_PERMISSION ||
	       code == SONDE_NVML_FUNCTION_NOT_FOUND;
}

static void read_item(struct sonde_nvml_device *device, size_t i)
{
	struct sonde_nvml_item_state *state = &device->items[i];
	uint64_t now_ns = sonde_clock_now_ns();
	int code = items[i].read(device, now_ns);
	state->was_read |= !code;
	state->failures = code ? state->failures + 1 : 0;
	if (code == SONDE_NVML_GPU_IS_LOST) {
		device->lost_code = code;
		device->lost_ns = now_ns;
	} else if (code && (is_final(code) || state->failures == FAILURES_MAX)) {
		state->code = code;
	}
}

void sonde_nvml_device_read(struct sonde_nvml_device *device, enum sonde_nvml_what what, int is_detailed)
{
	for (size_t i = 0; i < ITEMS && !device->lost_code; i++)
		if (!device->items[i].code && (what == SONDE_NVML_ALL || items[i].is_energy) &&
		    (is_detailed || !items[i].is_detail))
			read_item(device, i);
}

/* PCIe is not missing if GPM provides it. */
static int is_missing(const struct sonde_nvml_device *device, enum sonde_nvml_what what, size_t i)
{
	if (!device->items[i].code || (what != SONDE_NVML_ALL && !items[i].is_energy))
		return 0;
	return items[i].read != read_pcie || !device->has_gpm_pcie;
}

size_t sonde_nvml_device_missing(const struct sonde_nvml_device *device, enum sonde_nvml_what what, char *out,
				 size_t out_b)
{
	size_t used = 0;
	out[0] = '\0';
	for (size_t i = 0; i < ITEMS && used < out_b; i++) {
		int code = device->items[i].code, is_last = 1;
		if (!is_missing(device, what, i))
			continue;
		for (size_t next = i + 1; next < ITEMS; next++)
			if (is_missing(device, what, next)) {
				is_last = device->items[next].code != code;
				break;
			}
		used += (size_t)snprintf(out + used, out_b - used, "%s%s", used ? ", " : "", items[i].what);
		if (is_last && used < out_b)
			used += (size_t)snprintf(out + used, out_b - used, " (%s)", sonde_nvml_library_why(code));
	}
	return used < out_b ? used : out_b - 1;
}
