/* interposed.h: provides the call-frame tables with which injected hooks walk stacks, and interns the stacks that hooks
 * report. One thread.
 */
#ifndef SONDE_SOURCE_TARGET_INTERPOSED_H
#define SONDE_SOURCE_TARGET_INTERPOSED_H

#include <stdint.h>
#include <sys/types.h>

#include "format/link.h"
#include "source/record/recorder.h"
#include "source/stack/image.h"
#include "source/stack/spaces.h"
#include "source/stack/unwinder.h"

#define SONDE_INTERPOSED_SHARED 128u /* maximum of cached tables, one descriptor each */

/* A table in sealed memory. */
struct sonde_interposed_shared {
	const struct sonde_image *image;
	int fd;
};

struct sonde_interposed {
	struct sonde_images *images;
	struct sonde_spaces *spaces;
	struct sonde_unwinder *unwinder;
	struct sonde_interposed_shared shared[SONDE_INTERPOSED_SHARED];
	uint32_t shared_count;
};

/* -ENOMEM; call sonde_interposed_fini() also after a failure. */
int sonde_interposed_init(struct sonde_interposed *interposed, struct sonde_recorder *recorder);
void sonde_interposed_fini(struct sonde_interposed *interposed);

/* Fills in the mapping of an address. Returns a descriptor of its table, owned by the caller, or −1. */
int sonde_interposed_table(struct sonde_interposed *interposed, pid_t pid, uint64_t address,
			   struct sonde_link_table *out);

#endif
