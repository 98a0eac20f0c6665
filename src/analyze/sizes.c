/* sizes.c: decimal units and thousands separators, as tables have them. */
#include "analyze/sizes.h"

#include <math.h>
#include <stdio.h>

static const char *scaled_text(struct sonde_report *report, double size_b)
{
	static const char *const names[] = {"B", "kB", "MB", "GB", "TB"};
	size_t i = 0;
	while (i + 1 < sizeof names / sizeof *names && size_b >= 999.5) {
		size_b /= 1000;
		i++;
	}
	int decimals = i == 0 ? 0 : size_b < 9.995 ? 2 : size_b < 99.95 ? 1 : 0;
	return sonde_report_text(report, "%.*f %s", decimals, size_b, names[i]);
}

const char *sonde_size_text(struct sonde_report *report, uint64_t size_b, double variance)
{
	const char *size = scaled_text(report, (double)size_b);
	const char *half = size_b && variance > 1 ? scaled_text(report, 1.96 * sqrt(variance)) : "";
	return *half ? sonde_report_text(report, "%s ± %s", size, half) : size;
}

const char *sonde_count_text(struct sonde_report *report, double count)
{
	char digits[32], out[48] = "";
	int length = snprintf(digits, sizeof digits, "%.0f", count), at = 0;
	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	return sonde_report_text(report, "%s", out);
}
