/* roofline_ceilings.c: the section `roofs`: the measured peak rates of the machine. */
#include <errno.h>
#include <time.h>

#include "analyze/work/roofline.h"
#include "report/report.h"

#define TITLE "Measured ceilings"

enum { NAME, WHAT, SORT, RATE_ONE, SPREAD_ONE, RATE_ALL, SPREAD_ALL, SET_ONE, SET_ALL, MAKER, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [NAME] = {"ceiling", "ceiling", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [WHAT] = {"of", "of", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 1},
    [SORT] = {"unit", "unit", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [RATE_ONE] = {"one_thread", "1 thread", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [SPREAD_ONE] = {"one_thread_spread", "spread", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 2},
    [RATE_ALL] = {"all_threads", "all CPUs", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [SPREAD_ALL] = {"all_threads_spread", "spread", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 2},
    [SET_ONE] = {"one_thread_set_b", "vs 1 thread", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 4},
    [SET_ALL] = {"all_threads_set_b", "vs each of all", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 4},
    [MAKER] = {"datasheet", "datasheet", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 3},
};

/* Shows how far the median run is below the best. */
static void rate_cells(const struct sonde_roof_figure *figure, const char *why, struct sonde_cell *rate,
		       struct sonde_cell *spread)
{
	*rate = *spread = sonde_cell_absent(why);
	if (!figure->runs)
		return;
	*rate = sonde_cell_real(figure->best / 1e9, 0);
	*spread = sonde_cell_real(sonde_roof_spread(figure), 0);
}

static const char *precision_title(int precision)
{
	return precision == SONDE_ROOF_FP64 ? "FP64" : "FP32";
}

static struct sonde_cell maker_cell(double rate)
{
	return rate > 0 ? sonde_cell_real(rate / 1e9, 0) : sonde_cell_absent("not given: --datasheet FILE");
}

static int flops_row(const struct sonde_roof *roof, int set, int precision, struct sonde_report *report,
		     struct sonde_section *section)
{
	const struct sonde_roof_figure *figures = roof->flops[set][precision];
	if (!figures[SONDE_ROOF_ONE].runs && !figures[SONDE_ROOF_ALL].runs)
		return 0; /* the CPU does not support it */
	struct sonde_cell *row = sonde_report_row(report, section);
	row[NAME] = sonde_cell_text(sonde_roof_set_title((enum sonde_roof_set)set));
	row[WHAT] = sonde_cell_text(precision_title(precision));
	row[SORT] = sonde_cell_text("GFLOP/s");
	rate_cells(&figures[SONDE_ROOF_ONE], "not measured", &row[RATE_ONE], &row[SPREAD_ONE]);
	rate_cells(&figures[SONDE_ROOF_ALL], "not measured", &row[RATE_ALL], &row[SPREAD_ALL]);
	row[SET_ONE] = row[SET_ALL] = sonde_cell_absent("in registers");
	row[MAKER] = sonde_cell_absent("the datasheet covers the whole machine");
	if (sonde_roof_peak(roof, (enum sonde_roof_precision)precision, SONDE_ROOF_ALL) == &figures[SONDE_ROOF_ALL])
		row[MAKER] = maker_cell(roof->datasheet_flops[precision]);
	return 0;
}

static struct sonde_cell set_cell(uint64_t set_b, const char *why)
{
	return set_b ? sonde_cell_int(set_b) : sonde_cell_absent(why);
}

static void bytes_row(const struct sonde_roof *roof, int level, int access, struct sonde_report *report,
		      struct sonde_section *section)
{
	const struct sonde_roof_figure *figures = roof->bytes[level][access];
	const char *why[SONDE_ROOF_THREADS];
	struct sonde_cell *row = sonde_report_row(report, section);
	for (int of = 0; of < SONDE_ROOF_THREADS; of++) {
		why[of] =
		    *roof->why[level][of] ? sonde_report_text(report, "%s", roof->why[level][of]) : "not measured";
	}
	row[NAME] = sonde_cell_text(sonde_roof_level_name((enum sonde_roof_level)level));
	row[WHAT] = sonde_cell_text(sonde_roof_access_name((enum sonde_roof_access)access));
	row[SORT] = sonde_cell_text("GB/s");
	rate_cells(&figures[SONDE_ROOF_ONE], why[SONDE_ROOF_ONE], &row[RATE_ONE], &row[SPREAD_ONE]);
	rate_cells(&figures[SONDE_ROOF_ALL], why[SONDE_ROOF_ALL], &row[RATE_ALL], &row[SPREAD_ALL]);
	row[SET_ONE] = set_cell(roof->set_b[level][SONDE_ROOF_ONE], why[SONDE_ROOF_ONE]);
	row[SET_ALL] = set_cell(roof->set_b[level][SONDE_ROOF_ALL], why[SONDE_ROOF_ALL]);
	row[MAKER] = sonde_cell_absent("the datasheet covers DRAM");
	if (level == SONDE_ROOF_DRAM && access == SONDE_ROOF_READ)
		row[MAKER] = maker_cell(roof->datasheet_bytes);
}

/* Notes doubts about the ceilings. The same doubts make the findings pass withhold findings that depend on ceilings. */
static void doubts_add(const struct sonde_roof *roof, struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_roof_doubt doubt;
	if (!sonde_roof_is_doubtful(roof, &doubt))
		return;
	if (doubt.spread > 0)
		sonde_report_note(
		    report, section, 1,
		    "runs differed by up to %.0f %%: ceilings may be too low; measure again on an idle machine",
		    doubt.spread * 100);
	if (doubt.is_all_low)
		sonde_report_note(report, section, 1,
				  "all CPUs together did less than one alone: measure again on an idle machine");
	if (doubt.stolen > 0)
		sonde_report_note(
		    report, section, 1,
		    "the hypervisor stole %.1f %% of the CPU time: ceilings may be too low; measure again",
		    doubt.stolen * 100);
}

static void notes_add(const struct sonde_roof *roof, struct sonde_report *report, struct sonde_section *section)
{
	time_t measured = (time_t)roof->measured_s;
	struct tm day;
	char date[32] = "";
	if (gmtime_r(&measured, &day))
		strftime(date, sizeof date, "%Y-%m-%d", &day);
	sonde_report_note(report, section, 0, "%s, %llu CPU%s online, of which %llu were used; measured on %s",
			  *roof->cpu ? roof->cpu : "processor without a name", (unsigned long long)roof->cpus,
			  roof->cpus == 1 ? "" : "s", (unsigned long long)roof->threads, date);
	sonde_report_note(report, section, 0, "the best of several runs; spread: how far the median run was below it");
	sonde_report_note(
	    report, section, 0,
	    "bytes of loads and stores in the code, per array byte: copy 2, triad 3; no write-allocate traffic");
	doubts_add(roof, report, section);
}

int sonde_roofline_ceilings(const struct sonde_roof *roof, struct sonde_report *report)
{
	struct sonde_section *section = sonde_report_table(report, "roofs", TITLE, columns, COLUMNS);
	int rc = 0;
	for (int precision = 0; precision < SONDE_ROOF_PRECISIONS; precision++)
		for (int set = 0; set < SONDE_ROOF_SETS && !rc; set++)
			rc = flops_row(roof, set, precision, report, section);
	for (int level = 0; level < SONDE_ROOF_LEVELS; level++)
		for (int access = 0; access < SONDE_ROOF_ACCESSES && !rc; access++)
			bytes_row(roof, level, access, report, section);
	if (!rc)
		notes_add(roof, report, section);
	return rc;
}
