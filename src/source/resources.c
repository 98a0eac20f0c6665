/* resources.c: the resources source: what processes and the machine use, read again and again, as series.
 *
 * A round reads all processes of the tree (resources_process.h) and the machine (resources_machine.h): at --interval,
 * by a timer set to absolute times of CLOCK_MONOTONIC, first as the command begins and last as the recording ends. Of
 * the command also when it has died and is not yet waited for: then its CPU time and faults are final. Rounds together
 * take at most 0.2 % of a CPU: where they would take more, the next one waits until that holds again, and the SOURCE
 * record says how often was read instead. Each half second a round has details, disks and networks: caches are cold
 * then, and everything costs three times what it costs in a loop. The proportional share of memory, which walks page
 * tables, is read as far as that takes 0.1 %, and context switches of many threads 0.05 %.
 *
 * Where no perf events tell of processes, they are found here (resources_tree.h), and end when they are gone.
 * Processes that come and go between two rounds leave nothing but what their parents waited for.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "source/perf_event.h"
#include "source/resources_budget.h"
#include "source/resources_machine.h"
#include "source/resources_process.h"
#include "source/resources_tree.h"
#include "source/snapshots.h"
#include "source/source.h"
#include "util/error.h"

#define DEFAULT_EVERY_NS 100000000u
#define DETAIL_EVERY_NS 500000000u
#define SHARE 500u /* of a CPU */
#define PSS_SHARE 1000u
#define SWITCHES_SHARE 2000u
#define LEFT_NS 4000000 /* what may be left over of a share */
#define LEFT_DEAR_NS 500000
#define PSS_LEAST_NS 50000u /* of a small process */
#define PAGES_TO_MEASURE 256u
#define PSS_PAGE_NS 40u /* before it was measured */
#define TASK_NS 20000u
#define SETTLE_NS 300000000u /* so late may a process's own farewell be read */
#define FDS_A_PROCESS 4u
#define KEPT_MAX 512u      /* processes whose descriptors stay open */
#define SERIES_EASY 16384u /* beyond, only processes that last from one round to the next get series */
#define METHOD "/proc/PID/stat, status, io and CPU clocks; /proc and control groups of the machine"

/* A process that is read. */
struct row {
	struct sonde_resources_process process;
	uint32_t id;
	pid_t pid;
	uint32_t series[SONDE_RESOURCE_COUNT];
	int is_open, is_kept, is_gone, is_new;
	uint64_t gone_ns;       /* when it was found gone and nobody had said so; 0 = it was not, or that is told */
	int64_t threads, rss_b; /* as read last */
	int64_t peak_b;
	char name[32];
};

/* One number of the machine. */
struct machine_row {
	enum sonde_metric metric;
	char object[256];
	uint32_t series;
};

/* A detail that is read of one process after the other, as far as its budget goes. */
struct turn {
	struct sonde_budget budget;
	size_t at;
	uint64_t (*price_ns)(const struct sonde_source_run *run, const struct row *row);
	void (*read)(struct sonde_resources_process *process, struct sonde_resources *out);
};

struct sonde_source_run {
	struct sonde_recorder *recorder;
	struct sonde_resources_machine *machine;
	struct row *rows; /* alive, by id, ascending */
	size_t count, cap, kept, kept_max;
	struct machine_row *numbers; /* in the order in which they are read */
	size_t number_count, number_cap, number_at;
	struct sonde_resources_tree tree;
	int finds_processes;
	int timer_fd, command_fd; /* −1 = none; the command's pidfd */
	pid_t command;
	int reads_rss; /* no other source does */
	struct sonde_budget budget;
	struct turn pss, switches;
	uint64_t page_ns; /* of the proportional share */
	uint64_t every_ns, start_ns, last_ns, next_ns, next_detail_ns, point_ns;
	uint64_t first_ns, rounds, held_back, spent_ns;
	/* Processes: that are not shown, of others, with too many threads for their switches. */
	uint64_t hidden, closed, crowded;
	uint32_t series_count;
};

/* --- points ------------------------------------------------------------------------------------------------------- */

static void put_process(struct sonde_source_run *run, struct row *row, const struct sonde_resources *now)
{
	uint64_t now_ns = sonde_clock_now_ns();
	for (unsigned i = 0; i < SONDE_RESOURCE_COUNT; i++) {
		if (!(now->known & 1u << i) || (i == SONDE_RESOURCE_MEMORY_RSS && !run->reads_rss))
			continue;
		if (!row->series[i]) {
			row->series[i] = sonde_recorder_series(
			    run->recorder, sonde_resource_metric((enum sonde_resource)i), row->id, 0, NULL);
			run->series_count++;
		}
		sonde_recorder_point(run->recorder, now_ns, row->series[i], now->value[i]);
	}
}

static struct machine_row *number_of(struct sonde_source_run *run, enum sonde_metric metric, const char *object)
{
	for (size_t i = 0; i < run->number_count; i++) { /* mostly the next one */
		size_t at = (run->number_at + i) % run->number_count;
		struct machine_row *row = &run->numbers[at];
		if (row->metric == metric && !strcmp(row->object, object)) {
			run->number_at = at + 1;
			return row;
		}
	}
	if (run->number_count == run->number_cap) {
		size_t cap = run->number_cap ? 2 * run->number_cap : 64;
		struct machine_row *numbers = realloc(run->numbers, cap * sizeof *numbers);
		if (!numbers)
			return NULL;
		run->numbers = numbers;
		run->number_cap = cap;
	}
	struct machine_row *row = &run->numbers[run->number_count++];
	*row = (struct machine_row){.metric = metric};
	snprintf(row->object, sizeof row->object, "%s", object);
	row->series = sonde_recorder_series(run->recorder, metric, 0, 0, *object ? object : NULL);
	return row;
}

static void put_number(void *context, enum sonde_metric metric, const char *object, int64_t value)
{
	struct sonde_source_run *run = context;
	const struct machine_row *row = number_of(run, metric, object ? object : "");
	if (row)
		sonde_recorder_point(run->recorder, run->point_ns, row->series, value);
}

/* --- processes ---------------------------------------------------------------------------------------------------- */

static void forget(struct sonde_source_run *run, struct row *row)
{
	if (row->is_open)
		sonde_resources_process_close(&row->process);
	run->kept -= (size_t)row->is_kept;
	row->is_open = row->is_kept = 0;
	row->is_gone = 1;
}

static int add(struct sonde_source_run *run, const struct sonde_recorder_live *live)
{
	if (run->count == run->cap) {
		size_t cap = run->cap ? 2 * run->cap : 16;
		struct row *rows = realloc(run->rows, cap * sizeof *rows);
		if (!rows)
			return 0;
		run->rows = rows;
		run->cap = cap;
	}
	run->rows[run->count++] = (struct row){.id = live->id, .pid = live->pid, .is_new = 1};
	return 1;
}

static void went(struct sonde_source_run *run, struct row *row, enum sonde_resources_found found)
{
	run->hidden += found == SONDE_RESOURCES_HIDDEN && !row->is_gone;
	forget(run, row);
	if (run->finds_processes)
		row->gone_ns = sonde_clock_now_ns();
}

/* A process says itself that it ends, where something of ours is in it: that may still be on its way. */
static void end_gone(struct sonde_source_run *run, uint64_t now_ns, int is_final)
{
	for (size_t i = 0; i < run->count; i++) {
		struct row *row = &run->rows[i];
		if (!row->gone_ns || (!is_final && now_ns < row->gone_ns + SETTLE_NS))
			continue;
		if (sonde_recorder_alive(run->recorder, row->pid) == row->id)
			sonde_recorder_exit(run->recorder, row->pid, row->pid, 0, row->gone_ns);
		row->gone_ns = 0;
	}
}

static int open_row(struct sonde_source_run *run, struct row *row)
{
	int keep = run->kept < run->kept_max;
	enum sonde_resources_found found = sonde_resources_process_open(&row->process, "", row->pid, keep);
	if (found != SONDE_RESOURCES_FOUND) {
		went(run, row, found);
		return -1;
	}
	row->is_open = 1;
	row->is_kept = keep;
	run->kept += (size_t)keep;
	return 0;
}

/* The program, as the process is found under another name than before; recorded where perf events do not tell. */
static void see_name(struct sonde_source_run *run, struct row *row, const struct sonde_resources *now)
{
	if (run->finds_processes && strcmp(now->name, row->name) != 0)
		sonde_recorder_comm(run->recorder, row->pid, row->pid, now->name, 1, sonde_clock_now_ns());
	memcpy(row->name, now->name, sizeof row->name);
}

/* The kernel's peak is a detail, and gone with the process: between two readings of it, it is at least what is
 * resident. */
static void raise_peak(struct row *row, struct sonde_resources *now)
{
	const uint32_t rss = 1u << SONDE_RESOURCE_MEMORY_RSS, peak = 1u << SONDE_RESOURCE_MEMORY_PEAK_RSS;
	int64_t rss_b = now->known & rss ? now->value[SONDE_RESOURCE_MEMORY_RSS] : 0;
	if (!(now->known & peak) && rss_b > row->peak_b) {
		now->known |= peak;
		now->value[SONDE_RESOURCE_MEMORY_PEAK_RSS] = rss_b;
	}
	if (now->known & peak)
		row->peak_b = now->value[SONDE_RESOURCE_MEMORY_PEAK_RSS];
}

static void read_row(struct sonde_source_run *run, struct row *row, int is_detailed, int is_final)
{
	struct sonde_resources now;
	int is_first = row->is_new;
	if (is_first && run->series_count > SERIES_EASY && !is_final) {
		row->is_new = 0;
		return;
	}
	if (row->is_gone || (!row->is_open && open_row(run, row)))
		return;
	enum sonde_resources_found found = sonde_resources_process_read(&row->process, is_detailed || is_first, &now);
	if (found != SONDE_RESOURCES_FOUND) {
		went(run, row, found);
		return;
	}
	see_name(run, row, &now);
	run->crowded += is_detailed && row->threads > SONDE_RESOURCES_TASKS_MAX;
	raise_peak(row, &now);
	put_process(run, row, &now);
	row->threads = now.known & 1u << SONDE_RESOURCE_THREADS ? now.value[SONDE_RESOURCE_THREADS] : 1;
	row->rss_b = now.known & 1u << SONDE_RESOURCE_MEMORY_RSS ? now.value[SONDE_RESOURCE_MEMORY_RSS] : 0;
	if (is_first && !now.is_dead && !(now.known & 1u << SONDE_RESOURCE_IO_READ_ALL))
		run->closed++;
	row->is_new = 0;
	if (now.is_dead)
		went(run, row, SONDE_RESOURCES_GONE);
}

/* The recorder knows that it ended. As long as nobody has waited for it, it says what it came to. */
static void leave(struct sonde_source_run *run, struct row *row)
{
	if (row->is_open)
		read_row(run, row, 1, 1);
	forget(run, row);
}

/* Makes the rows those of the processes that are alive. New ones have higher ids than all before. */
static void refresh(struct sonde_source_run *run)
{
	struct sonde_recorder_live live[64];
	size_t at = 0, kept = 0, known = run->count, found;
	uint32_t after = 0;
	while ((found = sonde_recorder_live(run->recorder, after, live, sizeof live / sizeof *live))) {
		for (size_t i = 0; i < found; i++) {
			while (at < known && run->rows[at].id < live[i].id)
				leave(run, &run->rows[at++]);
			if (at < known && run->rows[at].id == live[i].id)
				run->rows[kept++] = run->rows[at++];
			else if (add(run, &live[i]))
				run->rows[kept++] = run->rows[run->count - 1];
		}
		after = live[found - 1].id;
	}
	while (at < known)
		leave(run, &run->rows[at++]);
	run->count = kept;
}

/* --- what costs more ---------------------------------------------------------------------------------------------- */

static uint64_t pages_of(const struct row *row)
{
	return (uint64_t)row->rss_b / (uint64_t)getpagesize() + 1;
}

/* Reads one detail of processes in turn, as far as its budget goes: the one that it ends at is the next one's first.
 * A price of 0: there is nothing to read of this one. */
static void read_turn(struct sonde_source_run *run, struct turn *turn)
{
	for (size_t i = 0; i < run->count; i++) {
		struct row *row = &run->rows[turn->at % run->count];
		uint64_t now_ns = sonde_clock_now_ns(), price_ns = row->is_open ? turn->price_ns(run, row) : 0;
		if (price_ns && !sonde_budget_allows(&turn->budget, price_ns, now_ns))
			return;
		turn->at++;
		if (!price_ns)
			continue;
		struct sonde_resources now;
		uint64_t before_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
		turn->read(&row->process, &now);
		uint64_t took_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
		sonde_budget_spend(&turn->budget, took_ns, now_ns);
		put_process(run, row, &now);
		if (turn == &run->pss && pages_of(row) > PAGES_TO_MEASURE)
			run->page_ns = (run->page_ns + took_ns / pages_of(row) + 1) / 2;
	}
}

static uint64_t price_of_pss(const struct sonde_source_run *run, const struct row *row)
{
	return row->process.has_no_pss || !row->rss_b ? 0 : pages_of(row) * run->page_ns + PSS_LEAST_NS;
}

static uint64_t price_of_switches(const struct sonde_source_run *run, const struct row *row)
{
	(void)run;
	int wanted = row->process.was_multi && row->threads <= SONDE_RESOURCES_TASKS_MAX;
	return wanted ? (uint64_t)row->threads * TASK_NS : 0;
}

/* --- rounds ------------------------------------------------------------------------------------------------------- */

static uint64_t after(const struct sonde_source_run *run, uint64_t time_ns)
{
	return run->start_ns + ((time_ns - run->start_ns) / run->every_ns + 1) * run->every_ns;
}

static void read_all(struct sonde_source_run *run, uint64_t now_ns, int is_final)
{
	int is_detailed = is_final || now_ns >= run->next_detail_ns;
	run->point_ns = now_ns;
	sonde_resources_machine_read(run->machine, is_detailed, put_number, run);
	if (run->finds_processes)
		sonde_resources_tree_look(&run->tree, sonde_resources_machine_last_pid(run->machine), now_ns);
	refresh(run);
	for (size_t i = 0; i < run->count; i++)
		read_row(run, &run->rows[i], is_detailed, is_final);
	end_gone(run, now_ns, is_final);
	if (!is_detailed)
		return;
	read_turn(run, &run->pss);
	read_turn(run, &run->switches);
	run->next_detail_ns = after(run, now_ns + DETAIL_EVERY_NS - run->every_ns);
}

static void round_of(struct sonde_source_run *run, int is_final)
{
	uint64_t before_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID), now_ns = sonde_clock_now_ns();
	read_all(run, now_ns, is_final);
	run->first_ns = run->rounds++ ? run->first_ns : now_ns;
	run->last_ns = now_ns;
	now_ns = sonde_clock_now_ns();
	uint64_t spent_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
	run->spent_ns += spent_ns;
	sonde_budget_spend(&run->budget, spent_ns, now_ns);
	run->next_ns = after(run, now_ns);
	uint64_t due_ns = sonde_budget_due_ns(&run->budget);
	if (due_ns <= run->next_ns)
		return;
	run->held_back++;
	run->next_ns = after(run, due_ns);
}

/* Of the command, that has died: it is there until it is waited for. */
static void read_dead(struct sonde_source_run *run)
{
	struct pollfd dead = {.fd = run->command_fd, .events = POLLIN};
	if (run->command_fd < 0 || poll(&dead, 1, 0) <= 0)
		return;
	close(run->command_fd);
	run->command_fd = -1;
	for (size_t i = 0; i < run->count; i++)
		if (run->rows[i].pid == run->command)
			read_row(run, &run->rows[i], 1, 1);
}

static void set_timer(const struct sonde_source_run *run)
{
	struct itimerspec at = {.it_value = {.tv_sec = (time_t)(run->next_ns / 1000000000u),
					     .tv_nsec = (long)(run->next_ns % 1000000000u)}};
	if (run->timer_fd >= 0)
		timerfd_settime(run->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

/* --- what is said ------------------------------------------------------------------------------------------------- */

struct said {
	char text[1024];
	size_t used;
};

static void say(struct said *said, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct said *said, const char *format, ...)
{
	va_list arguments;
	size_t left = sizeof said->text - said->used;
	int joint = said->used ? snprintf(said->text + said->used, left, "; ") : 0;
	if (left < 64)
		return;
	va_start(arguments, format);
	int more = vsnprintf(said->text + said->used + joint, left - (size_t)joint, format, arguments);
	va_end(arguments);
	said->used += (size_t)(joint + more);
	if (said->used >= sizeof said->text)
		said->used = sizeof said->text - 1;
}

static void say_source(const struct sonde_source_run *run)
{
	struct sonde_recorder_state state = {
	    .state = SONDE_SOURCE_ON, .method = METHOD, .rate_hz = 1e9 / (double)run->every_ns};
	struct said said = {0};
	char missing[512];
	double every_ns = run->rounds > 1 ? (double)(run->last_ns - run->first_ns) / (double)(run->rounds - 1) : 0;
	state.effective_hz = every_ns > (double)run->every_ns ? 1e9 / every_ns : state.rate_hz; /* the last is early */
	if (run->held_back && every_ns > 1.2 * (double)run->every_ns)
		say(&said,
		    "read each %.3g ms, not each %.3g ms: so many processes and threads would have taken more than "
		    "%.1f %% of a core",
		    every_ns / 1e6, (double)run->every_ns / 1e6, 100.0 / SHARE);
	if (run->hidden)
		say(&said, "%llu process%s not shown by /proc (hidepid): record as root",
		    (unsigned long long)run->hidden, run->hidden == 1 ? " is" : "es are");
	if (run->closed)
		say(&said, "what %llu process%s of other users read%s and write%s is not told: record as root",
		    (unsigned long long)run->closed, run->closed == 1 ? "" : "es", run->closed == 1 ? "s" : "",
		    run->closed == 1 ? "s" : "");
	if (said.used)
		state.state = SONDE_SOURCE_LIMITED;
	if (run->crowded)
		say(&said, "context switches are not read of processes with more than %d threads",
		    SONDE_RESOURCES_TASKS_MAX);
	if (run->finds_processes)
		say(&said, "processes are found in /proc: not those that came and went between two readings");
	if (sonde_resources_machine_missing(run->machine, missing, sizeof missing))
		say(&said, "%s", missing);
	state.detail = said.used ? said.text : NULL;
	sonde_recorder_source(run->recorder, "resources", &state);
	sonde_recorder_cost(run->recorder, "resources.cpu_ns", run->spent_ns);
	sonde_recorder_cost(run->recorder, "resources.rounds", run->rounds);
}

/* --- the source --------------------------------------------------------------------------------------------------- */

static int resources_probe(const struct sonde_record_options *options, char *why, size_t why_b)
{
	(void)options;
	if (sonde_snapshots_resident_b(getpid()))
		return 0;
	snprintf(why, why_b, "/proc is not mounted: nothing says what processes use; mount -t proc proc /proc");
	return -ENOENT;
}

static int resources_open(struct sonde_source_run **out, struct sonde_recorder *recorder)
{
	const struct sonde_record_options *options = sonde_recorder_options(recorder);
	struct sonde_source_run *run = calloc(1, sizeof *run);
	struct rlimit files = {0};
	char text[32];
	if (!run)
		return sonde_error(ENOMEM, "out of memory for the resources source");
	run->recorder = recorder;
	run->command_fd = -1;
	run->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	run->every_ns = options->resources_every_ns ? options->resources_every_ns : DEFAULT_EVERY_NS;
	run->page_ns = PSS_PAGE_NS;
	run->reads_rss = options->only_resources || (!options->heap && !options->memory_every_ns);
	run->finds_processes = options->only_resources || options->no_perf || sonde_perf_events_probe() < 0;
	getrlimit(RLIMIT_NOFILE, &files);
	run->kept_max = files.rlim_cur / FDS_A_PROCESS / 4;
	if (run->kept_max > KEPT_MAX)
		run->kept_max = KEPT_MAX;
	snprintf(text, sizeof text, "%llu", (unsigned long long)run->every_ns);
	sonde_recorder_info(recorder, "option.interval_ns", text);
	*out = run;
	return 0;
}

static int resources_start(struct sonde_source_run *run, pid_t pid)
{
	int rc = sonde_resources_machine_new(&run->machine, "", pid);
	if (rc)
		return rc;
	uint64_t now_ns = sonde_clock_now_ns();
	run->start_ns = run->next_ns = run->next_detail_ns = now_ns;
	run->command = pid;
	run->command_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	sonde_budget_init(&run->budget, SHARE, LEFT_NS, now_ns);
	run->pss = (struct turn){.price_ns = price_of_pss, .read = sonde_resources_process_pss};
	run->switches = (struct turn){.price_ns = price_of_switches, .read = sonde_resources_process_switches};
	sonde_budget_init(&run->pss.budget, PSS_SHARE, LEFT_DEAR_NS, now_ns);
	sonde_budget_init(&run->switches.budget, SWITCHES_SHARE, LEFT_DEAR_NS, now_ns);
	if (run->finds_processes)
		sonde_resources_tree_start(&run->tree, run->recorder, pid,
					   sonde_recorder_options(run->recorder)->command != NULL);
	set_timer(run); /* at once: before the command is let go it is a copy of ours */
	return 0;
}

static int resources_drain(struct sonde_source_run *run, uint64_t horizon_ns, int final)
{
	(void)horizon_ns;
	if (final || sonde_clock_now_ns() >= run->next_ns) {
		round_of(run, final);
		set_timer(run);
	}
	read_dead(run);
	return sonde_recorder_error(run->recorder);
}

static size_t resources_poll_fds(struct sonde_source_run *run, int *fds, size_t max)
{
	if (run->timer_fd < 0 || !max)
		return 0;
	fds[0] = run->timer_fd;
	return 1;
}

static void resources_stop(struct sonde_source_run *run)
{
	if (run->rounds)
		say_source(run);
	for (size_t i = 0; i < run->count; i++)
		forget(run, &run->rows[i]);
	sonde_resources_machine_free(run->machine);
	if (run->timer_fd >= 0)
		close(run->timer_fd);
	if (run->command_fd >= 0)
		close(run->command_fd);
	free(run->numbers);
	free(run->rows);
	free(run);
}

const struct sonde_source sonde_source_resources = {
    .name = "resources",
    .title = "CPU time, memory, I/O of processes and the machine, again and again",
    .cost = "at most 0.2 % of a CPU in the recorder",
    .probe = resources_probe,
    .open = resources_open,
    .start = resources_start,
    .drain = resources_drain,
    .poll_fds = resources_poll_fds,
    .stop = resources_stop,
};
