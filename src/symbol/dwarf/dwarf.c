/* dwarf.c: lists compile units by their address ranges and reads the needed ones in parallel. Small units are read
 * completely, so that from then on the cache has the data for all their addresses.
 *
 * .debug_aranges is not used: clang does not write it, and reading the first entry of every unit takes only a few µs
 * each. libdw has internal state without locks, so each thread opens the file for itself. Threads take units from a
 * shared counter and merge results under a lock, one unit at a time, so that memory holds one unit per thread in
 * addition to the index. libdw would decompress compressed sections in every thread; here they are decompressed once.
 */
#include "symbol/dwarf/dwarf.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "symbol/dwarf/unit.h"
#include "util/error.h"

#define WORKERS_MAX 8
#define UNIT_RANGES_MAX 65536
#define PLAIN_MAX_B ((size_t)4 << 30)
#define PARALLEL_MIN_B (1u << 20) /* for less data, another thread with its libdw handle costs more than it saves */
#define WHOLE_MAX_B (256u << 10)  /* of larger units only the requested functions are read */

/* A libdw handle, and its ELF handle if we opened one. */
struct handle {
	Elf *elf;
	Dwarf *dwarf;
};

/* The decompressed bytes of a section. */
struct plain {
	uint64_t offset; /* offset of the section in the file */
	uint8_t *data;
	size_t size_b;
	int borrowed;
};

static const char *const needed[] = {".debug_info",   ".debug_abbrev", ".debug_str",        ".debug_rnglists",
				     ".debug_ranges", ".debug_addr",   ".debug_str_offsets"};
enum { LINE_SECTIONS = 2, PLAINS = sizeof needed / sizeof *needed + LINE_SECTIONS };

struct sonde_dwarf {
	int fd;
	int is_packed; /* some of its sections are compressed */
	uint64_t info_b;
	struct plain plains[PLAINS];
	size_t plain_count;
	struct handle handle;
	struct sonde_dwarf_sections sections;
};

/* Sections that are never needed for names and inlined functions. */
static int is_needless(const char *name)
{
	static const char *const needless[] = {".debug_aranges",      ".debug_frame",    ".debug_loc",
					       ".debug_loclists",     ".debug_macinfo",  ".debug_macro",
					       ".debug_pubnames",     ".debug_pubtypes", ".debug_gnu_pubnames",
					       ".debug_gnu_pubtypes", ".debug_names"};
	for (size_t i = 0; i < sizeof needless / sizeof *needless; i++) {
		if (!strcmp(name, needless[i]))
			return 1;
	}
	return 0;
}

/* `data` NULL: not read yet. */
static void add_plain(struct sonde_dwarf *dwarf, const struct sonde_elf *file, const char *name, uint8_t *data,
		      size_t size_b)
{
	struct sonde_elf_section section;
	struct plain *plain = &dwarf->plains[dwarf->plain_count];
	if (sonde_elf_section(file, name, &section) || !(section.flags & SHF_COMPRESSED))
		return;
	*plain = (struct plain){section.offset, data, size_b, !!data};
	if (data || !sonde_elf_section_read(file, &section, PLAIN_MAX_B, &plain->data, &plain->size_b))
		dwarf->plain_count++;
}

static void read_plains(struct sonde_dwarf *dwarf, const struct sonde_elf *file)
{
	const struct sonde_dwarf_sections *lines = &dwarf->sections;
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		add_plain(dwarf, file, needed[i], NULL, 0);
	if (lines->line)
		add_plain(dwarf, file, ".debug_line", lines->line, lines->line_b);
	if (lines->line_str)
		add_plain(dwarf, file, ".debug_line_str", lines->line_str, lines->line_str_b);
}

static void free_all(struct sonde_dwarf *dwarf)
{
	for (size_t i = 0; i < dwarf->plain_count; i++) {
		if (!dwarf->plains[i].borrowed)
			free(dwarf->plains[i].data);
	}
	sonde_dwarf_sections_free(&dwarf->sections);
	free(dwarf);
}

static const struct plain *find_plain(const struct sonde_dwarf *dwarf, uint64_t offset)
{
	for (size_t i = 0; i < dwarf->plain_count; i++) {
		if (dwarf->plains[i].offset == offset)
			return &dwarf->plains[i];
	}
	return NULL;
}

/* Replaces a section's bytes by ours: libdw reads them from where libelf says they are. */
static int give_plain(Elf_Scn *section, const struct plain *plain)
{
	Elf_Data *data = elf_getdata(section, NULL);
	if (!data || data->d_buf)
		return 0;
	data->d_buf = plain->data;
	data->d_size = plain->size_b;
	return 1;
}

/* On opening a file, libdw decompresses every section, however large it claims to be, unless it is marked as having no
 * bytes. So libdw gets the bytes that we have decompressed, and sees no section that is unneeded or was refused. The
 * headers are libelf's own copies, because the file was opened without mapping it. */
static void prepare_section(const struct sonde_dwarf *dwarf, Elf *elf, Elf_Scn *section, size_t names)
{
	GElf_Shdr header;
	if (!gelf_getshdr(section, &header))
		return;
	const char *name = elf_strptr(elf, names, header.sh_name);
	const struct plain *plain = find_plain(dwarf, header.sh_offset);
	if (header.sh_flags & SHF_COMPRESSED) {
		header.sh_flags &= ~(uint64_t)SHF_COMPRESSED;
		header.sh_size = 0;
		gelf_update_shdr(section, &header);
		if (plain && give_plain(section, plain))
			header.sh_size = plain->size_b;
		else
			header.sh_type = SHT_NOBITS;
	} else if (name && is_needless(name)) {
		header.sh_type = SHT_NOBITS;
	}
	gelf_update_shdr(section, &header);
}

static void prepare_sections(Elf *elf, const struct sonde_dwarf *dwarf)
{
	size_t names;
	if (elf_getshdrstrndx(elf, &names))
		return;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));)
		prepare_section(dwarf, elf, section, names);
}

static int open_handle(struct handle *out, const struct sonde_dwarf *dwarf)
{
	*out = (struct handle){0};
	if (!dwarf->is_packed) {
		out->dwarf = dwarf_begin(dwarf->fd, DWARF_C_READ);
		return out->dwarf ? 0 : -ENOENT;
	}
	elf_version(EV_CURRENT);
	out->elf = elf_begin(dwarf->fd, ELF_C_READ, NULL);
	if (!out->elf)
		return -ENOENT;
	prepare_sections(out->elf, dwarf);
	out->dwarf = dwarf_begin_elf(out->elf, DWARF_C_READ, NULL);
	if (out->dwarf)
		return 0;
	elf_end(out->elf);
	return -ENOENT;
}

static void close_handle(struct handle *handle)
{
	dwarf_end(handle->dwarf);
	if (handle->elf)
		elf_end(handle->elf);
}

int sonde_dwarf_open(struct sonde_dwarf **out, const struct sonde_elf *file)
{
	struct sonde_elf_section info;
	if (sonde_elf_section(file, ".debug_info", &info) || info.type == SHT_NOBITS)
		return -ENOENT;
	struct sonde_dwarf *dwarf = calloc(1, sizeof *dwarf);
	if (!dwarf)
		return sonde_error(ENOMEM, "%s: out of memory", file->path);
	dwarf->fd = file->fd;
	dwarf->is_packed = sonde_elf_is_packed(file);
	dwarf->info_b = info.size_b;
	sonde_dwarf_sections_read(&dwarf->sections, file);
	if (dwarf->is_packed)
		read_plains(dwarf, file);
	int rc = open_handle(&dwarf->handle, dwarf);
	if (rc) {
		free_all(dwarf);
		return rc;
	}
	*out = dwarf;
	return 0;
}

void sonde_dwarf_close(struct sonde_dwarf *dwarf)
{
	if (!dwarf)
		return;
	close_handle(&dwarf->handle);
	free_all(dwarf);
}

/* --- the list of units -------------------------------------------------------------------------------------------- */

static int list_ranges(struct sonde_index *index, Dwarf_Die *entry, uint64_t size_b)
{
	Dwarf_Addr base, low, high;
	unsigned count = 0;
	for (ptrdiff_t at = 0; count < UNIT_RANGES_MAX && (at = dwarf_ranges(entry, at, &base, &low, &high)) > 0;
	     count++) {
		if (low >= high)
			continue;
		struct sonde_index_unit *unit = sonde_index_add_unit(index);
		if (!unit)
			return -ENOMEM;
		*unit = (struct sonde_index_unit){low, high, dwarf_dieoffset(entry), size_b};
	}
	return 0;
}

static int by_low(const void *a, const void *b)
{
	const struct sonde_index_unit *x = a, *y = b;
	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return (x->entry > y->entry) - (x->entry < y->entry);
}

/* Lists the units of the file. This is done once per file, since the cache keeps the list. */
static int list_units(struct sonde_dwarf *dwarf, struct sonde_index *index)
{
	Dwarf_Off at = 0, next;
	size_t head_b;
	int rc = 0;
	if (index->unit_count && index->units_of == dwarf->info_b)
		return 0;
	index->unit_count = 0;
	index->units_of = dwarf->info_b;
	for (; !rc && !dwarf_nextcu(dwarf->handle.dwarf, at, &next, &head_b, NULL, NULL, NULL); at = next) {
		Dwarf_Die entry;
		int tag = dwarf_offdie(dwarf->handle.dwarf, at + head_b, &entry) ? dwarf_tag(&entry) : 0;
		if (tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit)
			rc = list_ranges(index, &entry, next - at);
	}
	if (index->unit_count)
		qsort(index->units, index->unit_count, sizeof *index->units, by_low);
	return rc;
}

/* --- reading units ------------------------------------------------------------------------------------------------ */

struct wanted_unit {
	uint64_t entry, size_b;
};

static int by_entry(const void *a, const void *b)
{
	const struct wanted_unit *x = a, *y = b;
	return (x->entry > y->entry) - (x->entry < y->entry);
}

/* Collects the units that cover addresses missing from the index, each unit once. There is at most one unit per
 * address. */
static size_t choose_units(const struct sonde_index *index, const uint64_t *addresses, size_t count,
			   struct wanted_unit *out)
{
	size_t chosen = 0, kept = 0;
	for (size_t i = 0; i < count; i++) {
		const struct sonde_index_unit *unit = sonde_index_unit(index, addresses[i]);
		if (unit && !sonde_index_segment(index, addresses[i]) &&
		    (!chosen || out[chosen - 1].entry != unit->entry))
			out[chosen++] = (struct wanted_unit){unit->entry, unit->size_b};
	}
	if (chosen)
		qsort(out, chosen, sizeof *out, by_entry);
	for (size_t i = 0; i < chosen; i++) {
		if (!kept || out[kept - 1].entry != out[i].entry)
			out[kept++] = out[i];
	}
	return kept;
}

/* Shared by all workers; `index` and `error` are protected by the lock. */
struct job {
	struct sonde_dwarf *dwarf;
	struct sonde_index *index;
	struct sonde_dwarf_wanted wanted;
	const struct wanted_unit *units;
	size_t unit_count;
	uint64_t deadline_ns;
	pthread_mutex_t lock;
	atomic_size_t next_unit;
	int error;
};

static int is_late(uint64_t deadline_ns)
{
	return deadline_ns && sonde_clock_now_ns() >= deadline_ns;
}

static int read_unit(struct job *job, Dwarf *handle, const struct wanted_unit *unit)
{
	struct sonde_index part = {0};
	struct sonde_dwarf_wanted wanted = job->wanted;
	Dwarf_Die entry;
	if (!dwarf_offdie(handle, unit->entry, &entry))
		return 0;
	wanted.is_all = unit->size_b <= WHOLE_MAX_B;
	int rc = sonde_dwarf_unit_read(&part, &entry, &job->dwarf->sections, &wanted);
	pthread_mutex_lock(&job->lock);
	if (!rc)
		rc = sonde_index_merge(job->index, &part, NULL);
	if (rc && !job->error)
		job->error = rc;
	pthread_mutex_unlock(&job->lock);
	sonde_index_fini(&part);
	return rc;
}

static void work(struct job *job, Dwarf *handle)
{
	while (!is_late(job->deadline_ns)) {
		size_t i = atomic_fetch_add_explicit(&job->next_unit, 1, memory_order_relaxed);
		if (i >= job->unit_count || read_unit(job, handle, &job->units[i]))
			return;
	}
}

static void *run_worker(void *context)
{
	struct job *job = context;
	struct handle handle;
	if (open_handle(&handle, job->dwarf))
		return NULL;
	work(job, handle.dwarf);
	close_handle(&handle);
	return NULL;
}

/* The number of worker threads besides the calling thread, which is limited by the number of CPUs and the amount to
 * read. Each worker on a compressed file has to decompress it again. */
static size_t choose_workers(const struct job *job)
{
	uint64_t wanted_b = 0, least_b = PARALLEL_MIN_B + (job->dwarf->is_packed ? job->dwarf->info_b : 0);
	for (size_t i = 0; i < job->unit_count; i++)
		wanted_b += job->units[i].size_b;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t most = wanted_b / least_b;
	most = most < job->unit_count ? most : job->unit_count;
	most = most < WORKERS_MAX ? most : WORKERS_MAX;
	return processors > 0 && most > (size_t)processors - 1 ? (size_t)processors - 1 : most;
}

static void run_job(struct job *job)
{
	pthread_t threads[WORKERS_MAX];
	size_t started = 0, wanted = choose_workers(job);
	while (started < wanted && !pthread_create(&threads[started], NULL, run_worker, job))
		started++;
	work(job, job->dwarf->handle.dwarf);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
}

/* Addresses that their (damaged) units do not describe are marked, so that they are not searched for again. */
static int settle_missing(struct sonde_index *index, const uint64_t *addresses, size_t count)
{
	size_t known = index->segment_count;
	struct sonde_index missing = {0};
	int rc = 0;
	for (size_t i = 0; !rc && i < count; i++) {
		if (!sonde_index_unit(index, addresses[i]) || sonde_index_segment(index, addresses[i]) ||
		    (i && addresses[i] == addresses[i - 1]))
			continue;
		struct sonde_index_segment *segment = sonde_index_add_segment(&missing);
		if (segment)
			*segment = (struct sonde_index_segment){addresses[i], addresses[i] + 1, 0, 0};
		rc = segment ? 0 : -ENOMEM;
	}
	if (!rc && missing.segment_count)
		rc = sonde_index_merge(index, &missing, NULL);
	if (index->segment_count > known)
		sonde_index_sort(index);
	sonde_index_fini(&missing);
	return rc;
}

int sonde_dwarf_read(struct sonde_dwarf *dwarf, struct sonde_index *index, const uint64_t *addresses, size_t count,
		     uint64_t deadline_ns)
{
	int rc = list_units(dwarf, index);
	struct wanted_unit *units = rc ? NULL : malloc(count * sizeof *units);
	if (!units)
		return rc ? rc : sonde_error(ENOMEM, "out of memory for %zu compile units", count);
	struct job job = {.dwarf = dwarf,
			  .index = index,
			  .wanted = {addresses, count, 0},
			  .units = units,
			  .unit_count = choose_units(index, addresses, count, units),
			  .deadline_ns = deadline_ns,
			  .lock = PTHREAD_MUTEX_INITIALIZER};
	if (job.unit_count)
		run_job(&job);
	pthread_mutex_destroy(&job.lock);
	free(units);
	sonde_index_sort(index);
	if (!job.error && !is_late(deadline_ns))
		job.error = settle_missing(index, addresses, count);
	return job.error;
}
