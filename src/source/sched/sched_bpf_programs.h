/* sched_bpf_programs.h: the BPF programs at scheduler tracepoints, and the data they share with the recorder.
 *
 * A followed task has a row in a task-storage map. Its children get rows when they are created; a row is freed with its
 * task. A switch from or to such a task is one record in the ring of its CPU.
 */
#ifndef SONDE_SOURCE_SCHED_SCHED_BPF_PROGRAMS_H
#define SONDE_SOURCE_SCHED_SCHED_BPF_PROGRAMS_H

#include <linux/bpf.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* A followed task; used only in the kernel. */
struct sonde_sched_row {
	uint64_t woken_ns; /* when it was woken; 0 = not woken since it last had a CPU */
	uint32_t by;       /* thread that woke it; 0 = unknown */
	uint32_t by_pid;   /* the waker's process */
};

#define SONDE_SCHED_TID(word) ((word)&0xffffffu) /* the kernel's limit is 2^22 */
#define SONDE_SCHED_EXITING (1u << 24)           /* the task is exiting */
#define SONDE_SCHED_RUNNABLE (1u << 25)          /* prev was preempted: it was still runnable */

/* One switch. A task that is not followed has tid 0. */
struct sonde_sched_record {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t prev, prev_pid;
	uint32_t next, next_pid;
	uint32_t by, by_pid; /* thread that woke or created next; 0 = unknown */
	uint64_t woken_ns;   /* when that thread woke next; 0 = unknown, or next was not woken */
};

#define SONDE_SCHED_HEAD_B 4096u /* size of a ring's head, before its records */

/* The ring of a CPU. Programs run with interrupts disabled, so nothing else writes to the ring meanwhile. Counts only
 * increase. */
struct sonde_sched_ring {
	/* written by the kernel */
	_Atomic uint64_t head;   /* records written */
	_Atomic uint64_t lost;   /* switches lost because the ring was full */
	_Atomic uint64_t missed; /* tasks not followed for lack of memory */
	uint64_t on_cpu; /* tid and, in the upper half, pid of the followed task that got the CPU last; 0 = none */
	uint64_t reserved[4];
	/* written by the recorder, on a cache line of its own */
	_Atomic uint64_t tail; /* records read */
};

_Static_assert(offsetof(struct sonde_sched_record, by) % 8 == 0 && offsetof(struct sonde_sched_row, by) % 8 == 0,
	       "programs copy both numbers at once");
_Static_assert(offsetof(struct sonde_sched_ring, tail) == 64, "programs read it");

/* The maps and the kernel for which the programs are generated. */
struct sonde_sched_target {
	int rows_fd, rings_fd; /* maps */
	uint32_t records;      /* records per ring, a power of two */
	/* Offsets in struct task_struct; call_at_b: offset in struct pt_regs of the system call number, which is
	 * negative outside of system calls. */
	uint32_t pid_at_b, tgid_at_b, state_at_b, flags_at_b, stack_at_b, call_at_b;
	int call_is_short;  /* the system call number has four bytes */
	int without_wakers; /* this kernel cannot identify wakers */
};

enum sonde_sched_program { SONDE_SCHED_SWITCH, SONDE_SCHED_WAKING, SONDE_SCHED_NEWTASK, SONDE_SCHED_PROGRAMS };

#define SONDE_SCHED_INSNS 160

/* The BTF type of the tracepoint of each program. */
extern const char *const sonde_sched_tracepoints[SONDE_SCHED_PROGRAMS];

/* Writes a program and returns its number of instructions. */
size_t sonde_sched_program(enum sonde_sched_program which, const struct sonde_sched_target *target,
			   struct bpf_insn out[SONDE_SCHED_INSNS]);

#endif
