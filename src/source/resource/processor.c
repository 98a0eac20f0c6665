/* processor.c: identifies the processor from /proc/cpuinfo. */
#include "source/resource/processor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void take_line(struct sonde_processor *out, const char *key, const char *value)
{
	if (!strncmp(key, "processor", 9))
		out->count++;
	else if (!strncmp(key, "vendor_id", 9))
		snprintf(out->vendor, sizeof out->vendor, "%s", value);
	else if (!strncmp(key, "cpu family", 10))
		out->family = (unsigned)strtoul(value, NULL, 10);
	else if (!strncmp(key, "model name", 10))
		snprintf(out->brand, sizeof out->brand, "%s", value);
	else if (!strncmp(key, "model", 5))
		out->model = (unsigned)strtoul(value, NULL, 10);
	else if (!strncmp(key, "flags", 5))
		out->is_virtual = strstr(value, " hypervisor") != NULL;
	else if (!strncmp(key, "CPU implementer", 15)) {
		snprintf(out->vendor, sizeof out->vendor, "ARM");
		out->family = (unsigned)strtoul(value, NULL, 16);
	} else if (!strncmp(key, "CPU part", 8))
		out->model = (unsigned)strtoul(value, NULL, 16);
}

void sonde_processor_read(struct sonde_processor *out, const char *root)
{
	char path[512], line[8192];
	*out = (struct sonde_processor){.vendor = ""};
	snprintf(path, sizeof path, "%s/proc/cpuinfo", root);
	FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof line, file)) {
		char *colon = strchr(line, ':');
		line[strcspn(line, "\n")] = '\0';
		if (colon)
			take_line(out, line, colon[1] ? colon + 2 : "");
	}
	if (file)
		fclose(file);
}
