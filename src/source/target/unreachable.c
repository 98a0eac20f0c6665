/* unreachable.c: compares the namespaces of processes with the recorder's (target/unreachable.h).
 *
 * Only a process that has mapped our object but has never connected counts as unreachable. A process that can reach us
 * through /proc after all (because its pid namespace still shows the old /proc) no longer counts once it connects. In a
 * user namespace, a process knows only the users that the namespace's uid_map lists.
 */
#include "source/target/unreachable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/target/channel.h"
#include "util/array.h"
#include "util/file.h"

#define EVERY_NS 50000000u
#define AT_ONCE 64

struct sonde_unreachable {
	struct sonde_unreachable_options options;
	uint64_t polled_ns;
	ino_t net, user, pid; /* the recorder's own */
	uint8_t *unreachable; /* 1 = cannot reach the recorder; by process id in the recording */
	size_t capacity;
};

/* Inode of a process's namespace; 0 = it cannot be read. */
static ino_t namespace_of(pid_t pid, const char *kind)
{
	char path[64];
	struct stat status;
	snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)pid, kind);
	return stat(path, &status) ? 0 : status.st_ino;
}

static int differs(ino_t own, pid_t pid, const char *kind)
{
	ino_t other = namespace_of(pid, kind);
	return own && other && own != other;
}

static int has_mapped(pid_t pid, const char *object)
{
	char path[32], line[4096 + 128];
	int found = 0;
	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	FILE *file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof line, file))
		found = strstr(line, object) != NULL;
	if (file)
		fclose(file);
	return found;
}

struct sonde_unreachable *sonde_unreachable_new(const struct sonde_unreachable_options *options)
{
	struct sonde_unreachable *cut_off = calloc(1, sizeof *cut_off);
	if (!cut_off)
		return NULL;
	cut_off->options = *options;
	cut_off->net = namespace_of(getpid(), "net");
	cut_off->user = namespace_of(getpid(), "user");
	cut_off->pid = namespace_of(getpid(), "pid");
	return cut_off;
}

void sonde_unreachable_free(struct sonde_unreachable *cut_off)
{
	if (cut_off)
		free(cut_off->unreachable);
	free(cut_off);
}

/* When out of memory, the process counts as reachable. */
static void set_unreachable(struct sonde_unreachable *cut_off, uint32_t process, uint8_t value)
{
	if (value)
		SONDE_ARRAY_RESERVE_ZEROS(cut_off->unreachable, cut_off->capacity, (size_t)process + 1);
	if (process < cut_off->capacity)
		cut_off->unreachable[process] = value;
}

/* True if the process sees the second socket at its path. */
static int sees_path(const struct sonde_channel *channel, pid_t pid)
{
	char path[160];
	struct stat ours, its;
	if (!*sonde_channel_path(channel) || stat(sonde_channel_path(channel), &ours))
		return 0;
	snprintf(path, sizeof path, "/proc/%d/root%s", (int)pid, sonde_channel_path(channel));
	return !stat(path, &its) && its.st_dev == ours.st_dev && its.st_ino == ours.st_ino;
}

/* True if we are root as seen from the process's user namespace. */
static int is_root_to(pid_t pid)
{
	unsigned inside, outside, count;
	char text[4096];
	sonde_file_read(text, sizeof text, "/proc/%d/uid_map", (int)pid);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, "%u %u %u", &inside, &outside, &count) == 3 && !inside && outside == geteuid())
			return 1;
	}
	return 0;
}

/* True if the process would trust us; same decision as sonde_link_peer(). */
static int trusts_us(const struct sonde_unreachable *cut_off, pid_t pid)
{
	unsigned user = 0;
	char text[2048];
	if (!differs(cut_off->user, pid, "user"))
		return 1;
	sonde_file_read(text, sizeof text, "/proc/%d/status", (int)pid);
	const char *line = strstr(text, "\nUid:");
	return is_root_to(pid) || !line || sscanf(line, "\nUid: %*u %u", &user) != 1 || user == geteuid();
}

static int reaches_us(const struct sonde_unreachable *cut_off, pid_t pid)
{
	return !differs(cut_off->net, pid, "net") || sees_path(cut_off->options.channel, pid) ||
	       (!differs(cut_off->user, pid, "user") && !differs(cut_off->pid, pid, "pid"));
}

static void check_process(struct sonde_unreachable *cut_off, const struct sonde_recorder_live *live)
{
	const struct sonde_unreachable_options *options = &cut_off->options;
	if (options->connected(options->context, live->pid))
		set_unreachable(cut_off, live->id, 0);
	else if (!sonde_unreachable_has(cut_off, live->id) &&
		 (!reaches_us(cut_off, live->pid) || !trusts_us(cut_off, live->pid)) &&
		 has_mapped(live->pid, options->object))
		set_unreachable(cut_off, live->id, 1);
}

void sonde_unreachable_poll(struct sonde_unreachable *cut_off, uint64_t now_ns)
{
	struct sonde_recorder_live live[AT_ONCE];
	uint32_t after = 0;
	size_t got;
	if (!cut_off || now_ns < cut_off->polled_ns + EVERY_NS)
		return;
	cut_off->polled_ns = now_ns;
	while ((got = sonde_recorder_live(cut_off->options.recorder, after, live, AT_ONCE)) > 0) {
		for (size_t i = 0; i < got; i++)
			check_process(cut_off, &live[i]);
		after = live[got - 1].id;
	}
}

int sonde_unreachable_has(const struct sonde_unreachable *cut_off, uint32_t process)
{
	return cut_off && process < cut_off->capacity && cut_off->unreachable[process];
}

uint64_t sonde_unreachable_end(struct sonde_unreachable *cut_off)
{
	uint64_t found = 0;
	for (uint32_t process = 0; cut_off && process < cut_off->capacity; process++) {
		struct sonde_recorder_loss loss = {
		    .source = cut_off->options.source,
		    .cause = "processes that are not recorded: their namespaces isolate them from the recorder",
		    .process = process,
		    .count = 1};
		if (!cut_off->unreachable[process])
			continue;
		sonde_recorder_lost(cut_off->options.recorder, &loss);
		found++;
	}
	return found;
}
