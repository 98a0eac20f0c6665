/* sched_bpf_programs.h: the programs that the kernel runs at scheduler events, and what they share with the recorder.
 *
 * A task that is followed has a row in a task-storage map, which its children get when they are created and which goes
 * with it. A switch from or to such a task is one record in the ring of its CPU.
 */
#ifndef SONDE_SOURCE_SCHED_SCHED_BPF_PROGRAMS_H
#define SONDE_SOURCE_SCHED_SCHED_BPF_PROGRAMS_H

#include <linux/bpf.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* A followed task, in the kernel alone. */
struct sonde_sched_row {
	uint64_t woken_ns; /* since it last had a CPU; 0 = it was not */
	uint32_t by;       /* thread that woke it, 0 = not known */
	uint32_t by_pid;   /* its process */
};

#define SONDE_SCHED_TID(word) ((word)&0xffffffu) /* the kernel's limit is 2^22 */
#define SONDE_SCHED_EXITING (1u << 24)           /* it is on its way out */
#define SONDE_SCHED_RUNNABLE (1u << 25)          /* of prev: it could have gone on */

/* A switch; what is not followed is 0. */
struct sonde_sched_record {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t prev, prev_pid;
	uint32_t next, next_pid;
	uint32_t by, by_pid; /* thread that woke or created next; 0 = not known */
	uint64_t woken_ns;   /* when; 0 = not known, or it was not woken */
};

#define SONDE_SCHED_HEAD_B 4096u /* of a ring, before its records */

/* The ring of a CPU. Nothing else writes there while a program does: interrupts are off. Counts only go up. */
struct sonde_sched_ring {
	/* the kernel's */
	_Atomic uint64_t head;   /* records written */
	_Atomic uint64_t lost;   /* switches, when it was full */
	_Atomic uint64_t missed; /* tasks for which there was no memory */
	uint64_t on_cpu;         /* number and, above, process of the followed task that got the CPU last; 0 = none */
	uint64_t reserved[4];
	/* the recorder's, on a cache line of its own */
	_Atomic uint64_t tail; /* records read */
};

_Static_assert(offsetof(struct sonde_sched_record, by) % 8 == 0 && offsetof(struct sonde_sched_row, by) % 8 == 0,
	       "programs copy both numbers at once");
_Static_assert(offsetof(struct sonde_sched_ring, tail) == 64, "programs read it");

/* What programs are made for. */
struct sonde_sched_target {
	int rows_fd, rings_fd; /* maps */
	uint32_t records;      /* that a ring holds, a power of two */
	/* In struct task_struct; in struct pt_regs the number of the system call, negative outside of one. */
	uint32_t pid_at_b, tgid_at_b, state_at_b, flags_at_b, stack_at_b, call_at_b;
	int call_is_short;  /* four bytes */
	int without_wakers; /* this kernel cannot tell */
};

enum sonde_sched_program { SONDE_SCHED_SWITCH, SONDE_SCHED_WAKING, SONDE_SCHED_NEWTASK, SONDE_SCHED_PROGRAMS };

#define SONDE_SCHED_INSNS 160

/* The type of the kernel's tracepoint that a program is for. */
extern const char *const sonde_sched_tracepoints[SONDE_SCHED_PROGRAMS];

/* Writes a program; how many instructions. */
size_t sonde_sched_program(enum sonde_sched_program which, const struct sonde_sched_target *target,
			   struct bpf_insn out[SONDE_SCHED_INSNS]);

#endif
