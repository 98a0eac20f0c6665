/* devices.c: devices as described by their driver, and their clocks (opencl/opencl.h). */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "inject/opencl/opencl.h"

#define SAY_EVERY_NS UINT64_C(100000000)
#define UUID_B 16
#define PLATFORMS 32

static struct device {
	cl_device_id handle;
	uint32_t number; /* from sonde_device_add(); 0 = not reported */
	struct opencl_clock clock;
	uint64_t said_ns, said_error_ns;
} devices[OPENCL_DEVICES];
static uint32_t device_count; /* protected by the lock, like all of this */

static void get(cl_device_id handle, cl_device_info what, void *out, size_t out_b)
{
	if (opencl_next->clGetDeviceInfo(handle, what, out_b, out, NULL) != CL_SUCCESS)
		memset(out, 0, out_b);
}

static void get_text(cl_device_id handle, cl_device_info what, char out[256])
{
	get(handle, what, out, 255);
	out[255] = '\0';
}

static uint32_t kind_of(cl_device_type type)
{
	static const struct {
		cl_device_type type;
		uint32_t kind;
	} kinds[] = {{CL_DEVICE_TYPE_GPU, SONDE_DEVICE_GPU},
		     {CL_DEVICE_TYPE_CPU, SONDE_DEVICE_CPU},
		     {CL_DEVICE_TYPE_ACCELERATOR, SONDE_DEVICE_ACCELERATOR}};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (type & kinds[i].type)
			return kinds[i].kind;
	return SONDE_DEVICE_OTHER;
}

/* Index among all devices of all platforms; sub-devices come after them. */
static uint32_t index_of(cl_device_id handle, uint32_t place)
{
	cl_platform_id platforms[PLATFORMS];
	cl_device_id all[OPENCL_DEVICES];
	cl_uint count = 0, before = 0;
	if (opencl_next->clGetPlatformIDs(PLATFORMS, platforms, &count) != CL_SUCCESS)
		return place;
	for (cl_uint i = 0; i < count && i < PLATFORMS; i++) {
		cl_uint found = 0;
		if (opencl_next->clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, OPENCL_DEVICES, all, &found))
			continue;
		for (cl_uint at = 0; at < found && at < OPENCL_DEVICES; at++)
			if (all[at] == handle)
				return before + at;
		before += found;
	}
	return before + place;
}

static void get_uuid(cl_device_id handle, char *out, size_t out_b)
{
	unsigned char bytes[UUID_B] = {0};
	size_t used = 0;
	if (opencl_next->clGetDeviceInfo(handle, CL_DEVICE_UUID_KHR, sizeof(bytes), bytes, NULL) != CL_SUCCESS)
		return;
	for (int i = 0; i < UUID_B && used + 4 < out_b; i++)
		used += (size_t)snprintf(out + used, out_b - used,
					 i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", bytes[i]);
}

/* Values that OpenCL does not define (warps, registers) remain unknown. */
static uint32_t record(cl_device_id handle, uint32_t place)
{
	char name[256] = "", driver[256] = "", uuid[64] = "";
	cl_device_type type = 0;
	cl_uint units = 0, clock_mhz = 0;
	cl_ulong memory_b = 0, local_b = 0;
	get_text(handle, CL_DEVICE_NAME, name);
	get_text(handle, CL_DRIVER_VERSION, driver);
	get_uuid(handle, uuid, sizeof(uuid));
	get(handle, CL_DEVICE_TYPE, &type, sizeof(type));
	get(handle, CL_DEVICE_MAX_COMPUTE_UNITS, &units, sizeof(units));
	get(handle, CL_DEVICE_MAX_CLOCK_FREQUENCY, &clock_mhz, sizeof(clock_mhz));
	get(handle, CL_DEVICE_GLOBAL_MEM_SIZE, &memory_b, sizeof(memory_b));
	get(handle, CL_DEVICE_LOCAL_MEM_SIZE, &local_b, sizeof(local_b));
	return sonde_device_add(&(struct sonde_device_info){.api = "OpenCL",
							    .name = name,
							    .uuid = uuid,
							    .driver = driver,
							    .kind = kind_of(type),
							    .index = index_of(handle, place),
							    .units = units,
							    .clock_mhz = clock_mhz,
							    .memory_b = memory_b,
							    .shared_unit_b = local_b});
}

/* Finds the device, and reports it if it is new. Two threads may report one device at the same time: the first number
 * is used, and the other is never referred to. */
uint32_t opencl_device(cl_device_id handle)
{
	uint32_t place = 0, number;
	opencl_lock();
	while (place < device_count && devices[place].handle != handle)
		place++;
	if (place == device_count && device_count < OPENCL_DEVICES)
		devices[device_count++].handle = handle;
	number = place < OPENCL_DEVICES ? devices[place].number : 1;
	opencl_unlock();
	if (number)
		return place;
	number = record(handle, place);
	opencl_lock();
	if (!devices[place].number)
		devices[place].number = number;
	opencl_unlock();
	return place;
}

uint32_t opencl_device_number(uint32_t place)
{
	opencl_lock();
	uint32_t number = place < OPENCL_DEVICES ? devices[place].number : 0;
	opencl_unlock();
	return number;
}

struct opencl_clock *opencl_device_clock(uint32_t place)
{
	return place < OPENCL_DEVICES ? &devices[place].clock : NULL;
}

void opencl_device_say_error(uint32_t place, uint64_t oldest_ns)
{
	char name[64];
	uint64_t now_ns = sonde_clock_now_ns(), error_ns = 0;
	opencl_lock();
	struct device *device = &devices[place];
	uint64_t least_ns = device->clock.is_known ? opencl_clock_error(&device->clock, oldest_ns) : UINT64_MAX;
	int is_time = now_ns - device->said_ns >= SAY_EVERY_NS && device->clock.is_known;
	if (is_time || least_ns < device->said_error_ns / 2) {
		device->said_ns = now_ns;
		error_ns = device->said_error_ns = least_ns;
	}
	opencl_unlock();
	if (!error_ns)
		return;
	snprintf(name, sizeof(name), "opencl.%u.clock_error_ns", place);
	sonde_gauge_set(name, (double)error_ns);
}

void opencl_devices_forget(void)
{
	for (uint32_t i = 0; i < device_count; i++)
		devices[i].number = 0;
}
