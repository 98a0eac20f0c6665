/* scan.h: finds the chunks of a file without its index: after a crash, around damage, and while it grows. */
#ifndef SONDE_TRACE_SCAN_H
#define SONDE_TRACE_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "format/record.h"

struct sonde_scan {
	int fd;
	uint64_t at;     /* everything before it has been understood or given up */
	uint64_t file_b; /* size of the file when last looked at; set by the caller, never smaller than `at` */
	uint64_t next_seq;
	uint64_t index_offset; /* of the INDEX chunks just before `at`; 0 = none */
	int closed;            /* the tail was met, right behind the index */
	uint64_t damaged_b;    /* given up so far */
	uint64_t damaged_at;   /* the first of them */
	uint64_t budget_b;     /* what may still be read in vain; set anew by sonde_scan_begin() */
	uint8_t *window;       /* NULL until something is scanned */
	uint64_t window_at;
	size_t window_b;
};

/* From the byte `at` on. */
void sonde_scan_init(struct sonde_scan *scan, int fd, uint64_t at);
void sonde_scan_fini(struct sonde_scan *scan);

/* The file is file_b bytes now: look at what follows. */
void sonde_scan_begin(struct sonde_scan *scan, uint64_t file_b);

/* 1 and the next chunk whose checksum holds (never an INDEX), 0 when there is none, or a negative errno. What lies
 * behind the last chunk (from `at` to file_b) may become one when the file grows. */
int sonde_scan_next(struct sonde_scan *scan, struct sonde_index_entry *out);

#endif
