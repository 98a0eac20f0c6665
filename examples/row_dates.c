/* row_dates.c: writes a table whose rows are in time order, and formats the date again for each, although ten thousand
 * consecutive rows have the same date.
 *
 * sonde: many-calls: the zone "date" is called a million times and takes most of the time.
 * Fix: the date is formatted only when the day changes.
 */
#include <sonde/sonde.h>
#include <time.h>

#include "example.h"

enum { ROWS = 1000000, STEP_S = 8, DAY_S = 86400, DATE_MAX = 64 };

NO_INLINE static void make_date(char *text, time_t moment)
{
	SONDE_ZONE("date");
	struct tm parts;
	gmtime_r(&moment, &parts);
	strftime(text, DATE_MAX, "%A, %d %B %Y, day %j of the year", &parts);
}

NO_INLINE static uint64_t write_row(uint64_t sum, const char *date, uint32_t amount)
{
	for (const char *next = date; *next; next++)
		sum = sum * 31 + (unsigned char)*next;
	return sum + amount;
}

int main(int argc, char **argv)
{
	bool fixed = is_fixed(argc, argv);
	char date[DATE_MAX] = "";
	uint64_t random = 6, sum = 0;
	time_t made_for = -1;
	for (int i = 0; i < ROWS; i++) {
		time_t moment = 1700006400 + (time_t)i * STEP_S;
		if (!fixed || moment / DAY_S != made_for)
			make_date(date, moment);
		made_for = moment / DAY_S;
		sum = write_row(sum, date, next_number(&random) % 1000);
	}
	printf("sum %016llx\n", (unsigned long long)sum);
	return 0;
}
