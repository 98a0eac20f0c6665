/* kernels.h: the loops whose speed defines a ceiling. Each architecture has a file with a table of them, kernels_CPU.c.
 *
 * The measured operations are single assembler instructions, so that no compiler adds or removes any. A FLOP kernel
 * verifies its own count: every lane of every chain starts at 0 and computes 1·x + 1, so the sum of all lanes is the
 * number of additions, which equals the number of multiplications.
 */
#ifndef SONDE_ROOF_KERNELS_H
#define SONDE_ROOF_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "roof/roof.h"

/* With more iterations, sums in FP32 lanes are no longer exact. */
#define SONDE_ROOF_ITERATIONS_MAX ((uint64_t)1 << 18)

struct sonde_roof_flops_kernel {
	enum sonde_roof_set set;
	enum sonde_roof_precision precision;
	unsigned lanes;                     /* over all chains: additions per iteration */
	int (*can_run)(void);               /* true if this CPU and OS support it */
	double (*run)(uint64_t iterations); /* returns the sum of all lanes */
};

/* Arrays of size_b bytes, aligned to 64; size_b is a multiple of SONDE_ROOF_STEP_B. */
#define SONDE_ROOF_STEP_B 512

struct sonde_roof_arrays {
	double *a;
	const double *b, *c;
};

struct sonde_roof_bytes_kernel {
	enum sonde_roof_access access;
	unsigned arrays; /* arrays accessed: a pass moves arrays × size_b bytes */
	int (*can_run)(void);
	/* read: every a[i]; copy: a[i] = b[i]; triad: a[i] = b[i] + 3·c[i]. */
	void (*run)(const struct sonde_roof_arrays *arrays, size_t size_b, uint64_t passes);
};

/* Both tables end with a row without `run`. For each access, the first kernel that can run is the widest. */
extern const struct sonde_roof_flops_kernel sonde_roof_flops_kernels[];
extern const struct sonde_roof_bytes_kernel sonde_roof_bytes_kernels[];

#endif
