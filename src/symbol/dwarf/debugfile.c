/* debugfile.c: searches in the same order as gdb: /usr/lib/debug/.build-id, then the name in .gnu_debuglink next to the
 * module and under /usr/lib/debug, then debuginfod.
 *
 * A file matches if its build-id is the module's; for a module without a build-id, if the file's CRC is that in the
 * module's .gnu_debuglink. libdebuginfod is loaded on demand, because it loads libcurl, which takes time to start.
 */
#include "symbol/dwarf/debugfile.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define DEBUG_FOLDER "/usr/lib/debug"
#define LINK_MAX_B 4096

static int is_same_build(const struct sonde_elf *a, const struct sonde_elf *b)
{
	return a->build_id_b && a->build_id_b == b->build_id_b && !memcmp(a->build_id, b->build_id, a->build_id_b);
}

static int open_same_build(struct sonde_elf *out, const struct sonde_elf *module, const char *path)
{
	struct sonde_elf file;
	if (access(path, R_OK) || sonde_elf_open(&file, path))
		return -ENOENT;
	if (!is_same_build(&file, module)) {
		sonde_elf_close(&file);
		return -ENOENT;
	}
	*out = file;
	return 0;
}

static int open_by_build_id(struct sonde_elf *out, const struct sonde_elf *module, const char *root)
{
	char path[PATH_MAX], id[2 * SONDE_BUILD_ID_MAX_B + 1];
	if (module->build_id_b < 2)
		return -ENOENT;
	for (size_t i = 0; i < module->build_id_b; i++)
		snprintf(id + 2 * i, 3, "%02x", module->build_id[i]);
	int len_b = snprintf(path, sizeof path, "%s" DEBUG_FOLDER "/.build-id/%.2s/%s.debug", root, id, id + 2);
	return len_b < (int)sizeof path ? open_same_build(out, module, path) : -ENOENT;
}

static uint32_t file_crc(const struct sonde_elf *file)
{
	static const size_t block_b = 1u << 16;
	unsigned char *block = malloc(block_b);
	uLong crc = crc32(0, NULL, 0);
	ssize_t got = 0;
	for (off_t at = 0; block && (got = pread(file->fd, block, block_b, at)) > 0; at += got)
		crc = crc32(crc, block, (uInt)got);
	free(block);
	return (uint32_t)crc;
}

static int open_by_crc(struct sonde_elf *out, const char *path, uint32_t crc)
{
	struct sonde_elf file;
	if (access(path, R_OK) || sonde_elf_open(&file, path))
		return -ENOENT;
	if (file_crc(&file) != crc) {
		sonde_elf_close(&file);
		return -ENOENT;
	}
	*out = file;
	return 0;
}

static int open_linked_at(struct sonde_elf *out, const struct sonde_elf *module, const char *path, uint32_t crc)
{
	if (!strcmp(path, module->path))
		return -ENOENT;
	return module->build_id_b ? open_same_build(out, module, path) : open_by_crc(out, path, crc);
}

/* Tries `name` next to the module, in its .debug folder, and in the debug folder. */
static int open_linked(struct sonde_elf *out, const struct sonde_elf *module, const char *root, const char *name,
		       uint32_t crc)
{
	char path[PATH_MAX], folder[PATH_MAX];
	const char *slash = strrchr(module->path, '/');
	if (strchr(name, '/') || !slash || (size_t)(slash - module->path) >= sizeof folder)
		return -ENOENT;
	snprintf(folder, sizeof folder, "%.*s", (int)(slash - module->path), module->path);
	size_t root_b = strlen(root);
	const char *inside = !strncmp(folder, root, root_b) ? folder + root_b : folder;
	const struct {
		const char *root, *before, *folder, *after;
	} places[] = {{"", "", folder, ""}, {"", "", folder, "/.debug"}, {root, DEBUG_FOLDER, inside, ""}};
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		int len_b = snprintf(path, sizeof path, "%s%s%s%s/%s", places[i].root, places[i].before,
				     places[i].folder, places[i].after, name);
		if (len_b < (int)sizeof path && !open_linked_at(out, module, path, crc))
			return 0;
	}
	return -ENOENT;
}

/* .gnu_debuglink contains a name, padded to 4 bytes, and the CRC of the file. */
static int open_by_link(struct sonde_elf *out, const struct sonde_elf *module, const char *root)
{
	struct sonde_elf_section section;
	uint8_t *data;
	size_t size_b;
	if (sonde_elf_section(module, ".gnu_debuglink", &section) ||
	    sonde_elf_section_read(module, &section, LINK_MAX_B, &data, &size_b))
		return -ENOENT;
	int rc = -ENOENT;
	if (size_b > 8 && memchr(data, 0, size_b - 4)) {
		uint32_t crc;
		memcpy(&crc, data + size_b - 4, sizeof crc);
		rc = open_linked(out, module, root, (const char *)data, crc);
	}
	free(data);
	return rc;
}

static int open_from_server(struct sonde_elf *out, const struct sonde_elf *module)
{
	void *library = module->build_id_b ? dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!library)
		return -ENOENT;
	void *(*begin)(void) = (void *(*)(void))dlsym(library, "debuginfod_begin");
	void (*end)(void *) = (void (*)(void *))dlsym(library, "debuginfod_end");
	int (*find)(void *, const unsigned char *, int, char **) =
	    (int (*)(void *, const unsigned char *, int, char **))dlsym(library, "debuginfod_find_debuginfo");
	int rc = -ENOENT;
	void *client = begin && end && find ? begin() : NULL;
	if (client) {
		char *path = NULL;
		int fd = find(client, module->build_id, (int)module->build_id_b, &path);
		if (fd >= 0) {
			close(fd);
			rc = open_same_build(out, module, path);
		}
		free(path);
		end(client);
	}
	/* The library stays loaded: libcurl cannot be unloaded safely. */
	return rc;
}

int sonde_debugfile_open(struct sonde_elf *out, const struct sonde_elf *module,
			 const struct sonde_debugfile_options *options)
{
	const char *root = options->root ? options->root : "";
	if (*root && (!open_by_build_id(out, module, root) || !open_by_link(out, module, root)))
		return 0;
	if (!open_by_build_id(out, module, "") || !open_by_link(out, module, ""))
		return 0;
	return options->debuginfod ? open_from_server(out, module) : -ENOENT;
}
