/* priority.h: raises the recorder's scheduling priority, because hundreds of busy threads would otherwise delay it
 * until the buffers that it drains are full. Applies to the calling thread; raise it after starting the command, which
 * would inherit it. */
#ifndef SONDE_RUN_PRIORITY_H
#define SONDE_RUN_PRIORITY_H

struct sonde_priority {
	int nice, is_raised;
	unsigned long long slice_ns; /* 0 = unchanged */
};

/* Raises the priority, as far as this user may, and stores the previous one in `before`. */
void sonde_priority_raise(struct sonde_priority *before);
void sonde_priority_restore(const struct sonde_priority *before);

#endif
