/* cuda_profiler.h: a profiler that a program brings along (cuda_profiler.c). */
#ifndef SONDE_TESTS_CUDA_PROFILER_H
#define SONDE_TESTS_CUDA_PROFILER_H

struct profiler_events {
	unsigned counts[64]; /* by kind of record */
	unsigned outside;    /* kernels with times that are not of this session */
	int foreign;         /* buffers that it got and had not given */
	int unreturned;      /* buffers that it gave and did not get back */
};

/* 0, or CUPTI's error: then it has no device. */
__attribute__((visibility("default"))) int profiler_begin(void);
__attribute__((visibility("default"))) struct profiler_events profiler_end(void);

#endif
