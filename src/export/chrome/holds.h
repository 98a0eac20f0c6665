/* holds.h: when locks were released, and arrows from there to the threads that acquired them. */
#ifndef SONDE_EXPORT_CHROME_HOLDS_H
#define SONDE_EXPORT_CHROME_HOLDS_H

#include "export/chrome/event.h"

struct sonde_chrome_hold {
	uint64_t end_ns;
	uint32_t object, thread;
	uint32_t is_put; /* its slice has been written */
};

/* Empty if zeroed. 24 bytes per hold. */
struct sonde_chrome_holds {
	struct sonde_chrome_hold *rows;
	size_t count, cap;
};

/* Adds row i of WAITS if it is a hold; -ENOMEM. Call _sort after adding all. */
int sonde_chrome_holds_add(struct sonde_chrome_holds *holds, const struct sonde_batch *batch, size_t i);
void sonde_chrome_holds_sort(struct sonde_chrome_holds *holds);
void sonde_chrome_holds_fini(struct sonde_chrome_holds *holds);

/* The hold whose end unblocked the call in row i of WAITS; NULL if unknown or not selected. Borrowed. */
struct sonde_chrome_hold *sonde_chrome_holds_giver(const struct sonde_chrome_holds *holds,
						   const struct sonde_session *session,
						   const struct sonde_format_options *options,
						   const struct sonde_batch *batch, size_t i);

/* Writes an arrow to the end of row i, which has its own slice, if it is known who released the lock. */
void sonde_chrome_holds_arrow(struct sonde_chrome *chrome, struct sonde_chrome_holds *holds,
			      const struct sonde_batch *batch, size_t i);

#endif
