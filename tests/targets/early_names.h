/* early_names.h: calls of interposed functions that are not the C library's. */
#ifndef EARLY_NAMES_H
#define EARLY_NAMES_H

#pragma GCC visibility push(hidden) /* the program and a library have one each */

/* Calls all, and writes "WHERE: operators N, routines N, faults N". */
void early_names(const char *where);
/* Calls each operator, and counts calls and wrong blocks. */
void early_operators(unsigned long *calls, unsigned long *faults);

#pragma GCC visibility pop

#endif
