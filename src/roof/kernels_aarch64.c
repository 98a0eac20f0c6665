/* kernels_aarch64.c: the loops for AArch64: scalar, scalar FMA, NEON.
 *
 * Twenty-four chains hide the latency of all current processors: four FMA units with a latency of four cycles need
 * sixteen. SVE is not measured.
 */
#include "roof/kernels.h"

#define CHAINS 24
#define EACH(X)                                                                                                   \
	X(0)                                                                                                      \
	X(1)                                                                                                      \
	X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) \
	    X(21) X(22) X(23)

#define BEGIN(i) vector a##i = {0};
#define ADD(i) sum += a##i;

/* Scalar instructions set the other lanes to 0. */
#define FLOPS(name, type, instructions)                                   \
	__attribute__((noinline)) static double name(uint64_t iterations) \
	{                                                                 \
		typedef type vector __attribute__((vector_size(16)));     \
		vector one = (vector){0} + (type)1, sum = {0};            \
		double all = 0;                                           \
		EACH(BEGIN)                                               \
		for (uint64_t i = 0; i < iterations; i++) {               \
			EACH(instructions)                                \
		}                                                         \
		EACH(ADD)                                                 \
		for (unsigned i = 0; i < 16 / sizeof(type); i++)          \
			all += (double)sum[i];                            \
		return all;                                               \
	}

#define STEP(i, instructions) __asm__ volatile(instructions : "+w"(a##i) : "w"(one));
#define SCALAR_64(i) STEP(i, "fmul %d0, %d0, %d1\n\tfadd %d0, %d0, %d1")
#define SCALAR_32(i) STEP(i, "fmul %s0, %s0, %s1\n\tfadd %s0, %s0, %s1")
#define SCALAR_FMA_64(i) STEP(i, "fmadd %d0, %d0, %d1, %d1")
#define SCALAR_FMA_32(i) STEP(i, "fmadd %s0, %s0, %s1, %s1")
#define NEON_64(i) STEP(i, "fmla %0.2d, %1.2d, %1.2d")
#define NEON_32(i) STEP(i, "fmla %0.4s, %1.4s, %1.4s")

FLOPS(scalar_64, double, SCALAR_64)
FLOPS(scalar_32, float, SCALAR_32)
FLOPS(scalar_fma_64, double, SCALAR_FMA_64)
FLOPS(scalar_fma_32, float, SCALAR_FMA_32)
FLOPS(neon_64, double, NEON_64)
FLOPS(neon_32, float, NEON_32)

static int always(void)
{
	return 1;
}

const struct sonde_roof_flops_kernel sonde_roof_flops_kernels[] = {
    {SONDE_ROOF_SCALAR, SONDE_ROOF_FP64, CHAINS, always, scalar_64},
    {SONDE_ROOF_SCALAR, SONDE_ROOF_FP32, CHAINS, always, scalar_32},
    {SONDE_ROOF_SCALAR_FMA, SONDE_ROOF_FP64, CHAINS, always, scalar_fma_64},
    {SONDE_ROOF_SCALAR_FMA, SONDE_ROOF_FP32, CHAINS, always, scalar_fma_32},
    {SONDE_ROOF_NEON_FMA, SONDE_ROOF_FP64, CHAINS * 2, always, neon_64},
    {SONDE_ROOF_NEON_FMA, SONDE_ROOF_FP32, CHAINS * 4, always, neon_32},
    {0},
};

/* --- bytes -------------------------------------------------------------------------------------------------------- */

#define AHEAD 8 /* vectors per iteration */

typedef double vector __attribute__((vector_size(16)));

/* Loads with an explicit instruction, because the compiler may remove any other load. */
static inline __attribute__((always_inline)) vector load(const vector *from)
{
	vector value;
	__asm__ volatile("ldr %q0, %1" : "=w"(value) : "m"(*from));
	return value;
}

__attribute__((noinline)) static void read_all(const struct sonde_roof_arrays *arrays, size_t size_b, uint64_t passes)
{
	const vector *a = (const vector *)arrays->a;
	for (; passes; passes--)
		for (size_t at = 0; at < size_b / sizeof(vector); at += AHEAD)
			_Pragma("GCC unroll 8") for (size_t i = 0; i < AHEAD; i++) load(&a[at + i]);
}

__attribute__((noinline)) static void copy_all(const struct sonde_roof_arrays *arrays, size_t size_b, uint64_t passes)
{
	vector *a = (vector *)arrays->a;
	const vector *b = (const vector *)arrays->b;
	for (; passes; passes--) {
		for (size_t at = 0; at < size_b / sizeof(vector); at += AHEAD)
			_Pragma("GCC unroll 8") for (size_t i = 0; i < AHEAD; i++) a[at + i] = load(&b[at + i]);
		__asm__ volatile("" ::: "memory");
	}
}

__attribute__((noinline)) static void triad_all(const struct sonde_roof_arrays *arrays, size_t size_b, uint64_t passes)
{
	vector *a = (vector *)arrays->a;
	const vector *b = (const vector *)arrays->b, *c = (const vector *)arrays->c;
	for (; passes; passes--) {
		for (size_t at = 0; at < size_b / sizeof(vector); at += AHEAD)
			_Pragma("GCC unroll 8") for (size_t i = 0; i < AHEAD; i++) a[at + i] =
			    load(&b[at + i]) + 3 * load(&c[at + i]);
		__asm__ volatile("" ::: "memory");
	}
}

const struct sonde_roof_bytes_kernel sonde_roof_bytes_kernels[] = {
    {SONDE_ROOF_READ, 1, always, read_all},
    {SONDE_ROOF_COPY, 2, always, copy_all},
    {SONDE_ROOF_TRIAD, 3, always, triad_all},
    {0},
};
