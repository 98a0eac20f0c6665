/* cupti_stand_in.h: what a program requests from the stand-in for CUPTI: device work. */
#ifndef SONDE_TESTS_CUPTI_STAND_IN_H
#define SONDE_TESTS_CUPTI_STAND_IN_H

#include <stdint.h>

/* The work with known times (cuda_driver.c says which), from now on. */
void stand_in_work(void);
/* The device is reset: what comes now is of a new context. */
void stand_in_reset(void);
/* A graph of two kernels of 1 ms, "first" and "second", so many times, each launched 1 ms before by a call of 0.5 ms.
 */
void stand_in_graph(uint32_t count);
/* So many kernels of 20 ns, one after the other, which end now. */
void stand_in_many(uint64_t count);
/* A call by the calling thread, of the run time, in which lies one of the driver with the same correlation; both are
 * told to whoever is called back. What it asked of the device has just ended. */
enum { STAND_IN_LAUNCH, STAND_IN_COPY, STAND_IN_ALLOCATE };
void stand_in_call(int what, uint64_t dur_ns);

#endif
