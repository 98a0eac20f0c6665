/* frame_shapes.h: functions written in assembly, all but one without call-frame information, for tests of derived
 * unwind rules. */
#ifndef SONDE_TESTS_FRAME_SHAPES_H
#define SONDE_TESTS_FRAME_SHAPES_H

#include <stdint.h>

/* What there is of rules at a function's instructions. */
enum shape_rules {
	SHAPE_ALL,    /* at every one */
	SHAPE_SOME,   /* not where it needs a register, or is not known where it jumps to */
	SHAPE_REFUSED /* not in its body, where ways disagree, or the way back is computed */
};

struct shape {
	const char *name;
	uint64_t (*run)(uint64_t rounds); /* takes 1 to 8, gives 42 */
	enum shape_rules rules;
};

extern const struct shape shapes[];
extern const unsigned shape_count;

/* The code of all of them. */
extern const uint8_t shapes_begin[], shapes_end[];

/* Addresses of interest: in a leaf function, after a direct call of it, after a call of another function, in the
 * middle of a function where no call ends, and in a function whose rules are refused. */
extern const uint8_t shape_in_leaf[], shape_behind_leaf[], shape_behind_other[], shape_behind_nothing[],
    shape_in_refused[], shape_behind_refused[];

/* Where the frame address is saved below the stack pointer, and behind a direct call of that function. It aligns to
 * SHAPE_BELOW_ALIGN and has saved the address SHAPE_BELOW_SLOT bytes above, its stack pointer is at most
 * SHAPE_BELOW_TOP. */
extern const uint8_t shape_in_below[], shape_behind_below[];
#define SHAPE_BELOW_ALIGN 0x100u
#define SHAPE_BELOW_TOP 0x80u
#define SHAPE_BELOW_SLOT 0x98u

#endif
