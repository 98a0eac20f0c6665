/* scan.h: finds the chunks of a file without its index: after a crash, around damage, and while it grows. */
#ifndef SONDE_TRACE_SCAN_H
#define SONDE_TRACE_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "format/record.h"

struct sonde_scan {
	int fd;
	uint64_t at;     /* all bytes before it were accepted or given up as damaged */
	uint64_t file_b; /* size of the file when last checked; set by the caller, never smaller than `at` */
	uint64_t next_seq;
	uint64_t index_offset; /* offset of the first of the INDEX chunks just before `at`; 0 = none */
	int closed;            /* the tail was found directly after the index */
	uint64_t damaged_b;    /* bytes given up so far */
	uint64_t damaged_at;   /* offset of the first of them */
	uint64_t budget_b;     /* bytes that may still be read for rejected chunks; reset by sonde_scan_begin() */
	uint8_t *window;       /* NULL until something is scanned */
	uint64_t window_at;
	size_t window_b;
};

/* Starts at byte `at`. */
void sonde_scan_init(struct sonde_scan *scan, int fd, uint64_t at);
void sonde_scan_fini(struct sonde_scan *scan);

/* The file now has file_b bytes: continue with the new ones. */
void sonde_scan_begin(struct sonde_scan *scan, uint64_t file_b);

/* Returns 1 and the next chunk with a valid checksum (never an INDEX), 0 if there is none, or a negative errno. The
 * bytes after the last chunk (from `at` to file_b) may become a chunk as the file grows. */
int sonde_scan_next(struct sonde_scan *scan, struct sonde_index_entry *out);

#endif
