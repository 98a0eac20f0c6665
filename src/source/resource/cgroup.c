/* cgroup.c: finds the mount points of the groups (/proc/self/mountinfo) and the process's groups (/proc/PID/cgroup),
 * and walks upwards from there.
 *
 * Version 1 has a tree per controller, version 2 has one tree for all. Both may be mounted; a controller is in one of
 * them. In a container, the mount may show only a part of the tree to whose root the paths in /proc/PID/cgroup refer.
 * Then the path of that part is removed from the start of these paths. If a path does not start with it, the mount
 * itself is the group, as cgroup namespaces show it.
 */
#include "source/resource/cgroup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NO_LIMIT_B ((uint64_t)1 << 60) /* version 1: "no limit" is the highest number of pages */
#define FILE_MAX_B 16384

/* The location of a controller's tree, and of the process in it. */
struct place {
	const char *root;
	int version;
	char base[PATH_MAX];      /* the mount point */
	char directory[PATH_MAX]; /* the process's group, then its ancestors while walking up */
};

/* --- finding the groups ------------------------------------------------------------------------------------------ */

/* mountinfo escapes spaces as \040. */
static void unescape(char *text)
{
	char *to = text;
	for (const char *from = text; *from; from++) {
		if (*from == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] && from[3]) {
			*to++ = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 3;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
}

static int has_word(const char *list, const char *word)
{
	size_t len = strlen(word);
	for (const char *at = list; (at = strstr(at, word)); at += len)
		if ((at == list || at[-1] == ',') && (!at[len] || at[len] == ',' || at[len] == '\n'))
			return 1;
	return 0;
}

static FILE *open_list(const char *root, const char *name)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/proc/%s", root, name);
	return fopen(path, "re");
}

/* Finds the mount of a controller (version 1) or of version 2 (controller ""), and the part of the tree that the mount
 * shows. */
static int find_mount(const char *root, const char *controller, char *mount, char *part)
{
	char *line = NULL, type[32], options[1024];
	size_t line_b = 0;
	int found = 0;
	FILE *file = open_list(root, "self/mountinfo");
	while (file && !found && getline(&line, &line_b, file) > 0) {
		const char *remainder = strstr(line, " - ");
		if (!remainder || sscanf(line, "%*d %*d %*s %4095s %4095s", part, mount) != 2 ||
		    sscanf(remainder, " - %31s %*s %1023s", type, options) != 2)
			continue;
		found =
		    *controller ? !strcmp(type, "cgroup") && has_word(options, controller) : !strcmp(type, "cgroup2");
	}
	free(line);
	if (file)
		fclose(file);
	unescape(mount);
	unescape(part);
	return found;
}

/* Finds the path of a process in a controller's tree; 0 if it is in none. */
static int find_path(const char *root, pid_t pid, const char *controller, char *out, size_t out_b)
{
	char *line = NULL, name[32] = "self/cgroup";
	size_t line_b = 0;
	int found = 0;
	if (pid)
		snprintf(name, sizeof name, "%d/cgroup", (int)pid);
	FILE *file = open_list(root, name);
	while (file && !found && getline(&line, &line_b, file) > 0) { /* id:controllers:path */
		char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		controllers++;
		found = *controller ? has_word(controllers, controller) : !*controllers;
		if (found)
			snprintf(out, out_b, "%.*s", (int)strcspn(path, "\n"), path);
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}

static int is_there(const char *directory, const char *name)
{
	char path[PATH_MAX + 64];
	snprintf(path, sizeof path, "%s/%s", directory, name);
	return access(path, F_OK) == 0;
}

/* Texts of find_in(): on the heap, since the recorder may run with a small stack (ulimit -s 64). */
struct texts {
	char mount[PATH_MAX], part[PATH_MAX], path[PATH_MAX];
};

static int find_with(struct place *place, pid_t pid, const char *controller, struct texts *texts)
{
	const char *mount = texts->mount, *part = texts->part, *path = texts->path;
	if (!find_path(place->root, pid, controller, texts->path, sizeof texts->path) ||
	    !find_mount(place->root, controller, texts->mount, texts->part))
		return 0;
	const char *below = path;
	size_t part_len = strcmp(part, "/") ? strlen(part) : 0;
	if (part_len)
		below =
		    strncmp(path, part, part_len) || (path[part_len] && path[part_len] != '/') ? "" : path + part_len;
	if (!strcmp(below, "/") || !strncmp(below, "/..", 3))
		below = "";
	int base_b = snprintf(place->base, sizeof place->base, "%s%s", place->root, mount);
	int directory_b = snprintf(place->directory, sizeof place->directory, "%s%s%s", place->root, mount, below);
	if (base_b >= PATH_MAX || directory_b >= PATH_MAX)
		return 0;
	if (access(place->directory, F_OK))
		strcpy(place->directory, place->base);
	return 1;
}

static int find_in(struct place *place, pid_t pid, const char *controller)
{
	struct texts *texts = calloc(1, sizeof *texts);
	int found = texts && find_with(place, pid, controller, texts);
	free(texts);
	return found;
}

static int find(struct place *place, const char *root, pid_t pid, const char *controller)
{
	place->root = root;
	place->version = 1;
	place->base[0] = place->directory[0] = '\0';
	if (find_in(place, pid, controller))
		return 1;
	place->version = 2;
	return find_in(place, pid, "");
}

/* --- the lowest limit --------------------------------------------------------------------------------------------- */

static int open_file(const char *directory, const char *name)
{
	char path[PATH_MAX + 64];
	snprintf(path, sizeof path, "%s/%s", directory, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static const char *read_fd(int fd, char *text, size_t text_b)
{
	ssize_t got = fd >= 0 ? pread(fd, text, text_b - 1, 0) : -1;
	text[got > 0 ? got : 0] = '\0';
	return text;
}

static const char *read_text(const char *directory, const char *name, char *text, size_t text_b)
{
	int fd = open_file(directory, name);
	read_fd(fd, text, text_b);
	if (fd >= 0)
		close(fd);
	return text;
}

/* The group's CPU quota, in CPUs; 0 = no limit. */
static double quota_of(const char *directory, int version)
{
	char text[64];
	double quota = 0, period = 0;
	if (version == 2) {
		sscanf(read_text(directory, "cpu.max", text, sizeof text), "%lf %lf", &quota, &period);
	} else {
		quota = strtod(read_text(directory, "cpu.cfs_quota_us", text, sizeof text), NULL);
		period = strtod(read_text(directory, "cpu.cfs_period_us", text, sizeof text), NULL);
	}
	return quota > 0 && period > 0 ? quota / period : 0;
}

/* The group's memory limit, in bytes; 0 = no limit. */
static double limit_of(const char *directory, int version)
{
	char text[64];
	read_text(directory, version == 2 ? "memory.max" : "memory.limit_in_bytes", text, sizeof text);
	uint64_t limit_b = strtoull(text, NULL, 10);
	return limit_b < NO_LIMIT_B ? (double)limit_b : 0;
}

/* Sets place->directory to the process's group or that of its ancestors with the lowest limit. Returns 0 if there is
 * only the machine's root group. */
static int go_up(struct place *place, double (*limit)(const char *directory, int version))
{
	char own[PATH_MAX];
	double least = 0;
	size_t best_len = strlen(place->directory); /* length within `own`: ancestor paths are its prefixes */
	strcpy(own, place->directory);
	for (;;) {
		double here = limit(place->directory, place->version);
		if (here > 0 && (least <= 0 || here < least)) {
			least = here;
			best_len = strlen(place->directory);
		}
		char *slash = strrchr(place->directory, '/');
		if (strlen(place->directory) <= strlen(place->base) || !slash)
			break;
		*slash = '\0';
	}
	memcpy(place->directory, own, best_len);
	place->directory[best_len] = '\0';
	return least > 0 || strcmp(own, place->base) != 0 || is_there(own, "cgroup.type");
}

/* --- opening ----------------------------------------------------------------------------------------------------- */

static void set_name(char *out, const struct place *place)
{
	const char *below = place->directory + strlen(place->base);
	snprintf(out, SONDE_CGROUP_NAME_B, "%s", *below ? below : "/");
}

static void open_with(struct sonde_cgroup *out, const char *root, pid_t pid, struct place *place)
{
	if (find(place, root, pid, "cpu") && go_up(place, quota_of)) {
		set_name(out->cpu, place);
		out->cpu_stat_fd = open_file(place->directory, "cpu.stat");
		if (place->version == 1 && find(place, root, pid, "cpuacct") && place->version == 1) {
			size_t base_len = strlen(place->base);
			snprintf(place->directory, sizeof place->directory, "%s", place->base);
			snprintf(place->directory + base_len, sizeof place->directory - base_len, "%s",
				 strcmp(out->cpu, "/") ? out->cpu : "");
			out->cpu_usage_fd = open_file(place->directory, "cpuacct.usage");
		}
	}
	if (find(place, root, pid, "memory") && go_up(place, limit_of)) {
		int is_2 = place->version == 2;
		set_name(out->memory, place);
		out->memory_usage_fd = open_file(place->directory, is_2 ? "memory.current" : "memory.usage_in_bytes");
		out->memory_limit_fd = open_file(place->directory, is_2 ? "memory.max" : "memory.limit_in_bytes");
		out->memory_stat_fd = open_file(place->directory, "memory.stat");
	}
}

void sonde_cgroup_open(struct sonde_cgroup *out, const char *root, pid_t pid)
{
	struct place *place = malloc(sizeof *place);
	*out = (struct sonde_cgroup){
	    .cpu_stat_fd = -1, .cpu_usage_fd = -1, .memory_usage_fd = -1, .memory_limit_fd = -1, .memory_stat_fd = -1};
	if (place)
		open_with(out, root, pid, place);
	free(place);
}

double sonde_cgroup_quota(const char *root, pid_t pid)
{
	struct place *place = malloc(sizeof *place);
	int found = place && find(place, root, pid, "cpu") && go_up(place, quota_of);
	double quota = found ? quota_of(place->directory, place->version) : 0;
	free(place);
	return quota;
}

void sonde_cgroup_close(struct sonde_cgroup *cgroup)
{
	int *fds[] = {&cgroup->cpu_stat_fd, &cgroup->cpu_usage_fd, &cgroup->memory_usage_fd, &cgroup->memory_limit_fd,
		      &cgroup->memory_stat_fd};
	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Finds "name 123" at the start of a line. */
static int find_number(const char *text, const char *name, uint64_t *out)
{
	size_t len = strlen(name);
	for (const char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
		if (!strncmp(line, name, len) && line[len] == ' ')
			return sscanf(line + len, " %" SCNu64, out) == 1;
	return 0;
}

static void read_cpu(const struct sonde_cgroup *cgroup, struct sonde_cgroup_use *out)
{
	char text[2048];
	uint64_t usage_us, throttled_us;
	read_fd(cgroup->cpu_stat_fd, text, sizeof text);
	int throttles = find_number(text, "nr_periods", &out->periods) &&
			find_number(text, "nr_throttled", &out->throttled_periods);
	if (find_number(text, "usage_usec", &usage_us)) {
		out->cpu_ns = usage_us * 1000;
		out->known |= SONDE_CGROUP_CPU;
	}
	if (throttles && find_number(text, "throttled_usec", &throttled_us)) {
		out->throttled_ns = throttled_us * 1000;
		out->known |= SONDE_CGROUP_THROTTLE;
	} else if (throttles && find_number(text, "throttled_time", &out->throttled_ns)) {
		out->known |= SONDE_CGROUP_THROTTLE;
	}
	if (sscanf(read_fd(cgroup->cpu_usage_fd, text, sizeof text), "%" SCNu64, &out->cpu_ns) == 1)
		out->known |= SONDE_CGROUP_CPU;
}

void sonde_cgroup_read(const struct sonde_cgroup *cgroup, int is_detailed, struct sonde_cgroup_use *out)
{
	char text[FILE_MAX_B];
	*out = (struct sonde_cgroup_use){0};
	if (cgroup->cpu_stat_fd >= 0 || cgroup->cpu_usage_fd >= 0)
		read_cpu(cgroup, out);
	if (!is_detailed)
		return;
	if (sscanf(read_fd(cgroup->memory_usage_fd, text, sizeof text), "%" SCNu64, &out->memory_b) != 1)
		return;
	out->known |= SONDE_CGROUP_MEMORY;
	int has_limit = sscanf(read_fd(cgroup->memory_limit_fd, text, sizeof text), "%" SCNu64, &out->limit_b) == 1;
	if (!has_limit || out->limit_b >= NO_LIMIT_B)
		return;
	out->known |= SONDE_CGROUP_LIMIT;
	read_fd(cgroup->memory_stat_fd, text, sizeof text);
	if (!find_number(text, "total_inactive_file", &out->reclaimable_b))
		find_number(text, "inactive_file", &out->reclaimable_b);
}
