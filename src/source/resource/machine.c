/* machine.c: parses /proc/stat, meminfo, loadavg, diskstats, net/dev and pressure (proc(5), accounting/psi).
 *
 * Descriptors are kept open. Reading ten files, which takes some microseconds each, ten times a second would soon
 * amount to 0.2 % of a CPU. So counters that are not needed at a precise time are read only in rounds with details. Of
 * /proc/stat only the first line is read: the kernel generates the whole file for each read, with a line per CPU and a
 * number per interrupt. A disk that is not in /sys/block is a partition. A disk with entries in its "slaves" folder
 * there (RAID, LVM, encryption) consists of other disks, which are read themselves. All network interfaces are read,
 * and those whose bytes also count on another interface are marked: interfaces with lower_* entries (bridge, bond,
 * VLAN); members of such interfaces, unless they are hardware devices; the second end of a pair (veth); and, if there
 * is a hardware device, all interfaces that are not hardware devices (container bridges, tunnels). /sys shows the
 * interfaces of the namespace that it was mounted in: interfaces missing there are not marked.
 */
#include "source/resource/machine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/resource/cgroup.h"
#include "source/resource/files.h"
#include "source/resource/proc_stat.h"
#include "util/error.h"

#define SECTOR_B 512u /* unit of diskstats, whatever the disk's sector size */
#define DISKS_MAX 128u
#define NETWORKS_MAX 64u
#define TEXT_MAX_B 65536u
#define PART_B 2048
#define LINE_B 256
#define FIRST_ROUNDS 5u /* first rounds, in which the command may still be moved to its group */

enum file { STAT, MEMINFO, LOADAVG, DISKSTATS, NETWORK, GROUPS, CPU_PRESSURE, MEMORY_PRESSURE, IO_PRESSURE, FILES };

struct disk {
	char name[32];
	int is_whole;
};

struct network {
	char name[32];
	int is_there, is_device, is_made, is_part; /* is in /sys; hardware; built on others; member of another */
	int index, link;
};

struct sonde_resources_machine {
	const char *root;
	pid_t pid;
	unsigned rounds;
	int fd[FILES];     /* −1 = missing */
	int missing_files; /* no descriptor was available for one of the files */
	struct disk disks[DISKS_MAX];
	size_t disk_count;
	struct network networks[NETWORKS_MAX];
	size_t network_count;
	struct sonde_cgroup cgroup;
	char cgroups[1024]; /* /proc/PID/cgroup when the groups were last searched */
	char *text;         /* the text being parsed */
	sonde_resources_put *put;
	void *context;
};

/* --- files -------------------------------------------------------------------------------------------------------- */

static const char *const names[FILES] = {
    [STAT] = "stat",
    [MEMINFO] = "meminfo",
    [LOADAVG] = "loadavg",
    [DISKSTATS] = "diskstats",
    [CPU_PRESSURE] = "pressure/cpu",
    [MEMORY_PRESSURE] = "pressure/memory",
    [IO_PRESSURE] = "pressure/io",
};

static int open_file(struct sonde_resources_machine *machine, const char *name)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/proc/%s", machine->root, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	machine->missing_files |= fd < 0 && sonde_files_lack(errno);
	return fd;
}

static int open_of_command(struct sonde_resources_machine *machine, const char *name)
{
	char path[64];
	snprintf(path, sizeof path, "%d/%s", (int)machine->pid, name);
	int fd = machine->pid ? open_file(machine, path) : -1;
	snprintf(path, sizeof path, "self/%s", name);
	return fd >= 0 ? fd : open_file(machine, path);
}

/* Reads a file from its start. The kernel returns some files about a page at a time. A result of less than half a page
 * is taken as the end, which saves another call. */
static size_t read_fd(int fd, char *text, size_t text_b)
{
	size_t done_b = 0;
	ssize_t got = 0;
	do {
		got = fd >= 0 ? pread(fd, text + done_b, text_b - 1 - done_b, (off_t)done_b) : 0;
		done_b += got > 0 ? (size_t)got : 0;
	} while (got >= PART_B);
	text[done_b] = '\0';
	return done_b;
}

static size_t read_text(struct sonde_resources_machine *machine, enum file file)
{
	return read_fd(machine->fd[file], machine->text, TEXT_MAX_B);
}

static void put(const struct sonde_resources_machine *machine, enum sonde_metric metric, const char *object,
		uint64_t value)
{
	machine->put(machine->context, metric, object, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

static char *next_line(char *line)
{
	char *end = strchr(line, '\n');
	return end ? end + 1 : NULL;
}

/* --- CPUs, load, memory ------------------------------------------------------------------------------------------- */

static void read_cpus(struct sonde_resources_machine *machine)
{
	char text[LINE_B];
	enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STOLEN, TIMES };
	uint64_t times[TIMES], tick_ns = sonde_proc_tick_ns();
	ssize_t got = machine->fd[STAT] >= 0 ? pread(machine->fd[STAT], text, sizeof text - 1, 0) : 0;
	text[got > 0 ? got : 0] = '\0';
	char *at = text + strcspn(text, " "), *after;
	for (size_t i = 0; i < TIMES; i++, at = after) {
		times[i] = strtoull(at, &after, 10);
		if (after == at)
			return;
	}
	put(machine, SONDE_METRIC_CPU_USER, NULL, (times[USER] + times[NICE]) * tick_ns);
	put(machine, SONDE_METRIC_CPU_SYSTEM, NULL, (times[SYSTEM] + times[IRQ] + times[SOFTIRQ]) * tick_ns);
	put(machine, SONDE_METRIC_CPU_IDLE, NULL, times[IDLE] * tick_ns);
	put(machine, SONDE_METRIC_CPU_IOWAIT, NULL, times[IOWAIT] * tick_ns);
	put(machine, SONDE_METRIC_CPU_STOLEN, NULL, times[STOLEN] * tick_ns);
}

/* Reads the load average in thousandths, the number of threads, and the last assigned pid. */
static int read_load(struct sonde_resources_machine *machine, uint64_t *thousandths, uint64_t *threads, int *last_pid)
{
	unsigned whole, hundredths;
	read_text(machine, LOADAVG);
	if (sscanf(machine->text, "%u.%u %*s %*s %*u/%" SCNu64 " %d", &whole, &hundredths, threads, last_pid) != 4)
		return 0;
	*thousandths = (uint64_t)whole * 1000 + (uint64_t)hundredths * 10;
	return 1;
}

static void put_load(struct sonde_resources_machine *machine)
{
	uint64_t thousandths, threads;
	int last_pid;
	if (!read_load(machine, &thousandths, &threads, &last_pid))
		return;
	put(machine, SONDE_METRIC_LOAD, NULL, thousandths);
	put(machine, SONDE_METRIC_THREADS, NULL, threads);
}

static int find_kib(const char *text, const char *name, uint64_t *out_b)
{
	const char *line = strstr(text, name);
	uint64_t kib;
	if (!line || (line != text && line[-1] != '\n') || sscanf(line + strlen(name), " %" SCNu64, &kib) != 1)
		return 0;
	*out_b = kib * 1024;
	return 1;
}

/* Reads total and available memory. Cached file pages that can be reclaimed are part of a control group's usage, but
 * count as available. */
static void read_memory(struct sonde_resources_machine *machine, const struct sonde_cgroup_use *group)
{
	uint64_t total_b, available_b;
	read_text(machine, MEMINFO);
	if (!find_kib(machine->text, "MemTotal:", &total_b))
		return;
	int has_available = find_kib(machine->text, "MemAvailable:", &available_b);
	if (group->known & SONDE_CGROUP_LIMIT && group->limit_b < total_b) {
		uint64_t used_b = group->memory_b > group->reclaimable_b ? group->memory_b - group->reclaimable_b : 0;
		uint64_t left_b = group->limit_b > used_b ? group->limit_b - used_b : 0;
		total_b = group->limit_b;
		available_b = has_available && available_b < left_b ? available_b : left_b;
		has_available = 1;
	}
	put(machine, SONDE_METRIC_MEMORY_TOTAL, NULL, total_b);
	if (has_available)
		put(machine, SONDE_METRIC_MEMORY_AVAILABLE, NULL, available_b);
}

/* --- disks, networks, pressure ------------------------------------------------------------------------------------ */

/* "/" in a name is "!" in /sys. */
static int has_entries(const struct sonde_resources_machine *machine, const char *name, const char *below)
{
	char path[PATH_MAX];
	int entries = 0;
	snprintf(path, sizeof path, "%s/sys/block/%s%s", machine->root, name, below);
	for (char *at = path + strlen(machine->root) + strlen("/sys/block/"); *name; name++, at++)
		if (*name == '/')
			*at = '!';
	DIR *directory = opendir(path);
	for (const struct dirent *entry; directory && (entry = readdir(directory));)
		entries += entry->d_name[0] != '.';
	if (directory)
		closedir(directory);
	return directory ? entries : -1;
}

static int is_whole(struct sonde_resources_machine *machine, const char *name)
{
	static const char *const others[] = {"loop", "ram", "zram"};
	for (size_t i = 0; i < machine->disk_count; i++)
		if (!strcmp(machine->disks[i].name, name))
			return machine->disks[i].is_whole;
	if (machine->disk_count == DISKS_MAX)
		return 0;
	struct disk *disk = &machine->disks[machine->disk_count++];
	snprintf(disk->name, sizeof disk->name, "%s", name);
	disk->is_whole = has_entries(machine, name, "") >= 0 && has_entries(machine, name, "/slaves") <= 0;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (!strncmp(name, others[i], strlen(others[i])))
			disk->is_whole = 0;
	return disk->is_whole;
}

static void read_disks(struct sonde_resources_machine *machine)
{
	char name[32];
	uint64_t read, written, busy_ms;
	read_text(machine, DISKSTATS);
	for (char *line = machine->text; line; line = next_line(line)) {
		if (sscanf(line, " %*u %*u %31s %*u %*u %" SCNu64 " %*u %*u %*u %" SCNu64 " %*u %*u %" SCNu64, name,
			   &read, &written, &busy_ms) != 4 ||
		    !is_whole(machine, name))
			continue;
		put(machine, SONDE_METRIC_DISK_BUSY, name, busy_ms * 1000000);
		put(machine, SONDE_METRIC_DISK_READ, name, read * SECTOR_B);
		put(machine, SONDE_METRIC_DISK_WRITTEN, name, written * SECTOR_B);
	}
}

/* The number in an interface's file; −1 = none. */
static int read_number(const char *directory, const char *name)
{
	char path[PATH_MAX + 16], text[24];
	snprintf(path, sizeof path, "%s/%s", directory, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t got = read_fd(fd, text, sizeof text);
	if (fd >= 0)
		close(fd);
	return got ? atoi(text) : -1;
}

static void look_at_network(const struct sonde_resources_machine *machine, struct network *network)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/sys/class/net/%s", machine->root, network->name);
	DIR *directory = opendir(path);
	if (!directory)
		return;
	for (const struct dirent *entry; (entry = readdir(directory));) {
		network->is_device |= !strcmp(entry->d_name, "device");
		network->is_made |= !strncmp(entry->d_name, "lower_", 6);
		network->is_part |= !strncmp(entry->d_name, "upper_", 6) || !strcmp(entry->d_name, "master");
	}
	closedir(directory);
	network->is_there = 1;
	network->index = read_number(path, "ifindex");
	network->link = read_number(path, "iflink");
}

/* Examines an interface when it is first seen. */
static void meet_network(struct sonde_resources_machine *machine, const char *name)
{
	for (size_t i = 0; i < machine->network_count; i++)
		if (!strcmp(machine->networks[i].name, name))
			return;
	if (machine->network_count == NETWORKS_MAX)
		return;
	struct network *network = &machine->networks[machine->network_count++];
	snprintf(network->name, sizeof network->name, "%s", name);
	look_at_network(machine, network);
}

static int is_stacked(const struct sonde_resources_machine *machine, const struct network *network)
{
	if (!network->is_there || !strcmp(network->name, "lo"))
		return 0;
	if (network->is_made || (network->is_part && !network->is_device))
		return 1;
	for (size_t i = 0; i < machine->network_count && !network->is_device; i++) {
		const struct network *other = &machine->networks[i];
		int is_pair = other->link == network->index && network->link == other->index &&
			      network->link != network->index && other->is_there;
		if (other->is_device || (is_pair && !other->is_part && other->index < network->index))
			return 1;
	}
	return 0;
}

/* Writes which interfaces are stacked; call it after all interfaces have been seen. */
static void put_stacked(const struct sonde_resources_machine *machine)
{
	for (size_t i = 0; i < machine->network_count; i++)
		if (is_stacked(machine, &machine->networks[i]))
			put(machine, SONDE_METRIC_NETWORK_STACKED, machine->networks[i].name, 1);
}

static void read_networks(struct sonde_resources_machine *machine)
{
	size_t count = 0;
	read_text(machine, NETWORK);
	for (char *line = machine->text; line && count < NETWORKS_MAX; line = next_line(line)) {
		char name[32], *end = strchr(line, '\n'), *colon = strchr(line, ':');
		uint64_t received, sent;
		if (!colon || (end && colon > end) || sscanf(line, " %31[^: ]", name) != 1 ||
		    sscanf(colon + 1, "%" SCNu64 " %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &received, &sent) != 2)
			continue;
		put(machine, SONDE_METRIC_NETWORK_RECEIVED, name, received);
		put(machine, SONDE_METRIC_NETWORK_SENT, name, sent);
		meet_network(machine, name);
		count++;
	}
	put_stacked(machine);
}

static void read_pressure(struct sonde_resources_machine *machine, enum file file)
{
	static const char *const objects[] = {"cpu", "memory", "io"};
	const char *object = objects[file - CPU_PRESSURE];
	uint64_t total_us;
	read_text(machine, file);
	for (char *line = machine->text; line; line = next_line(line)) {
		const char *total = strstr(line, "total=");
		if (!total || sscanf(total, "total=%" SCNu64, &total_us) != 1)
			continue;
		if (!strncmp(line, "some", 4))
			put(machine, SONDE_METRIC_PRESSURE_SOME, object, total_us * 1000);
		else if (!strncmp(line, "full", 4))
			put(machine, SONDE_METRIC_PRESSURE_FULL, object, total_us * 1000);
	}
}

/* --- control groups ----------------------------------------------------------------------------------------------- */

/* Searches the groups again: the command may move itself to other groups (systemd-run), or be moved. */
static void find_groups(struct sonde_resources_machine *machine)
{
	char now[sizeof machine->cgroups];
	size_t now_b = read_fd(machine->fd[GROUPS], now, sizeof now);
	if (!now_b || !strcmp(now, machine->cgroups))
		return;
	strcpy(machine->cgroups, now);
	sonde_cgroup_close(&machine->cgroup);
	sonde_cgroup_open(&machine->cgroup, machine->root, machine->pid);
}

static void put_groups(const struct sonde_resources_machine *machine, const struct sonde_cgroup_use *use)
{
	const char *cpu = machine->cgroup.cpu, *memory = machine->cgroup.memory;
	if (use->known & SONDE_CGROUP_CPU)
		put(machine, SONDE_METRIC_CGROUP_CPU, cpu, use->cpu_ns);
	if (use->known & SONDE_CGROUP_THROTTLE) {
		put(machine, SONDE_METRIC_CGROUP_PERIODS, cpu, use->periods);
		put(machine, SONDE_METRIC_CGROUP_THROTTLED_PERIODS, cpu, use->throttled_periods);
		put(machine, SONDE_METRIC_CGROUP_THROTTLED, cpu, use->throttled_ns);
	}
	if (use->known & SONDE_CGROUP_MEMORY)
		put(machine, SONDE_METRIC_CGROUP_MEMORY, memory, use->memory_b);
	if (use->known & SONDE_CGROUP_LIMIT)
		put(machine, SONDE_METRIC_CGROUP_MEMORY_LIMIT, memory, use->limit_b);
}

/* --- public functions -------------------------------------------------------------------------------------------- */

int sonde_resources_machine_new(struct sonde_resources_machine **out, const char *root, pid_t pid)
{
	struct sonde_resources_machine *machine = calloc(1, sizeof *machine);
	char *text = malloc(TEXT_MAX_B);
	if (!machine || !text) {
		free(machine);
		free(text);
		return sonde_error(ENOMEM, "out of memory for what the machine does");
	}
	machine->root = root;
	machine->pid = pid;
	machine->text = text;
	for (size_t i = 0; i < FILES; i++)
		machine->fd[i] = names[i] ? open_file(machine, names[i]) : -1;
	machine->fd[NETWORK] = open_of_command(machine, "net/dev");
	machine->fd[GROUPS] = open_of_command(machine, "cgroup");
	machine->cgroup = (struct sonde_cgroup){
	    .cpu_stat_fd = -1, .cpu_usage_fd = -1, .memory_usage_fd = -1, .memory_limit_fd = -1, .memory_stat_fd = -1};
	find_groups(machine);
	*out = machine;
	return 0;
}

void sonde_resources_machine_free(struct sonde_resources_machine *machine)
{
	if (!machine)
		return;
	for (size_t i = 0; i < FILES; i++)
		if (machine->fd[i] >= 0)
			close(machine->fd[i]);
	sonde_cgroup_close(&machine->cgroup);
	free(machine->text);
	free(machine);
}

static void read_details(struct sonde_resources_machine *machine, const struct sonde_cgroup_use *group)
{
	put_load(machine);
	read_memory(machine, group);
	read_disks(machine);
	read_networks(machine);
	for (int file = CPU_PRESSURE; file <= IO_PRESSURE; file++)
		read_pressure(machine, (enum file)file);
}

void sonde_resources_machine_read(struct sonde_resources_machine *machine, int is_detailed,
				  sonde_resources_put *put_one, void *context)
{
	struct sonde_cgroup_use use;
	machine->put = put_one;
	machine->context = context;
	if (is_detailed || machine->rounds < FIRST_ROUNDS)
		find_groups(machine);
	machine->rounds++;
	sonde_cgroup_read(&machine->cgroup, is_detailed, &use);
	read_cpus(machine);
	if (is_detailed)
		read_details(machine, &use);
	put_groups(machine, &use);
}

pid_t sonde_resources_machine_last_pid(struct sonde_resources_machine *machine)
{
	uint64_t thousandths, threads;
	int last_pid;
	return read_load(machine, &thousandths, &threads, &last_pid) ? (pid_t)last_pid : 0;
}

size_t sonde_resources_machine_missing(const struct sonde_resources_machine *machine, char *out, size_t out_b)
{
	static const struct {
		enum file file;
		const char *what;
	} files[] = {
	    {STAT, "CPUs (/proc/stat)"},
	    {MEMINFO, "memory (/proc/meminfo)"},
	    {DISKSTATS, "disks (/proc/diskstats)"},
	    {NETWORK, "networks (/proc/PID/net/dev)"},
	    {MEMORY_PRESSURE, "pressure (/proc/pressure: CONFIG_PSI, psi=1)"},
	};
	const char *begin = machine->missing_files ? "no free file descriptor for system readings (ulimit -Hn): "
						   : "system readings missing here: ";
	size_t used = 0;
	*out = '\0';
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		char byte; /* with psi=0 the files exist, but cannot be read */
		if (machine->fd[files[i].file] >= 0 && pread(machine->fd[files[i].file], &byte, 1, 0) == 1)
			continue;
		if (used < out_b)
			used += (size_t)snprintf(out + used, out_b - used, "%s%s", used ? ", " : begin, files[i].what);
	}
	return used < out_b ? used : out_b - 1;
}
