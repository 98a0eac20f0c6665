/* thread_rows.h: the threads that the threads source reads, by process and number. */
#ifndef SONDE_SOURCE_SCHED_THREAD_ROWS_H
#define SONDE_SOURCE_SCHED_THREAD_ROWS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What is read of a thread, each a series. */
enum sonde_thread_number {
	SONDE_THREAD_TIME,
	SONDE_THREAD_RUNNABLE,
	SONDE_THREAD_VOLUNTARY,
	SONDE_THREAD_INVOLUNTARY,
	SONDE_THREAD_NUMBERS
};

struct sonde_thread_row {
	uint32_t process, thread; /* of the recording; thread 0 = it has no place yet */
	pid_t pid, tid;
	int fd;                             /* −1 = none is kept */
	uint8_t is_old, listed, met, named; /* old: it was there before the recording; met: it has been read */
	uint64_t seen_ns, born_ns;          /* born: about, and not before the recording */
	uint64_t first_ns;                  /* as of when `first` is */
	uint64_t gone_ns;                   /* it was missed; 0 = it is there */
	uint64_t read_ns, slices;           /* as of the latest reading; 0 = it failed */
	int64_t first[SONDE_THREAD_NUMBERS], now[SONDE_THREAD_NUMBERS];
	uint32_t series[SONDE_THREAD_NUMBERS];
};

struct sonde_thread_rows {
	struct sonde_thread_row *row; /* by process and number, the first `sorted` of them */
	size_t count, sorted, cap;
	size_t kept, kept_max; /* descriptors */
};

/* Of no thread; descriptors are kept of so many as the limit on open files allows. */
void sonde_thread_rows_init(struct sonde_thread_rows *rows);

/* At the end, unsorted; NULL without memory. Rows move. */
struct sonde_thread_row *sonde_thread_rows_add(struct sonde_thread_rows *rows, uint32_t process, pid_t pid, pid_t tid,
					       uint64_t now_ns);
void sonde_thread_rows_sort(struct sonde_thread_rows *rows);

/* The first of the sorted rows that is not below. */
size_t sonde_thread_rows_bound(const struct sonde_thread_rows *rows, uint32_t process, pid_t tid);

/* The row's descriptor, where one is kept. */
void sonde_thread_rows_close(struct sonde_thread_rows *rows, struct sonde_thread_row *row);
void sonde_thread_rows_fini(struct sonde_thread_rows *rows);

#endif
