/* unwind_chain.h: functions whose frames are hard to unwind; each ends in a callback. */
#ifndef SONDE_TESTS_UNWIND_CHAIN_H
#define SONDE_TESTS_UNWIND_CHAIN_H

/* Large locals → recursion → variable frame → realigned frame (odd depths) → cleanup (exception tables) → leaf(). */
int unwind_chain_run(int depth, void (*leaf)(void));

#endif
