/* holds.h: when locks were given up, and arrows from there to who got them. */
#ifndef SONDE_EXPORT_CHROME_HOLDS_H
#define SONDE_EXPORT_CHROME_HOLDS_H

#include "export/chrome/event.h"

struct sonde_chrome_hold {
	uint64_t end_ns;
	uint32_t object, thread;
	uint32_t is_put; /* its slice is written */
};

/* Zeroed it is empty. 24 bytes a hold. */
struct sonde_chrome_holds {
	struct sonde_chrome_hold *rows;
	size_t count, cap;
};

/* Takes row i of WAITS if it is a hold; -ENOMEM. When all are there: sort. */
int sonde_chrome_holds_add(struct sonde_chrome_holds *holds, const struct sonde_batch *batch, size_t i);
void sonde_chrome_holds_sort(struct sonde_chrome_holds *holds);
void sonde_chrome_holds_fini(struct sonde_chrome_holds *holds);

/* The hold whose end let the call of row i of WAITS go on; NULL where that is not known, or not wanted. Borrowed. */
struct sonde_chrome_hold *sonde_chrome_holds_giver(const struct sonde_chrome_holds *holds,
						   const struct sonde_session *session,
						   const struct sonde_format_options *options,
						   const struct sonde_batch *batch, size_t i);

/* Row i, which has a slice of its own: writes an arrow to its end where it is known who gave up what it waited for. */
void sonde_chrome_holds_arrow(struct sonde_chrome *chrome, struct sonde_chrome_holds *holds,
			      const struct sonde_batch *batch, size_t i);

#endif
