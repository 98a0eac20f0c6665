/* maps.c: reads a text file as a whole and cuts it into names in place.
 *
 * Perf maps grow while the program runs and repeat addresses that a JIT has reused: of the lines with one address, the
 * last one counts, so the line number is used as rank. Malformed lines are skipped.
 */
#include "symbol/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/error.h"

#define FILE_MAX_B ((size_t)1 << 30)
#define FUNCTION_MAX_B ((uint64_t)64 << 10) /* maximum size of kernel functions */

static int read_text(int fd, const char *path, char **out)
{
	size_t capacity_b = 1u << 20, size_b = 0;
	char *text = NULL;
	for (ssize_t got = 1; got > 0;) {
		char *grown = capacity_b > FILE_MAX_B ? NULL : realloc(text, capacity_b + 1);
		if (!grown) {
			free(text);
			return sonde_error(E2BIG, "%s: larger than %zu bytes", path, FILE_MAX_B);
		}
		text = grown;
		got = read(fd, text + size_b, capacity_b - size_b);
		size_b += got > 0 ? (size_t)got : 0;
		capacity_b *= size_b == capacity_b ? 2 : 1;
	}
	text[size_b] = 0;
	*out = text;
	return 0;
}

static int open_text(const char *path, char **out)
{
	struct stat facts;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return sonde_error(errno, "%s: %s", path, strerror(errno));
	int rc = fstat(fd, &facts) || !S_ISREG(facts.st_mode) ? sonde_error(EBADMSG, "%s: not a regular file", path)
							      : read_text(fd, path, out);
	close(fd);
	return rc;
}

/* Cuts off and returns the next line; NULL at the end. */
static char *next_line(char **remainder)
{
	char *line = *remainder;
	if (!*line)
		return NULL;
	char *end = strchrnul(line, '\n');
	*remainder = *end ? end + 1 : end;
	*end = 0;
	return line;
}

/* The value of a lower-case hexadecimal digit, 16 for anything else. */
static unsigned digit_value(char digit)
{
	unsigned value = (unsigned)digit - '0';
	if (value < 10)
		return value;
	value = (unsigned)digit - 'a';
	return value < 6 ? value + 10 : 16;
}

/* "ffffffff81000000 T _text"; for modules "\t[name]" follows and stays part of the text. */
static int add_kernel_line(struct sonde_names *out, char *line, uint64_t *highest)
{
	uint64_t address = 0;
	char *at = line;
	for (unsigned value; (value = digit_value(*at)) < 16; at++)
		address = address << 4 | value;
	if (at == line || at[0] != ' ' || !at[1] || at[2] != ' ' || !strchr("tTwW", at[1]) || !at[3])
		return 0;
	*highest = address > *highest ? address : *highest;
	struct sonde_name name = {.start = address, .text = at + 3, .rank = at[1] == 'T'};
	char *tab = strchr(at + 3, '\t');
	if (tab)
		*tab = ' ';
	return sonde_names_add(out, &name);
}

/* Limits the sizes of functions: the gaps between them may contain code that was loaded later, and are longer than any
 * function. */
static void limit_sizes(struct sonde_names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		struct sonde_name *name = &names->items[i];
		uint64_t gap_b = i + 1 < names->count ? name[1].start - name->start : FUNCTION_MAX_B;
		name->size_b = gap_b < FUNCTION_MAX_B ? gap_b : FUNCTION_MAX_B;
	}
}

int sonde_maps_kernel(struct sonde_names *out, const char *path)
{
	char *text, *line;
	uint64_t highest = 0;
	int rc = open_text(path, &text);
	if (!rc)
		rc = sonde_names_keep(out, text);
	if (rc)
		return rc;
	while (!rc && (line = next_line(&text)))
		rc = add_kernel_line(out, line, &highest);
	if (!rc && !highest)
		rc = sonde_error(EPERM, "%s: the kernel hides its addresses; as root: sysctl kernel.kptr_restrict=0",
				 path);
	sonde_names_sort(out);
	limit_sizes(out);
	return rc;
}

/* "START SIZE name" in hexadecimal; some writers add an 0x prefix. */
static int add_perf_line(struct sonde_names *out, char *line, uint32_t rank)
{
	char *at = line, *end;
	uint64_t start = strtoull(at, &end, 16);
	if (end == at || *end != ' ')
		return 0;
	at = end;
	uint64_t size_b = strtoull(at, &end, 16);
	if (end == at || *end != ' ' || !end[1] || !size_b)
		return 0;
	struct sonde_name name = {.start = start, .size_b = size_b, .text = end + 1, .rank = rank};
	return sonde_names_add(out, &name);
}

int sonde_maps_perf(struct sonde_names *out, const char *path)
{
	char *text, *line;
	uint32_t rank = 0;
	int rc = open_text(path, &text);
	if (!rc)
		rc = sonde_names_keep(out, text);
	if (rc)
		return rc;
	while (!rc && (line = next_line(&text)))
		rc = add_perf_line(out, line, ++rank);
	sonde_names_sort(out);
	return rc;
}
