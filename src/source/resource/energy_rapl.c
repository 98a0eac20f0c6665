/* energy_rapl.c: finds the domains and unwraps their counters.
 *
 * All zones are direct entries of /sys/class/powercap; "intel-rapl:0:2" belongs to "intel-rapl:0". A counter wraps at
 * max_energy_range_uj. If it wrapped more than once between two readings, the difference would be wrong. So if enough
 * time has passed since the last reading for the counter to wrap at SONDE_RAPL_MOST_W, nothing is counted and a loss is
 * reported. Files are kept open: if a zone is removed, reading them fails.
 */
#include "source/resource/energy_rapl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/file.h"

#define FOLDER "/sys/class/powercap"

static unsigned depth_of(const char *zone)
{
	unsigned depth = 0;
	for (const char *at = zone; *at; at++)
		depth += *at == ':';
	return depth;
}

static const struct sonde_rapl_domain *named(const struct sonde_rapl *rapl, const char *name)
{
	for (size_t i = 0; i < rapl->count; i++)
		if (!strcmp(rapl->domains[i].name, name))
			return &rapl->domains[i];
	return NULL;
}

/* The first line of a zone's file; "" if it cannot be read. */
static void read_word(char *out, size_t out_b, const char *root, const char *zone, const char *file)
{
	sonde_file_read(out, out_b, "%s" FOLDER "/%s/%s", root, zone, file);
	out[strcspn(out, "\n")] = '\0';
}

/* "package-0-die-1" for a package, "dram-0-die-1" for its memory; "" for other zones. */
static void name_zone(char *out, size_t out_b, const char *root, const char *zone)
{
	char name[48], parent[48], inside[48];
	snprintf(out, out_b, "%s", "");
	read_word(name, sizeof name, root, zone, "name");
	if (depth_of(zone) == 1 && !strncmp(name, "package", 7))
		snprintf(out, out_b, "%s", name);
	if (depth_of(zone) != 2 || strcmp(name, "dram") != 0)
		return;
	snprintf(parent, sizeof parent, "%.*s", (int)(strrchr(zone, ':') - zone), zone);
	read_word(inside, sizeof inside, root, parent, "name");
	if (!strncmp(inside, "package", 7))
		snprintf(out, out_b, "dram%.40s", inside + 7);
}

/* Adds a zone. 0; -EACCES if its counter may not be read. Zones that cannot be counters are skipped. */
static int add_zone(struct sonde_rapl *rapl, const char *root, const char *zone, char *denied, size_t denied_b)
{
	struct sonde_rapl_domain *domain = &rapl->domains[rapl->count];
	char path[512], text[32];
	if (rapl->count == SONDE_RAPL_DOMAINS_MAX || strlen(zone) >= sizeof domain->zone)
		return 0;
	*domain = (struct sonde_rapl_domain){.fd = -1};
	name_zone(domain->name, sizeof domain->name, root, zone);
	if (!*domain->name || named(rapl, domain->name))
		return 0;
	snprintf(domain->zone, sizeof domain->zone, "%s", zone);
	domain->is_package = depth_of(zone) == 1;
	read_word(text, sizeof text, root, zone, "max_energy_range_uj");
	domain->range_uj = strtoull(text, NULL, 10);
	snprintf(path, sizeof path, "%s" FOLDER "/%s/energy_uj", root, zone);
	domain->fd = domain->range_uj ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (domain->fd >= 0) {
		rapl->count++;
		return 0;
	}
	if (!domain->range_uj || (errno != EACCES && errno != EPERM))
		return 0;
	if (domain->is_package && !*denied)
		snprintf(denied, denied_b, "%s", path);
	return -EACCES;
}

static int compare_names(const void *left, const void *right)
{
	const char *const *a = left, *const *b = right;
	int a_mmio = strstr(*a, "mmio") != NULL, b_mmio = strstr(*b, "mmio") != NULL;
	return a_mmio != b_mmio ? a_mmio - b_mmio : strcmp(*a, *b);
}

/* Lists the zones' names, those of the second interface last; returns their number. */
static size_t list_zones(char **out, size_t max, const char *root)
{
	char path[512];
	size_t count = 0;
	snprintf(path, sizeof path, "%s" FOLDER, root);
	DIR *folder = opendir(path);
	for (struct dirent *entry; folder && count < max && (entry = readdir(folder));)
		if (strchr(entry->d_name, ':') && (out[count] = strdup(entry->d_name)))
			count++;
	if (folder)
		closedir(folder);
	qsort(out, count, sizeof *out, compare_names);
	return count;
}

int sonde_rapl_open(struct sonde_rapl *out, const char *root, char *why, size_t why_b)
{
	char *zones[4 * SONDE_RAPL_DOMAINS_MAX], denied[512] = "";
	size_t packages = 0, count = list_zones(zones, sizeof zones / sizeof *zones, root);
	out->count = 0;
	for (size_t i = 0; i < count; i++) {
		add_zone(out, root, zones[i], denied, sizeof denied);
		free(zones[i]);
	}
	for (size_t i = 0; i < out->count; i++)
		packages += out->domains[i].is_package != 0;
	if (packages && !*denied) /* if some are denied, the others would be taken for all packages */
		return 0;
	sonde_rapl_close(out);
	if (!*denied) {
		snprintf(why, why_b, "no energy counters: " FOLDER " has no package");
		return -ENOENT;
	}
	snprintf(why, why_b,
		 "the processor's energy counter is forbidden: only root can read %s; allow a group of yours (chgrp, "
		 "chmod g+r; udev rule: docs/ENERGY.md)",
		 denied + strlen(root));
	return -EACCES;
}

void sonde_rapl_close(struct sonde_rapl *rapl)
{
	for (size_t i = 0; i < rapl->count; i++)
		if (rapl->domains[i].fd >= 0)
			close(rapl->domains[i].fd);
	rapl->count = 0;
}

/* The shortest time in which a counter can wrap, in ns. */
static uint64_t round_ns(const struct sonde_rapl_domain *domain)
{
	return domain->range_uj / SONDE_RAPL_MOST_W * 1000u; /* µJ / W = µs */
}

enum sonde_rapl_step sonde_rapl_count(struct sonde_rapl_domain *domain, uint64_t value_uj, uint64_t now_ns)
{
	int is_first = !domain->last_ns, is_lost = !is_first && now_ns - domain->last_ns >= round_ns(domain);
	if (is_first || is_lost)
		domain->total_uj = 0;
	else if (value_uj >= domain->last_uj)
		domain->total_uj += value_uj - domain->last_uj;
	else
		domain->total_uj += domain->range_uj - domain->last_uj + value_uj;
	domain->last_uj = value_uj;
	domain->last_ns = now_ns;
	return is_lost ? SONDE_RAPL_LOST : SONDE_RAPL_COUNTED;
}

enum sonde_rapl_step sonde_rapl_read(struct sonde_rapl_domain *domain, uint64_t now_ns)
{
	char text[32], *end = text;
	ssize_t got = domain->fd >= 0 ? pread(domain->fd, text, sizeof text - 1, 0) : -1;
	text[got > 0 ? got : 0] = '\0';
	uint64_t value_uj = strtoull(text, &end, 10);
	if (end != text)
		return sonde_rapl_count(domain, value_uj, now_ns);
	if (domain->fd >= 0)
		close(domain->fd);
	domain->fd = -1;
	return SONDE_RAPL_GONE;
}

uint64_t sonde_rapl_every_ns(const struct sonde_rapl *rapl)
{
	uint64_t least_ns = UINT64_MAX;
	for (size_t i = 0; i < rapl->count; i++)
		if (round_ns(&rapl->domains[i]) / 4 < least_ns)
			least_ns = round_ns(&rapl->domains[i]) / 4;
	return least_ns;
}
