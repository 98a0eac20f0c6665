/* kernels.h: the loops whose speed is a ceiling: one file for each kind of machine, kernels_CPU.c, with a table.
 *
 * What counts is written as single instructions, so that no compiler makes more or less of it. A kernel of FLOP counts
 * itself: every lane of every chain begins at 0 and goes on by 1·x + 1, so that the sum of all lanes is the number of
 * additions, and as many multiplications were made.
 */
#ifndef SONDE_ROOF_KERNELS_H
#define SONDE_ROOF_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "roof/roof.h"

/* Beyond this the lanes of FP32 are not exact. */
#define SONDE_ROOF_ITERATIONS_MAX ((uint64_t)1 << 18)

struct sonde_roof_flops_kernel {
	enum sonde_roof_set set;
	enum sonde_roof_precision precision;
	unsigned lanes;                     /* of all chains: additions of an iteration */
	int (*can_run)(void);               /* on this processor, under this kernel */
	double (*run)(uint64_t iterations); /* the sum of all lanes */
};

/* Arrays of size_b bytes, aligned to 64; size_b is a multiple of SONDE_ROOF_STEP_B. */
#define SONDE_ROOF_STEP_B 512

struct sonde_roof_arrays {
	double *a;
	const double *b, *c;
};

struct sonde_roof_bytes_kernel {
	enum sonde_roof_access access;
	unsigned arrays; /* that the access names: bytes of a pass are arrays × size_b */
	int (*can_run)(void);
	/* read: every a[i]; copy: a[i] = b[i]; triad: a[i] = b[i] + 3·c[i]. */
	void (*run)(const struct sonde_roof_arrays *arrays, size_t size_b, uint64_t passes);
};

/* Both end with a row without run; of an access the first one that can run is the widest. */
extern const struct sonde_roof_flops_kernel sonde_roof_flops_kernels[];
extern const struct sonde_roof_bytes_kernel sonde_roof_bytes_kernels[];

#endif
