/* cpu.c: rules about CPU time. */
#include <math.h>
#include <string.h>

#include "analyze/findings/rules.h"

#define SAMPLES_LEAST 10 /* minimum number of samples as evidence */
#define Z_95 1.96
#define CALLERS_MAX 256
#define DEPTH_MAX 512
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* --- one place ---------------------------------------------------------------------------------------------------- */

/* True for names that do not stand for code of the program. */
static int is_no_place(const char *name)
{
	static const char *const names[] = {"(unknown)", "[unknown]", ""};
	for (size_t i = 0; i < COUNT(names); i++)
		if (strcmp(name, names[i]) == 0)
			return 1;
	return 0;
}

/* --- callers of library functions --------------------------------------------------------------------------------- */

/* The program's functions that call a library function, and how much of its time each call path accounts for. */
struct callers {
	const char *library; /* name of the library function */
	const char *own;     /* module of the program */
	const char *wanted;  /* second walk: one of the callers, to sum its inclusive time */
	uint64_t total;
	struct caller {
		const char *name;
		uint64_t leaf; /* time of the library function below this caller */
	} rows[CALLERS_MAX];
	size_t count;
	int is_full;
};

static void leaf_add(struct callers *callers, const char *name, uint64_t leaf)
{
	size_t i = 0;
	while (i < callers->count && strcmp(callers->rows[i].name, name) != 0)
		i++;
	callers->is_full |= i == CALLERS_MAX;
	if (i == CALLERS_MAX)
		return;
	if (i == callers->count)
		callers->rows[callers->count++] = (struct caller){.name = name};
	callers->rows[i].leaf += leaf;
}

/* `above`: the nearest function of the program above this node. `within`: the wanted function is above it. */
static void walk(struct callers *callers, const struct sonde_tree_node *node, const char *above, int within,
		 unsigned depth)
{
	for (; node && depth < DEPTH_MAX; node = node->next) {
		int is_own = !strcmp(node->module, callers->own);
		int is_wanted = is_own && callers->wanted && !strcmp(node->name, callers->wanted);
		callers->total += is_wanted && !within ? node->total : 0;
		if (!callers->wanted && above && !is_own && !strcmp(node->name, callers->library))
			leaf_add(callers, above, node->self);
		walk(callers, node->child, is_own ? node->name : above, within || is_wanted, depth + 1);
	}
}

/* The module that contains main(), i.e. the one of the recorded command; if there are several, the one with most
 * time. */
static const char *own_module(const struct sonde_columns_functions *functions)
{
	static const char *const mains[] = {"main", "_start"};
	for (size_t k = 0; k < COUNT(mains); k++)
		for (size_t i = 0; i < functions->of.rows; i++)
			if (!strcmp(sonde_column_text(functions, i, function), mains[k]))
				return sonde_column_text(functions, i, module);
	return "";
}

/* The function of the program that accounts for most of a library function's time, with its inclusive time; NULL = not
 * a library function, or unknown. */
static const char *nearest_own(const struct sonde_facts *facts, const char *name, double *total_ns)
{
	const struct sonde_columns_functions *functions = &facts->columns.functions;
	const struct sonde_section *tree = facts->report->first;
	struct callers callers = {.library = name, .own = own_module(functions)};
	const struct caller *most = NULL;
	size_t row = 0;
	while (row < functions->of.rows && strcmp(sonde_column_text(functions, row, function), name) != 0)
		row++;
	while (tree && tree->kind != SONDE_SECTION_TREE)
		tree = tree->next;
	if (!*callers.own || !strcmp(sonde_column_text(functions, row, module), callers.own) || !tree ||
	    !tree->tree.root)
		return NULL;
	walk(&callers, tree->tree.root->child, NULL, 0, 0);
	for (size_t i = 0; i < callers.count; i++)
		if (callers.rows[i].leaf && (!most || callers.rows[i].leaf > most->leaf))
			most = &callers.rows[i];
	if (!most || callers.is_full || !strcmp(most->name, "main"))
		return NULL;
	callers.wanted = most->name;
	walk(&callers, tree->tree.root->child, NULL, 0, 0);
	*total_ns = (double)callers.total;
	return callers.wanted;
}

/* True if there is a finding for this function already: two library functions called by the same function of the
 * program are one finding. */
static int is_reported(const struct sonde_found *found, const char *own)
{
	size_t length = strlen(own);
	for (size_t i = 0; i < found->count; i++)
		if (!strncmp(found->rows[i].subject, own, length) && found->rows[i].subject[length] == ',')
			return 1;
	return 0;
}

static int hot_add(const struct sonde_facts *facts, int is_function, const char *name, double time_ns, double samples,
		   struct sonde_found *found)
{
	double total_ns = 0, share = fmin(time_ns / facts->span_ns, 1);
	/* Samples have a binomial distribution: use the upper end of the confidence interval. */
	double spread = is_function ? Z_95 * share * sqrt((1 - share) / samples) : 0;
	const char *own = is_function ? nearest_own(facts, name, &total_ns) : NULL;
	const char *what =
	    facts->has_path ? "of the critical path" : "of CPU time (all threads, over the length of the run)";
	double self_ns = sonde_facts_stretched(facts, fmin(time_ns + spread * facts->span_ns, facts->span_ns));
	double saves_ns = own ? fmax(self_ns, sonde_facts_cpu_on_path(facts, NULL, 0, total_ns)) : self_ns;
	if (own && is_reported(found, own))
		return 0;
	return sonde_found_add(
	    found, &(struct sonde_finding){
		       .subject = own ? sonde_report_text(found->report, "%s, which calls %s", own, name)
				      : sonde_report_text(found->report, "%s", name),
		       .evidence =
			   own ? sonde_report_text(found->report,
						   "%.3f s of the %.3f s %s are in %s, called by %s, which takes %.3f "
						   "s of CPU time with its callees",
						   time_ns / 1e9, facts->span_ns / 1e9, what, name, own, total_ns / 1e9)
			       : sonde_report_text(found->report, "%.3f s of the %.3f s %s are in this %s itself",
						   time_ns / 1e9, facts->span_ns / 1e9, what,
						   is_function ? "function" : "zone"),
		       .saves_ns = saves_ns,
		       .has_waits = 1,
		       .place = {.function = !is_function ? NULL
					     : own        ? own
							  : name,
				 .ns = is_function ? 0 : sonde_facts_zone_ns(facts, name)},
		       .weighs = own ? fmax(self_ns / facts->span_ns, sonde_facts_share(facts, total_ns, saves_ns))
				     : fmin(self_ns / facts->span_ns, 1)});
}

SONDE_EVALUATE(hot_function)
{
	const struct sonde_columns_critical_path *path = &facts->columns.critical_path;
	const struct sonde_columns_functions *functions = &facts->columns.functions;
	int rc = 0;
	for (size_t i = 0; !rc && i < path->of.rows; i++) {
		const char *name = sonde_column_text(path, i, name);
		enum sonde_critical_element_kind kind = sonde_column_label(path, i, kind);
		double time_ns = sonde_column_ns(path, i, time_ns), count = sonde_column_count(path, i, count);
		double share = sonde_facts_stretched(facts, time_ns) / facts->span_ns;
		int is_function = kind == SONDE_CRITICAL_ELEMENT_FUNCTION;
		if ((!is_function && kind != SONDE_CRITICAL_ELEMENT_ZONE) || (is_function && count < SAMPLES_LEAST) ||
		    is_no_place(name) || sonde_column_label(path, i, state) == SONDE_CRITICAL_BLOCKED ||
		    share < facts->threshold[SONDE_THRESHOLD_HOT])
			continue;
		rc = hot_add(facts, is_function, name, time_ns, count, found);
	}
	for (size_t i = 0; !rc && !path->of.rows && i < functions->of.rows; i++) {
		const char *name = sonde_column_text(functions, i, function);
		double share = sonde_column_ratio(functions, i, self_share),
		       count = sonde_column_count(functions, i, samples);
		double self_ns = sonde_column_ns(functions, i, self_ns);
		if (is_no_place(name) || count < SAMPLES_LEAST || !(share >= facts->threshold[SONDE_THRESHOLD_HOT]))
			continue;
		rc = hot_add(facts, 1, name, self_ns, count, found);
	}
	return rc;
}

SONDE_EVALUATE(many_calls)
{
	const struct sonde_columns_zones *zones = &facts->columns.zones;
	int rc = 0;
	for (size_t i = 0; !rc && i < zones->of.rows; i++) {
		const char *name = sonde_column_text(zones, i, zone);
		double calls = sonde_column_count(zones, i, calls), self_ns = sonde_column_ns(zones, i, self_ns);
		double on_path_ns =
		    facts->has_path
			? sonde_facts_stretched(facts, sonde_facts_on_path(facts, SONDE_CRITICAL_ELEMENT_ZONE, name,
									   SONDE_CRITICAL_KINDS))
			: fmin(self_ns, facts->span_ns);
		double share = on_path_ns / facts->span_ns;
		if (!(calls > facts->threshold[SONDE_THRESHOLD_CALLS]) ||
		    !(share > facts->threshold[SONDE_THRESHOLD_CALLS_SHARE]) ||
		    !(self_ns / calls < facts->threshold[SONDE_THRESHOLD_CALL_NS]))
			continue;
		rc = sonde_found_add(
		    found,
		    &(struct sonde_finding){
			.subject = sonde_report_text(found->report, "%s", name),
			.evidence = sonde_report_text(
			    found->report,
			    "called %.0f times, %.0f ns each: %.3f s in all, including call and recording overhead",
			    calls, self_ns / calls, self_ns / 1e9),
			.saves_ns = on_path_ns,
			.has_waits = 1,
			.weighs = fmin(share, 1)});
	}
	return rc;
}

/* --- the kernel and the allocator --------------------------------------------------------------------------------- */

/* Estimates the time of page faults from samples or, if the kernel cannot be sampled, from system time. System time is
 * only an upper bound, so the confidence is lower. */
SONDE_EVALUATE(page_faults)
{
	static const char *const names[] = {
	    "asm_exc_page_fault", "exc_page_fault", "do_user_addr_fault", "handle_mm_fault", "do_page_fault",
	    "do_mem_abort",       "el0_da"};
	static const char *const both[] = {"asm_exc_page_fault",
					   "exc_page_fault",
					   "do_user_addr_fault",
					   "handle_mm_fault",
					   "do_page_fault",
					   "do_mem_abort",
					   "el0_da",
					   "__x64_sys_munmap",
					   "__arm64_sys_munmap",
					   "__x64_sys_mmap",
					   "__arm64_sys_mmap",
					   "__x64_sys_brk",
					   "__arm64_sys_brk",
					   "__x64_sys_madvise",
					   "__arm64_sys_madvise",
					   NULL};
	static const char *const frees[][2] = {{"__x64_sys_munmap", "__arm64_sys_munmap"},
					       {"__x64_sys_mmap", "__arm64_sys_mmap"},
					       {"__x64_sys_brk", "__arm64_sys_brk"},
					       {"__x64_sys_madvise", "__arm64_sys_madvise"}};
	const struct sonde_columns_resources *resources = &facts->columns.resources;
	double fault_ns = sonde_facts_most_total_ns(facts, names, COUNT(names)), free_ns = 0;
	for (size_t i = 0; i < COUNT(frees); i++)
		free_ns += sonde_facts_most_total_ns(facts, frees[i], 2);
	double faults = sonde_column_count(resources, 0, faults_minor) + sonde_column_count(resources, 0, faults_major);
	double system_ns = 1e9 * sonde_summary_value(&facts->columns, timing, system_time_s), confidence = 0;
	if (fault_ns <= 0 && faults > 20000 && system_ns > 0) {
		fault_ns = system_ns;
		free_ns = 0;
		confidence = 0.4;
	}
	double all_ns = fault_ns + free_ns;
	if (!(fault_ns / facts->cpu_ns > facts->threshold[SONDE_THRESHOLD_FAULTS]) || !(faults > 1000))
		return 0;
	double saves_ns = sonde_facts_cpu_on_path(facts, NULL, 0, all_ns);
	return sonde_found_add(
	    found, &(struct sonde_finding){.subject = sonde_report_text(found->report, "%.0f page faults", faults),
					   .evidence = sonde_report_text(
					       found->report,
					       confidence > 0 ? "the kernel was not sampled: page faults are part of "
								"%.3f s of system time (%.1f %% of CPU time)%s"
							      : "%.3f s (%.1f %% of CPU time) went to page faults%s",
					       fault_ns / 1e9, 100 * fault_ns / facts->cpu_ns,
					       free_ns > 0 ? ", not counting the cost of freeing memory" : ""),
					   .saves_ns = fmin(saves_ns, facts->span_ns),
					   .has_waits = 1,
					   .place = {.functions = confidence > 0 ? NULL : both},
					   .confidence = confidence,
					   .weighs = sonde_facts_share(facts, all_ns, saves_ns)});
}

static int is_allocator(const char *name)
{
	static const char *const names[] = {"malloc",
					    "_int_malloc",
					    "free",
					    "_int_free",
					    "cfree",
					    "calloc",
					    "realloc",
					    "_int_realloc",
					    "malloc_consolidate",
					    "unlink_chunk",
					    "sysmalloc",
					    "systrim",
					    "__libc_calloc",
					    "__libc_malloc",
					    "__libc_realloc",
					    "__libc_free",
					    "tcache_get",
					    "tcache_put",
					    "_int_free_merge_chunk",
					    "_int_free_create_chunk",
					    "_int_memalign",
					    "posix_memalign",
					    "aligned_alloc",
					    "operator new",
					    "operator delete",
					    "operator new(unsigned long)",
					    "operator delete(void*)",
					    "operator delete(void*, unsigned long)",
					    "operator new[](unsigned long)",
					    "operator delete[](void*)",
					    "alloc_perturb",
					    "checked_request2size",
					    "arena_get2",
					    "int_mallinfo",
					    "malloc_printerr",
					    "__default_morecore",
					    "unlink_chunk.constprop.0",
					    "unlink_chunk.isra.0"};
	for (size_t i = 0; i < COUNT(names); i++)
		if (strcmp(name, names[i]) == 0)
			return 1;
	return 0;
}

/* Entry points of the allocator: their inclusive time, including copying, is the time of the program's allocator,
 * without the recorder's. */
static const char *const entries[] = {
    "malloc", "__libc_malloc", "calloc",   "__libc_calloc",  "realloc",       "__libc_realloc", "free",
    "cfree",  "__libc_free",   "memalign", "posix_memalign", "aligned_alloc", "reallocarray",   NULL};

static int is_entry(const char *name)
{
	for (size_t i = 0; entries[i]; i++)
		if (strcmp(name, entries[i]) == 0)
			return 1;
	return 0;
}

/* Only malloc's blocks: mappings are separate, and pools are inside of them. */
struct churn {
	double begins, temporary; /* NAN: temporary blocks cannot be determined from sampled allocations */
	const char *where;        /* site with most temporary blocks; "" = unknown */
};

static struct churn churn_of(const struct sonde_facts *facts)
{
	const struct sonde_columns_heaps *heaps = &facts->columns.heaps;
	const struct sonde_columns_temporary *rows = &facts->columns.temporary;
	struct churn churn = {.where = ""};
	int is_sampled = 0;
	for (size_t i = 0; i < heaps->of.rows; i++) {
		if (sonde_column_label(heaps, i, kind) != SONDE_HEAP_MALLOC)
			continue;
		churn.begins += fmax(sonde_column_count(heaps, i, allocations), 0);
		is_sampled |= isnan(sonde_column_count(heaps, i, unknown)); /* unknown for sampled allocations */
	}
	for (size_t i = 0; !is_sampled && i < rows->of.rows; i++) {
		int is_only = !*sonde_column_label_text(rows, i, heap); /* all rows are malloc's */
		if (!is_only && sonde_column_label(rows, i, heap) != SONDE_HEAP_MALLOC)
			continue;
		churn.temporary += fmax(sonde_column_count(rows, i, temporary), 0);
		churn.where = *churn.where ? churn.where : sonde_column_text(rows, i, function);
	}
	if (is_sampled)
		churn.temporary = NAN;
	return churn;
}

static const char *churn_text(const struct churn *churn, double rate, struct sonde_report *report)
{
	if (!(churn->begins > 0))
		return "; record --heap counts the allocations";
	const char *many = sonde_figure_text(report, rate);
	if (!many)
		return NULL;
	if (isnan(churn->temporary))
		return sonde_report_text(
		    report, "; about %s allocations/s (sampled); record --heap=full also counts the temporary ones",
		    many);
	const char *most =
	    *churn->where ? sonde_report_text(report, "; most temporary blocks come from %s", churn->where) : "";
	return most ? sonde_report_text(report, "; %s allocations/s, %.0f %% of them temporary%s", many,
					100 * fmin(churn->temporary / churn->begins, 1), most)
		    : NULL;
}

SONDE_EVALUATE(allocator)
{
	enum { MAX = 64 };
	const struct sonde_columns_functions *functions = &facts->columns.functions;
	const struct churn churn = churn_of(facts);
	const char *names[MAX];
	size_t count = 0;
	double self_ns = 0, total_ns = 0;
	for (size_t i = 0; i < functions->of.rows; i++) {
		const char *name = sonde_column_text(functions, i, function);
		if (!strncmp(sonde_column_text(functions, i, module), "libsonde", 8))
			continue;
		if (is_entry(name))
			total_ns += sonde_column_ns(functions, i, total_ns);
		if (!is_allocator(name))
			continue;
		self_ns += sonde_column_ns(functions, i, self_ns);
		if (count < MAX)
			names[count++] = name;
	}
	double all_ns = fmin(fmax(self_ns, total_ns), facts->cpu_ns), share = all_ns / facts->cpu_ns;
	double rate = churn.begins / (facts->span_ns / 1e9);
	int is_many = rate > facts->threshold[SONDE_THRESHOLD_ALLOCATIONS] ||
		      (churn.begins > 0 && rate > 1e5 &&
		       churn.temporary / churn.begins > facts->threshold[SONDE_THRESHOLD_TEMPORARY]);
	if (!(share > facts->threshold[SONDE_THRESHOLD_ALLOCATOR]) && !(is_many && share > 0.01))
		return 0;
	double saves_ns = sonde_facts_cpu_on_path(facts, names, count, self_ns);
	saves_ns = fmax(saves_ns, sonde_facts_cpu_on_path(facts, NULL, 0, all_ns));
	const char *calls = churn_text(&churn, rate, found->report);
	if (!calls)
		return sonde_found_add(found, &(struct sonde_finding){0});
	return sonde_found_add(
	    found,
	    &(struct sonde_finding){
		.subject = *churn.where ? sonde_report_text(found->report, "%s", churn.where) : "malloc and free",
		.evidence = sonde_report_text(found->report, "%.3f s (%.1f %% of CPU time) went to the allocator%s",
					      all_ns / 1e9, 100 * share, calls),
		.saves_ns = saves_ns,
		.has_waits = 1,
		.place = {.functions = entries},
		.weighs = sonde_facts_share(facts, all_ns, saves_ns)});
}

/* --- overhead, work, energy --------------------------------------------------------------------------------------- */

/* CPU time of the recorder's code within the program, from samples. */
static double own_ns(const struct sonde_facts *facts)
{
	const struct sonde_columns_functions *functions = &facts->columns.functions;
	double sum_ns = 0;
	for (size_t i = 0; i < functions->of.rows; i++)
		if (!strncmp(sonde_column_text(functions, i, function), "sonde_", 6) ||
		    !strncmp(sonde_column_text(functions, i, module), "libsonde", 8))
			sum_ns += sonde_column_ns(functions, i, self_ns);
	return sum_ns;
}

SONDE_EVALUATE(profiler_cost)
{
	double inside_ns = own_ns(facts), share = inside_ns / facts->cpu_ns;
	double saves_ns = sonde_facts_cpu_on_path(facts, NULL, 0, inside_ns);
	double beside_ns = 1e9 * sonde_summary_value(&facts->columns, cost, recorder_cpu_time_s);
	if (!(share > facts->threshold[SONDE_THRESHOLD_COST]))
		return 0;
	return sonde_found_add(found, &(struct sonde_finding){.subject = "the recorder",
							      .evidence = sonde_report_text(
								  found->report,
								  "%.3f s (%.1f %% of CPU time) went to recorder code "
								  "inside the program, %.3f s to the recorder outside",
								  inside_ns / 1e9, 100 * share, beside_ns / 1e9),
							      .saves_ns = saves_ns,
							      .has_waits = 1,
							      .weighs = sonde_facts_share(facts, inside_ns, saves_ns)});
}

SONDE_EVALUATE(idle_energy)
{
	const struct sonde_columns_energy_processes *energy = &facts->columns.energy_processes;
	double all_j = 0, idle_j = 0;
	for (size_t i = 0; i < energy->of.rows; i++) {
		double joules = sonde_column_joules(energy, i, energy_j);
		if (!(joules > 0))
			continue;
		all_j += joules;
		idle_j += sonde_column_label(energy, i, process) == SONDE_ENERGY_ROW_IDLE ? joules : 0;
	}
	if (!(all_j > 0) || !(idle_j / all_j > facts->threshold[SONDE_THRESHOLD_IDLE_ENERGY]))
		return 0;
	return sonde_found_add(
	    found, &(struct sonde_finding){.subject = "the machine",
					   .evidence = sonde_report_text(
					       found->report, "%.1f of %.1f J were used while idle", idle_j, all_j),
					   .weighs = 0.1 * idle_j / all_j});
}
