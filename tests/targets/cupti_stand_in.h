/* cupti_stand_in.h: what a program requests from the stand-in for CUPTI: device work. */
#ifndef SONDE_TESTS_CUPTI_STAND_IN_H
#define SONDE_TESTS_CUPTI_STAND_IN_H

#include <stdint.h>

/* The work with known times (listed in cuda_driver.c), starting now. */
void stand_in_work(void);
/* The device is reset: what comes now is of a new context. */
void stand_in_reset(void);
/* A graph of two kernels of 1 ms, "first" and "second", a number of times, each launched 1 ms before by a call of
 * 0.5 ms. */
void stand_in_graph(uint32_t count);
/* A number of kernels of 20 ns, one after the other, ending now. */
void stand_in_many(uint64_t count);
/* A runtime call by the calling thread that contains a driver call with the same correlation; both are reported to a
 * registered callback. The work that it submitted has just ended. */
enum { STAND_IN_LAUNCH, STAND_IN_COPY, STAND_IN_ALLOCATE };
void stand_in_call(int what, uint64_t dur_ns);

#endif
