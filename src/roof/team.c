/* team.c: pinned threads that run a job together. */
#include "roof/team.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "util/error.h"

#define HUGE_B ((size_t)2 << 20)

struct member {
	struct sonde_roof_team *team;
	pthread_t thread;
	unsigned cpu;
	char *mapping; /* the thread's own, valid from its first piece on */
	char *memory;  /* within the mapping, aligned */
	/* Results of the last run; the team's owner reads them between the barriers. */
	double amount;
	uint64_t position, ran_ns;
};

/* The owner writes the fields of a run before the barrier `begin`; members write between it and `end`. */
struct sonde_roof_team {
	pthread_mutex_t gate;
	pthread_barrier_t begin, end;
	unsigned count;
	size_t memory_b;
	int is_over;
	sonde_roof_piece *piece;
	const void *job;
	uint64_t run_ns;
	_Atomic unsigned waiting;    /* members that have not reached the start; the last one sets the start time */
	_Atomic uint64_t started_ns; /* 0 = not started; no other data is published with it */
	_Atomic int error;           /* the first errno of any member */
	struct member members[];
};

/* Memory is first touched by the thread that will use it, on its pinned CPU, so that it lies on that CPU's node. */
static int memory_make(struct member *member)
{
	size_t size_b = member->team->memory_b;
	char *mapping =
	    mmap(NULL, size_b + HUGE_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mapping == MAP_FAILED)
		return ENOMEM;
	member->mapping = mapping;
	member->memory = (char *)(((uintptr_t)mapping + HUGE_B - 1) & ~(uintptr_t)(HUGE_B - 1));
	madvise(member->memory, size_b, MADV_HUGEPAGE); /* optional: small pages cost a little DRAM bandwidth */
	memset(member->memory, 0, size_b);
	return 0;
}

static int pin(unsigned cpu)
{
	cpu_set_t *set = CPU_ALLOC(cpu + 1);
	size_t size_b = CPU_ALLOC_SIZE(cpu + 1);
	if (!set)
		return ENOMEM;
	CPU_ZERO_S(size_b, set);
	CPU_SET_S(cpu, size_b, set);
	int rc = sched_setaffinity(0, size_b, set) ? errno : 0;
	CPU_FREE(set);
	return rc;
}

/* Spins until all members have arrived, so that none has to be woken. */
static uint64_t wait_start(struct sonde_roof_team *team)
{
	uint64_t started_ns;
	if (atomic_fetch_sub_explicit(&team->waiting, 1, memory_order_acq_rel) == 1)
		atomic_store_explicit(&team->started_ns, sonde_clock_now_ns(), memory_order_release);
	while (!(started_ns = atomic_load_explicit(&team->started_ns, memory_order_acquire)))
		;
	return started_ns;
}

static void run_one(struct member *member)
{
	struct sonde_roof_team *team = member->team;
	uint64_t position = member->position, ran_ns = 0;
	double amount = 0, piece = 0;
	uint64_t started_ns = wait_start(team);
	do {
		piece = team->piece(member->memory, &position, team->job);
		amount += piece;
		ran_ns = sonde_clock_now_ns() - started_ns;
	} while (piece >= 0 && ran_ns < team->run_ns);
	member->amount = piece < 0 ? piece : amount;
	member->position = position;
	member->ran_ns = ran_ns;
}

static void *member_main(void *context)
{
	struct member *member = context;
	struct sonde_roof_team *team = member->team;
	int none = 0;
	pthread_mutex_lock(&team->gate);
	int is_over = team->is_over;
	pthread_mutex_unlock(&team->gate);
	if (is_over)
		return NULL;
	int rc = pin(member->cpu);
	rc = rc ? rc : memory_make(member);
	if (rc)
		atomic_compare_exchange_strong(&team->error, &none, rc);
	pthread_barrier_wait(&team->end);
	for (;;) {
		pthread_barrier_wait(&team->begin);
		if (team->is_over)
			break;
		run_one(member);
		pthread_barrier_wait(&team->end);
	}
	if (member->mapping)
		munmap(member->mapping, team->memory_b + HUGE_B);
	return NULL;
}

double sonde_roof_team_run(struct sonde_roof_team *team, sonde_roof_piece *piece, const void *job, uint64_t run_ns)
{
	double rate = 0;
	team->piece = piece;
	team->job = job;
	team->run_ns = run_ns;
	atomic_store(&team->waiting, team->count);
	atomic_store(&team->started_ns, 0);
	pthread_barrier_wait(&team->begin);
	pthread_barrier_wait(&team->end);
	for (unsigned i = 0; i < team->count; i++) {
		const struct member *member = &team->members[i];
		if (member->amount < 0)
			return -1;
		rate += member->amount / (double)member->ran_ns * 1e9;
	}
	return rate;
}

/* Starts all members. None begins to work before all have started: if one cannot be started, the others exit. */
static int members_start(struct sonde_roof_team *team, const unsigned *cpus)
{
	int rc = 0;
	unsigned begun = 0;
	pthread_mutex_lock(&team->gate);
	while (begun < team->count && !rc) {
		struct member *member = &team->members[begun];
		*member = (struct member){.team = team, .cpu = cpus[begun]};
		rc = pthread_create(&member->thread, NULL, member_main, member);
		begun += !rc;
	}
	team->is_over = rc != 0;
	pthread_mutex_unlock(&team->gate);
	for (unsigned i = 0; i < begun && rc; i++)
		pthread_join(team->members[i].thread, NULL);
	return rc ? sonde_error(rc, "cannot start a measuring thread: %s", strerror(rc)) : 0;
}

int sonde_roof_team_new(struct sonde_roof_team **out, const unsigned *cpus, unsigned count, size_t memory_b)
{
	struct sonde_roof_team *team = calloc(1, sizeof *team + count * sizeof *team->members);
	if (!team)
		return sonde_error(ENOMEM, "out of memory for %u threads", count);
	team->count = count;
	team->memory_b = (memory_b + HUGE_B - 1) & ~(HUGE_B - 1);
	pthread_mutex_init(&team->gate, NULL);
	pthread_barrier_init(&team->begin, NULL, count + 1);
	pthread_barrier_init(&team->end, NULL, count + 1);
	int code = members_start(team, cpus);
	if (code) {
		free(team);
		return code;
	}
	pthread_barrier_wait(&team->end);
	int rc = atomic_load(&team->error);
	if (rc) {
		sonde_roof_team_free(team);
		return sonde_error(rc, "%u threads, each on a CPU with %zu MB of its own: %s", count, memory_b >> 20,
				   strerror(rc));
	}
	*out = team;
	return 0;
}

void sonde_roof_team_free(struct sonde_roof_team *team)
{
	team->is_over = 1;
	pthread_barrier_wait(&team->begin);
	for (unsigned i = 0; i < team->count; i++)
		pthread_join(team->members[i].thread, NULL);
	pthread_barrier_destroy(&team->begin);
	pthread_barrier_destroy(&team->end);
	free(team);
}
