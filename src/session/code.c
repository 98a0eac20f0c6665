/* code.c: reads a function's code from its module's file: all of it, or up to one sampled instruction and its loop.
 *
 * Code of another build would silently give wrong instructions, so the file must have the recorded build-id. That the
 * file is older than the recording, which suffices for names (lookup.c), is not enough here.
 */
#include "session/code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/state.h"
#include "symbol/elf.h"
#include "symbol/elf_symbols.h"
#include "util/error.h"

#define BEFORE_MAX_B (64u << 10) /* maximum distance from the start of a function to the sampled instruction */
#define AFTER_B (4u << 10)       /* search limit for the end of the surrounding loop */
#define WHOLE_MAX_B (1u << 20)   /* maximum size of a function */

static int open_same_build(struct sonde_elf *out, const struct sonde_session_module *module)
{
	const char *path = module->row.path;
	struct sonde_elf file;
	if (module->row.flags & (SONDE_MODULE_KERNEL | SONDE_MODULE_ANONYMOUS | SONDE_MODULE_SPECIAL) || *path != '/')
		return sonde_error(ENOENT, "%s: its code is in no file", module->row.name);
	if (!module->build_id_b)
		return sonde_error(ESTALE, "%s: it has no build-id to identify the file", path);
	int rc = sonde_elf_open(&file, path);
	if (rc)
		return rc;
	if (file.build_id_b != module->build_id_b || memcmp(file.build_id, module->build_id, file.build_id_b) != 0) {
		sonde_elf_close(&file);
		return sonde_error(ESTALE, "%s: the file is from another build than the recorded one", path);
	}
	*out = file;
	return 0;
}

/* Reads as many bytes at an address as the file has; 0 = none. */
static size_t read_code(const struct sonde_elf *file, uint64_t address, uint8_t *out, size_t max_b)
{
	size_t done = 0;
	for (size_t i = 0; i < file->executable_count; i++) {
		const struct sonde_elf_segment *segment = &file->segments[i];
		if (address < segment->address || address - segment->address >= segment->size_b)
			continue;
		uint64_t skipped_b = address - segment->address, left_b = segment->size_b - skipped_b;
		max_b = left_b < max_b ? (size_t)left_b : max_b;
		while (done < max_b) {
			ssize_t got =
			    pread(file->fd, out + done, max_b - done, (off_t)(segment->offset + skipped_b + done));
			if (got < 0 && errno == EINTR)
				continue;
			if (got <= 0)
				break;
			done += (size_t)got;
		}
		break;
	}
	return done;
}

int sonde_session_find_write(struct sonde_write *out, const struct sonde_session *session,
			     const struct sonde_frame *frame)
{
	const struct sonde_session_module *module = sonde_rows_at(&session->modules, frame->module - 1);
	const struct sonde_function *function =
	    sonde_session_function(session, frame->locations[frame->location_count - 1].function);
	struct sonde_elf file;
	if (!module || !function || !function->start || frame->address < function->start ||
	    frame->address - function->start >= BEFORE_MAX_B)
		return sonde_error(ENOENT, "%s: its start is unknown", function ? function->name : "a function");
	int rc = open_same_build(&file, module);
	if (rc)
		return rc;
	size_t max_b = (size_t)(frame->address - function->start) + AFTER_B;
	uint8_t *bytes = malloc(max_b);
	struct sonde_code code = {.machine = file.machine, .address = function->start, .bytes = bytes};
	code.size_b = bytes ? read_code(&file, function->start, bytes, max_b) : 0;
	rc = bytes ? sonde_code_find_write(out, &code, frame->address)
		   : sonde_error(ENOMEM, "out of memory for %zu bytes of code", max_b);
	free(bytes);
	sonde_elf_close(&file);
	return rc;
}

/* Size of the function that starts at an address; 0 = no symbol gives it. */
static size_t size_of(const struct sonde_elf *file, uint64_t start)
{
	struct sonde_names names = {0};
	uint64_t size_b = 0;
	if (sonde_elf_symbols_read(&names, file, file) == 0)
		for (size_t i = 0; i < names.count; i++)
			if (names.items[i].start == start && names.items[i].size_b > size_b)
				size_b = names.items[i].size_b;
	sonde_names_fini(&names);
	return size_b < WHOLE_MAX_B ? (size_t)size_b : WHOLE_MAX_B;
}

struct until {
	uint64_t last;
	int (*take)(void *context, const struct sonde_instruction *instruction);
	void *context;
	int is_done;
};

static int take_until(void *context, const struct sonde_instruction *instruction)
{
	struct until *until = context;
	int rc = until->is_done ? 0 : until->take(until->context, instruction);
	until->is_done |= instruction->is_last && instruction->address >= until->last;
	return rc;
}

int sonde_session_instructions(const struct sonde_session *session, uint32_t function, uint64_t last,
			       int (*take)(void *context, const struct sonde_instruction *instruction), void *context)
{
	const struct sonde_function *of = sonde_session_function(session, function);
	const struct sonde_session_module *module = of ? sonde_rows_at(&session->modules, of->module - 1) : NULL;
	struct until until = {last, take, context, 0};
	struct sonde_elf file;
	if (!module || !of->start)
		return sonde_error(ENOENT, "%s: its start is unknown", of ? of->name : "a function");
	int rc = open_same_build(&file, module);
	if (rc)
		return rc;
	size_t known_b = size_of(&file, of->start), max_b = known_b;
	if (!known_b)
		max_b = last >= of->start && last - of->start < WHOLE_MAX_B - AFTER_B
			    ? (size_t)(last - of->start) + AFTER_B
			    : WHOLE_MAX_B;
	uint8_t *bytes = malloc(max_b);
	struct sonde_code code = {.machine = file.machine, .address = of->start, .bytes = bytes};
	code.size_b = bytes ? read_code(&file, of->start, bytes, max_b) : 0;
	if (!bytes)
		rc = sonde_error(ENOMEM, "out of memory for %zu bytes of code", max_b);
	else
		rc = known_b ? sonde_code_each(&code, take, context) : sonde_code_each(&code, take_until, &until);
	free(bytes);
	sonde_elf_close(&file);
	return rc;
}
