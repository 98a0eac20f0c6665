/* image.h: executable mapped files: their identity, and their call-frame tables, opened on the first sample.
 *
 * An image is one file (one build-id or one inode), however many processes map it. Nothing is read from an image that
 * is never sampled. Images live until sonde_images_free(). Not thread-safe.
 */
#ifndef SONDE_SOURCE_STACK_IMAGE_H
#define SONDE_SOURCE_STACK_IMAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/stack/maps.h"
#include "source/record/recorder.h"
#include "symbol/elf.h"
#include "unwind/table.h"

enum sonde_image_kind {
	SONDE_IMAGE_FILE = 0,
	SONDE_IMAGE_VDSO,
	SONDE_IMAGE_ANONYMOUS, /* generated code: no file; addresses are the process's */
};

struct sonde_image {
	struct sonde_image *next; /* in its hash bucket */
	enum sonde_image_kind kind;
	int opened;      /* the fields below are filled in */
	int has_v8;      /* 1: exports V8's symbols; -1: does not; 0: not checked yet */
	int known;       /* the file could be read: `segments` is filled in */
	uint32_t module; /* id in the recording; 0 for anonymous images, whose module belongs to the process */
	uint64_t entry;  /* ELF virtual address of a program's first instruction; 0 = none */
	struct sonde_elf_segment segments[16];
	size_t segment_count;
	struct sonde_unwind_table table;

	const char *path;      /* as seen by the process */
	const char *live_path; /* without the kernel's " (deleted)" */
	uint64_t device, inode, generation;
	uint8_t build_id[SONDE_BUILD_ID_MAX_B]; /* from the kernel, else from the file */
	size_t build_id_b;
};

/* Identifies a file when it is mapped: by a build-id or an inode. */
struct sonde_image_key {
	const char *path;
	const uint8_t *build_id;
	size_t build_id_b;
	uint64_t device, inode, generation;
	uint64_t start; /* start of the mapping, which distinguishes the [vdso] of 32-bit processes */
};

struct sonde_images;

/* `slow` (may be NULL) is called before work that may take milliseconds: reading a file and, if `compiles`, compiling
 * its table. */
int sonde_images_new(struct sonde_images **out, struct sonde_recorder *recorder,
		     void (*slow)(void *context, int compiles), void *context);
void sonde_images_free(struct sonde_images *images);

/* Returns the image of a key, created if new; NULL if out of memory. */
struct sonde_image *sonde_images_get(struct sonde_images *images, const struct sonde_image_key *key);

/* Opens the image's file, unless opening it was tried before. `map`, of process `pid`, is the mapping that was
 * sampled. */
void sonde_images_open(struct sonde_images *images, struct sonde_image *image, pid_t pid,
		       const struct sonde_mapping *map);

/* Opens the file of an opened image of kind FILE again; the caller closes it. */
int sonde_images_reopen(struct sonde_images *images, const struct sonde_image *image, pid_t pid,
			const struct sonde_mapping *map, struct sonde_elf *out);

/* Converts a process `address` in `map` to the ELF virtual address in an opened image; unchanged for anonymous
 * images. */
uint64_t sonde_image_address(const struct sonde_image *image, const struct sonde_mapping *map, uint64_t address);

#endif
