/* kernel.c: keeps the sorted list of kernel symbols in the cache, one file per boot.
 *
 * The kernel takes about 100 ms to print its 120,000 symbols, so they are read once per boot, for which their addresses
 * are valid, and again when a module was loaded or unloaded. To detect this, the file records the kernel release and
 * the modules with their addresses.
 */
#include "symbol/kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/hash.h"
#include "symbol/maps.h"
#include "util/file.h"

#define BOOT_ID_B 16
#define MODULES_MAX_B ((size_t)4 << 20)

/* Parses the hexadecimal digits of the boot id. */
static int read_boot_id(uint8_t out[BOOT_ID_B])
{
	char text[64];
	size_t text_b = sonde_file_read(text, sizeof text, "/proc/sys/kernel/random/boot_id"), digits = 0;
	memset(out, 0, BOOT_ID_B);
	for (size_t i = 0; i < text_b && digits < 2 * (size_t)BOOT_ID_B; i++) {
		const char *all = "0123456789abcdef", *digit = text[i] ? strchr(all, text[i]) : NULL;
		if (digit) {
			out[digits / 2] = (uint8_t)(out[digits / 2] << 4 | (digit - all));
			digits++;
		}
	}
	return digits == 2 * (size_t)BOOT_ID_B ? 0 : -ENOENT;
}

static uint64_t hash_kernel(void)
{
	struct utsname system = {0};
	uname(&system);
	uint64_t hash = sonde_hash_pair(sonde_hash_bytes(system.release, strlen(system.release)),
					sonde_hash_bytes(system.version, strlen(system.version)));
	char *modules = malloc(MODULES_MAX_B);
	size_t modules_b = modules ? sonde_file_read(modules, MODULES_MAX_B, "/proc/modules") : 0;
	/* Uses name, size and address of each line: the other columns, such as use counts, change all the time. */
	for (char *line = modules, *end; line && line < modules + modules_b; line = end + 1) {
		end = memchr(line, '\n', (size_t)(modules + modules_b - line));
		end = end ? end : modules + modules_b - 1;
		char *size = memchr(line, ' ', (size_t)(end - line));
		char *users = size ? memchr(size + 1, ' ', (size_t)(end - size - 1)) : NULL;
		char *address = memmem(line, (size_t)(end - line), " 0x", 3);
		hash = sonde_hash_pair(hash, sonde_hash_bytes(line, (size_t)((users ? users : end) - line)));
		if (address)
			hash = sonde_hash_pair(hash, sonde_hash_bytes(address, (size_t)(end - address)));
	}
	free(modules);
	return hash;
}

int sonde_kernel_names(struct sonde_name_table *out, int must_read)
{
	uint8_t boot_id[BOOT_ID_B];
	const struct sonde_cache_key key = {boot_id, sizeof boot_id, "kernel"};
	int has_key = !read_boot_id(boot_id);
	uint64_t source = has_key ? hash_kernel() : 0;
	if (has_key && !must_read && !sonde_name_table_load(out, &key, source))
		return 0;
	struct sonde_names names = {0};
	int rc = sonde_maps_kernel(&names, "/proc/kallsyms");
	if (!rc)
		rc = sonde_name_table_pack(out, &names);
	sonde_names_fini(&names);
	if (!rc && has_key)
		sonde_name_table_store(out, &key, source);
	return rc;
}
