/* find.c: finds listening sockets by name in /proc/net/unix, and their owners through the descriptors of processes.
 *
 * All users see the names, so connecting to every match would also contact other users' recorders, which refuse the
 * connection and count it. Only sockets held by a process of our own user are taken.
 */
#include "run/find.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "@sonde-"
#define LISTENS 0x10000u /* __SO_ACCEPTCON */

struct listener {
	unsigned long inode;
	char name[SONDE_FIND_NAME_B];
};

static size_t read_listeners(struct listener *out, size_t max)
{
	char line[256], name[SONDE_FIND_NAME_B];
	FILE *file = fopen("/proc/net/unix", "re");
	size_t count = 0;
	while (file && count < max && fgets(line, sizeof line, file)) {
		unsigned flags;
		unsigned long inode;
		if (sscanf(line, "%*s %*x %*x %x %*x %*x %lu %63s", &flags, &inode, name) != 3 || !(flags & LISTENS) ||
		    strncmp(name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		out[count].inode = inode;
		snprintf(out[count++].name, SONDE_FIND_NAME_B, "%s", name + 1);
	}
	if (file)
		fclose(file);
	return count;
}

/* Adds the listeners that a process holds. */
static void take_held(struct sonde_find *out, const char *pid, const struct listener *listeners, size_t count)
{
	char path[300], link[64];
	struct stat status;
	snprintf(path, sizeof path, "/proc/%s/fd", pid);
	/* root may see all */
	DIR *directory = stat(path, &status) || status.st_uid != geteuid() ? NULL : opendir(path);
	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		unsigned long inode;
		ssize_t link_b = readlinkat(dirfd(directory), entry->d_name, link, sizeof link - 1);
		link[link_b > 0 ? link_b : 0] = '\0';
		if (sscanf(link, "socket:[%lu]", &inode) != 1)
			continue;
		for (size_t i = 0; i < count && out->count < SONDE_FIND_MAX; i++)
			if (listeners[i].inode == inode)
				memcpy(out->names[out->count++], listeners[i].name, SONDE_FIND_NAME_B);
	}
	if (directory)
		closedir(directory);
}

void sonde_find_recorders(struct sonde_find *out)
{
	struct listener listeners[SONDE_FIND_MAX];
	size_t count = read_listeners(listeners, SONDE_FIND_MAX);
	out->count = 0;
	DIR *directory = count ? opendir("/proc") : NULL;
	for (struct dirent *entry; directory && (entry = readdir(directory));)
		if (*entry->d_name >= '1' && *entry->d_name <= '9')
			take_held(out, entry->d_name, listeners, count);
	if (directory)
		closedir(directory);
}

int sonde_find_variable(char *out, size_t out_b, pid_t pid, const char *variable)
{
	char path[64], *entry = NULL;
	size_t entry_b = 0, variable_b = strlen(variable);
	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	FILE *file = fopen(path, "re");
	*out = '\0';
	while (file && !*out && getdelim(&entry, &entry_b, '\0', file) > 0)
		if (strncmp(entry, variable, variable_b) == 0 && entry[variable_b] == '=')
			snprintf(out, out_b, "%s", entry + variable_b + 1);
	free(entry);
	if (file)
		fclose(file);
	return *out != '\0';
}
