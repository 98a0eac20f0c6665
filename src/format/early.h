/* early.h: shared memory for the first calls of all processes, before they connect: each process writes its records
 * (format/wait.h) into a slot of its own.
 *
 * The memory is an unnamed file that the recorder holds: a head, then slots. A process opens it through /proc/PID/fd,
 * verifies it (link text, magic number, the name of the recorder's socket), claims a free slot by storing its pid as
 * the owner, and writes. The recorder reads, and clears the slot once the process has ended, executed another program
 * or moved to rings of its own. Words are as in rings, with two more records:
 *
 * COPY: op; number << 32 | number of stack words that follow; pc, sp, fp of the caller; end address of the copied stack
 * range; the stack from sp up to where it equals the previous copy. The recorder unwinds the stack, then clears
 * everything but the record's head; calls refer to a COPY as they do to a STACK.
 *
 * MAPPING: op; path_b << 32 | build_id_b; start, end, offset in the file; the build-id in three words; the path in
 * words, without a NUL. It precedes the COPYs with addresses in it.
 *
 * Every process of the recorder's user can open the file. So a process whose memory that user may not read
 * (PR_GET_DUMPABLE) does not write there, and a process that becomes undumpable stops using its slot.
 */
#ifndef SONDE_FORMAT_EARLY_H
#define SONDE_FORMAT_EARLY_H

#include <stdatomic.h>
#include <stdint.h>

#define SONDE_EARLY_NAME "sonde-early"
#define SONDE_EARLY_LINK "/memfd:" SONDE_EARLY_NAME " (deleted)"
#define SONDE_EARLY_MAGIC UINT64_C(0x31594c5241454453)
#define SONDE_EARLY_SLOTS 512u
#define SONDE_EARLY_HEAD_B 4096u
#define SONDE_EARLY_SLOT_B 16384u
#define SONDE_EARLY_WORDS (SONDE_EARLY_SLOT_B / 8 - 8)
/* maximum size of the first stack copy, which sets the end address of all copies */
#define SONDE_EARLY_FIRST_WORDS 512u
#define SONDE_EARLY_STACK_WORDS 1024u /* maximum size of a later copy, including the unchanged part */
#define SONDE_EARLY_PATH_MAX_B 255u
#define SONDE_EARLY_BUILD_ID_MAX_B 20u

/* Continues after SONDE_WAIT_OBJECT. */
enum sonde_early_op { SONDE_EARLY_COPY = 18, SONDE_EARLY_MAPPING = 19 };
#define SONDE_EARLY_COPY_HEAD 6u /* words before the variable part */
#define SONDE_EARLY_MAPPING_HEAD 8u

struct sonde_early_head {
	uint64_t magic;
	uint32_t clock; /* enum sonde_ring_clock, of all slots */
	uint32_t reserved;
	char socket[48];
	_Atomic uint32_t committed; /* slots that have memory; written by the recorder */
	/* pid as the recorder sees it, 0 = free: set by the process, reset by the recorder */
	_Atomic uint32_t owners[SONDE_EARLY_SLOTS];
};
_Static_assert(sizeof(struct sonde_early_head) <= SONDE_EARLY_HEAD_B, "the head of early words");

struct sonde_early_slot {
	_Atomic uint64_t began; /* when the slot was claimed, in the clock above; 0 = not set yet */
	_Atomic uint64_t moved; /* 1: the process has rings of its own and writes here no more */
	_Atomic uint64_t lost;  /* calls that were not recorded: a signal handler's, on a small stack */
	uint64_t reserved[5];
	_Atomic uint64_t words[SONDE_EARLY_WORDS]; /* records; the first word of a record is stored last */
};
_Static_assert(sizeof(struct sonde_early_slot) == SONDE_EARLY_SLOT_B, "a slot of early words");

#endif
