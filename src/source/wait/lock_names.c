/* lock_names.c: names of locks (wait/lock_names.h).
 *
 * A module consists of the mappings of a file and the anonymous memory after them that belongs to it (.bss): from the
 * location of the module's first byte, an address in memory is converted to one in the file. Mappings are read again
 * for an unknown address; a module's variable names are read once. All of this data comes from the target and is
 * untrusted.
 */
#include "source/wait/lock_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "source/stack/maps.h"
#include "symbol/elf.h"
#include "symbol/elf_symbols.h"
#include "symbol/names.h"
#include "util/array.h"
#include "util/search.h"

#define MODULES_MAX 512u
#define REREAD_NS UINT64_C(100000000)

enum place { PLACE_FILE, PLACE_HEAP, PLACE_STACK, PLACE_SHARED, PLACE_OTHER };

struct module {
	char *path;
	uint64_t bias; /* this plus an address in the file is the address in memory */
	int is_read;
	struct sonde_name_table variables;
};

struct range {
	uint64_t start, end;
	enum place place;
	uint32_t module; /* for mappings of a file */
};

struct sonde_lock_names {
	pid_t pid;
	uint64_t read_ns; /* time of the last read of the mappings; 0 = never */
	struct module *modules;
	size_t module_count;
	struct range *ranges;
	size_t range_count, range_cap;
};

struct sonde_lock_names *sonde_lock_names_new(pid_t pid)
{
	struct sonde_lock_names *names = calloc(1, sizeof *names);
	if (names)
		names->pid = pid;
	return names;
}

static void forget(struct sonde_lock_names *names)
{
	for (size_t i = 0; i < names->module_count; i++) {
		sonde_name_table_fini(&names->modules[i].variables);
		free(names->modules[i].path);
	}
	free(names->modules);
	free(names->ranges);
	*names = (struct sonde_lock_names){.pid = names->pid, .read_ns = names->read_ns};
}

void sonde_lock_names_free(struct sonde_lock_names *names)
{
	if (!names)
		return;
	forget(names);
	free(names);
}

/* --- mappings ---------------------------------------------------------------------------------------------------- */

static struct range *add_range(struct sonde_lock_names *names, const struct sonde_maps_line *line)
{
	if (names->range_count >= SONDE_MAPS_MAX ||
	    SONDE_ARRAY_RESERVE(names->ranges, names->range_cap, names->range_count + 1))
		return NULL;
	struct range *range = &names->ranges[names->range_count++];
	*range = (struct range){.start = line->start, .end = line->end, .place = PLACE_OTHER};
	return range;
}

/* The module that the line continues, or a new one that starts at the line. */
static int module_of(struct sonde_lock_names *names, const struct sonde_maps_line *line, uint32_t *out)
{
	struct module *last = names->module_count ? &names->modules[names->module_count - 1] : NULL;
	if (!last || line->offset == 0 || strcmp(last->path, line->path)) {
		struct module *modules = names->module_count < MODULES_MAX
					     ? realloc(names->modules, (names->module_count + 1) * sizeof *modules)
					     : NULL;
		if (!modules)
			return -1;
		names->modules = modules;
		last = &modules[names->module_count];
		*last = (struct module){.path = strdup(line->path), .bias = line->start - line->offset};
		if (!last->path)
			return -1;
		names->module_count++;
	}
	*out = (uint32_t)(names->module_count - 1);
	return 0;
}

static int is_file(const struct sonde_maps_line *line)
{
	return line->path[0] == '/' && line->inode && strncmp(line->path, "/dev/", 5) &&
	       strncmp(line->path, "/memfd:", 7) && strncmp(line->path, "/SYSV", 5);
}

static void take_line(struct sonde_lock_names *names, const struct sonde_maps_line *line)
{
	const struct range *before = names->range_count ? &names->ranges[names->range_count - 1] : NULL;
	int is_bss = !*line->path && before && before->place == PLACE_FILE && before->end == line->start;
	uint32_t module = is_bss ? before->module : 0;
	struct range *range = add_range(names, line);
	if (!range)
		return;
	if (is_bss || (is_file(line) && !module_of(names, line, &module))) {
		range->place = PLACE_FILE;
		range->module = module;
	} else if (!strcmp(line->path, "[heap]")) {
		range->place = PLACE_HEAP;
	} else if (!strncmp(line->path, "[stack", 6)) {
		range->place = PLACE_STACK;
	} else if (line->inode) {
		range->place = PLACE_SHARED;
	}
}

static void read_maps(struct sonde_lock_names *names)
{
	char path[32], text[4096 + 128];
	snprintf(path, sizeof path, "/proc/%d/maps", (int)names->pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return; /* the process has exited; the mappings read before stay valid */
	forget(names);
	names->read_ns = sonde_clock_now_ns();
	while (fgets(text, sizeof text, file)) {
		struct sonde_maps_line line;
		if (!sonde_maps_parse(text, &line))
			take_line(names, &line);
	}
	fclose(file);
}

static const struct range *find(const struct sonde_lock_names *names, uint64_t address)
{
	size_t next = SONDE_SEARCH(i, 0, names->range_count, names->ranges[i].end <= address);
	return next < names->range_count && names->ranges[next].start <= address ? &names->ranges[next] : NULL;
}

/* --- variables --------------------------------------------------------------------------------------------------- */

/* Computes the bias: the location of the file's first byte, less its address in the file. */
static void read_variables(struct sonde_lock_names *names, struct module *module)
{
	char path[4096 + 32];
	struct sonde_names found = {0};
	struct sonde_elf file;
	uint64_t first = 0;
	module->is_read = 1;
	snprintf(path, sizeof path, "/proc/%d/root%s", (int)names->pid, module->path);
	if (sonde_elf_open(&file, path))
		return;
	if (!sonde_elf_address(&file, 0, &first))
		module->bias -= first;
	if (!sonde_elf_symbols_variables(&found, &file)) {
		sonde_names_sort(&found);
		sonde_name_table_pack(&module->variables, &found);
	}
	sonde_names_fini(&found);
	sonde_elf_close(&file);
}

static void write_variable(const struct module *module, uint64_t address, char *out)
{
	uint64_t there = address - module->bias;
	const struct sonde_name_entry *entry = sonde_name_table_find(&module->variables, there);
	const char *base = strrchr(module->path, '/');
	if (!entry || !*sonde_name_table_text(&module->variables, entry))
		snprintf(out, SONDE_LOCK_NAME_MAX_B, "%.200s+0x%llx", base ? base + 1 : module->path,
			 (unsigned long long)there);
	else if (there == entry->start)
		snprintf(out, SONDE_LOCK_NAME_MAX_B, "%.200s", sonde_name_table_text(&module->variables, entry));
	else
		snprintf(out, SONDE_LOCK_NAME_MAX_B, "%.200s+0x%llx", sonde_name_table_text(&module->variables, entry),
			 (unsigned long long)(there - entry->start));
}

void sonde_lock_names_get(struct sonde_lock_names *names, uint64_t address, char out[SONDE_LOCK_NAME_MAX_B])
{
	static const char *const places[] = {
	    [PLACE_HEAP] = "heap", [PLACE_STACK] = "stack", [PLACE_SHARED] = "shared", [PLACE_OTHER] = "memory"};
	const struct range *range = names ? find(names, address) : NULL;
	*out = '\0';
	if (names && !range && (!names->read_ns || sonde_clock_now_ns() - names->read_ns > REREAD_NS)) {
		read_maps(names);
		range = find(names, address);
	}
	if (!range)
		return;
	if (range->place != PLACE_FILE) {
		snprintf(out, SONDE_LOCK_NAME_MAX_B, "%s 0x%llx", places[range->place], (unsigned long long)address);
		return;
	}
	struct module *module = &names->modules[range->module];
	if (!module->is_read)
		read_variables(names, module);
	write_variable(module, address, out);
}
