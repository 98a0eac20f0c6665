/* priority.h: the recorder's place in the queue for a CPU, while hundreds of busy threads would keep it waiting until
 * the buffers that it empties are full. Of the calling thread; raise it after the command was started, which inherits.
 */
#ifndef SONDE_RUN_PRIORITY_H
#define SONDE_RUN_PRIORITY_H

struct sonde_priority {
	int nice, is_raised;
	unsigned long long slice_ns; /* 0 = it was not changed */
};

/* What may not be raised stays as it is. */
void sonde_priority_raise(struct sonde_priority *before);
void sonde_priority_restore(const struct sonde_priority *before);

#endif
