/* spool.c: rows are appended to one file; to group them, they are placed into a second, mapped file, by counting. */
#include "export/spool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/error.h"

static int nameless(void)
{
	const char *folder = getenv("TMPDIR");
	int fd = open(folder && *folder ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd >= 0 ? fd : memfd_create("sonde-spool", MFD_CLOEXEC);
}

static FILE *open_nameless(void)
{
	int fd = nameless();
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w+");
	if (!file && fd >= 0)
		close(fd);
	return file;
}

int sonde_spool_init(struct sonde_spool *out, uint32_t groups)
{
	*out = (struct sonde_spool){.groups = groups, .file = open_nameless(), .texts = open_nameless()};
	out->counts = calloc((size_t)groups + 1, sizeof *out->counts);
	out->begins = calloc((size_t)groups + 1, sizeof *out->begins);
	if (!out->file || !out->texts)
		return sonde_error(errno, "no temporary file for the output, not even in memory: %s", strerror(errno));
	return out->counts && out->begins ? 0 : sonde_error(ENOMEM, "out of memory for %u groups", groups);
}

void sonde_spool_fini(struct sonde_spool *spool)
{
	if (spool->file)
		fclose(spool->file);
	if (spool->texts)
		fclose(spool->texts);
	if (spool->rows)
		munmap(spool->rows, spool->rows_b);
	free(spool->counts);
	free(spool->begins);
	free(spool->text);
	*spool = (struct sonde_spool){0};
}

static int cannot(const char *what)
{
	int code = errno ? errno : EIO;
	return sonde_error(code, "the temporary output cannot be %s: %s; TMPDIR sets another folder for it", what,
			   strerror(code));
}

int sonde_spool_add(struct sonde_spool *spool, const struct sonde_spool_row *row)
{
	assert(row->group < spool->groups);
	spool->counts[row->group]++;
	spool->row_count++;
	return fwrite(row, sizeof *row, 1, spool->file) == 1 ? 0 : cannot("kept");
}

void sonde_spool_text_begin(struct sonde_spool *spool, struct sonde_spool_row *row)
{
	row->text_at = (uint64_t)ftello(spool->texts);
}

void sonde_spool_text_end(struct sonde_spool *spool, struct sonde_spool_row *row)
{
	row->text_b = (uint32_t)((uint64_t)ftello(spool->texts) - row->text_at);
}

/* --- putting together --------------------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
	const struct sonde_spool_row *a = left, *b = right;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return (a->text_at > b->text_at) -
	       (a->text_at < b->text_at); /* rows with texts: in the order in which they were added */
}

static void sort_group(struct sonde_spool_row *rows, uint64_t count)
{
	for (uint64_t i = 1; i < count; i++)
		if (rows[i].time < rows[i - 1].time) {
			qsort(rows, count, sizeof *rows, compare);
			return;
		}
}

static int place(struct sonde_spool *spool)
{
	struct sonde_spool_row row;
	uint64_t at = 0;
	for (uint32_t group = 0; group < spool->groups; group++) {
		spool->begins[group] = at;
		at += spool->counts[group];
	}
	spool->begins[spool->groups] = at;
	memset(spool->counts, 0, spool->groups * sizeof *spool->counts);
	rewind(spool->file);
	while (fread(&row, sizeof row, 1, spool->file) == 1)
		spool->rows[spool->begins[row.group] + spool->counts[row.group]++] = row;
	if (ferror(spool->file))
		return cannot("read again");
	for (uint32_t group = 0; group < spool->groups; group++)
		sort_group(spool->rows + spool->begins[group], spool->counts[group]);
	return 0;
}

int sonde_spool_gather(struct sonde_spool *spool)
{
	if (fflush(spool->file) || fflush(spool->texts))
		return cannot("kept");
	if (!spool->row_count)
		return 0;
	int fd = nameless();
	spool->rows_b = spool->row_count * sizeof *spool->rows;
	/* Reserve the space first: writing to a mapped file on a full disk would kill the process. */
	int code = fd < 0 ? errno : posix_fallocate(fd, 0, (off_t)spool->rows_b);
	void *rows = code ? MAP_FAILED : mmap(NULL, spool->rows_b, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	errno = code ? code : errno;
	int rc = rows == MAP_FAILED ? cannot("kept") : 0;
	if (fd >= 0)
		close(fd);
	spool->rows = rc ? NULL : rows;
	return rc ? rc : place(spool);
}

const char *sonde_spool_text(struct sonde_spool *spool, const struct sonde_spool_row *row)
{
	char *text = realloc(spool->text, (size_t)row->text_b + 1);
	if (!text)
		return NULL;
	spool->text = text;
	if (pread(fileno(spool->texts), text, row->text_b, (off_t)row->text_at) != (ssize_t)row->text_b)
		return NULL;
	text[row->text_b] = 0;
	if (row->text_b && text[row->text_b - 1] == '\n')
		text[row->text_b - 1] = 0;
	return text;
}
