/* machine.h: a small interpreter with zones in it, as a real program to be recorded. */
#ifndef SONDE_BENCH_MACHINE_H
#define SONDE_BENCH_MACHINE_H

#include <stdint.h>

/* Runs its program again and again until it has made `zones` zones; returns how many. */
uint64_t machine_run(uint64_t zones);

#endif
