/* thread_rows.h: the threads that the threads source reads, by process and tid. */
#ifndef SONDE_SOURCE_SCHED_THREAD_ROWS_H
#define SONDE_SOURCE_SCHED_THREAD_ROWS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The values read of a thread; each is a series. */
enum sonde_thread_number {
	SONDE_THREAD_TIME,
	SONDE_THREAD_RUNNABLE,
	SONDE_THREAD_VOLUNTARY,
	SONDE_THREAD_INVOLUNTARY,
	SONDE_THREAD_NUMBERS
};

struct sonde_thread_row {
	uint32_t process, thread; /* ids in the recording; thread 0 = not registered yet */
	pid_t pid, tid;
	int fd;                             /* −1 = not kept open */
	uint8_t is_old, listed, met, named; /* is_old: the thread existed before the recording; met: it has been read */
	uint64_t seen_ns, born_ns;          /* born_ns: approximate, not before the start of the recording */
	uint64_t first_ns;                  /* time of `first` */
	uint64_t gone_ns;                   /* when the thread was found to be missing; 0 = it exists */
	uint64_t read_ns, slices;           /* of the latest reading; read_ns 0 = that reading failed */
	int64_t first[SONDE_THREAD_NUMBERS], now[SONDE_THREAD_NUMBERS];
	uint32_t series[SONDE_THREAD_NUMBERS];
};

struct sonde_thread_rows {
	struct sonde_thread_row *row; /* the first `sorted` of them by process and tid */
	size_t count, sorted, cap;
	size_t kept, kept_max; /* open descriptors */
};

/* An empty table. Keeps descriptors open for as many threads as the limit on open files allows. */
void sonde_thread_rows_init(struct sonde_thread_rows *rows);

/* Appends a row, unsorted; NULL when out of memory. Rows move. */
struct sonde_thread_row *sonde_thread_rows_add(struct sonde_thread_rows *rows, uint32_t process, pid_t pid, pid_t tid,
					       uint64_t now_ns);
void sonde_thread_rows_sort(struct sonde_thread_rows *rows);

/* The index of the first sorted row that is not below (process, tid). */
size_t sonde_thread_rows_bound(const struct sonde_thread_rows *rows, uint32_t process, pid_t tid);

/* Closes the row's descriptor, if it is kept open. */
void sonde_thread_rows_close(struct sonde_thread_rows *rows, struct sonde_thread_row *row);
void sonde_thread_rows_fini(struct sonde_thread_rows *rows);

#endif
