/* early.h: memory that the recorder lays out for the first calls of all processes, before they connect: in each of them
 * a process writes what it says (format/wait.h) into a slot of its own.
 *
 * A file without a name, which the recorder holds: a head, then slots. Whoever has something to say opens it through
 * /proc/PID/fd, looks whether it is the one (its link, the magic number, the name of the recorder's socket), puts its
 * pid in the place of a free slot's owner, and writes. The recorder reads, and clears the slot once the process has
 * ended, executed another program or moved to rings of its own. Words are as in rings, with two more records:
 *
 * COPY: op; number << 32 | words that follow; pc, sp, fp of the caller; where the copy ends; the stack from sp on, as
 * far as it is not the same as when it was copied before. The recorder walks it, and clears what follows the head;
 * calls name it as they do a STACK.
 *
 * MAPPING: op; path_b << 32 | build_id_b; start, end, offset in the file; the build-id in three words; the path in
 * words, without a 0. It is told before the COPYs that have addresses in it.
 *
 * Whoever is of the recorder's user can open the file. So no process writes there whose memory that user's may not
 * read (PR_GET_DUMPABLE), and one that becomes such leaves.
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
#define SONDE_EARLY_FIRST_WORDS 512u  /* of the stack that are copied first, at most: its end is that of all copies */
#define SONDE_EARLY_STACK_WORDS 1024u /* of a later copy, with what was the same */
#define SONDE_EARLY_PATH_MAX_B 255u
#define SONDE_EARLY_BUILD_ID_MAX_B 20u

/* After SONDE_WAIT_OBJECT. */
enum sonde_early_op { SONDE_EARLY_COPY = 18, SONDE_EARLY_MAPPING = 19 };
#define SONDE_EARLY_COPY_HEAD 6u /* words before what follows */
#define SONDE_EARLY_MAPPING_HEAD 8u

struct sonde_early_head {
	uint64_t magic;
	uint32_t clock; /* enum sonde_ring_clock, of all slots */
	uint32_t reserved;
	char socket[48];
	_Atomic uint32_t committed; /* slots that have memory; written by the recorder */
	/* pid as the recorder sees it, 0 = free: taken by the process, given back by the recorder */
	_Atomic uint32_t owners[SONDE_EARLY_SLOTS];
};
_Static_assert(sizeof(struct sonde_early_head) <= SONDE_EARLY_HEAD_B, "the head of early words");

struct sonde_early_slot {
	_Atomic uint64_t began; /* when it was taken, in the clock; 0 = not yet said */
	_Atomic uint64_t moved; /* 1: the process has rings of its own, and writes here no more */
	uint64_t reserved[6];
	_Atomic uint64_t words[SONDE_EARLY_WORDS]; /* records; the first word of one is stored last */
};
_Static_assert(sizeof(struct sonde_early_slot) == SONDE_EARLY_SLOT_B, "a slot of early words");

#endif
