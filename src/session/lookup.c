/* lookup.c: batches the unresolved addresses of a module and asks symbol/ for all of them at once.
 *
 * The recorder writes SYMBOL records when it closes the file; this look-up serves recordings that are truncated or were
 * made without symbols. A file of another build would silently give wrong names, so it must match the recorded build-id
 * or, without one, be older than the recording. Kernel symbols are used only if the machine has not rebooted since.
 */
#include "session/lookup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "session/stacks.h"
#include "session/state.h"
#include "symbol/symbol.h"
#include "util/file.h"

struct wanted {
	uint32_t module;
	uint32_t frame;
	uint64_t address;
};

static int by_module_address(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

/* True if this machine has been up since before the recording began. */
static int is_same_boot(const struct sonde_session *session)
{
	const char *recorded = sonde_session_info(session, "host.boot_id");
	char here[64];
	if (recorded && sonde_file_read(here, sizeof here, "/proc/sys/kernel/random/boot_id")) {
		here[strcspn(here, "\n")] = 0;
		return strcmp(recorded, here) == 0;
	}
	uint64_t booted_ns = sonde_clock_read_ns(CLOCK_REALTIME) - sonde_clock_read_ns(CLOCK_BOOTTIME);
	return sonde_session_head(session)->start_real_ns > booted_ns;
}

static int is_unchanged(const struct sonde_session *session, const struct sonde_session_module *module)
{
	struct stat stat_of;
	if (*module->row.path != '/' || stat(module->row.path, &stat_of) < 0 || !S_ISREG(stat_of.st_mode))
		return 0;
	uint64_t changed_ns = (uint64_t)stat_of.st_mtim.tv_sec * 1000000000u + (uint64_t)stat_of.st_mtim.tv_nsec;
	return module->build_id_b || changed_ns < sonde_session_head(session)->start_real_ns;
}

static void open_symbols(struct sonde_session *session, struct sonde_session_module *module)
{
	struct sonde_symbol_options options = {.debuginfod = session->options.debuginfod};
	struct sonde_symbols *symbols = NULL;
	const struct sonde_process *process = sonde_session_process(session, module->row.process);
	int rc = -1;
	module->tried = 1;
	if (module->row.flags & SONDE_MODULE_KERNEL)
		rc = is_same_boot(session) ? sonde_symbols_kernel(&symbols) : -1;
	else if (module->row.flags & SONDE_MODULE_ANONYMOUS)
		rc = process && is_same_boot(session) ? sonde_symbols_perf_map(&symbols, process->pid, NULL) : -1;
	else if (!(module->row.flags & SONDE_MODULE_SPECIAL) && is_unchanged(session, module))
		rc = sonde_symbols_open(&symbols, module->row.path, module->build_id, module->build_id_b, &options);
	module->symbols = rc ? NULL : symbols;
}

/* Resolves addresses of one module; they are sorted, and unique because frames are. */
static int resolve(struct sonde_session *session, const struct wanted *wanted, size_t count)
{
	struct sonde_session_module *module = sonde_rows_at(&session->modules, wanted->module - 1);
	if (!module->tried)
		open_symbols(session, module);
	if (!module->symbols)
		return 0;
	uint64_t *addresses = calloc(count, sizeof *addresses);
	struct sonde_symbol_result *results = calloc(count, sizeof *results);
	int rc = addresses && results ? 0 : sonde_error(ENOMEM, "out of memory for %zu symbols", count);
	for (size_t i = 0; !rc && i < count; i++)
		addresses[i] = wanted[i].address;
	if (!rc && sonde_symbols_resolve(module->symbols, addresses, count, results) == 0)
		for (size_t i = 0; !rc && i < count; i++)
			if (results[i].count)
				rc = sonde_session_stacks_locate(session, wanted[i].frame, results[i].locations,
								 results[i].count);
	free(addresses);
	free(results);
	return rc;
}

static int is_unnamed(const struct sonde_session *session, const struct sonde_frame *frame)
{
	const struct sonde_location *outer = &frame->locations[frame->location_count - 1];
	return sonde_session_function(session, outer->function)->unnamed;
}

/* Collects the frames whose symbols are to be looked up, from stacks.settled on; `out` has room for all frames from
 * there on. */
static size_t collect(const struct sonde_session *session, struct wanted *out)
{
	const struct sonde_stacks *stacks = &session->stacks;
	size_t count = 0;
	for (size_t i = stacks->settled; i < stacks->frames.count; i++) {
		const struct sonde_frame *frame = sonde_rows_at(&stacks->frames, i);
		int known = frame->location_count && !(session->options.debuginfod && is_unnamed(session, frame));
		if (!known && frame->module)
			out[count++] = (struct wanted){frame->module, (uint32_t)i, frame->address};
	}
	return count;
}

int sonde_lookup_frames(struct sonde_session *session)
{
	size_t max = session->stacks.frames.count - session->stacks.settled;
	if (!max)
		return 0;
	struct wanted *wanted = calloc(max, sizeof *wanted);
	if (!wanted)
		return sonde_error(ENOMEM, "out of memory for %zu symbols", max);
	size_t count = collect(session, wanted);
	int rc = 0;
	qsort(wanted, count, sizeof *wanted, by_module_address);
	for (size_t from = 0, to; from < count && !rc; from = to) {
		for (to = from + 1; to < count && wanted[to].module == wanted[from].module; to++)
			continue;
		rc = resolve(session, wanted + from, to - from);
	}
	free(wanted);
	return rc;
}

void sonde_lookup_fini(struct sonde_session *session)
{
	for (size_t i = 0; i < session->modules.count; i++) {
		struct sonde_session_module *module = sonde_rows_at(&session->modules, i);
		if (module->symbols)
			sonde_symbols_close(module->symbols);
	}
}
