/* roots.h: where looking for pointers begins: what a program can reach without following any.
 *
 * As LeakSanitizer does it: registers and stacks of all threads, from their stack pointers up; their thread-local
 * storage; the writable data of the program and of what it has loaded. In addition what it has mapped itself, as
 * memcheck does: memory of collectors and of allocators of its own. Not: free memory and books of the allocator, which
 * are full of stale pointers, what is shared with others, and what is ours: our pages are those that a forked child
 * gets wiped.
 *
 * Some of that cannot be told apart where not all blocks are known (samples; a forked child that inherited blocks):
 * then all memory but the known blocks counts, and some leaks are not found.
 */
#ifndef SONDE_SOURCE_HEAP_ROOTS_H
#define SONDE_SOURCE_HEAP_ROOTS_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "source/heap/freeze.h"
#include "source/heap/scan.h"

enum sonde_heap_area_kind {
	SONDE_HEAP_AREA_OTHER = 0, /* anonymous */
	SONDE_HEAP_AREA_DATA,      /* of a file, or what lies behind it: .data and .bss */
	SONDE_HEAP_AREA_BREAK,     /* [heap] */
	SONDE_HEAP_AREA_STACK,     /* of the first thread */
	SONDE_HEAP_AREA_NOT,       /* not to be looked at */
};

struct sonde_heap_area {
	uint64_t start, end;
	enum sonde_heap_area_kind kind;
	int is_libc;   /* of the C library's file */
	int is_loader; /* of the dynamic loader's file, whatever its kind */
};

struct sonde_heap_areas {
	struct sonde_heap_area *rows; /* in order of their addresses */
	size_t count, cap;
};

/* From /proc/PID/smaps; -ESRCH, -ENOMEM. */
int sonde_heap_areas_read(struct sonde_heap_areas *out, pid_t pid);
int sonde_heap_areas_parse(struct sonde_heap_areas *out, FILE *file);
void sonde_heap_areas_free(struct sonde_heap_areas *map);

/* Where the code of the process's dynamic loader lies; empty when that is not known. */
struct sonde_heap_extent sonde_heap_areas_loader(pid_t pid);

struct sonde_heap_roots {
	const struct sonde_heap_areas *map;
	const struct sonde_heap_reader *reader;
	const struct sonde_heap_threads *threads;
	const struct sonde_heap_live *mappings; /* that the program made itself; NULL = none known */
	uint64_t stack, thread_pointer;         /* of the thread that waits */
	int all;                                /* not all blocks are known */
};

/* Scans them all; errors as of heap/scan.h. */
int sonde_heap_roots_scan(const struct sonde_heap_roots *roots, struct sonde_heap_scan *scan);

#endif
