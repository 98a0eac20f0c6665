/* table.c: prints statistics as a text table (table.h); texts of error codes.
 *
 * Control characters in names are printed as '?', so that a name cannot control the terminal.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/table.h"

/* Newton's method from above: avoids linking libm for one square root. */
static double square_root(double value)
{
	if (!(value > 0))
		return 0;
	double root = value > 1 ? value : 1;
	for (int i = 0; i < 200; i++) {
		double next = (root + value / root) / 2;
		if (!(next < root))
			break;
		root = next;
	}
	return root;
}

void sonde_table_moments(struct sonde_stats *out, uint64_t sum_ns, double square_ns)
{
	if (!out->count)
		return;
	double count = (double)out->count, sum = (double)sum_ns;
	out->mean_ns = sum / count;
	if (out->count > 1)
		out->std_ns = square_root((square_ns - sum * sum / count) / (count - 1));
}

static void write_all(int fd, const char *text, size_t size_b)
{
	while (size_b) {
		ssize_t wrote = write(fd, text, size_b);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return;
		text += wrote;
		size_b -= (size_t)wrote;
	}
}

static void format_ns(char out[16], double ns)
{
	static const struct {
		double ns;
		const char *unit;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {0, "ns"}};
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (ns >= units[i].ns) {
			snprintf(out, 16, "%.4g %s", units[i].ns > 0 ? ns / units[i].ns : ns, units[i].unit);
			return;
		}
}

static void print_row(int fd, const struct sonde_stats *row)
{
	char line[512], name[sizeof(row->name)], times[6][16];
	const double values[6] = {(double)row->total_ns, (double)row->self_ns, row->mean_ns,
				  row->std_ns,           (double)row->min_ns,  (double)row->max_ns};
	for (int i = 0; i < 6; i++)
		format_ns(times[i], values[i]);
	memcpy(name, row->name, sizeof(name));
	for (char *at = name; *at; at++)
		*at = (unsigned char)*at < 32 || *at == 127 ? '?' : *at;
	int size_b =
	    snprintf(line, sizeof(line), "%10llu  %10s  %10s  %10s  %10s  %10s  %10s  %.80s\n",
		     (unsigned long long)row->count, times[0], times[1], times[2], times[3], times[4], times[5], name);
	write_all(fd, line, size_b > 0 ? (size_t)size_b : 0);
}

void sonde_table_print(int fd, const struct sonde_stats *rows, size_t count, uint64_t lost)
{
	char line[160];
	int size_b = snprintf(line, sizeof(line), "%10s  %10s  %10s  %10s  %10s  %10s  %10s  %s\n", "calls", "total",
			      "self", "mean", "deviation", "min", "max", "zone");
	write_all(fd, line, (size_t)size_b);
	for (size_t i = 0; i < count; i++)
		print_row(fd, &rows[i]);
	if (!lost)
		return;
	size_b =
	    snprintf(line, sizeof(line), "%llu events were lost and are missing above\n", (unsigned long long)lost);
	write_all(fd, line, (size_t)size_b);
}

const char *sonde_strerror(int code)
{
	static const char *const texts[] = {
	    [-SONDE_OK] = "no error",
	    [-SONDE_ERR_OFF] = "nothing is being recorded",
	    [-SONDE_ERR_MISMATCH] = "ended something that was not started last",
	    [-SONDE_ERR_UNKNOWN] = "nothing of that name is known yet",
	    [-SONDE_ERR_ARGUMENT] = "an argument is null, empty, too long or out of range",
	    [-SONDE_ERR_FULL] = "buffer full; the loss is counted in the recording",
	    [-SONDE_ERR_FILE] = "the recording cannot be written",
	    [-SONDE_ERR_BUSY] = "already recording",
	    [-SONDE_ERR_SYSTEM] = "the system refused memory or a thread",
	    [-SONDE_ERR_RECORDER] = "the recorder did not answer",
	};
	int known = code <= 0 && code > -(int)(sizeof(texts) / sizeof(*texts));
	return known ? texts[-code] : "unknown code";
}
