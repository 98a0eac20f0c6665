/* kernels_x86_64.c: the loops for x86-64: scalar, SSE2, AVX, AVX2 with FMA, AVX-512; chosen at run time.
 *
 * Twelve chains hide the latency of all current processors: two FMA units with a latency of four cycles need eight; two
 * multipliers and two adders with three cycles each need twelve.
 */
#include "roof/kernels.h"

#define CHAINS 12
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

#define BEGIN(i) vector a##i = {0};

/* `output` extracts the lanes of a vector, or the number that is its only lane. */
#define FLOPS(name, features, type, size_b, instructions)                                   \
	__attribute__((target(features), noinline)) static double name(uint64_t iterations) \
	{                                                                                   \
		typedef type vector __attribute__((vector_size(size_b)));                   \
		vector one = (vector){0} + (type)1, sum;                                    \
		double all = 0;                                                             \
		EACH(BEGIN)                                                                 \
		for (uint64_t i = 0; i < iterations; i++) {                                 \
			EACH(instructions)                                                  \
		}                                                                           \
		sum = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11;          \
		for (unsigned i = 0; i < size_b / sizeof(type); i++)                        \
			all += (double)sum[i];                                              \
		return all;                                                                 \
	}

/* Scalar instructions leave the other lanes unchanged at 0. */
#define STEP_SSE(i, multiply, add) __asm__ volatile(multiply " %1, %0\n\t" add " %1, %0" : "+x"(a##i) : "x"(one));
#define STEP_AVX(i, multiply, add) \
	__asm__ volatile(multiply " %1, %0, %0\n\t" add " %1, %0, %0" : "+x"(a##i) : "x"(one));
#define STEP_FMA(i, fma) __asm__ volatile(fma " %1, %1, %0" : "+x"(a##i) : "x"(one));
#define STEP_512(i, fma) __asm__ volatile(fma " %1, %1, %0" : "+v"(a##i) : "v"(one));

#define SCALAR_64(i) STEP_SSE(i, "mulsd", "addsd")
#define SCALAR_32(i) STEP_SSE(i, "mulss", "addss")
#define SCALAR_FMA_64(i) STEP_FMA(i, "vfmadd231sd")
#define SCALAR_FMA_32(i) STEP_FMA(i, "vfmadd231ss")
#define SSE2_64(i) STEP_SSE(i, "mulpd", "addpd")
#define SSE2_32(i) STEP_SSE(i, "mulps", "addps")
#define AVX_64(i) STEP_AVX(i, "vmulpd", "vaddpd")
#define AVX_32(i) STEP_AVX(i, "vmulps", "vaddps")
#define AVX2_64(i) STEP_FMA(i, "vfmadd231pd")
#define AVX2_32(i) STEP_FMA(i, "vfmadd231ps")
#define AVX512_64(i) STEP_512(i, "vfmadd231pd")
#define AVX512_32(i) STEP_512(i, "vfmadd231ps")

FLOPS(scalar_64, "sse2", double, 16, SCALAR_64)
FLOPS(scalar_32, "sse2", float, 16, SCALAR_32)
FLOPS(scalar_fma_64, "avx2,fma", double, 16, SCALAR_FMA_64)
FLOPS(scalar_fma_32, "avx2,fma", float, 16, SCALAR_FMA_32)
FLOPS(sse2_64, "sse2", double, 16, SSE2_64)
FLOPS(sse2_32, "sse2", float, 16, SSE2_32)
FLOPS(avx_64, "avx", double, 32, AVX_64)
FLOPS(avx_32, "avx", float, 32, AVX_32)
FLOPS(avx2_64, "avx2,fma", double, 32, AVX2_64)
FLOPS(avx2_32, "avx2,fma", float, 32, AVX2_32)
FLOPS(avx512_64, "avx512f", double, 64, AVX512_64)
FLOPS(avx512_32, "avx512f", float, 64, AVX512_32)

static int has_sse2(void)
{
	return 1;
}

static int has_avx(void)
{
	return !!__builtin_cpu_supports("avx");
}

static int has_fma(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static int has_avx512(void)
{
	return !!__builtin_cpu_supports("avx512f");
}

#define ROWS(set, lanes_64, lanes_32, has, both)                         \
	{set, SONDE_ROOF_FP64, CHAINS * (lanes_64), has, both##_64},     \
	{                                                                \
		set, SONDE_ROOF_FP32, CHAINS *(lanes_32), has, both##_32 \
	}

const struct sonde_roof_flops_kernel sonde_roof_flops_kernels[] = {
    ROWS(SONDE_ROOF_SCALAR, 1, 1, has_sse2, scalar),
    ROWS(SONDE_ROOF_SCALAR_FMA, 1, 1, has_fma, scalar_fma),
    ROWS(SONDE_ROOF_SSE2, 2, 4, has_sse2, sse2),
    ROWS(SONDE_ROOF_AVX, 4, 8, has_avx, avx),
    ROWS(SONDE_ROOF_AVX2_FMA, 4, 8, has_fma, avx2),
    ROWS(SONDE_ROOF_AVX512_FMA, 8, 16, has_avx512, avx512),
    {0},
};

/* --- bytes -------------------------------------------------------------------------------------------------------- */

#define AHEAD 8 /* vectors per iteration */

/* Loads use an explicit instruction, because the compiler may remove any other load. */
#define BYTES(name, features, vector_b, output, load)                                                                \
	typedef double vector_##name __attribute__((vector_size(vector_b)));                                         \
	__attribute__((target(features), noinline)) static void read_##name(const struct sonde_roof_arrays *arrays,  \
									    size_t size_b, uint64_t passes)          \
	{                                                                                                            \
		const vector_##name *a = (const vector_##name *)arrays->a;                                           \
		for (; passes; passes--)                                                                             \
			for (size_t at = 0; at < size_b / vector_b; at += AHEAD)                                     \
				_Pragma("GCC unroll 8") for (size_t i = 0; i < AHEAD; i++)                           \
				{                                                                                    \
					vector_##name value;                                                         \
					__asm__ volatile(load " %1, %0" : output(value) : "m"(a[at + i]));           \
				}                                                                                    \
	}                                                                                                            \
	__attribute__((target(features), noinline)) static void copy_##name(const struct sonde_roof_arrays *arrays,  \
									    size_t size_b, uint64_t passes)          \
	{                                                                                                            \
		vector_##name *a = (vector_##name *)arrays->a;                                                       \
		const vector_##name *b = (const vector_##name *)arrays->b;                                           \
		for (; passes; passes--) {                                                                           \
			for (size_t at = 0; at < size_b / vector_b; at += AHEAD)                                     \
				_Pragma("GCC unroll 8") for (size_t i = 0; i < AHEAD; i++)                           \
				{                                                                                    \
					vector_##name value;                                                         \
					__asm__ volatile(load " %1, %0" : output(value) : "m"(b[at + i]));           \
					a[at + i] = value;                                                           \
				}                                                                                    \
			__asm__ volatile("" ::: "memory");                                                           \
		}                                                                                                    \
	}                                                                                                            \
	__attribute__((target(features), noinline)) static void triad_##name(const struct sonde_roof_arrays *arrays, \
									     size_t size_b, uint64_t passes)         \
	{                                                                                                            \
		vector_##name *a = (vector_##name *)arrays->a;                                                       \
		const vector_##name *b = (const vector_##name *)arrays->b, *c = (const vector_##name *)arrays->c;    \
		for (; passes; passes--) {                                                                           \
			for (size_t at = 0; at < size_b / vector_b; at += AHEAD)                                     \
				_Pragma("GCC unroll 8") for (size_t i = 0; i < AHEAD; i++)                           \
				{                                                                                    \
					vector_##name left, right;                                                   \
					__asm__ volatile(load " %1, %0" : output(left) : "m"(b[at + i]));            \
					__asm__ volatile(load " %1, %0" : output(right) : "m"(c[at + i]));           \
					a[at + i] = left + 3 * right;                                                \
				}                                                                                    \
			__asm__ volatile("" ::: "memory");                                                           \
		}                                                                                                    \
	}

BYTES(512, "avx512f", 64, "=v", "vmovapd")
BYTES(256, "avx2,fma", 32, "=x", "vmovapd")
BYTES(128, "sse2", 16, "=x", "movapd")

const struct sonde_roof_bytes_kernel sonde_roof_bytes_kernels[] = {
    {SONDE_ROOF_READ, 1, has_avx512, read_512},   {SONDE_ROOF_READ, 1, has_fma, read_256},
    {SONDE_ROOF_READ, 1, has_sse2, read_128},     {SONDE_ROOF_COPY, 2, has_avx512, copy_512},
    {SONDE_ROOF_COPY, 2, has_fma, copy_256},      {SONDE_ROOF_COPY, 2, has_sse2, copy_128},
    {SONDE_ROOF_TRIAD, 3, has_avx512, triad_512}, {SONDE_ROOF_TRIAD, 3, has_fma, triad_256},
    {SONDE_ROOF_TRIAD, 3, has_sse2, triad_128},   {0},
};
