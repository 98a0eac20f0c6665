/* device_script.c: reports device work from a file, which tests/cli/device_oracle.py writes together with the
 * answers.
 *
 * A line is a letter and numbers: D of a device (its name, kind, index), Q of a queue (device, flags, handle), O of an
 * operation (kind, name, from, to, from_device, to_device, grid, block), A of an activity (operation, queue, whether a
 * thread is known, queued, start, end, correlation, size, address). Devices, queues and operations are numbered from 1,
 * times are ns from the program's start, a negative one is not known. It prints the program's start and its thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <sonde/device.h>

#define MOST 256

static uint64_t base_ns;
static uint32_t devices[MOST], queues[MOST], operations[MOST];
static uint32_t device_count, queue_count, operation_count;

static uint64_t since(int64_t ns)
{
	return ns < 0 ? 0 : base_ns + (uint64_t)ns;
}

static int tell_device(const char *line)
{
	struct sonde_device_info info = {.api = "Own"};
	char name[64], uuid[64];
	if (sscanf(line, "D %63s %63s %" SCNu32 " %" SCNu32, name, uuid, &info.kind, &info.index) != 4)
		return -1;
	info.name = name;
	info.uuid = uuid;
	devices[++device_count] = sonde_device_add(&info);
	return 0;
}

static int tell_queue(const char *line)
{
	struct sonde_queue_info info = {0};
	uint32_t device;
	if (sscanf(line, "Q %" SCNu32 " %" SCNu32 " %" SCNu64, &device, &info.flags, &info.handle) != 3)
		return -1;
	info.device = devices[device];
	queues[++queue_count] = sonde_queue_add(&info);
	return 0;
}

static int tell_operation(const char *line)
{
	struct sonde_operation_info info = {0};
	uint32_t from_device, to_device;
	char name[64];
	if (sscanf(line, "O %" SCNu32 " %63s %" SCNu8 " %" SCNu8 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32,
		   &info.kind, name, &info.from, &info.to, &from_device, &to_device, &info.grid[0],
		   &info.block[0]) != 8)
		return -1;
	info.name = name;
	info.from_device = devices[from_device];
	info.to_device = devices[to_device];
	operations[++operation_count] = sonde_operation_add(&info);
	return 0;
}

static int tell_activity(const char *line)
{
	struct sonde_activity activity = {0};
	uint32_t operation, queue;
	int is_known;
	int64_t queued_ns, start_ns, end_ns;
	if (sscanf(line,
		   "A %" SCNu32 " %" SCNu32 " %d %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
		   &operation, &queue, &is_known, &queued_ns, &start_ns, &end_ns, &activity.correlation,
		   &activity.size_b, &activity.address) != 9)
		return -1;
	activity.operation = operations[operation];
	activity.queue = queues[queue];
	activity.tid = is_known ? 0 : SONDE_TID_UNKNOWN;
	activity.queued_ns = since(queued_ns);
	activity.start_ns = since(start_ns);
	activity.end_ns = since(end_ns);
	return sonde_activity_add(&activity);
}

static int tell(const char *line)
{
	switch (device_count < MOST - 1 && queue_count < MOST - 1 && operation_count < MOST - 1 ? *line : 0) {
	case 'D':
		return tell_device(line);
	case 'Q':
		return tell_queue(line);
	case 'O':
		return tell_operation(line);
	case 'A':
		return tell_activity(line);
	default:
		return -1;
	}
}

/* Sleeps until everything that was reported has happened. */
static void rest_until(uint64_t end_ns)
{
	const struct timespec end = {.tv_sec = (time_t)(end_ns / 1000000000), .tv_nsec = (long)(end_ns % 1000000000)};
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
}

int main(int argc, char **argv)
{
	struct timespec now;
	char line[512];
	uint64_t last_ms;
	FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
	if (!file || !fgets(line, sizeof line, file) || sscanf(line, "%" SCNu64, &last_ms) != 1)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &now);
	base_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	rest_until(base_ns + last_ms * 1000000);
	while (fgets(line, sizeof line, file))
		if (tell(line))
			return 1;
	fclose(file);
	printf("%" PRIu64 " %ld\n", base_ns, (long)syscall(SYS_gettid));
	return 0;
}
