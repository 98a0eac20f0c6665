/* roots.h: the roots of the pointer scan: memory that a program can access without following a pointer.
 *
 * As in LeakSanitizer: registers and stacks of all threads, from their stack pointers up; their thread-local storage;
 * the writable data of the program and its libraries. In addition, as in memcheck: memory that the program mapped
 * itself, such as that of garbage collectors and custom allocators. Excluded: the allocator's free memory and internal
 * data, which are full of stale pointers; memory shared with other processes; and sonde's own memory, which is
 * recognised by being wiped in a forked child (MADV_WIPEONFORK).
 *
 * Some of these areas cannot be distinguished if not all blocks are known (sampling; a forked child that inherited
 * blocks): then all memory except the known blocks counts as roots, and some leaks are not found.
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
	SONDE_HEAP_AREA_DATA,      /* of a file, or directly after it: .data and .bss */
	SONDE_HEAP_AREA_BREAK,     /* [heap] */
	SONDE_HEAP_AREA_STACK,     /* of the first thread */
	SONDE_HEAP_AREA_NOT,       /* not scanned */
};

struct sonde_heap_area {
	uint64_t start, end;
	enum sonde_heap_area_kind kind;
	int is_libc;   /* of the C library's file */
	int is_loader; /* of the dynamic loader's file; may have any kind */
};

struct sonde_heap_areas {
	struct sonde_heap_area *rows; /* in address order */
	size_t count, cap;
};

/* From /proc/PID/smaps; -ESRCH, -ENOMEM. */
int sonde_heap_areas_read(struct sonde_heap_areas *out, pid_t pid);
int sonde_heap_areas_parse(struct sonde_heap_areas *out, FILE *file);
void sonde_heap_areas_free(struct sonde_heap_areas *map);

/* The code of the process's dynamic loader; empty if unknown. */
struct sonde_heap_extent sonde_heap_areas_loader(pid_t pid);

struct sonde_heap_roots {
	const struct sonde_heap_areas *map;
	const struct sonde_heap_reader *reader;
	const struct sonde_heap_threads *threads;
	const struct sonde_heap_live *mappings; /* mappings that the program made itself; NULL = unknown */
	uint64_t stack, thread_pointer;         /* of the waiting thread */
	int all;                                /* not all blocks are known */
};

/* Scans all roots; errors as in heap/scan.h. */
int sonde_heap_roots_scan(const struct sonde_heap_roots *roots, struct sonde_heap_scan *scan);

#endif
